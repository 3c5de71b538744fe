// What is said about one window: beside the pointer, and to screen readers.

function rowsAt(metric, chosen, at) {
  return chosen.map((s) => ({ s, i: indexAt(s, at) })).filter((r) => r.i >= 0);
}

function tip(metric, chosen, at, near, colorOf) {
  const rows = rowsAt(metric, chosen, at);
  const cell = (tag, text) => el(tag, null, text);
  const body = rows.map(({ s, i }) => {
    const name = el("td", null, swatch(colorOf(s)), " ", brief(metric.parts ? s.part.text : s.label));
    if (s === near) name.style.fontWeight = "600";
    return el("tr", null, name, cell("td", valueText(s, i)), cell("td", s.lopsided ? noiseText(s, i) : marginText(s, i)),
      el("td", { class: "exact" }, "\u03c3 " + sigmaText(s.sigma[i]) + ", " + s.rungs[i] + " rungs"),
      metric.aims && cell("td", s.met[i] ? "as asked" : "less exact"));
  });
  const absent = chosen.length - rows.length;
  const sure = rows.length ? percent(rows[0].s.confidence[rows[0].i]) : "";
  const confidence = sure && (metric.lopsided ? sure + " interval" : "noise at " + sure);
  return [
    el("strong", null, windowText(metric.start(at), metric.end(at)) + " " + zone(), metric.parts && metric.series.length > 1 && el("bdi", null, ": " + chosen[0].label)),
    rows.length ? el("table", null,
      el("thead", null, el("tr", null, ...["", "value", confidence].map((t) => cell("th", t)), el("th", { class: "exact" }, "\u03c3, rungs"), metric.aims && cell("th", "exactness"))),
      el("tbody", null, ...body)) : null,
    absent ? cell("span", rows.length ? absent + " of the " + metric.kind + "s" + " not released in this window" : "Nothing released in this window") : null,
  ];
}

function spoken(metric, chosen, at) {
  const rows = rowsAt(metric, chosen, at), said = rows.slice(0, 3).map(({ s: key }) => named(key.label) + " " + rowsAt(metric, key.parts, at).map(({ s, i }) => {
    return (metric.parts ? metric.kind + " " + s.part.text + ": " : "") + valueText(s, i) + ", " + noiseText(s, i) + (s.met[i] ? "" : ", less exact than asked");
  }).join(", "));
  if (rows.length > 3) said.push("more keys: " + (rows.length - 3));
  return windowText(metric.start(at), metric.end(at)) + ": " + (said.join("; ") || "nothing released");
}

// change says by how much a value differs from that of the window before, unless noise alone could
// move the two values so far apart.
function change(m, s, i) {
  const before = indexAt(s, s.at[i] - Math.max(1, Math.round(m.slide / m.step)));
  const note = (sign, text) => el("span", { class: "change" }, sign && el("span", { "aria-hidden": "true" }, sign), text);
  if (before < 0) return note("", "no value in the window before");
  const by = s.value[i] - s.value[before], error = Math.hypot(margin(s, i), margin(s, before)), old = s.value[before];
  if (Math.abs(by) <= error) return note("", "no clear change");
  const percent = !s.unit && old > 2 * margin(s, before);
  return note(by > 0 ? "\u25b2 " : "\u25bc ", (by > 0 ? "+" : "\u2212") + (percent ? +(100 * Math.abs(by) / old).toPrecision(2) + "%" : number(Math.abs(by), error, s.fine) + (s.unit && " points")));
}

function swatch(color, opacity = 1) {
  const e = el("span", { class: "swatch", "aria-hidden": "true" });
  Object.assign(e.style, { background: color, opacity });
  return e;
}
