// Text. Keys come from data: they are only ever set as text, and what does not
// print is shown as \uXXXX, so that no key looks like another.

const unseen = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const shown = (text) => text.replace(unseen, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));

function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...children.filter((c) => c != null && c !== false));
  return e;
}

// brief is a name that has "\u2026" in its middle where there is no room for all of it: paths that begin
// alike stay apart.
function brief(text) {
  const parts = [...text], tail = Math.min(14, parts.length >> 1);
  return el("bdi", { class: "name", title: text }, ...[parts.slice(0, parts.length - tail), parts.slice(parts.length - tail)].map((part) => el("span", null, part.join(""))));
}

const formats = new Map();
function grouped(v, digits) {
  if (!formats.has(digits)) {
    formats.set(digits, new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
  }
  return formats.get(digits).format(v).replace(/^-(?=[0.,]*$)/, "");
}

// number writes v with as many digits as an error of margin leaves sense in: none after the point
// from an error of 1 on, and of fine values, which are no counts, one more.
const number = (v, margin, fine) => grouped(v, [1, 0.1, 0.01].filter((least) => margin < (fine ? 10 : 1) * least).length);

// margin is how far the noise may have moved a released value.
const margin = (s, i) => Math.max(s.high[i] - s.value[i], s.value[i] - s.low[i]);
const marginText = (s, i) => "\u00b1 " + number(margin(s, i), margin(s, i), s.fine);
const noiseText = (s, i) => s.lopsided ? endText(s, i, "low") + " to " + endText(s, i, "high") : "noise " + marginText(s, i);
const endText = (s, i, end) => number(s[end][i], margin(s, i), s.fine) + s.unit;
const valueText = (s, i) => number(s.value[i], margin(s, i), s.fine) + s.unit;

const sigmaText = (v) => number(v, v / 10, true);

// named is what a sentence calls a key: in quotes if it reads as a number.
const named = (label) => /^[\d\s.,:/+%-]+$/.test(label) ? '"' + label + '"' : label;

// short writes the label of an axis.
function short(v) {
  for (const [size, name] of [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (Math.abs(v) >= size) return +(v / (name === "k" ? 1e3 : size)).toPrecision(4) + name;
  }
  return String(+v.toPrecision(4)).replace(/^(-?\d)(\d{3})$/, "$1,$2");
}

const iso = (ms) => new Date(ms).toISOString();
const day = 86400e3;

// clock writes a time of a day as finely as it needs.
function clock(ms) {
  const text = iso(ms).slice(11, 23);
  return ms % 1e3 ? text : ms % 6e4 ? text.slice(0, 8) : text.slice(0, 5);
}

const moment = (ms) => iso(ms).slice(0, 10) + " " + clock(ms);

function windowText(start, end) {
  const from = iso(start).slice(0, 10), to = iso(end).slice(0, 10);
  if (start % day === 0 && end % day === 0) return end - start === day ? from : from + " to " + to;
  const last = clock(end);
  return from + " " + clock(start) + "\u2013" + (from === to || (end % day === 0 && end - start < day) ? last : to + " " + last);
}

const percent = (part) => +(100 * part).toPrecision(6) + "%";
