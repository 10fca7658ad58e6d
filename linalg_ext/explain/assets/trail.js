// What a line came of, and what it became: the lines of all texts that share a place with it.

const MOST = 4;
const PLAIN = /= (arith\.constant|llvm\.mlir\.\w+|tensor\.empty)\b|^\s*\w+\.yield\b/;

function kinOf(text, line) {
  const places = placesOf(text, line);
  return TEXTS.map((other) => {
    const lines = new Set(places.flatMap((place) => other.ofPlace.get(place) ?? []));
    return [...lines].sort((a, b) => a - b);
  });
}

function showTrail(text, line) {
  const panel = byId("trail");
  const kin = kinOf(text, line);
  stageView.kin = new Set(kin.flatMap((lines, at) => lines.map((each) => `${at}:${each}`)));
  const places = placesOf(text, line).map((place) => DATA.places[place]);
  const said = places.length ? places.map(([file, number]) => `${file}:${number}`).join(", ") : "no place of the source is known";
  panel.replaceChildren(made("p", {}, made("b", { textContent: `${text.name} ${numberOf(text, line)}` }), ` ${said}`));
  kin.forEach((lines, at) => {
    const other = TEXTS[at];
    // The line that closes a region is no op of its own; constants come last.
    const all = lines.filter((each) => !/^\s*[}^]/.test(other.lines[each]));
    const isPlain = (each) => PLAIN.test(other.lines[each]);
    const ops = [...all.filter((each) => !isPlain(each)), ...all.filter(isPlain)];
    if (!ops.length || (other === text && ops.length === 1)) return;
    const links = ops.slice(0, MOST).map((each) => {
      const button = made("button", { textContent: `${numberOf(other, each)}: ${other.lines[each].trim()}` });
      button.addEventListener("click", () => goTo(at, each));
      return button;
    });
    const more = ops.length > MOST ? [` and ${ops.length - MOST} more`] : [];
    panel.append(made("p", {}, made("b", { textContent: other.name }), ...links.flatMap((link) => [" ", link]), ...more));
  });
}
