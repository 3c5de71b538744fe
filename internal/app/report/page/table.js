// The same values as a table, and as CSV. A row is a value of a key: { s, i }.

const columnsOf = (chart) => [
  { name: "window (" + zone() + ")", by: (r) => r.s.at[r.i], cell: ({ s, i }) => windowText(chart.metric.start(s.at[i]), chart.metric.end(s.at[i])) },
  { name: "key", row: true, by: (r) => r.s.rank, cell: ({ s }) => el("bdi", null, s.label) },
  chart.metric.parts && { name: chart.metric.kind, by: (r) => r.s.place, cell: ({ s }) => s.part.text },
  { name: chart.metric.unit ? "share" : "value", by: (r) => r.s.value[r.i], cell: ({ s, i }) => valueText(s, i) },
  !chart.metric.lopsided && { name: "noise \u00b1", by: (r) => margin(r.s, r.i), cell: ({ s, i }) => marginText(s, i) },
  chart.metric.aims && { name: "exactness", by: (r) => r.s.met[r.i], soft: ({ s, i }) => !s.met[i], cell: ({ s, i }) => s.met[i] ? "as asked" : "less exact" },
  ...["low", "high"].map((name) => ({ name, exact: !chart.metric.lopsided, by: (r) => r.s[name][r.i], cell: ({ s, i }) => endText(s, i, name) })),
  chart.metric.unit && { name: "cumulative", by: (r) => r.s.place, cell: ({ s, i }) => cumulative(s, s.at[i]) },
  { name: "noise \u03c3", exact: true, by: (r) => r.s.sigma[r.i], cell: ({ s, i }) => sigmaText(s.sigma[i]) },
  { name: "rungs", exact: true, by: (r) => r.s.rungs[r.i], cell: ({ s, i }) => String(s.rungs[i]) },
].filter(Boolean);

// cumulative says which share of the values is below the end of a bucket.
const cumulative = ({ sum, part }, at) => rowsAt(null, sum ? [sum] : [], at).map(({ s, i }) => s.part.text + ": " + valueText(s, i) + ", " + noiseText(s, i))[0] || "";

const inOrder = (a, b) => a.s.at[a.i] - b.s.at[b.i] || a.s.rank - b.s.rank || a.s.place - b.s.place;

function tableRows(list, view) {
  const rows = [];
  for (const s of partsOf(list)) {
    for (let i = view ? find(s, view.first) : 0; i < s.n && (!view || s.at[i] <= view.last); i++) rows.push({ s, i, by: 0 });
  }
  return rows;
}

// Which values a table has: the last ones first.
const scopes = [
  ["last", "last window, all keys", (chart) => [chart.metric.series, { first: chart.metric.newest, last: chart.metric.newest }]],
  ["", "windows and keys of the chart", (chart) => [chart.chosen, inside(chart)]],
  ["all", "windows of the chart, all keys", (chart) => [chart.metric.series, inside(chart)]],
];

function tableOf(chart) {
  let scope = scopes[chart.metric.unit ? 1 : 0];
  const rows = () => tableRows(...scope[2](chart));
  const choice = el("select", { "aria-label": "Values in the table", onchange: () => {
    scope = scopes.find(([name]) => name === choice.value);
    const last = scope[0] === "last", parts = chart.metric.parts; // those of a key stay together
    Object.assign(table, { column: last ? (parts ? 1 : 2) : 0, down: last && !parts });
    fill();
  } }, ...scopes.map((s) => el("option", { value: s[0], selected: s === scope }, s[1])));
  const table = new SortedTable("Values of " + chart.metric.name, columnsOf(chart), inOrder,
    [choice, press("CSV of this table", () => download(chart.metric, rows())), press("CSV of all", () => download(chart.metric, tableRows(chart.metric.series, null)))], "No value in this range.");
  const fill = (first) => box.open && table.show(rows(), first);
  const box = el("details", { open: true, ontoggle: () => fill() }, el("summary", null, "Values"), table.bar, table.scroll);
  chart.listeners.push((renewed) => (renewed || scope[0] !== "last") && fill(renewed ? table.first : 0));
  choice.dispatchEvent(new Event("change"));
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

// written is a time of a window: with Z only where it is that of UTC.
const written = (ms) => root.dataset.zone ? iso(ms).slice(0, -1) : iso(ms);

// withSum has a value and, after a bucket, the share of all values below its end.
const withSum = (r) => [r, ...rowsAt(null, r.s.sum && r.s.sum !== r.s ? [r.s.sum] : [], r.s.at[r.i])];

function csv(m, rows) {
  const lines = ["metric,window_start,window_end,key,value,stddev,low,high,confidence,met,rungs"];
  for (const { s, i } of rows.flatMap(withSum)) {
    lines.push([quoted(s.name), written(m.start(s.at[i])), written(m.end(s.at[i])), quoted(s.key), s.value[i], s.sigma[i], s.low[i], s.high[i],
      s.confidence[i], s.met[i] === 1, s.rungs[i]].join(","));
  }
  return lines.join("\r\n") + "\r\n";
}

const download = (m, rows) => save(m.name, "csv", "text/csv", csv(m, rows.sort(inOrder)));

function save(name, ending, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: url, download: name.replace(/[^A-Za-z0-9._-]+/g, "-") + "." + ending }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
