// A page that is served asks for itself again, and takes in what is new.

const every = +root.dataset.live, longest = 60e3; // milliseconds
const state = { version: root.dataset.version, wait: every, since: null, answered: Date.now(), timer: 0, asking: false };

const parts = (page, selector) => [...page.querySelectorAll(selector)];
const policyOf = (page) => page.querySelector("meta[http-equiv]").content;

// outline is the same for pages that have the same charts.
const outline = (page) => parts(page, ".metric h2, .metric h3, .chart[data-metric]").map((e) => e.dataset.heading || e.id + e.textContent).join("\n");

// renew gives a chart its metric's values of now. What is shown stays, and moves on where it
// reached to the end.
function renew(chart, metric) {
  const { from, to, at, metric: old } = chart;
  const then = at < 0 ? -1 : Math.round((old.start(at) - metric.first) / metric.step);
  chart.at = then < metric.windows ? Math.max(then, -1) : -1;
  if (chart.at < 0) chart.tip.hidden = true;
  chart.metric = metric;
  const keys = chart.choice || chart.chosen.map((s) => s.key), rank = (s) => keys.indexOf(s.key) + 1 || most + 1;
  chart.chosen = (chart.choice ? metric.series.filter((s) => keys.includes(s.key)) : largestOf(metric)).sort((a, b) => rank(a) - rank(b));
  if (to < old.to) chart.move(from, to);
  else chart.move(from <= old.from ? metric.from : metric.to - (to - from), metric.to);
  chart.changed(true);
}

function takeIn(page) {
  if (policyOf(page) !== policyOf(document)) return location.reload(); // of another version of the program
  const now = (selector) => {
    const theirs = parts(page, selector);
    parts(document, selector).forEach((e, i) => e.replaceWith(document.importNode(theirs[i], true)));
  };
  const same = outline(page) === outline(document), metrics = metricsOf(page);
  if (same) {
    [".kept", ".nothing", ".state", ".hint", ".sum", ".promise", "footer"].forEach(now);
    parts(document, ".chart[data-metric]").forEach((box, i) => renew(charts[i], metrics[+box.dataset.metric]));
  } else {
    [".kept", "main", "footer"].forEach(now);
    assemble(metrics);
    charts.forEach((c) => c.draw());
    recall(true);
  }
  Object.assign(root.dataset, page.documentElement.dataset);
  state.version = root.dataset.version;
}

// due says which window comes next and by when; null where that is not known. Before the first one is
// settled, it is the first that ended after the page was served first: older ones may lie before the
// deployment's start.
function due() {
  const { slide, wait, grid, shift = 0, since, settled } = root.dataset;
  if (!slide) return null;
  const end = settled ? (Math.floor((+settled + +shift) / slide) + 1) * slide : Math.ceil((+since + +shift) / slide) * slide;
  return { end, by: Math.ceil((end - shift + +wait) / grid) * grid, first: !settled };
}

const moments = (ms) => Math.abs(ms - Date.now()) < 64e6 ? clock(ms) : moment(ms);

function say() {
  const next = due(), overdue = next && Date.now() > next.by + 2 * every;
  const text = state.since ? "No answer since " + clock(state.since) + " UTC: trying again."
    : !next ? ""
    : next.first && overdue ? "No values yet: the first ones were due by " + moments(next.by) + " UTC."
    : next.first ? "The first values are due by " + moment(next.by) + " UTC, for the window that ends at " + moment(next.end) + (root.dataset.zone ? " in " + zone() : "") + "."
    : (overdue ? "Overdue since " : "Live: next values by ") + moments(next.by) + " UTC.";
  const e = document.getElementById("live");
  if (e.textContent !== text) e.textContent = text;
  root.toggleAttribute("data-late", !!(state.since || overdue));
  document.getElementById("age").textContent = "Updated " + Math.round((Date.now() - state.answered) / 1e3) + " s ago.";
}

async function ask() {
  if (state.asking) return;
  state.asking = true;
  const began = Date.now();
  try {
    const answer = await fetch(location.pathname, {
      headers: { "If-None-Match": 'W/"' + state.version + '"' }, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(longest),
    });
    if (answer.status === 200) takeIn(new DOMParser().parseFromString(await answer.text(), "text/html"));
    else if (answer.status !== 304) throw new Error("status " + answer.status);
    Object.assign(state, { wait: every, since: null, answered: Date.now() });
  } catch {
    Object.assign(state, { wait: Math.min(2 * state.wait, longest), since: state.since || began - began % 1e3 });
  }
  state.asking = false;
  say();
  later();
}

// later asks again after a time that differs from reader to reader; not while the page is out of sight.
function later() {
  clearTimeout(state.timer);
  if (!document.hidden) state.timer = setTimeout(ask, state.wait * (0.75 + Math.random() / 2));
}

document.addEventListener("visibilitychange", () => document.hidden ? clearTimeout(state.timer) : ask());
say();
setInterval(say, 1e3);
later();
