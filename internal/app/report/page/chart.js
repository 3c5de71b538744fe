// A chart of some keys of a metric, with its controls.

const most = 8; // keys at once
const hour = 36e5, lasts = [[hour, "hour"], [6 * hour, "6 hours"], [day, "day"], [7 * day, "7 days"], [30 * day, "30 days"], [365 * day, "year"]];
const largestOf = (metric) => metric.largest.slice(0, metric.parts ? 3 : 5);

// hue is the colour of a key on show.
const hue = (chart, s) => "var(--s" + chart.colors.get(s.key) + ")";

// mainRow is the value of a key that stands for it: of quantiles the one nearest to the median, of a
// histogram the largest share; undefined if there is none in a window.
function mainRow(m, s, at) {
  const rows = rowsAt(m, m.unit ? s.parts : [s], at);
  return rows.sort((a, b) => b.s.value[b.i] - a.s.value[a.i])[0];
}

class Chart {
  constructor(metric, heading) {
    this.metric = metric;
    this.choice = null; // of the reader; the largest keys are shown until there is one
    this.chosen = largestOf(metric);
    this.colors = new Map();
    this.move(metric.from, metric.to);
    this.scale = metric.fine ? "auto" : "zero";
    this.split = !!metric.parts;
    this.at = -1;
    this.listeners = [];
    this.build(heading);
    this.colour();
  }

  controls() {
    const choice = (text, options, set, kind) => el("label", { class: kind }, text, el("select", { onchange: (e) => { set(e.target.value); this.draw(); } },
      ...options.map(([value, name]) => el("option", { value }, name))));
    const button = (text, label, act) => el("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    const time = choice("time", [], (v) => v ? this.range(this.metric.to - v, this.metric.to) : this.all());
    this.span = time.lastChild;
    return [
      time, button("+", "Zoom in", () => this.zoom(0.5)), button("\u2212", "Zoom out", () => this.zoom(2)),
      choice("scale", [...this.scale === "auto" ? [["auto", "automatic"]] : [], ["zero", "from zero"], ["fit", "fit to values"], ["log", "logarithmic"]], (v) => { this.scale = v; }),
      !this.split && choice("keys", [["", "in one chart"], ["split", "a chart each"]], (v) => { this.split = v !== ""; }, "several"),
      this.saver(),
    ];
  }

  saver() {
    return el("button", { type: "button", onclick: () => save(this.metric.name, "svg", "image/svg+xml", this.file()) }, "Save as SVG");
  }

  role(heading) {
    return { tabindex: "0", role: "application", "aria-roledescription": "chart", "aria-describedby": heading + "-said chart-keys" };
  }

  build(heading) {
    this.bar = el("div", { class: "bar" }, ...this.controls());
    this.picture = node("svg", { ...this.role(heading), "aria-labelledby": heading, class: "picture", "font-family": "system-ui, sans-serif", "font-size": 11 });
    this.cursor = node("g", {});
    for (const [type, act] of Object.entries({
      pointermove: (e) => this.point(e), pointerdown: (e) => this.press(e), pointerup: () => this.release(),
      pointerleave: () => this.drag || this.leave(), dblclick: () => this.all(), keydown: (e) => this.key(e), blur: () => this.leave(),
    })) this.picture.addEventListener(type, act);
    this.tip = el("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.live = el("p", { class: "quiet", "aria-live": "polite", id: heading + "-now" });
    this.when = el("p", { class: "when" });
    this.legend = el("ul", { class: "legend", "aria-label": "Newest values" });
    this.cards = el("div", { class: "cards" }, this.when, this.legend);
    this.said = el("p", { class: "said", id: heading + "-said" });
    this.plot = el("div", { class: "plot" }, this.picture, this.tip);
    this.side = el("div", null, this.plot, this.said, this.live);
  }

  // changed draws what is shown now. Listeners are told whether the values are others, too.
  changed(renewed) {
    this.draw();
    for (const f of this.listeners) f(renewed);
  }

  choose(list) {
    this.chosen = list.slice(0, most);
    this.choice = this.chosen.map((s) => s.key);
    this.changed();
  }

  // A key keeps its colour while it is shown.
  colour() {
    for (const key of [...this.colors.keys()]) if (!this.chosen.some((s) => s.key === key)) this.colors.delete(key);
    const taken = new Set(this.colors.values());
    for (const s of this.chosen) {
      if (this.colors.has(s.key)) continue;
      let i = 0;
      while (taken.has(i)) i++;
      taken.add(i);
      this.colors.set(s.key, i);
    }
  }

  move(from, to) {
    const m = this.metric, least = 2 * m.step, width = Math.min(Math.max(to - from, least), m.to - m.from);
    this.from = Math.min(Math.max(from, m.from), m.to - width);
    this.to = this.from + width;
  }

  range(from, to) {
    this.move(from, to);
    this.changed();
  }

  all() {
    this.range(this.metric.from, this.metric.to);
  }

  zoom(factor) {
    const middle = this.at >= 0 ? this.metric.left(this.at) : (this.from + this.to) / 2, half = (this.to - this.from) * factor / 2;
    this.range(middle - half, middle + half);
  }

  view() {
    const m = this.metric, width = Math.max(this.plot.clientWidth, 200);
    const v = { width, leftEdge: 52, rightEdge: width - (m.ranked ? 48 : 8), from: this.from, to: this.to, scale: this.scale };
    v.x = (t) => v.leftEdge + (t - v.from) / (v.to - v.from) * (v.rightEdge - v.leftEdge);
    v.time = (x) => v.from + (x - v.leftEdge) / (v.rightEdge - v.leftEdge) * (v.to - v.from);
    v.first = Math.max(0, Math.floor((v.from - m.from) / m.step) - (m.sliding ? 1 : Math.ceil(m.size / m.step)));
    v.last = Math.min(m.windows - 1, Math.ceil((v.to - m.from) / m.step));
    v.window = (x) => {
      const at = Math.floor((v.time(x) - m.from) / m.step + (m.sliding ? 0.5 : 0));
      return Math.min(Math.max(at, Math.ceil((v.from - m.from) / m.step - 1e-9), 0), v.last, m.windows - 1);
    };
    return v;
  }

  layout() {
    const panels = [], { parts, series } = this.metric, lists = this.split ? this.chosen.map((s) => [s]) : [this.chosen];
    const phone = this.plot.clientWidth < 500, titled = this.split && series.length > 1;
    const height = !titled || parts && lists.length === 1 ? (phone ? 210 : 280) : parts && !phone ? 150 : 96; // a phone shows a whole chart at once
    let top = 14;
    for (const list of lists) {
      if (titled) top += 16;
      const bottom = top + height;
      panels.push({ series: parts ? partsOf(list) : list, hue: (s) => hue(this, s), top, bottom, title: titled ? list[0].label : "" });
      top = bottom + 8 + list.length * strip + 8;
    }
    return { panels, bottom: top - 6, height: top + 18 };
  }

  draw() {
    this.colour();
    const v = (this.seen = this.view()), l = (this.shape = this.layout()), drawn = node("g", {});
    this.picture.dataset.points = l.panels.reduce((sum, p) => sum + this.paint(drawn, p, v), 0);
    drawn.append(...this.foot(l.bottom, v));
    this.picture.setAttribute("viewBox", "0 0 " + v.width + " " + l.height);
    this.picture.replaceChildren(drawn, this.cursor);
    this.describe(v);
    if (this.span) this.spans();
    this.mark();
  }

  // spans offers the ranges of time that are shorter than all, and selects the one on show.
  spans() {
    const m = this.metric, width = this.to - this.from, all = width >= m.to - m.from;
    const offered = lasts.filter(([ms]) => ms >= 2 * m.step && ms < m.to - m.from);
    const last = this.to >= m.to && offered.find(([ms]) => Math.abs(ms - width) < 1);
    this.span.replaceChildren(...[["", "all"], ...offered.map(([ms, name]) => [ms, "last " + name]), !all && !last && ["other", "as zoomed"]].filter(Boolean)
      .map(([value, name]) => el("option", { value, disabled: value === "other" }, name)));
    this.span.value = all ? "" : last ? last[0] : "other";
  }

  // paint returns how many values it draws.
  paint(into, panel, v) {
    return drawPanel(into, panel, this.metric, v);
  }

  foot(...place) {
    return drawTimes(...place);
  }

  // announce writes the values of a window: of each key on show a card, of the largest a line in the list of metrics.
  announce(at) {
    const m = this.metric, soft = (...text) => el("span", { class: "soft" }, ...text);
    this.when.textContent = (at === m.newest ? "Newest values: " : "Values: ") + windowText(m.start(at), m.end(at)) + " " + zone() + (at ? ", and the change from the window before" : "");
    this.legend.replaceChildren(...this.chosen.map((s) => {
      const r = mainRow(m, s, at), named = m.series.length > 1 || s.key !== "";
      return el("li", null, named && el("span", { class: "key" }, swatch(hue(this, s)), el("bdi", { title: s.label }, s.label)),
        ...r ? [el("b", null, valueText(r.s, r.i)), soft(r.s.lopsided ? noiseText(r.s, r.i) : marginText(r.s, r.i)), m.parts && soft(m.kind + " " + r.s.part.text), change(m, r.s, r.i)] : [soft("no value")]);
    }));
    const first = m.largest[0], r = mainRow(m, first, m.newest);
    if (this.line && r) this.line.replaceChildren(...[m.series.length > 1 && el("bdi", null, first.label), el("b", null, valueText(r.s, r.i)), change(m, r.s, r.i)].filter(Boolean));
  }

  describe(v) {
    const m = this.metric, wide = windowWidth(m, v);
    this.announce(m.newest);
    const strips = !m.aims ? "released" : m.ranked ? "every quantile is as exact as asked, paler where some are, thin where none is" : "as exact as asked, thin where less";
    const said = ["Strips below the lines: full where " + strips + ", empty where there is no value."];
    if (m.ranked) said.push(shadesText(this.chosen));
    if (m.asked) said.push(m.asked + ".");
    if (wide < 2) said.push("There are more windows than pixels: each pixel shows the least and the greatest of about " + Math.max(2, Math.round(1 / wide)) + ". Zoom in to see single windows.");
    if (m.sliding) said.push("Windows overlap; each is drawn at its end.");
    this.said.textContent = said.join(" ");
  }

  // mark draws the cursor and the selection over the chart.
  mark(selection) {
    const v = this.seen, m = this.metric, { bottom, panels } = this.shape, drawn = [];
    if (selection) drawn.push(bar(Math.min(...selection), 8, Math.abs(selection[1] - selection[0]), bottom - 8, "var(--text)", 0.15));
    if (this.at >= 0) {
      const x = m.sliding ? v.x(m.left(this.at)) : (v.x(m.start(this.at)) + v.x(m.end(this.at))) / 2;
      drawn.push(node("path", { d: upright(x, 8, bottom), stroke: "var(--soft)", "stroke-dasharray": "3 3" }));
      for (const p of panels) {
        for (const { s, i } of rowsAt(m, p.series, this.at)) drawn.push(node("circle", { cx: x, cy: p.y(s.value[i]), r: 4, fill: p.hue(s), stroke: "var(--card)" }));
      }
    }
    this.cursor.replaceChildren(...drawn);
  }

  show(at, y) {
    const m = this.metric;
    this.at = at;
    this.mark();
    const panel = this.shape.panels.find((p) => y <= p.bottom + 20) || this.shape.panels[0];
    const rows = rowsAt(m, panel ? panel.series : [], at);
    const near = rows.reduce((best, r) => !best || Math.abs(panel.y(r.s.value[r.i]) - y) < Math.abs(panel.y(best.s.value[best.i]) - y) ? r : best, null);
    this.say(m.ranked && panel ? panel.series.toReversed() : this.chosen, at, near && near.s, this.seen.x(m.left(at)), y);
  }

  say(list, at, near, x, y) {
    this.tip.replaceChildren(...tip(this.metric, list, at, near, (s) => hue(this, s)).filter(Boolean));
    this.tip.hidden = false;
    const width = this.tip.offsetWidth, room = this.plot.clientWidth;
    const right = x + 18 + width <= room;
    this.tip.style.left = Math.max(0, right ? x + 18 : Math.min(x - width - 12, room - width)) + "px";
    this.tip.style.top = Math.max(0, Math.min(y + 12, this.shape.height - this.tip.offsetHeight)) + "px";
  }

  leave() {
    this.at = -1;
    this.tip.hidden = true;
    this.mark();
  }

  point(e) {
    const box = this.picture.getBoundingClientRect(), x = e.clientX - box.left;
    if (this.drag && Math.abs(x - this.drag.x) > 4) {
      this.drag.to = x;
      this.leave();
      this.mark([this.drag.x, x]);
      return;
    }
    if (x < this.seen.leftEdge || x > this.seen.rightEdge) return this.leave();
    this.show(this.seen.window(x), e.clientY - box.top);
  }

  press(e) {
    const x = e.clientX - this.picture.getBoundingClientRect().left;
    if (e.pointerType === "mouse" && e.button === 0 && x >= this.seen.leftEdge) {
      this.drag = { x };
      this.picture.setPointerCapture(e.pointerId);
    }
    this.point(e);
  }

  release() {
    const d = this.drag;
    this.drag = null;
    if (!d || d.to == null) return;
    const v = this.seen, [from, to] = [d.x, d.to].map((x) => v.time(Math.min(Math.max(x, v.leftEdge), v.rightEdge))).sort((a, b) => a - b);
    this.range(from, to);
  }

  key(e) {
    const m = this.metric, first = this.seen.window(this.seen.leftEdge), last = this.seen.window(this.seen.rightEdge);
    const big = Math.max(1, Math.round((last - first) / 10));
    const move = { ArrowLeft: -1, ArrowRight: 1, PageUp: -big, PageDown: big }[e.key];
    if (move) this.step(this.at < 0 ? (move > 0 ? first : last) : this.at + move);
    else if (e.key === "Home") this.step(0);
    else if (e.key === "End") this.step(m.windows - 1);
    else if (e.key === "+" || e.key === "=") this.zoom(0.5);
    else if (e.key === "-") this.zoom(2);
    else if (e.key === "Escape") this.leave();
    else return;
    e.preventDefault();
  }

  // step shows a window, and moves the range so that it is seen.
  step(at) {
    const m = this.metric, to = Math.min(Math.max(at, 0), m.windows - 1), t = m.left(to), end = m.end(to), width = this.to - this.from;
    if (t < this.from) this.range(t, t + width);
    else if (end > this.to) this.range(end - width, end);
    this.show(to, 40);
    this.live.textContent = spoken(m, this.chosen, to);
  }

  // file is the chart as a picture of its own, with its title and its keys.
  file() {
    const v = this.seen, l = this.shape, m = this.metric, row = 18, top = 26, height = top + l.height + row * (this.chosen.length + 0.5);
    const title = m.name + ", " + windowText(Math.round(v.from), Math.round(v.to)) + " " + zone();
    const keys = this.chosen.flatMap((s, i) => {
      const y = l.height + row * (i + 0.75);
      return [bar(v.leftEdge, y - 9, 14, 9, hue(this, s)), label(v.leftEdge + 20, y, s.label, { fill: "var(--text)", "font-size": 12 })];
    });
    const picture = node("svg", { width: v.width, height, viewBox: [0, -top, v.width, height], "font-family": "system-ui, sans-serif", "font-size": 11 },
      bar(0, -top, v.width, height, "var(--card)"), this.picture.firstChild.cloneNode(true), drawTitle({ title, top: 0 }, v), ...keys);
    this.plot.append(picture);
    return saved(picture);
  }
}
