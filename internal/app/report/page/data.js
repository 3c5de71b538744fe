// The data block: columns of whole numbers, spread out here.

const unit = 1024;

function spread(runs, into) {
  for (let r = 0, i = 0; r < runs.length; r += 2) {
    for (let j = 0; j < runs[r + 1]; j++) into[i++] = runs[r] + j;
  }
  return into;
}

function repeat(runs, into) {
  for (let r = 0, i = 0; r < runs.length; r += 2) {
    into.fill(runs[r], i, i + runs[r + 1]);
    i += runs[r + 1];
  }
  return into;
}

function series(metric, k, rank) {
  const n = k.value.length, place = k.part || 0, part = metric.parts ? metric.parts[place] : metric;
  const s = {
    rank, place, part, key: k.key, name: part.name, unit: metric.unit, fine: metric.fine, lopsided: metric.lopsided, label: k.key === "" ? metric.nokey : shown(k.key), n,
    at: spread(k.at, new Int32Array(n)), value: new Float64Array(n), low: new Float64Array(n), high: new Float64Array(n),
    sigma: Float64Array.from(k.sigma), rungs: Int32Array.from(k.rungs), met: new Uint8Array(n).fill(1),
    confidence: repeat(k.confidence, new Float64Array(n)), size: 0,
  };
  for (let i = 0; i < n; i++) {
    s.value[i] = k.value[i] / unit;
    s.low[i] = (k.value[i] - k.below[i]) / unit;
    s.high[i] = (k.value[i] + k.above[i]) / unit;
    s.size += s.value[i];
  }
  if (metric.fine && n) s.size /= n; // a sum of means says nothing
  if (metric.sized) s.size = k.size || 0;
  if (!metric.aims) s.met.fill(2); // neither met nor missed
  else for (let r = 0; r < k.missed.length; r += 2) s.met.fill(0, k.missed[r], k.missed[r] + k.missed[r + 1]);
  return s;
}

// together puts the statistics of a key into parts of one of them: of quantiles the one nearest to the
// median. A bucket has the share of all values below its end beside it. Every other series is its own
// and only part.
function together(all) {
  const keys = new Map();
  for (const s of all) keys.set(s.key, [...keys.get(s.key) || [], s]);
  return [...keys.values()].map((parts, rank) => {
    parts.sort((a, b) => a.place - b.place);
    for (const s of parts) {
      s.rank = rank;
      s.sum = s.place ? parts.find((t) => t.part.sum && t.part.edges[1] === s.part.edges[1]) : s;
    }
    const middle = parts.reduce((a, b) => Math.abs(b.part.quantile - 0.5) < Math.abs(a.part.quantile - 0.5) ? b : a);
    middle.parts = parts.filter((s) => !s.part.sum);
    return middle;
  });
}

const partsOf = (list) => list.flatMap((s) => s.parts);

function load(metric) {
  const m = { ...metric, keys: null }, first = metric.parts && metric.parts[0];
  m.kind = !first ? "key" : first.edges ? "bucket" : "quantile"; // of the series that share a panel
  m.ranked = m.kind === "quantile";
  m.unit = first && first.edges ? "%" : "";
  m.all = metric.keys.map((k, i) => series(m, k, i));
  m.series = together(m.all);
  m.largest = [...m.series].sort((a, b) => b.size - a.size || a.rank - b.rank);
  m.points = m.all.reduce((sum, s) => sum + s.n, 0);
  m.sliding = m.slide < m.size;
  m.newest = m.all.reduce((at, s) => Math.max(at, s.at[s.n - 1]), 0); // window with values
  m.start = (i) => m.first + i * m.step;
  m.end = (i) => m.first + i * m.step + m.size;
  // Where a window stands on the axis: as wide as it is, or, where windows
  // overlap, at its end.
  m.left = (i) => m.sliding ? m.end(i) : m.start(i);
  m.from = m.left(0);
  m.to = m.sliding && m.windows > 1 ? m.end(m.windows - 1) : m.end(m.windows - 1) + (m.sliding ? m.step : 0);
  return m;
}

// find is the index of a window in a series, or the index at which it would stand.
function find(s, at) {
  let low = 0, high = s.n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (s.at[middle] < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

const indexAt = (s, at) => {
  const i = find(s, at);
  return i < s.n && s.at[i] === at ? i : -1;
};
