// The chart as SVG: the page shows it, and "Save as SVG" saves it.

const svgSpace = "http://www.w3.org/2000/svg";

// node makes an element of a drawing; a list of numbers is joined, a number has two decimals.
function node(tag, attributes, ...children) {
  const e = document.createElementNS(svgSpace, tag), text = (v) => typeof v === "number" ? String(+v.toFixed(2)) : v;
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, Array.isArray(value) ? value.map(text).join(" ") : text(value));
  e.append(...children);
  return e;
}

const label = (x, y, text, attributes) => node("text", { x, y, fill: "var(--soft)", ...attributes }, text);
const bar = (x, y, width, height, fill, opacity = 1) => node("rect", { x, y, width, height, fill, "fill-opacity": opacity });
const stroke = (d, color, width = 1, opacity = 1) => node("path", { d, fill: "none", stroke: color, "stroke-width": width, "stroke-opacity": opacity, "stroke-linejoin": "round" });

// halfWidth is about half of the width of a short label.
const halfWidth = (text) => 3.6 * text.length;

// saved is a file of a picture on the page, in the colours of the page: a file has no style sheet.
function saved(picture) {
  for (const e of picture.querySelectorAll("[fill], [stroke]")) {
    for (const name of ["fill", "stroke"]) if (e.hasAttribute(name)) e.setAttribute(name, getComputedStyle(e)[name]);
  }
  picture.remove();
  return new XMLSerializer().serializeToString(picture);
}
