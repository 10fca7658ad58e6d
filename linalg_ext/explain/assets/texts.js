// The texts of the page: the source, each stage, the assembly.

const DATA = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

function made(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function asText(raw, at) {
  const text = { ...raw, at, lines: raw.text.split("\n") };
  text.ends = new Map(raw.ends);
  text.widest = text.lines.reduce((most, line) => Math.max(most, line.length), 0);
  // The lines that come of each place, in order.
  text.ofPlace = new Map();
  raw.of.forEach((set, line) => {
    for (const place of raw.sets[set]) {
      if (!text.ofPlace.has(place)) text.ofPlace.set(place, []);
      text.ofPlace.get(place).push(line);
    }
  });
  return text;
}

const TEXTS = DATA.texts.map(asText);
const ASSEMBLY = asText(
  { name: "assembly", language: "assembly", numbers: [], ends: [], sets: [[]], of: [], runs: [], ...DATA.assembly },
  -1,
);

const placesOf = (text, line) => text.sets[text.of[line] ?? 0] ?? [];
const numberOf = (text, line) => (text.numbers.length ? text.numbers[line] || "" : line + 1);

// Colours.

const PATTERNS = Object.fromEntries(
  Object.entries(DATA.languages).map(([name, words]) => [
    name,
    { kinds: words.map(([kind]) => kind), pattern: new RegExp(words.map(([, p]) => `(${p})`).join("|"), "gm") },
  ]),
);

const escaped = (text) => text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);

function coloured(line, language) {
  const { kinds, pattern } = PATTERNS[language];
  let html = "", at = 0;
  for (const match of line.matchAll(pattern)) {
    const kind = kinds[match.slice(1).findIndex((group) => group !== undefined)];
    html += escaped(line.slice(at, match.index)) + `<span class="${kind}">${escaped(match[0])}</span>`;
    at = match.index + match[0].length;
  }
  return html + escaped(line.slice(at));
}

// What a search found is marked, and so it has no colours besides.
function marked(line, spans) {
  let html = "", at = 0;
  for (const [start, end, isHere] of spans) {
    html += escaped(line.slice(at, start));
    html += `<mark${isHere ? ' class="here"' : ""}>${escaped(line.slice(start, end))}</mark>`;
    at = end;
  }
  return html + escaped(line.slice(at));
}
