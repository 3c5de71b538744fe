// What would come out: bars of figures, sliders over the settings that were tried, all of them as a
// table, and the largest keys.

const grids = JSON.parse(document.getElementById("data").textContent);
const round = (v, digits) => v >= 100 ? grouped(Math.round(v), 0) : String(+v.toPrecision(digits));
const share = (v) => v > 0 && v < 0.001 ? "<0.1 %" : +(100 * v).toPrecision(3) + " %";
const lostAtEnd = (p) => p.users_lost && p.users_lost.length ? p.users_lost[p.users_lost.length - 1].share : 0;
const error = (p) => p.shown < 0.5 ? "\u2013" : "\u00b1 " + round(p.error, 3) + " (" + share(p.relative_error) + ")";
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

const dials = [["max_keys_per_user", "keys of a user in a window"], ["max_events_per_key", "events of a user and key"], ["last_at_least", "windows that every user can take part in"]];
const withReach = (p) => ({ ...p, reach: Math.max(p.max || 0, -(p.min || 0)) });
for (const g of grids) g.grid = g.grid.map(withReach);
const valued = grids.some((g) => g.grid.some((p) => p.reach > 0));
if (valued) dials.push(["reach", "range that values are clamped to"]);
const range = (p) => grouped(p.min || 0, 0) + " to " + grouped(p.max || 0, 0);
const bounds = (p) => p.max_keys_per_user + " \u00d7 " + p.max_events_per_key + (valued ? ", " + range(p) : "");
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
  const away = (p) => dials.reduce((sum, [dial]) => sum + Math.abs(Math.log(p[dial] / like[dial])), 0);
  return points.filter((p) => p[name] === value).reduce((best, p) => away(p) < away(best) ? p : best);
}

function openGrid(at, like) {
  const grid = (state.grid = grids[at]), points = grid.grid;
  state.sliders = [[slider("size of windows", (i) => grids[i].window, grids.map((_, i) => i), (i) => openGrid(i)), () => at],
    ...dials.map(([name, text]) => {
      const values = [...new Set(points.map((p) => p[name]))].sort((a, b) => a - b);
      const write = (v) => {
        const p = points.find((p) => p[name] === v);
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
  show(like || points[grid.best]);
}

function show(p) {
  state.point = p;
  for (const [s, of] of state.sliders) s.show(of(p));
  box("figures").replaceChildren(
    bar(valued ? "of the sums counted" : "events counted", p.counted, "good", share(p.counted)),
    bar("keys shown", p.keys ? p.keys_shown / p.keys : 0, "good", grouped(Math.round(p.keys_shown), 0) + " of " + grouped(Math.round(p.keys), 0)),
    bar(valued ? "of the sums in what is shown" : "events in what is shown", p.shown_truth, "good", share(p.shown_truth)),
    bar("error of what is shown", p.shown < 0.5 ? 0 : p.relative_error, "noise", error(p)),
    bar("hidden or wrong", p.wrong, "noise", share(p.wrong)),
    bar("users left out at the end", lostAtEnd(p), "lost", share(lostAtEnd(p))));
  box("when").textContent = (p.users_lost || []).length > 1 ? "Users left out by window " + p.users_lost.map((l) => grouped(l.window, 0) + ": " + share(l.share)).join(", ") + "." : "";
  box("exact").replaceChildren(...[["first noise \u03c3", round(p.first_sigma, 3)], ["least noise \u03c3", round(p.top_sigma, 3)], ["threshold", p.threshold ? round(p.threshold, 3) : "none"]]
    .map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, value))));
}

const whole = (v) => grouped(v, v < 10 && v % 1 ? 1 : 0);
const unshown = (k) => k.shown < 0.5;

// The largest keys: how much of their events is not counted, and the noise on the rest.
const largest = new SortedTable("Largest keys", [
  { name: "key", by: (k) => k.rank, cell: (k) => el("bdi", null, shown(k.key) || "(all events)") },
  { name: valued ? "sum of a window" : "events of a window", by: (k) => k.truth, cell: (k) => whole(k.truth) },
  { name: "counted, and not", by: (k) => 1 - k.bias / k.truth, cell: (k) => track([[(k.truth - Math.max(k.bias, 0)) / largest.most, "good"], [k.bias / largest.most, "lost"]]) },
  { name: "not counted", by: (k) => k.bias, cell: (k) => whole(Math.max(k.bias, 0)) },
  { name: "noise", by: (k) => unshown(k) ? Infinity : k.noise_95, cell: (k) => unshown(k) ? "\u2013" : "\u00b1 " + whole(k.noise_95) },
  { name: "windows shown", by: (k) => k.shown / k.windows, cell: (k) => whole(k.shown) + " of " + whole(k.windows) },
  { name: "as exact as asked", by: (k) => k.within, cell: (k) => whole(k.within) },
], (a, b) => a.rank - b.rank, [], "No key.");
box("keys").append(largest.bar, largest.scroll);

const tried = new SortedTable("All settings that were tried", [
  { name: "setting", by: (p) => p.max_keys_per_user * 1e4 + p.max_events_per_key, cell: (p) => press(bounds(p), () => show(p)) },
  { name: "lasts", by: (p) => p.last_at_least, cell: (p) => p.lasts },
  { name: "counted", by: (p) => p.counted, cell: (p) => share(p.counted) },
  { name: "keys shown", by: (p) => p.keys_shown, cell: (p) => grouped(Math.round(p.keys_shown), 0) },
  { name: valued ? "of the sums shown" : "events shown", by: (p) => p.shown_truth, cell: (p) => share(p.shown_truth) },
  { name: "error", by: (p) => p.shown < 0.5 ? Infinity : p.relative_error, cell: error },
  { name: "hidden or wrong", by: (p) => p.wrong, cell: (p) => share(p.wrong) },
  { name: "users left out", by: lostAtEnd, cell: (p) => share(lostAtEnd(p)) },
  { name: "first \u03c3", exact: true, by: (p) => p.first_sigma, cell: (p) => round(p.first_sigma, 3) },
  { name: "least \u03c3", exact: true, by: (p) => p.top_sigma, cell: (p) => round(p.top_sigma, 3) },
  { name: "threshold", exact: true, by: (p) => p.threshold || 0, cell: (p) => p.threshold ? round(p.threshold, 3) : "none" },
], (a, b) => a.last_at_least - b.last_at_least, [], "");
Object.assign(tried, { column: 6 });
box("tried").append(tried.bar, tried.scroll);

// A block can be copied, and tried on the sliders.
for (const block of document.querySelectorAll("[data-block]")) {
  for (const text of block.querySelectorAll("pre")) {
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
  const set = withReach(JSON.parse(block.dataset.block)), at = grids.findIndex((g) => g.window === set.window);
  const point = at < 0 ? null : grids[at].grid.find((p) => dials.every(([name]) => p[name] === set[name]));
  if (point) block.append(press("Show on the sliders", () => { openGrid(at, point); box("what-if").scrollIntoView({ behavior: "smooth" }); }));
}

openGrid(Math.max(0, grids.findIndex((g) => g.chosen)));
shell(() => {});
