// Drawing. A panel shows some series over a range of time; below it a strip for
// each series says where it is as exact as asked, less so, or nothing was released.

const font = (px) => px + "px system-ui, sans-serif";
const strip = 9; // height of a strip with its gap

const palette = (element) => {
  const style = getComputedStyle(element), color = (name) => style.getPropertyValue("--" + name).trim();
  return {
    ...Object.fromEntries(["text", "soft", "grid", "line", "card"].map((name) => [name, color(name)])),
    series: [0, 1, 2, 3, 4, 5, 6, 7].map((i) => color("s" + i)),
  };
};

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

function drawPanel(c, panel, metric, view, colors) {
  const room = metric.ranked ? Math.min(12, (windowWidth(metric, view) - 4) / panel.series.length) : 0; // for the interval of a quantile
  const b = bounds(panel.series, view, metric.ranked && room < 3);
  const scale = view.scale === "log" ? logarithmic(b.low, b.high, b.error) : linear(b.low, b.high);
  const y = (v) => panel.bottom - scale.map(v) * (panel.bottom - panel.top);
  panel.y = y;
  drawAxis(c, panel, scale, y, view, colors);
  c.save();
  c.beginPath();
  c.rect(view.leftEdge, panel.top - 6, view.rightEdge - view.leftEdge, panel.bottom - panel.top + 12);
  c.clip();
  const all = panel.series.map((s) => ({ s, ...pieces(metric, s, view), color: colors.series[panel.colors.get(s.key)] }));
  if (metric.ranked) drawQuantiles(c, all, y, metric, room);
  else for (const p of all) drawBand(c, p, y);
  for (const p of all) drawLine(c, p, y, metric, metric.ranked && !p.s.parts ? 0.6 : 1);
  c.restore();
  if (metric.ranked) drawNames(c, all, y, view, colors);
  const strips = metric.ranked ? [ofAll(all)] : all;
  strips.forEach((p, row) => drawStrip(c, p, panel.bottom + 5 + row * strip, metric, view, colors));
  drawTitle(c, panel, view, colors);
  return all.reduce((sum, p) => sum + p.drawn, 0);
}

function drawTitle(c, panel, view, colors) {
  c.font = "600 " + font(12);
  c.fillStyle = colors.text;
  c.textAlign = "left";
  c.fillText(panel.title, view.leftEdge + 2, panel.top - 9, view.rightEdge - view.leftEdge);
}

function drawAxis(c, panel, scale, y, view, colors) {
  c.font = font(11);
  c.textAlign = "right";
  c.textBaseline = "middle";
  c.lineWidth = 1;
  let lastY = Infinity;
  for (const v of scale.ticks) {
    const at = Math.round(y(v)) + 0.5;
    c.strokeStyle = v === 0 ? colors.line : colors.grid;
    line(c, view.leftEdge, at, view.rightEdge, at);
    if (lastY - at < 13) continue;
    c.fillStyle = colors.soft;
    c.fillText(short(v), view.leftEdge - 7, at);
    lastY = at;
  }
  c.textBaseline = "alphabetic";
}

function line(c, x0, y0, x1, y1) {
  c.beginPath();
  c.moveTo(x0, y0);
  c.lineTo(x1, y1);
  c.stroke();
}

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
function drawQuantiles(c, all, y, metric, room) {
  const shades = shadesOf(all.map((p) => p.s.part.quantile));
  shades.forEach((shade, i) => drawBand(c, { color: all[i].color, lists: between(all[i], all[i + 1]) }, y, shade));
  if (room < 3) return;
  c.lineWidth = 1;
  c.globalAlpha = 0.7;
  all.forEach((p, i) => {
    c.strokeStyle = p.color;
    for (const q of p.lists.flat()) {
      const x = (q.x0 + q.x1) / 2 + (i - (all.length - 1) / 2) * room;
      line(c, x, y(q.low), x, y(q.high));
    }
  });
  c.globalAlpha = 1;
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
function drawNames(c, all, y, view, colors) {
  const names = all.filter((p) => p.lists.length).map((p) => ({ text: p.s.part.text, y: y(p.lists.at(-1).at(-1).v1) + 4 }));
  c.font = font(11);
  c.textAlign = "left";
  c.fillStyle = colors.soft;
  let before = Infinity;
  for (const name of names) {
    before = Math.min(name.y, before - 11);
    c.fillText(name.text, view.rightEdge + 4, before);
  }
}

function drawBand(c, p, y, shade = 0.2) {
  c.fillStyle = p.color;
  c.globalAlpha = shade;
  for (const list of p.lists) {
    c.beginPath();
    for (const q of list) {
      c.lineTo(q.x0, y(q.high));
      c.lineTo(q.x1, y(q.high));
    }
    for (let i = list.length - 1; i >= 0; i--) {
      c.lineTo(list[i].x1, y(list[i].low));
      c.lineTo(list[i].x0, y(list[i].low));
    }
    c.fill();
  }
  c.globalAlpha = 1;
}

function drawLine(c, p, y, metric, weight) {
  c.strokeStyle = p.color;
  c.lineWidth = (p.own ? 1.8 : 1.2) * weight;
  c.lineJoin = "round";
  for (const list of p.lists) {
    c.beginPath();
    for (const q of list) {
      c.lineTo(q.x0, y(q.v1));
      if (q.v0 !== q.v1) c.lineTo(q.x0, y(q.v0));
      if (p.own) c.lineTo(q.x1, y(q.v0));
    }
    c.stroke();
    if (list.length === 1 && metric.sliding) drawAlone(c, list[0], y, p.color);
  }
}

// drawAlone is a point between two gaps.
function drawAlone(c, q, y, color) {
  line(c, q.x0, y(q.low), q.x0, y(q.high));
  c.fillStyle = color;
  c.beginPath();
  c.arc(q.x0, y(q.v0), 2.5, 0, 7);
  c.fill();
}

function drawStrip(c, p, top, metric, view, colors) {
  c.fillStyle = colors.grid;
  c.fillRect(view.leftEdge, top + 2.5, view.rightEdge - view.leftEdge, 1);
  const apart = p.own && p.wide > 5 ? 1 : 0;
  for (const list of p.lists) {
    for (let i = 0, j; i < list.length; i = j) {
      const q = list[i];
      for (j = i + 1; !apart && j < list.length && list[j].met === q.met && list[j].missed === q.missed;) j++;
      const shift = p.own && metric.sliding ? p.wide / 2 : 0, end = j < list.length ? list[j].x0 : list[j - 1].x0 + (p.own ? p.wide : 1);
      const x0 = Math.max(view.leftEdge, q.x0 - shift), width = Math.min(view.rightEdge, end - shift - apart) - x0;
      if (width <= 0) continue;
      c.fillStyle = p.color;
      c.globalAlpha = q.met && !q.missed ? 1 : q.met ? 0.7 : 0.45;
      c.fillRect(x0, q.met ? top : top + 1.5, width, q.met ? 6 : 3);
      c.globalAlpha = 1;
    }
  }
}

function drawTimes(c, bottom, view, colors) {
  c.font = font(11);
  c.textAlign = "center";
  const ticks = timeTicks(view.from, view.to, Math.max(2, Math.floor((view.rightEdge - view.leftEdge) / 70)));
  for (const t of ticks) {
    const x = Math.round(view.x(t.at)) + 0.5;
    c.strokeStyle = colors.line;
    line(c, x, bottom, x, bottom + 4);
    c.fillStyle = colors.soft;
    const half = c.measureText(t.text).width / 2;
    c.fillText(t.text, Math.min(Math.max(x, half), view.width - half), bottom + 16);
  }
}
