"use strict";

// What the page does with scripts: its tables are sorted and searched, and its box locates keys.
// Text of a map becomes text of the page by textContent only.

// Makes an element with attributes and children, which are elements or texts.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// ---- sorting

const collator = new Intl.Collator("en", { numeric: true });

// What a row is sorted by in a column.
function orderOf(row, column) {
  const cell = row.cells[column];
  return cell.dataset.order ?? cell.textContent;
}

function sort(table, heading) {
  const column = heading.cellIndex;
  const isNumber = heading.classList.contains("number");
  const before = heading.getAttribute("aria-sort");
  // the largest numbers come first, and the first letters
  const first = isNumber ? "descending" : "ascending";
  const second = isNumber ? "ascending" : "descending";
  const order = before === first ? second : first;
  const compare = isNumber
    ? (a, b) => Number(a) - Number(b)
    : (a, b) => collator.compare(a, b);
  const sign = order === "ascending" ? 1 : -1;
  const rows = [...table.tBodies[0].rows].map((row) => [
    orderOf(row, column),
    row,
  ]);
  rows.sort(([a], [b]) => sign * compare(a, b));
  table.tBodies[0].append(...rows.map(([, row]) => row));
  for (const other of table.tHead.rows[0].cells) {
    other.removeAttribute("aria-sort");
  }
  heading.setAttribute("aria-sort", order);
}

// A heading without words is that of bars, which repeat the column before.
function makeSortable(table) {
  for (const heading of table.tHead.rows[0].cells) {
    if (heading.textContent !== "") {
      const button = make("button", { type: "button" }, heading.textContent);
      button.addEventListener("click", () => sort(table, heading));
      heading.replaceChildren(button);
    }
  }
}

// ---- tables that are wider than the page

// Says above a table that it has more columns than are seen.
function sayWhatIsHidden(box) {
  const hint = make(
    "p",
    { class: "remark hint" },
    "There are more columns to the right: move the table to see them.",
  );
  box.before(hint);
  const look = () => {
    hint.hidden = box.scrollWidth <= box.clientWidth + 1;
  };
  new ResizeObserver(look).observe(box);
  look();
}

// ---- searching

function makeSearchable(input) {
  const rows = [
    ...document.getElementById(input.dataset.table).tBodies[0].rows,
  ];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const found = document.getElementById("found");
  input.closest(".field").hidden = false;
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, i) => {
      const isThere = words.every((word) => texts[i].includes(word));
      row.hidden = !isThere;
      shown += isThere;
    });
    found.textContent = words.length ? `${shown} of ${rows.length} nodes` : "";
  });
}

// ---- locating

// A problem with what was typed, in words for its author.
class Typed extends Error {}

// The bytes that were typed as a key.
function typedKey() {
  const text = document.getElementById("key").value;
  if (!document.getElementById("as-hex").checked) {
    return Array.from(new TextEncoder().encode(text));
  }
  const digits = text.replace(/\s/g, "");
  if (!/^([0-9a-f]{2})*$/i.test(digits)) {
    throw new Typed("Write two hex digits for each byte of the key.");
  }
  return Hashes.fromHex(digits);
}

// The bytes of the secret; none where the map needs none.
function typedSecret() {
  const input = document.getElementById("secret");
  if (input === null) {
    return [];
  }
  const digits = input.value.trim();
  if (!/^[0-9a-f]{32}$/i.test(digits)) {
    throw new Typed("Write the secret of the map, 32 hex digits.");
  }
  return Hashes.fromHex(digits);
}

// How many nodes that take over are shown.
const TAKE_OVER = 3;

// The nodes of a list, which lead to their rows, where the table is of this map.
function listOf(nodes, names, isNewest) {
  const list = make("ol");
  for (const node of nodes) {
    const name = make("bdi", {}, names[node]);
    const row = isNewest && document.getElementById(`node-${node}`);
    list.append(
      make("li", {}, row ? make("a", { href: `#node-${node}` }, name) : name),
    );
  }
  return list;
}

// One map's answer.
function answer(map, point, isNewest, isOnly) {
  const { data, places, pair } = map;
  const found = places.at(point);
  const named = (nodes, names) => nodes.map((node) => names[node]).join(", ");
  const [first, last] = [hexOf(found.first), hexOf(found.last)];
  const terms = [
    ["point", hexOf(point)],
    ["slice", `${first} to ${last}`],
  ];
  const policy = data.named.find(([policy]) => policy === found.policy);
  if (policy) {
    terms.push([
      "policy",
      policy[2] ? `${policy[1]}, ${policy[2]}` : policy[1],
    ]);
  }
  const spot = hexOf(point);
  const pin = data.pins.find(([from, to]) => from <= spot && spot <= to);
  if (pin) {
    terms.push(["pinned", pin[2]]);
  }
  let nodes = found.nodes;
  if (pair) {
    nodes = pair.reads(point);
    terms.push(["write to all of", named(pair.writes(point), pair.names)]);
    terms.push(["carry", pair.state]);
    terms.push(["data was on", named(pair.before(point), pair.names)]);
    terms.push(["data will be on", named(found.nodes, places.nodes)]);
  } else {
    const own = new Set(found.nodes).size;
    const others = places.prefer(point, own + TAKE_OVER).slice(own);
    if (others.length) {
      terms.push(["if all are down", named(others, places.nodes)]);
    }
  }
  const details = make("dl");
  for (const [term, text] of terms) {
    const isCode = term === "point" || term === "slice";
    details.append(
      make("dt", {}, term),
      make("dd", {}, make(isCode ? "code" : "bdi", {}, text)),
    );
  }
  const order = "Read from the first of these nodes that answers:";
  return make(
    "div",
    {},
    ...(isOnly ? [] : [make("h3", {}, data.title)]),
    ...(pair ? [make("p", {}, order)] : []),
    listOf(nodes, pair ? pair.names : places.nodes, isNewest),
    details,
  );
}

function makeLocating(form, data) {
  const maps = data.maps.map((data) => ({ data, places: new Places(data) }));
  for (const map of maps) {
    const carry = map.data.carry;
    if (carry) {
      map.pair = new Pair(map.places, new Places(data.from[carry.from]), carry);
    }
  }
  const box = document.getElementById("answer");
  const tell = () => {
    box.hidden = false;
    try {
      const [key, secret] = [typedKey(), typedSecret()];
      const fold = document.getElementById("fold").checked;
      const newest = maps[maps.length - 1];
      box.replaceChildren(
        ...maps.map((map) =>
          answer(
            map,
            map.places.point(key, fold, secret),
            map === newest,
            maps.length === 1,
          ),
        ),
      );
    } catch (problem) {
      if (!(problem instanceof Typed)) {
        throw problem;
      }
      box.replaceChildren(make("p", { class: "problem" }, problem.message));
    }
  };
  form.addEventListener("input", tell);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    tell();
  });
  document.getElementById("without-scripts").remove();
  form.hidden = false;
  return maps;
}

// ---- at the start

document.querySelectorAll("table").forEach(makeSortable);
document.querySelectorAll(".scroll").forEach(sayWhatIsHidden);
document.querySelectorAll("input[data-table]").forEach(makeSearchable);

const data = document.getElementById("data").textContent;
const form = document.getElementById("locate");
const locating = data && form ? makeLocating(form, JSON.parse(data)) : [];
