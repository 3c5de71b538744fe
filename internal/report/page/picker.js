// Choosing keys.

const listed = 200; // keys in the list at once: the search finds the others

function picker(chart) {
  const m = chart.metric;
  const find = el("input", { type: "search", placeholder: "Find a key", "aria-label": "Find a key" });
  const list = el("ul", { class: "keys" }), said = el("span", { class: "said", "aria-live": "polite" });
  const lower = m.largest.map((s) => s.label.toLowerCase());

  function toggle(s, on) {
    chart.choose(on ? [...chart.chosen, s] : chart.chosen.filter((other) => other !== s));
  }

  function fill() {
    const text = find.value.toLowerCase(), chosen = new Set(chart.chosen), full = chosen.size >= most;
    let matches = m.largest.filter((s, i) => lower[i].includes(text));
    const found = matches.length;
    if (text === "") matches = [...chart.chosen, ...matches.filter((s) => !chosen.has(s))];
    const focused = list.contains(document.activeElement) ? document.activeElement.dataset.rank : null;
    list.replaceChildren(...matches.slice(0, listed).map((s) => {
      const box = el("input", {
        type: "checkbox", "data-rank": String(s.rank), checked: chosen.has(s), disabled: full && !chosen.has(s), onchange: (e) => toggle(s, e.target.checked),
      });
      return el("li", null, el("label", { title: s.label }, box, el("bdi", { class: "name" }, s.label), el("span", { class: "size" }, short(s.total))));
    }));
    if (focused !== null) {
      const again = list.querySelector('input[data-rank="' + focused + '"]');
      if (again) again.focus();
    }
    const notes = [];
    if (found > listed) notes.push("The list has " + listed + " of " + grouped(found, 0) + ": type to find others.");
    if (!found) notes.push("No key has it.");
    if (full) notes.push(most + " keys are shown, the most there is room for.");
    said.textContent = notes.join(" ");
  }

  const largest = [1, 5, most].filter((n, i) => i === 0 || m.series.length > [1, 5, most][i - 1]).map((n) =>
    el("button", { type: "button", onclick: () => chart.choose(m.largest.slice(0, n)) }, String(n)));
  find.addEventListener("input", fill);
  chart.listeners.push(fill);
  fill();
  return el("fieldset", null, el("legend", null, grouped(m.series.length, 0) + " keys, sum of values"), find,
    el("div", { class: "largest" }, "largest", ...largest), list, said);
}
