// A view: one text or two beside each other, of which only the rows in sight are in the document.

const ROW = 18;
const MORE = 6;

class View {
  constructor(root, onSelect) {
    this.root = root;
    this.onSelect = onSelect;
    this.panes = [0, 1].map(() => made("div", { className: "pane" }, made("div", { className: "lines" })));
    this.holder = made("div", { className: "panes" }, ...this.panes);
    this.sizer = made("div", {}, this.holder);
    root.append(this.sizer);
    this.folded = new Set();
    this.shown = [];
    this.cursor = 0;
    this.kin = new Set();
    this.spans = new Map();
    this.hot = [0, 0];
    this.changesAlone = false;
    root.addEventListener("scroll", () => this.draw());
    root.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(() => this.draw()).observe(root);
  }

  // Show a text, beside another or alone.
  show(left, right) {
    [this.left, this.right] = [left, right];
    this.rows = left ? rowsBeside(right) : rowsAlone(right);
    this.holder.classList.toggle("alone", !left);
    // Of two languages every line differs: that says nothing.
    this.isDiff = left !== null && left.language === right.language;
    [left, right].forEach((text, side) => {
      if (text) this.panes[side].firstChild.style.width = `${text.widest + 9}ch`;
    });
    this.cursor = 0;
    this.layOut();
    this.root.scrollTop = 0;
    this.draw();
  }

  layOut() {
    this.shown = shownRows(this.rows, this.left, this.right, this.folded, this.changesAlone);
    this.sizer.style.height = `${this.shown.length * ROW + ROW}px`;
  }

  draw() {
    if (!this.right) return;
    const height = this.root.clientHeight;
    const first = Math.max(0, Math.floor(this.root.scrollTop / ROW) - MORE);
    const last = Math.min(this.shown.length, first + Math.ceil(height / ROW) + 2 * MORE);
    this.holder.style.height = `${height}px`;
    const shift = `translateY(${first * ROW - this.root.scrollTop}px)`;
    ["left", "right"].forEach((side, number) => {
      const text = this[side];
      if (!text) return;
      const lines = this.panes[number].firstChild;
      lines.style.transform = shift;
      const html = [];
      for (let at = first; at < last; at++) html.push(this.rowHtml(at, side, text));
      lines.innerHTML = html.join("");
    });
  }

  rowHtml(at, side, text) {
    const row = this.shown[at];
    const isHere = at === this.cursor ? " cursor" : "";
    if (row.gap) return `<div class="row gap${isHere}" data-at="${at}">       … ${row.gap} lines that did not change</div>`;
    const line = row[side];
    if (line === ABSENT) return `<div class="row gap${isHere}" data-at="${at}"> </div>`;
    const classes = ["row"];
    if (this.isDiff && !row.isSame) classes.push(side === "left" ? "old" : "new");
    if (this.kin.has(`${text.at}:${line}`)) classes.push("kin");
    if (text === ASSEMBLY && line >= this.hot[0] && line < this.hot[1]) classes.push("hot");
    const fold = text.ends.has(line)
      ? `<button class="fold" tabindex="-1" aria-label="${row.isFolded ? "open" : "fold"}">${row.isFolded ? "▸" : "▾"}</button>`
      : '<span class="fold"></span>';
    const spans = this.spans.get(`${side}:${line}`);
    const words = spans ? marked(text.lines[line], spans) : coloured(text.lines[line], text.language);
    const more = row.isFolded && row.opener[0] === text ? ' <span class="comment">…</span>' : "";
    return `<div class="${classes.join(" ")}${isHere}" data-at="${at}"><span class="no">${numberOf(text, line)}</span>${fold}${words}${more}</div>`;
  }

  click(event) {
    const element = event.target.closest("[data-at]");
    if (!element) return;
    const at = Number(element.dataset.at);
    if (event.target.closest("button.fold")) this.toggle(at);
    else this.select(at, this.panes[0].contains(element) ? "left" : "right");
  }

  // Put the cursor on a row; what is known of its line is shown elsewhere.
  select(at, side = "right") {
    this.cursor = Math.max(0, Math.min(at, this.shown.length - 1));
    const top = this.cursor * ROW;
    if (top < this.root.scrollTop) this.root.scrollTop = top;
    if (top + 2 * ROW > this.root.scrollTop + this.root.clientHeight) {
      this.root.scrollTop = top + 2 * ROW - this.root.clientHeight;
    }
    const row = this.shown[this.cursor];
    if (row && !row.gap) {
      const chosen = this.left && (side === "left" || row.right === ABSENT) ? "left" : "right";
      const wanted = row[chosen] === ABSENT ? "right" : chosen;
      this.onSelect(this[wanted], row[wanted]);
    }
    this.draw();
  }

  // Go to a line of one side, whatever is folded around it.
  goTo(line, side = "right") {
    const text = this[side];
    for (const [start, end] of text.ends) {
      if (start < line && line <= end) this.folded.delete(regionKey(text, start));
    }
    if (this.changesAlone && !this.shown.some((row) => row[side] === line)) this.changesAlone = false;
    this.layOut();
    let at = this.shown.findIndex((row) => row[side] === line);
    if (at < 0) {
      this.folded.clear();
      this.layOut();
      at = this.shown.findIndex((row) => row[side] === line);
    }
    this.root.scrollTop = Math.max(0, at * ROW - this.root.clientHeight / 3);
    this.select(at, side);
  }

  toggle(at = this.cursor) {
    const row = this.shown[at];
    if (!row || !row.opener) return;
    const key = regionKey(row.opener[0], row.opener[1]);
    if (!this.folded.delete(key)) this.folded.add(key);
    this.layOut();
    this.draw();
  }

  foldAll(isFolded) {
    this.folded.clear();
    if (isFolded) {
      for (const text of [this.left, this.right]) {
        // What is not in another region stays open: it would hide everything.
        for (const [line] of text ? text.ends : []) {
          if (/^\s/.test(text.lines[line])) this.folded.add(regionKey(text, line));
        }
      }
    }
    this.layOut();
    this.select(0);
  }
}
