// The same values as a table, and as CSV.

const pageRows = 50;

const columnsOf = [["window (UTC)", "at"], ["key"], ["value", "value"], ["low", "low"], ["high", "high"], ["noise \u03c3", "sigma"], ["rungs", "rungs"], ["target", "met"]];

function tableRows(list, view) {
  const rows = [];
  for (const s of list) {
    for (let i = view ? find(s, view.first) : 0; i < s.n && (!view || s.at[i] <= view.last); i++) rows.push({ s, i });
  }
  return rows;
}

function sorted(rows, column, down) {
  const by = columnsOf[column][1], sign = down ? -1 : 1;
  const compare = by ? (a, b) => a.s[by][a.i] - b.s[by][b.i] : (a, b) => a.s.rank - b.s.rank;
  return rows.sort((a, b) => sign * compare(a, b) || a.s.at[a.i] - b.s.at[b.i] || a.s.rank - b.s.rank);
}

function tableOf(chart) {
  const m = chart.metric;
  let column = 0, down = false, first = 0, rows = [];
  const head = el("tr"), body = el("tbody"), said = el("span", { "aria-live": "polite" });
  const press = (text, onclick) => el("button", { type: "button", onclick }, text), turn = (text, by) => press(text, () => { first += by; fill(); });
  const back = turn("Earlier rows", -pageRows), on = turn("More rows", pageRows);
  const heads = columnsOf.slice(0, m.aims ? 8 : 7).map(([name], i) => el("th", { scope: "col" }, press(name, () => { down = column === i && !down; column = i; collect(); })));
  head.append(...heads);

  function collect() {
    if (!box.open) return;
    rows = sorted(tableRows(chart.chosen, inside(chart)), column, down);
    first = 0;
    fill();
  }

  function fill() {
    heads.forEach((h, i) => h.setAttribute("aria-sort", i === column ? (down ? "descending" : "ascending") : "none"));
    body.replaceChildren(...rows.slice(first, first + pageRows).map(({ s, i }) => {
      const margin = s.high[i] - s.value[i];
      return el("tr", null, el("td", null, windowText(m.start(s.at[i]), m.end(s.at[i]))), el("td", null, el("bdi", null, s.label)),
        ...[s.value[i], s.low[i], s.high[i]].map((v) => el("td", null, number(v, margin))),
        el("td", null, sigmaText(s.sigma[i])), el("td", null, String(s.rungs[i])),
        m.aims && el("td", s.met[i] ? null : { class: "missed" }, s.met[i] ? "met" : "missed"));
    }));
    back.disabled = first === 0;
    on.disabled = first + pageRows >= rows.length;
    said.textContent = rows.length ? "Rows " + grouped(first + 1, 0) + " to " + grouped(Math.min(first + pageRows, rows.length), 0) + " of " + grouped(rows.length, 0) : "No value in this range.";
  }

  const save = (text, list, view) => press(text, () => download(m, tableRows(list(), view())));
  const box = el("details", { ontoggle: collect }, el("summary", null, "Table of values"),
    el("div", { class: "bar pages" }, said, back, on, save("CSV of this table", () => chart.chosen, () => inside(chart)),
      m.series.length > 1 ? save("CSV of all keys", () => m.series, () => null) : null),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Values" }, el("table", { class: "values" }, el("thead", null, head), body)));
  chart.listeners.push(collect);
  return box;
}

// inside are the windows that lie in a chart's range.
function inside(chart) {
  const m = chart.metric;
  return { first: Math.max(0, Math.ceil((chart.from - m.from) / m.step - 1e-9)), last: Math.floor((chart.to - m.from - (m.sliding ? 0 : m.size)) / m.step + 1e-9) };
}

// quoted writes a CSV field. A key that a spreadsheet would take for a formula
// gets an apostrophe in front.
function quoted(text) {
  const safe = /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
  return /[",\r\n]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
}

function csv(m, rows) {
  const lines = ["metric,window_start,window_end,key,value,stddev,low,high,confidence,met,rungs"];
  for (const { s, i } of rows) {
    lines.push([quoted(m.name), iso(m.start(s.at[i])), iso(m.end(s.at[i])), quoted(s.key), s.value[i], s.sigma[i], s.low[i], s.high[i],
      s.confidence[i], s.met[i] === 1, s.rungs[i]].join(","));
  }
  return lines.join("\r\n") + "\r\n";
}

function download(m, rows) {
  const url = URL.createObjectURL(new Blob([csv(m, sorted(rows, 0, false))], { type: "text/csv" }));
  el("a", { href: url, download: m.name.replace(/[^A-Za-z0-9._-]+/g, "-") + ".csv" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
