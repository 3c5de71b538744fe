// What would come out: bars of figures, sliders over the settings that were tried, all of them as a
// table, and the largest keys.

const grids = JSON.parse(document.getElementById("data").textContent);
const round = (v, digits) => v >= 100 ? grouped(Math.round(v), 0) : String(+v.toPrecision(digits));
const share = (v) => v > 0 && v < 0.001 ? "<0.1 %" : +(100 * v).toPrecision(3) + " %";
const lostAtEnd = (p) => p.users_lost && p.users_lost.length ? p.users_lost[p.users_lost.length - 1].share : 0;
const box = (id) => document.getElementById(id);

// track is a bar whose parts are shares of its length, each with a class.
function track(parts) {
  return el("span", { class: "track", "aria-hidden": "true" }, ...parts.map(([part, kind]) => {
    const e = el("span", { class: kind });
    e.style.width = 100 * Math.min(Math.max(part, 0), 1) + "%";
    return e;
  }));
}

const bar = (name, part, kind, text) => el("div", { class: "line" }, el("dt", null, name), el("dd", null, track([[part, kind]]), el("span", { class: "text" }, text)));

const dials = [["max_keys_per_user", "keys of a user in a window"], ["max_events_per_key", "events of a user and key"], ["last_at_least", "windows that every user can take part in"], ["aim", "target"]];
for (const g of grids) g.grid = g.grid.map((p) => ({ ...p, reach: (p.max || 0) - (p.min || 0), aim: p.relative || p.absolute || 0 }));
const valued = grids.some((g) => g.grid.some((p) => p.reach > 0));
const sums = grids.some((g) => g.sums);
if (valued) dials.push(["reach", "range that values are clamped to"]);
const range = (p) => grouped(p.min || 0, 0) + " to " + grouped(p.max || 0, 0);
const bounds = (p) => p.max_keys_per_user + " \u00d7 " + p.max_events_per_key + (valued ? ", " + range(p) : "");
const target = (p) => p.relative ? "\u00b1 " + share(p.relative) : p.absolute ? "\u00b1 " + grouped(p.absolute, 0) : "none";
const state = { grid: grids[0], point: null, sliders: [] };

// slider is a range over a list of values; set is told which one.
function slider(name, text, values, set) {
  const out = el("output"), input = el("input", { type: "range", min: 0, max: values.length - 1, step: 1, "aria-label": name, disabled: values.length < 2, oninput: () => set(values[+input.value]) });
  return { node: el("label", null, name + ": ", out, input), show: (v) => {
    input.value = values.indexOf(v);
    out.textContent = text(v);
    input.setAttribute("aria-valuetext", text(v));
  } };
}

// near is the point with a value of one dial that is most like another point: not all settings were
// tried together.
function near(points, like, name, value) {
  const away = (p) => dials.reduce((sum, [dial]) => sum + Math.abs(Math.log((p[dial] + 0.01) / (like[dial] + 0.01))), 0);
  return points.filter((p) => p[name] === value).reduce((best, p) => away(p) < away(best) ? p : best);
}

function openGrid(at) {
  const grid = (state.grid = grids[at]), points = grid.grid;
  state.sliders = [[slider("size of windows", (i) => grids[i].window, grids.map((_, i) => i), (i) => openGrid(i)), () => at],
    ...dials.map(([name, text]) => {
      const values = [...new Set(points.map((p) => p[name]))].sort((a, b) => a - b);
      const write = (v) => {
        const p = points.find((p) => p[name] === v);
        if (name === "aim") return target(p);
        return name === "reach" ? range(p) : grouped(v, 0) + (name === "last_at_least" ? " (" + p.lasts + ")" : "");
      };
      return [slider(text, write, values, (v) => show(near(points, state.point, name, v))), (p) => p[name]];
    })];
  const focused = box("sliders").contains(document.activeElement);
  box("sliders").replaceChildren(...state.sliders.map(([s]) => s.node));
  if (focused) box("sliders").querySelector("input").focus();
  for (const e of document.querySelectorAll("[data-size]")) e.hidden = +e.dataset.size !== at;
  tried.show([...points]);
  largest.most = Math.max(1, ...grid.keys.map((k) => k.truth));
  largest.show(grid.keys.map((k, rank) => ({ ...k, rank })));
  show(points[0]);
}

function show(p) {
  state.point = p;
  for (const [s, of] of state.sliders) s.show(of(p));
  box("figures").replaceChildren(
    bar("typically from " + state.grid.of, p.typical_error, "noise", share(p.typical_error)),
    bar("of that noise", p.typical_noise, "noise", share(p.typical_noise)),
    bar(valued ? "of that events left out or clamped" : "of that events left out", p.typical_left_out, "lost", share(p.typical_left_out)),
    bar(sums ? "of the sums counted" : "events counted", p.counted, "good", share(p.counted)),
    bar("keys shown", p.keys ? p.keys_shown / p.keys : 0, "good", grouped(Math.round(p.keys_shown), 0) + " of " + grouped(Math.round(p.keys), 0)),
    bar(sums ? "of the sums in what is shown" : "events in what is shown", p.shown_truth, "good", share(p.shown_truth)),
    bar("users left out at the end", lostAtEnd(p), "lost", share(lostAtEnd(p))));
  box("when").textContent = (p.users_lost || []).length > 1 ? "Users left out by window " + p.users_lost.map((l) => grouped(l.window, 0) + ": " + share(l.share)).join(", ") + "." : "";
  box("exact").replaceChildren(...[["first noise \u03c3", round(p.first_sigma, 3)], ["least noise \u03c3", round(p.top_sigma, 3)], ["threshold", p.threshold ? round(p.threshold, 3) : "none"]]
    .map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, value))));
}

const whole = (v) => grouped(v, v < 10 && v % 1 ? 1 : 0);
const unshown = (k) => k.shown < 0.5;

// The largest keys: how much of their events is not counted, and the noise on the rest.
const largest = new SortedTable("Largest keys", [
  { name: "key", row: true, by: (k) => k.rank, cell: (k) => el("bdi", null, shown(k.key) || "(all events)") },
  { name: sums ? "sum of a window" : valued ? "value of a window" : "events of a window", by: (k) => k.truth, cell: (k) => whole(k.truth) },
  { name: "counted, and not", by: (k) => 1 - k.bias / k.truth, cell: (k) => track([[(k.truth - Math.max(k.bias, 0)) / largest.most, "good"], [k.bias / largest.most, "lost"]]) },
  { name: "not counted", by: (k) => k.bias, cell: (k) => whole(Math.max(k.bias, 0)) },
  { name: "noise", by: (k) => unshown(k) ? Infinity : k.noise_95, cell: (k) => unshown(k) ? "\u2013" : "\u00b1 " + whole(k.noise_95) },
  { name: "windows shown", by: (k) => k.shown / k.windows, cell: (k) => whole(k.shown) + " of " + whole(k.windows) },
  { name: "as exact as asked", by: (k) => k.within, cell: (k) => whole(k.within) },
], (a, b) => a.rank - b.rank, [], "No key.");
box("keys").append(largest.bar, largest.scroll);

const tried = new SortedTable("All settings that were tried", [
  { name: "setting", row: true, by: (p) => p.max_keys_per_user * 1e4 + p.max_events_per_key, cell: (p) => press(bounds(p), () => show(p)) },
  { name: "lasts", by: (p) => p.last_at_least, cell: (p) => p.lasts },
  { name: "counted", by: (p) => p.counted, cell: (p) => share(p.counted) },
  { name: "keys shown", by: (p) => p.keys_shown, cell: (p) => grouped(Math.round(p.keys_shown), 0) },
  { name: sums ? "of the sums shown" : "events shown", by: (p) => p.shown_truth, cell: (p) => share(p.shown_truth) },
  { name: "target", by: (p) => p.aim, cell: target },
  { name: "typical error", by: (p) => p.typical_error, cell: (p) => share(p.typical_error) },
  { name: "users left out", by: lostAtEnd, cell: (p) => share(lostAtEnd(p)) },
  { name: "first \u03c3", exact: true, by: (p) => p.first_sigma, cell: (p) => round(p.first_sigma, 3) },
  { name: "least \u03c3", exact: true, by: (p) => p.top_sigma, cell: (p) => round(p.top_sigma, 3) },
  { name: "threshold", exact: true, by: (p) => p.threshold || 0, cell: (p) => p.threshold ? round(p.threshold, 3) : "none" },
], (a, b) => a.last_at_least - b.last_at_least, [], "");
Object.assign(tried, { column: 6 });
box("tried").append(tried.bar, tried.scroll);

// A setting can be copied.
for (const text of document.querySelectorAll("[data-block] pre")) {
  const copy = press("Copy", async () => {
    getSelection().selectAllChildren(text);
    try {
      await navigator.clipboard.writeText(text.textContent);
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "Selected";
    }
  });
  text.before(copy);
}

openGrid(Math.max(0, grids.findIndex((g) => g.chosen)));
shell(() => {});
