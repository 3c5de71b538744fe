// The address of a page holds what its reader looks at: a metric, the chosen keys, the range of time.
// It is the part after #, which no server sees.

let pending = 0;

function remember(chart) {
  const m = chart.metric, all = chart.to - chart.from >= m.to - m.from, view = new URLSearchParams({ metric: m.name });
  for (const key of chart.choice || []) view.append("key", key);
  if (!all && chart.to >= m.to) view.set("last", Math.round((chart.to - chart.from) / 1e3) + "s");
  else if (!all) Object.entries({ from: chart.from, to: chart.to }).forEach(([name, ms]) => view.set(name, iso(Math.round(ms))));
  const before = location.hash; // a link that the reader follows meanwhile is newer
  clearTimeout(pending);
  pending = setTimeout(() => location.hash === before && history.replaceState(null, "", "#" + view), 200);
}

// recall shows what the address holds, and moves there unless the reader is to stay.
function recall(stay) {
  const view = new URLSearchParams(location.hash.slice(1)), chart = charts.find((c) => c.metric.name === view.get("metric"));
  const lost = (what) => document.getElementById("values").before(el("p", { class: "mark lost", role: "status" }, "The link is about a " + what + " without values on this page."));
  document.querySelectorAll(".lost").forEach((e) => e.remove());
  if (!chart) return view.has("metric") && lost("metric");
  const wanted = view.getAll("key"), m = chart.metric, keys = m.series.filter((s) => wanted.includes(s.key)), last = 1e3 * parseFloat(view.get("last"));
  const [from, to] = last > 0 ? [m.to - last, m.to] : ["from", "to"].map((name) => Date.parse(view.get(name)));
  if (keys.length) chart.choose(keys);
  if (keys.length < wanted.length) lost("key");
  if (from < to) chart.range(from, to);
  if (!stay) chart.cards.closest("section").scrollIntoView();
}
