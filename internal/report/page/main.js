// Putting it together.

const root = document.documentElement;
root.dataset.errors = 0;
for (const kind of ["error", "securitypolicyviolation"]) window.addEventListener(kind, () => root.dataset.errors++);

const metrics = JSON.parse(document.getElementById("data").textContent).metrics.map(load);
const charts = [];

for (const box of document.querySelectorAll(".chart[data-metric]")) {
  const metric = metrics[+box.dataset.metric], chart = new Chart(metric, box.dataset.heading);
  box.append(chart.bar, chart.side);
  if (metric.series.length > 1) {
    box.classList.add("keyed");
    box.append(picker(chart));
  }
  box.append(tableOf(chart));
  charts.push(chart);
}

const redraw = () => charts.forEach((c) => c.draw());

document.getElementById("scheme").append(el("label", null, "Colours ", el("select", {
  onchange: (e) => {
    if (e.target.value) root.dataset.scheme = e.target.value;
    else delete root.dataset.scheme;
    redraw();
  },
}, ...[["", "system"], ["light", "light"], ["dark", "dark"]].map(([value, name]) => el("option", { value }, name)))));

let pending = 0;
window.addEventListener("resize", () => {
  cancelAnimationFrame(pending);
  pending = requestAnimationFrame(redraw);
});
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
window.addEventListener("beforeprint", () => { root.dataset.print = ""; redraw(); });
window.addEventListener("afterprint", () => { delete root.dataset.print; redraw(); });

redraw();
root.dataset.points = metrics.reduce((sum, m) => sum + m.points, 0);
root.dataset.ready = "true";
