"use strict";
// Narrows a table to the rows that hold every word typed into its filter field.
for (const field of document.querySelectorAll("input[data-table]")) {
  const rows = [...document.querySelectorAll("#" + CSS.escape(field.dataset.table) + " tbody tr")];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    rows.forEach((row, index) => {
      row.hidden = !words.every((word) => texts[index].includes(word));
    });
  });
}
