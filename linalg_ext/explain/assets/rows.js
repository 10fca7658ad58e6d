// Rows of a view: a line of the left text, one of the right text, or both. -1 is none.

const ABSENT = -1;
const AROUND = 3;

function rowsAlone(text) {
  return text.lines.map((_, line) => ({ left: ABSENT, right: line, isSame: true }));
}

function rowsBeside(right) {
  const rows = [];
  for (const [isSame, left, leftEnd, first, end] of right.runs) {
    const count = Math.max(leftEnd - left, end - first);
    for (let n = 0; n < count; n++) {
      rows.push({
        left: left + n < leftEnd ? left + n : ABSENT,
        right: first + n < end ? first + n : ABSENT,
        isSame: Boolean(isSame),
      });
    }
  }
  return rows;
}

// A region is known by the text and the line that opens it.
const regionKey = (text, line) => `${text.at}:${line}`;

function openerOf(row, left, right) {
  if (row.right !== ABSENT && right.ends.has(row.right)) return [right, row.right, "right"];
  if (left && row.left !== ABSENT && left.ends.has(row.left)) return [left, row.left, "left"];
  return null;
}

// The rows that are shown: without the insides of folded regions, and of what did not change.
function shownRows(rows, left, right, folded, changesAlone) {
  const shown = [];
  const isNear = changesAlone ? nearChanges(rows) : null;
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at];
    if (isNear && !isNear[at]) {
      const from = at;
      while (at + 1 < rows.length && !isNear[at + 1]) at++;
      shown.push({ gap: at - from + 1 });
      continue;
    }
    const opener = openerOf(row, left, right);
    const isFolded = opener !== null && folded.has(regionKey(opener[0], opener[1]));
    shown.push({ ...row, opener, isFolded });
    if (isFolded) {
      const [text, line, side] = opener;
      const end = text.ends.get(line);
      while (at + 1 < rows.length && (rows[at + 1][side] === ABSENT || rows[at + 1][side] < end)) at++;
    }
  }
  return shown;
}

function nearChanges(rows) {
  const isNear = new Array(rows.length).fill(false);
  rows.forEach((row, at) => {
    if (row.isSame) return;
    for (let n = Math.max(0, at - AROUND); n <= Math.min(rows.length - 1, at + AROUND); n++) isNear[n] = true;
  });
  return isNear;
}
