// Drawing. A panel shows some series over a range of time; below it a strip for
// each series says where it is as exact as asked, less so, or nothing was released.

const strip = 9; // height of a strip with its gap

// windowWidth is how many pixels there are from one window to the next.
const windowWidth = (metric, view) => view.x(metric.slide) - view.x(0);

// pieces are what there is to draw of a series: lists without a gap of
// { x0, x1, v0, v1, low, high, met, missed }. A window is a piece of its own
// while it is two pixels wide; else a pixel spans the least and the greatest.
function pieces(metric, s, view) {
  const lists = [];
  const wide = windowWidth(metric, view), own = wide >= 2;
  const gap = Math.max(1, Math.round(metric.slide / metric.step));
  let list = null, last = null, before = -1, drawn = 0;
  for (let i = find(s, view.first); i < s.n && s.at[i] <= view.last; i++, drawn++) {
    const at = s.at[i], x0 = view.x(metric.left(at));
    const whole = own || !last || before < 0 || Math.floor(x0) !== Math.floor(last.x0);
    if (!whole) {
      last.v0 = Math.min(last.v0, s.value[i]);
      last.v1 = Math.max(last.v1, s.value[i]);
      last.low = Math.min(last.low, s.low[i]);
      last.high = Math.max(last.high, s.high[i]);
    } else {
      if (!list || (own ? at - before > gap : x0 - last.x0 > Math.max(2, 1.5 * wide))) lists.push((list = []));
      const x1 = !own ? x0 + 1 : metric.sliding ? x0 : view.x(metric.end(at));
      last = { x0, x1, v0: s.value[i], v1: s.value[i], low: s.low[i], high: s.high[i], met: false, missed: false };
      list.push(last);
    }
    last[s.met[i] ? "met" : "missed"] = true;
    before = at;
  }
  return { lists, own, wide, drawn };
}

// bounds of the values on show, with their intervals unless these are not drawn. From zero, unless
// the view says otherwise or leaves it to the values and these are far from zero.
function bounds(shownSeries, view, bare) {
  let low = Infinity, high = -Infinity, error = Infinity;
  for (const s of shownSeries) {
    for (let i = find(s, view.first); i < s.n && s.at[i] <= view.last; i++) {
      low = Math.min(low, bare ? s.value[i] : s.low[i]);
      high = Math.max(high, bare ? s.value[i] : s.high[i]);
      error = Math.min(error, s.high[i] - s.value[i]);
    }
  }
  if (low > high) return { low: 0, high: 1, error: 1 };
  const far = Math.max(low, -high) > high - low;
  if (view.scale !== "fit" && !(view.scale === "auto" && far)) {
    low = Math.min(low, 0);
    high = Math.max(high, 0);
  }
  return { low, high, error };
}

// drawPanel returns how many values it draws.
function drawPanel(into, panel, metric, view) {
  const room = metric.ranked ? Math.min(12, (windowWidth(metric, view) - 4) / panel.series.length) : 0; // for the interval of a quantile
  const b = bounds(panel.series, view, metric.ranked && room < 3);
  const scale = view.scale === "log" ? logarithmic(b.low, b.high, b.error) : linear(b.low, b.high);
  const y = (v) => panel.bottom - scale.map(v) * (panel.bottom - panel.top);
  panel.y = y;
  const box = { x: view.leftEdge, y: panel.top - 6, width: view.rightEdge - view.leftEdge, height: panel.bottom - panel.top + 12 };
  const inside = node("svg", { ...box, viewBox: Object.values(box) });
  const all = panel.series.map((s) => ({ s, ...pieces(metric, s, view), color: panel.hue(s) }));
  if (metric.ranked) inside.append(...drawQuantiles(all, y, room));
  else inside.append(...all.map((p) => drawBand(p, y)));
  for (const p of all) inside.append(...drawLine(p, y, metric, metric.ranked && !p.s.parts ? 0.6 : 1));
  into.append(...drawAxis(panel, scale, y, view), inside, drawTitle(panel, view));
  if (metric.ranked) into.append(...drawNames(all, y, view));
  const strips = metric.ranked ? [ofAll(all)] : all;
  strips.forEach((p, row) => into.append(...drawStrip(p, panel.bottom + 5 + row * strip, metric, view)));
  return all.reduce((sum, p) => sum + p.drawn, 0);
}

const drawTitle = (panel, view) => label(view.leftEdge + 2, panel.top - 9, panel.title, { fill: "var(--text)", "font-size": 12, "font-weight": 600 });

function drawAxis(panel, scale, y, view) {
  let free = Infinity;
  return scale.ticks.flatMap((v) => {
    const at = Math.round(y(v)) + 0.5, grid = stroke("M" + view.leftEdge + " " + at + "H" + view.rightEdge, v === 0 ? "var(--line)" : "var(--grid)");
    if (free - at < 13) return [grid];
    free = at;
    return [grid, label(view.leftEdge - 7, at, short(v), { "text-anchor": "end", "dominant-baseline": "central" })];
  });
}

// route is a path through points.
const route = (points) => points.map(([x, y], i) => (i ? "L" : "M") + x.toFixed(2) + " " + y.toFixed(2)).join("");
const upright = (x, y0, y1) => route([[x, y0], [x, y1]]);

// nested are the pairs of quantiles that lie around the median, from the outermost one on.
const nested = (quantiles) => quantiles.filter((a) => a < 0.5).map((a) => [a, quantiles.find((b) => Math.abs(a + b - 1) < 1e-9)]).filter(([, b]) => b);

// shadesOf says how dark the space above each quantile but the last one is: the darker, the more
// pairs lie around it, and lightest outside of all.
function shadesOf(quantiles) {
  return quantiles.slice(1).map((upper, i) => Math.max(0.1, 0.2 * nested(quantiles).filter(([a, b]) => a <= quantiles[i] && upper <= b).length));
}

// shadesText says what the shaded spaces of some keys are.
function shadesText(keys) {
  const pairs = nested(keys.length ? keys[0].parts.map((s) => s.part.quantile) : []).map(([a, b]) => percent(a) + " to " + percent(b));
  const spaces = pairs.length ? "Bands lie between quantiles: " + pairs.join(", then darker ") + "." : "The space between two quantiles is shaded.";
  return spaces + " Thin vertical lines, where there is room, are the intervals of the quantiles.";
}

// drawQuantiles shades the spaces between neighbours, and draws the interval of each quantile as a
// whisker, side by side, where a window has room for them.
function drawQuantiles(all, y, room) {
  const shades = shadesOf(all.map((p) => p.s.part.quantile)).map((shade, i) => drawBand({ color: all[i].color, lists: between(all[i], all[i + 1]) }, y, shade));
  return room < 3 ? shades : [...shades, ...all.map((p, i) => {
    const shift = (i - (all.length - 1) / 2) * room;
    return stroke(p.lists.flat().map((q) => upright((q.x0 + q.x1) / 2 + shift, y(q.low), y(q.high))).join(""), p.color, 1, 0.7);
  })];
}

const byPlace = (p) => new Map(p.lists.flat().map((q) => [q.x0, q]));

// between has the spaces between two quantiles, where both were released. Of two that noise has put
// the wrong way round the space is drawn all the same.
function between(lower, upper) {
  const under = byPlace(lower);
  return upper.lists.map((list) => list.filter((q) => under.has(q.x0)).map((q) => {
    return { x0: q.x0, x1: q.x1, low: Math.min(under.get(q.x0).v0, q.v0), high: Math.max(under.get(q.x0).v1, q.v1) };
  }));
}

// ofAll says of all quantiles of a key together where they are as exact as asked.
function ofAll([first, ...others]) {
  for (const p of others) {
    const at = byPlace(p);
    for (const q of first.lists.flat()) {
      const other = at.get(q.x0);
      if (other) Object.assign(q, { met: q.met || other.met, missed: q.missed || other.missed });
    }
  }
  return first;
}

// drawNames writes beside the end of each line which quantile it is.
function drawNames(all, y, view) {
  let before = Infinity;
  return all.filter((p) => p.lists.length).map((p) => {
    before = Math.min(y(p.lists.at(-1).at(-1).v1) + 4, before - 11);
    return label(view.rightEdge + 4, before, p.s.part.text);
  });
}

function drawBand(p, y, shade = 0.2) {
  const around = (list) => route([...list.flatMap((q) => [[q.x0, y(q.high)], [q.x1, y(q.high)]]), ...list.toReversed().flatMap((q) => [[q.x1, y(q.low)], [q.x0, y(q.low)]])]);
  return node("path", { d: p.lists.map(around).join(""), fill: p.color, "fill-opacity": shade });
}

function drawLine(p, y, metric, weight) {
  const along = (list) => route(list.flatMap((q) => [[q.x0, y(q.v1)], ...q.v0 !== q.v1 ? [[q.x0, y(q.v0)]] : [], ...p.own ? [[q.x1, y(q.v0)]] : []]));
  const width = (p.own ? 1.8 : 1.2) * weight, alone = metric.sliding ? p.lists.filter((list) => list.length === 1).flat() : [];
  return [
    stroke(p.lists.map(along).join(""), p.color, width),
    ...alone.flatMap((q) => [stroke(upright(q.x0, y(q.low), y(q.high)), p.color, width), node("circle", { cx: q.x0, cy: y(q.v0), r: 2.5, fill: p.color })]),
  ];
}

function drawStrip(p, top, metric, view) {
  const drawn = [bar(view.leftEdge, top + 2.5, view.rightEdge - view.leftEdge, 1, "var(--grid)")], apart = p.own && p.wide > 5 ? 1 : 0;
  for (const list of p.lists) {
    for (let i = 0, j; i < list.length; i = j) {
      const q = list[i];
      for (j = i + 1; !apart && j < list.length && list[j].met === q.met && list[j].missed === q.missed;) j++;
      const shift = p.own && metric.sliding ? p.wide / 2 : 0, end = j < list.length ? list[j].x0 : list[j - 1].x0 + (p.own ? p.wide : 1);
      const x0 = Math.max(view.leftEdge, q.x0 - shift), width = Math.min(view.rightEdge, end - shift - apart) - x0;
      if (width > 0) drawn.push(bar(x0, q.met ? top : top + 1.5, width, q.met ? 6 : 3, p.color, q.met && !q.missed ? 1 : q.met ? 0.7 : 0.45));
    }
  }
  return drawn;
}

function drawTimes(bottom, view) {
  return timeTicks(view.from, view.to, Math.max(2, Math.floor((view.rightEdge - view.leftEdge) / 70))).flatMap(({ at, text }) => {
    const x = Math.round(view.x(at)) + 0.5, half = halfWidth(text);
    return [stroke(upright(x, bottom, bottom + 4), "var(--line)"), label(Math.min(Math.max(x, half), view.width - half), bottom + 16, text, { "text-anchor": "middle" })];
  });
}
