// What is said about one window: beside the pointer, and to screen readers.

function rowsAt(metric, chosen, at) {
  return chosen.map((s) => ({ s, i: indexAt(s, at) })).filter((r) => r.i >= 0);
}

function tip(metric, chosen, at, near, colorOf) {
  const rows = rowsAt(metric, chosen, at);
  const cell = (tag, text) => el(tag, null, text);
  const body = rows.map(({ s, i }) => {
    const name = el("td", null, swatch(colorOf(s)), " ", el("bdi", null, s.label));
    if (s === near) name.style.fontWeight = "600";
    return el("tr", null, name, cell("td", valueText(s, i)), cell("td", marginText(s, i)),
      el("td", { class: "exact" }, "\u03c3 " + sigmaText(s.sigma[i]) + ", " + s.rungs[i] + " rungs"),
      metric.aims && cell("td", s.met[i] ? "as asked" : "less exact"));
  });
  const absent = chosen.length - rows.length;
  const confidence = rows.length ? "noise at " + percent(rows[0].s.confidence[rows[0].i]) : "";
  return [
    el("strong", null, windowText(metric.start(at), metric.end(at)) + " " + zone()),
    rows.length ? el("table", null,
      el("thead", null, el("tr", null, ...["", "value", confidence].map((t) => cell("th", t)), el("th", { class: "exact" }, "\u03c3, rungs"), metric.aims && cell("th", "exactness"))),
      el("tbody", null, ...body)) : null,
    absent ? cell("span", rows.length ? absent + " of the keys not released in this window" : "Nothing released in this window") : null,
  ];
}

function spoken(metric, chosen, at) {
  const rows = rowsAt(metric, chosen, at), said = rows.slice(0, 3).map(({ s, i }) => {
    return named(s.label) + " " + valueText(s, i) + ", noise " + marginText(s, i) +
      (s.met[i] ? "" : ", less exact than asked");
  });
  if (rows.length > 3) said.push("more keys: " + (rows.length - 3));
  return windowText(metric.start(at), metric.end(at)) + ": " + (said.join("; ") || "nothing released");
}

function swatch(color) {
  const e = el("span", { class: "swatch", "aria-hidden": "true" });
  e.style.background = color;
  return e;
}
