// A drawing as SVG, for what is drawn on a canvas: the part of a canvas's context that charts use.

const svgSpace = "http://www.w3.org/2000/svg";
const rounded = (v) => typeof v === "number" ? +v.toFixed(2) : v;

class Svg {
  // top is how far the drawing's own 0 lies below the upper edge; measure is a canvas's context.
  constructor(width, height, top, measure) {
    Object.assign(this, { width, height: height + top, path: "", rest: [], globalAlpha: 1, lineWidth: 1, lineJoin: "miter", textBaseline: "alphabetic" });
    this.measureText = (text) => {
      measure.font = this.font;
      return measure.measureText(text);
    };
    this.root = this.into = document.createElementNS(svgSpace, "svg");
    this.set(this.root, { width, height: this.height, viewBox: [0, -top, width, this.height].join(" ") });
  }

  set(e, attributes) {
    for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, rounded(value));
    return e;
  }

  add(tag, attributes) {
    const e = this.set(document.createElementNS(svgSpace, tag), attributes);
    this.into.append(e);
    return e;
  }

  to(...parts) {
    this.path += parts.map(rounded).join(" ");
  }

  beginPath() {
    this.path = "";
  }

  moveTo(x, y) {
    this.to("M", x, y);
  }

  lineTo(x, y) {
    this.to(this.path ? "L" : "M", x, y);
  }

  arc(x, y, r) {
    this.to("M", x - r, y, "a", r, r, 0, 1, 0, 2 * r, 0, "a", r, r, 0, 1, 0, -2 * r, 0);
  }

  rect(...box) {
    this.box = box;
  }

  fill() {
    this.add("path", { d: this.path, fill: this.fillStyle, "fill-opacity": this.globalAlpha });
  }

  stroke() {
    this.add("path", { d: this.path, fill: "none", stroke: this.strokeStyle, "stroke-opacity": this.globalAlpha, "stroke-width": this.lineWidth, "stroke-linejoin": this.lineJoin });
  }

  fillRect(x, y, width, height) {
    this.add("rect", { x, y: Math.min(y, y + height), width, height: Math.abs(height), fill: this.fillStyle, "fill-opacity": this.globalAlpha });
  }

  fillText(text, x, y) {
    if (!text) return;
    const [, weight, size, family] = /^(\d+ )?(\d+)px (.*)/.exec(this.font);
    this.add("text", {
      x, y, fill: this.fillStyle, "font-size": size, "font-weight": weight || 400, "font-family": family,
      "text-anchor": { right: "end", center: "middle" }[this.textAlign] || "start", "dominant-baseline": this.textBaseline === "middle" ? "central" : "auto",
    }).textContent = text;
  }

  save() {
    this.rest.push(this.into);
  }

  restore() {
    this.into = this.rest.pop();
  }

  // clip cuts what follows to the last rectangle: a picture in the picture.
  clip() {
    const [x, y, width, height] = this.box;
    this.into = this.add("svg", { x, y, width, height, viewBox: this.box.map(rounded).join(" ") });
  }

  text() {
    return new XMLSerializer().serializeToString(this.root);
  }
}
