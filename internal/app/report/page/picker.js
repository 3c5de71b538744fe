// Choosing keys.

const listed = 200; // keys in the list at once: the search finds the others

function picker(chart) {
  let m = null, lower = [];
  const find = el("input", { type: "search", placeholder: "Find a key", "aria-label": "Find a key" });
  const list = el("ul", { class: "keys" }), said = el("span", { class: "said", "aria-live": "polite" });
  const largest = el("div", { class: "largest" }), legend = el("legend");

  function toggle(s, on) {
    chart.choose(on ? [...chart.chosen, s] : chart.chosen.filter((other) => other !== s));
  }

  // take takes in a metric's values of now.
  function take() {
    m = chart.metric;
    lower = m.largest.map((s) => s.label.toLowerCase());
    legend.textContent = grouped(m.series.length, 0) + " keys, " + (m.sized || (m.fine ? "mean" : "sum") + " of values");
    largest.replaceChildren("largest", ...[1, 5, most].filter((n, i, all) => i === 0 || m.series.length > all[i - 1]).map((n) =>
      el("button", { type: "button", onclick: () => chart.choose(m.largest.slice(0, n)) }, String(n))));
  }

  function fill() {
    if (m !== chart.metric) take();
    const text = find.value.toLowerCase(), chosen = new Set(chart.chosen), full = chosen.size >= most;
    let matches = m.largest.filter((s, i) => lower[i].includes(text));
    const found = matches.length;
    if (text === "") matches = [...chart.chosen, ...matches.filter((s) => !chosen.has(s))];
    const focused = list.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    list.replaceChildren(...matches.slice(0, listed).map((s) => {
      const box = el("input", {
        type: "checkbox", "data-key": s.key, checked: chosen.has(s), disabled: full && !chosen.has(s), onchange: (e) => toggle(s, e.target.checked),
      });
      if (chosen.has(s)) box.style.accentColor = hue(chart, s);
      return el("li", null, el("label", null, box, el("bdi", { class: "full" }, s.label), el("span", { class: "size" }, short(m.fine ? s.size : Math.round(s.size)))));
    }));
    if (focused !== null) {
      const again = [...list.querySelectorAll("input")].find((box) => box.dataset.key === focused);
      if (again) again.focus();
    }
    const notes = [];
    if (found > listed) notes.push("The list has " + listed + " of " + grouped(found, 0) + ": type to find others.");
    if (!found) notes.push("No key has it.");
    if (full) notes.push(most + " keys are shown, the most there is room for.");
    said.textContent = notes.join(" ");
  }

  find.addEventListener("input", fill);
  chart.listeners.push(fill);
  fill();
  return el("fieldset", { class: "several" }, legend, find, largest, list, said);
}
