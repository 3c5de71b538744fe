// A chart of histograms: for each of some keys a panel with a bar for each bucket, of one window.

class Histogram extends Chart {
  // The window on show is the one that the range ends with.
  window() {
    const m = this.metric;
    return Math.min(Math.max(Math.round((this.to - m.size - m.first) / m.step), 0), m.newest);
  }

  move(from, to) {
    this.to = to;
    this.from = this.metric.left(this.window());
    this.to = this.metric.end(this.window());
  }

  controls() {
    this.slider = el("input", { type: "range", min: "0", oninput: () => this.range(0, this.metric.end(+this.slider.value)) });
    this.name = el("output");
    return [el("label", null, "window", this.slider, this.name), this.saver()];
  }

  role(heading) {
    return { role: "img", "aria-describedby": heading + "-said " + heading + "-now" };
  }

  view() {
    const at = this.window(), v = { ...super.view(), first: at, last: at, scale: "zero" };
    v.x = (part) => v.leftEdge + part * (v.rightEdge - v.leftEdge);
    return v;
  }

  paint(into, panel, v) {
    const parts = panel.series, n = parts.length, b = bounds(parts, v), scale = linear(b.low, b.high);
    const y = (share) => panel.bottom - scale.map(share) * (panel.bottom - panel.top), wide = v.x(1 / n) - v.x(0);
    const rows = rowsAt(this.metric, parts, v.first);
    into.append(...drawAxis(panel, scale, y, v), drawTitle(panel, v));
    for (const { s, i } of rows) {
      const x = v.x(s.place / n), [low, high] = [0, s.value[i]].map(y).sort((a, b) => b - a);
      into.append(bar(x + wide * 0.04, high, wide * 0.92, low - high, panel.hue(s), s.met[i] ? 0.6 : 0.3), stroke(upright(x + wide / 2, y(s.low[i]), y(s.high[i])), panel.hue(s), 1.5));
    }
    // Edges, where there is room for them.
    let free = 0;
    for (let i = 0; i <= n; i++) {
      const text = short(i < n ? parts[i].part.edges[0] : parts[n - 1].part.edges[1]), half = halfWidth(text), x = Math.min(v.x(i / n), v.width - half);
      if (x - half < free) continue;
      into.append(label(x, panel.bottom + 14, text, { "text-anchor": "middle" }));
      free = x + half + 6;
    }
    return rows.length;
  }

  foot() {
    return [];
  }

  mark() {}

  describe(v) {
    const m = this.metric, at = v.first, name = windowText(m.start(at), m.end(at));
    Object.assign(this.slider, { max: m.newest, value: at, hidden: !m.newest });
    this.slider.setAttribute("aria-valuetext", name);
    this.name.textContent = name;
    this.announce(at);
    this.said.textContent = "Bars: percentage of the values in each bucket. Vertical lines: the interval of each percentage." + (m.aims ? " Pale bars are less exact than asked." : "") + (m.asked ? " " + m.asked + "." : "");
    this.live.textContent = spoken(m, this.chosen, at);
  }

  point(e) {
    const box = this.picture.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top, v = this.seen;
    const panel = this.shape.panels.find((p) => y <= p.bottom + 20);
    const s = panel && panel.series[Math.floor((x - v.leftEdge) / (v.x(1) - v.leftEdge) * panel.series.length)];
    if (s) this.say([s, s.sum].filter((t, i) => t && !(i && t === s)), v.first, s, x, y);
    else this.leave();
  }
}
