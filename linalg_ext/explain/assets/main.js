// Tabs, stages, keys.

const TABS = ["overview", "stages", "graph", "schedule", "assembly"];
const stageView = new View(byId("stage-view"), showTrail);
const assemblyView = new View(byId("assembly-view"), () => {});
let tab = "overview";
let stage = 0;

// A kernel that was shipped may have come without its stages.
function viewInSight() {
  const view = { stages: stageView, assembly: assemblyView }[tab];
  return view?.right ? view : null;
}

function chooseTab(name) {
  tab = name;
  for (const each of TABS) {
    byId(each).hidden = each !== name;
    document.querySelector(`[data-tab=${each}]`).setAttribute("aria-selected", each === name);
  }
  viewInSight()?.draw();
  search();
  remember();
}

function chooseStage(at) {
  if (!TEXTS.length) return;
  stage = Math.max(0, Math.min(at, TEXTS.length - 1));
  const left = byId("beside").checked && stage > 0 ? TEXTS[stage - 1] : null;
  stageView.changesAlone = byId("changes").checked && left !== null;
  stageView.show(left, TEXTS[stage]);
  document.querySelectorAll("#stage-tabs button").forEach((button, each) => {
    button.setAttribute("aria-selected", each === stage);
  });
  byId("trail").replaceChildren();
  search();
  remember();
}

function goTo(at, line) {
  if (tab !== "stages") chooseTab("stages");
  if (at !== stage) chooseStage(at);
  stageView.goTo(line);
}

// The address says what is looked at, and so it can be kept and sent.
function remember() {
  history.replaceState(null, "", tab === "stages" && TEXTS.length ? `#stages/${TEXTS[stage].name}` : `#${tab}`);
}

function recall() {
  const [name, stageName] = decodeURIComponent(location.hash.slice(1)).split("/");
  const at = TEXTS.findIndex((text) => text.name === stageName);
  chooseStage(at >= 0 ? at : Math.min(1, TEXTS.length - 1));
  chooseTab(TABS.includes(name) ? name : "overview");
}

const KEYS = {
  o: () => chooseTab("overview"),
  s: () => chooseTab("stages"),
  g: () => chooseTab("graph"),
  c: () => chooseTab("schedule"),
  a: () => chooseTab("assembly"),
  "[": () => chooseStage(stage - 1),
  "]": () => chooseStage(stage + 1),
  d: () => byId("beside").click(),
  u: () => byId("changes").click(),
  n: () => goOn(1),
  N: () => goOn(-1),
  "/": () => byId("query").focus(),
  "?": () => byId("keys").showModal(),
};
const VIEW_KEYS = {
  j: (view) => view.select(view.cursor + 1),
  k: (view) => view.select(view.cursor - 1),
  ArrowDown: (view) => view.select(view.cursor + 1),
  ArrowUp: (view) => view.select(view.cursor - 1),
  Home: (view) => view.select(0),
  End: (view) => view.select(view.shown.length - 1),
  f: (view) => view.toggle(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  if (event.target === byId("query")) {
    if (event.key === "Enter") goOn(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") viewInSight()?.root.focus();
    return;
  }
  const isOnControl = event.target.closest("button, input, summary, [data-line]");
  const view = viewInSight();
  if (event.key === "Enter" && !isOnControl) view?.toggle();
  else if (event.key in KEYS) KEYS[event.key]();
  else if (view && event.key in VIEW_KEYS && !(isOnControl && event.key.length > 1)) VIEW_KEYS[event.key](view);
  else if (tab === "stages" && event.key >= "1" && event.key <= "9") chooseStage(Number(event.key) - 1);
  else return;
  event.preventDefault();
});

document.querySelectorAll("[data-tab]").forEach((button) => {
  button.addEventListener("click", () => chooseTab(button.dataset.tab));
});
TEXTS.forEach((text, at) => {
  const button = made("button", { textContent: text.name });
  button.setAttribute("role", "tab");
  button.addEventListener("click", () => chooseStage(at));
  byId("stage-tabs").append(button);
});
for (const id of ["beside", "changes"]) byId(id).addEventListener("change", () => chooseStage(stage));
byId("fold-all").addEventListener("click", () => stageView.foldAll(true));
byId("open-all").addEventListener("click", () => stageView.foldAll(false));
byId("query").addEventListener("input", search);
byId("help").addEventListener("click", () => byId("keys").showModal());
byId("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
});

// Ops of the graph lead to their line in the module as it was given.
const given = TEXTS.findIndex((text) => text.name === "module");
document.querySelectorAll("#graph [data-line]").forEach((element) => {
  const follow = () => goTo(given, Number(element.dataset.line));
  element.addEventListener("click", follow);
  element.addEventListener("keydown", (event) => event.key === "Enter" && follow());
});

assemblyView.hot = ASSEMBLY.hot;
assemblyView.show(null, ASSEMBLY);
byId("hot-told").textContent = ASSEMBLY.told;
byId("hot-go").hidden = ASSEMBLY.hot[0] === ASSEMBLY.hot[1];
byId("hot-go").addEventListener("click", () => assemblyView.goTo(ASSEMBLY.hot[0]));
window.addEventListener("hashchange", recall);
recall();
