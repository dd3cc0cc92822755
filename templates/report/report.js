"use strict";
// Tables: filters that narrow them, heads that sort them, long ones that show their first rows until asked for all.
const UNITS = {"kW": 1e3, "MW": 1e6, "km": 1e3, "Tb/s": 1e3, "PB": 1e3};
const words = new Intl.Collator(undefined, {numeric: true});

function sortKey(cell) { // a figure with its unit as a number, anything else as text; nothing comes last
  const text = cell.textContent.trim();
  if (text === "–" || text === "") return null;
  const figure = /^(-?[\d,]*\.?\d+)(?:\s*)([A-Za-z/]*)/.exec(text);
  const isFigure = figure && cell.classList.contains("number");
  return isFigure ? Number(figure[1].replaceAll(",", "")) * (UNITS[figure[2]] || 1) : text;
}

function compare(one, other) {
  if (one === null || other === null) return (one === null) - (other === null);
  if (typeof one === "number" && typeof other === "number") return one - other;
  return words.compare(one, other);
}

function sortBy(table, index, isDown) {
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((line) => [sortKey(line.cells[index]), line]);
  const turn = isDown ? -1 : 1;
  keyed.sort(([one], [other]) => (one === null || other === null ? compare(one, other) : turn * compare(one, other)));
  body.append(...keyed.map(([, line]) => line));
}

for (const table of document.querySelectorAll(".table table")) {
  if (table.tBodies[0].rows.length < 2) continue;
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const isDown = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
      sortBy(table, index, isDown);
    });
  });
}

function unfold(box) {
  box.classList.remove("folded");
  box.querySelector(".unfold")?.remove();
}

for (const box of document.querySelectorAll(".table.folds")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "unfold";
  button.textContent = "Show all " + box.querySelector("tbody").rows.length.toLocaleString("en") + " rows";
  button.addEventListener("click", () => unfold(box));
  box.classList.add("folded");
  box.querySelector(".scroll").after(button);
}

for (const field of document.querySelectorAll("input[data-table]")) {
  const box = document.querySelector("#" + CSS.escape(field.dataset.table));
  const rows = [...box.querySelectorAll("tbody tr")];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  field.addEventListener("input", () => {
    const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    unfold(box);
    rows.forEach((row, index) => {
      row.hidden = !wanted.every((word) => texts[index].includes(word));
    });
  });
}

function showTarget() { // a link to a row opens the table that it is in
  const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const box = row?.closest(".table.folded");
  if (box) {
    unfold(box);
    row.scrollIntoView();
  }
}
addEventListener("hashchange", showTarget);
showTarget();
