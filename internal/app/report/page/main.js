// Putting it together.

let charts = [];

// metricsOf reads the data block of a page.
function metricsOf(page) {
  const metrics = JSON.parse(page.getElementById("data").textContent).metrics.map(load);
  root.dataset.points = metrics.reduce((sum, m) => sum + m.points, 0);
  return metrics;
}

// assemble fills the boxes of the page.
function assemble(metrics) {
  charts = [...document.querySelectorAll(".chart[data-metric]")].map((box) => {
    const metric = metrics[+box.dataset.metric], chart = new (metric.unit ? Histogram : Chart)(metric, box.dataset.heading);
    const keyed = () => box.classList.toggle("keyed", chart.metric.series.length > 1);
    chart.line = document.querySelector('nav [data-metric="' + box.dataset.metric + '"]');
    box.append(chart.cards, chart.bar, chart.side, picker(chart), tableOf(chart));
    chart.listeners.push(keyed, (renewed) => renewed || remember(chart));
    keyed();
    return chart;
  });
}

assemble(metricsOf(document));
shell(() => charts.forEach((c) => c.draw()));
recall();
window.addEventListener("hashchange", () => recall());
