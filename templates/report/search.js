"use strict";
// Finds devices by name, address, GUID, MAC address, serial number or label in the index that lies in search/.
const MOST_ROWS = 200;
const devices = [];

function addToIndex(entries) { // called by each script of the index
  for (const entry of entries) devices.push({entry, text: entry.toLowerCase()});
}

function canonicalAddress(text) { // "" for what is no IPv6 address; IPv4 is written in one way
  if (!/^[0-9a-f:.]+$/.test(text) || text.split(":").length < 3) return "";
  try {
    return new URL("http://[" + text + "]").hostname.slice(1, -1);
  } catch {
    return "";
  }
}

function spellings(text) { // what people and programs write for the same thing
  const bare = text.replace(/^0x/, "").replace(/[-:.]/g, "");
  const isHex = /^[0-9a-f]+$/.test(bare);
  const found = [text];
  const address = text.replace(/\/\d{1,3}$/, "");
  found.push(address, canonicalAddress(address));
  if (isHex && bare.length === 16) found.push("0x" + bare);
  if (isHex && bare.length === 12) found.push(bare.match(/../g).join(":"));
  if (text.includes(" / ")) found.push(text.split(" / ")[0]); // a label says both ends, its own one first
  if (/^[a-z]/.test(text) && text.includes(".")) found.push(text.split(".")[0]); // a host name with its domain
  return [...new Set(found.filter(Boolean))];
}

function rank(value, wanted) { // the less the better: as written, from its beginning, anywhere
  if (wanted.includes(value)) return 0;
  return wanted.some((each) => value.startsWith(each)) ? 1 : 2;
}

function matches(query) {
  const wanted = spellings(query.trim().toLowerCase());
  const found = [];
  for (const {entry, text} of devices) {
    if (!wanted.some((each) => text.includes(each))) continue;
    const [head, ...keys] = entry.split("\n");
    const [name, role, rack] = head.split("\t");
    const values = [["", "name", name], ...keys.map((key) => key.split("\t"))];
    for (const [port, kind, value] of values) {
      const lower = value.toLowerCase();
      if (wanted.some((each) => lower.includes(each))) {
        found.push({name, role, rack, port, kind, value, rank: rank(lower, wanted)});
      }
    }
  }
  return found.sort((a, b) => a.rank - b.rank); // equal ones stay in the plan's order
}

function link(text, href) {
  const anchor = document.createElement("a");
  anchor.href = href;
  anchor.textContent = text;
  return anchor;
}

function row(match) {
  const line = document.createElement("tr");
  const page = "devices/" + match.name + ".html";
  const rack = match.rack ? link(match.rack, "racks/" + match.rack + ".html") : "–";
  const port = match.port ? link(match.port, page + "#port-" + match.port) : "–";
  const cells = [link(match.name, page), match.role, rack, port, match.kind, match.value];
  cells.forEach((content, index) => {
    const cell = line.insertCell();
    cell.append(content);
    if (index !== 1 && index !== 4) cell.className = index === 5 ? "code long" : "code";
  });
  return line;
}

function show(query) {
  const found = query.trim() ? matches(query) : [];
  const names = new Set(found.map((match) => match.name));
  const body = document.querySelector("#found tbody");
  body.replaceChildren(...found.slice(0, MOST_ROWS).map(row));
  document.querySelector("#found").hidden = found.length === 0;
  const first = found.length > MOST_ROWS ? " The first " + MOST_ROWS + " are shown: type more of it." : "";
  const places = found.length === 1 ? "1 place" : found.length + " places";
  const count = names.size === 1 ? "1 device" : names.size + " devices";
  document.querySelector("#summary").textContent = found.length
    ? "Found at " + places + " of " + count + "." + first
    : query.trim()
      ? "Nothing of this cluster has “" + query.trim() + "” in its name, addresses, GUIDs, serial numbers or labels."
      : "Type a name, an address, a GUID, a MAC address, a serial number, or what a label says.";
}

document.addEventListener("DOMContentLoaded", () => { // by then the scripts of the index have run
  const field = document.querySelector("#q");
  field.value = new URLSearchParams(location.search).get("q") || "";
  field.focus();
  field.addEventListener("input", () => show(field.value));
  show(field.value);
});
