// Search in the text that is shown: plain text, or /a regular expression/.

let matches = [];
let current = -1;

function patternOf(query) {
  const given = /^\/(.+)\/$/.exec(query);
  try {
    return new RegExp(given ? given[1] : query.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "gi");
  } catch {
    return null;
  }
}

function countIn(text, pattern) {
  return text.lines.reduce((count, line) => count + [...line.matchAll(pattern)].length, 0);
}

function search() {
  const query = byId("query").value;
  const view = viewInSight();
  const pattern = query ? patternOf(query) : null;
  matches = [];
  current = -1;
  if (pattern && view) {
    for (const row of view.rows) {
      for (const side of view.left ? ["left", "right"] : ["right"]) {
        if (row[side] === ABSENT) continue;
        for (const match of view[side].lines[row[side]].matchAll(pattern)) {
          if (match[0]) matches.push({ side, line: row[side], start: match.index, end: match.index + match[0].length });
        }
      }
    }
  }
  const isWrong = query && !pattern;
  byId("found").textContent = isWrong ? "no such pattern" : query && view ? `${matches.length} found` : "";
  countOnTabs(pattern);
  markMatches();
}

function countOnTabs(pattern) {
  document.querySelectorAll("#stage-tabs button").forEach((button, at) => {
    button.querySelector("small")?.remove();
    const count = pattern ? countIn(TEXTS[at], pattern) : 0;
    if (count) button.append(made("small", { textContent: count }));
  });
}

function markMatches() {
  const view = viewInSight();
  for (const each of [stageView, assemblyView]) each.spans = new Map();
  if (!view) return;
  matches.forEach((match, at) => {
    const key = `${match.side}:${match.line}`;
    if (!view.spans.has(key)) view.spans.set(key, []);
    view.spans.get(key).push([match.start, match.end, at === current]);
  });
  view.draw();
}

function goOn(step) {
  if (!matches.length) return;
  current = current < 0 ? (step > 0 ? 0 : matches.length - 1) : (current + step + matches.length) % matches.length;
  markMatches();
  viewInSight().goTo(matches[current].line, matches[current].side);
  byId("found").textContent = `${current + 1} of ${matches.length}`;
}
