// What is said about one window: beside the pointer, and to screen readers.

function rowsAt(metric, chosen, at) {
  return chosen.map((s) => ({ s, i: indexAt(s, at) })).filter((r) => r.i >= 0);
}

function tip(metric, chosen, at, near, colorOf) {
  const rows = rowsAt(metric, chosen, at);
  const cell = (tag, text) => el(tag, null, text);
  const body = rows.map(({ s, i }) => {
    const margin = s.high[i] - s.value[i], name = el("td", null, swatch(colorOf(s)), " ", el("bdi", null, s.label));
    if (s === near) name.style.fontWeight = "600";
    return el("tr", null, name, cell("td", number(s.value[i], margin)),
      cell("td", number(s.low[i], margin) + " to " + number(s.high[i], margin)),
      cell("td", sigmaText(s.sigma[i])), cell("td", String(s.rungs[i])), metric.aims && cell("td", s.met[i] ? "met" : "missed"));
  });
  const absent = chosen.length - rows.length;
  const confidence = rows.length ? percent(rows[0].s.confidence[rows[0].i]) + " interval" : "";
  return [
    el("strong", null, windowText(metric.start(at), metric.end(at)) + " UTC"),
    rows.length ? el("table", null,
      el("thead", null, el("tr", null, ...["", "value", confidence, "noise \u03c3", "rungs", metric.aims && "target"].map((t) => t === false ? t : cell("th", t)))),
      el("tbody", null, ...body)) : null,
    absent ? cell("span", rows.length ? absent + " of the keys not released in this window" : "Nothing released in this window") : null,
  ];
}

function spoken(metric, chosen, at) {
  const rows = rowsAt(metric, chosen, at), said = rows.slice(0, 3).map(({ s, i }) => {
    const margin = s.high[i] - s.value[i];
    return s.label + " " + number(s.value[i], margin) + ", " + number(s.low[i], margin) + " to " + number(s.high[i], margin) +
      (s.met[i] ? "" : ", target missed");
  });
  if (rows.length > 3) said.push("more keys: " + (rows.length - 3));
  return windowText(metric.start(at), metric.end(at)) + ": " + (said.join("; ") || "nothing released");
}

function swatch(color) {
  const e = el("span", { class: "swatch", "aria-hidden": "true" });
  e.style.background = color;
  return e;
}
