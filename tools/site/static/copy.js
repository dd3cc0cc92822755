"use strict";
// A button at each block: it copies the commands of a console without prompts and answers, and other blocks whole.
function copied(block) {
  const text = block.querySelector("pre").textContent;
  if (!/^\$ /m.test(text)) return text;
  const commands = [];
  let goesOn = false;
  for (const line of text.split("\n")) {
    if (line.startsWith("$ ")) commands.push(line.slice(2));
    else if (goesOn) commands.push(line);
    goesOn = (line.startsWith("$ ") || goesOn) && line.endsWith("\\");
  }
  return commands.join("\n") + "\n";
}

document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div.highlight")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(copied(block));
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    block.append(button);
  }
});
