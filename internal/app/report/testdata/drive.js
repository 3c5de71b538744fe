// Uses a page of mixed() as a person would and returns what is wrong. The test adds it to a page; no
// page has it.
const used = (async () => {
  const wrong = [];
  const check = (what, ok, ...seen) => ok || wrong.push(what + ": " + seen.map((s) => JSON.stringify(s)).join(", "));
  try {
    const press = (e, key) => e.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    const pick = (select, value) => {
      select.value = value;
      select.dispatchEvent(new Event("change"));
    };
    const charts = [...document.querySelectorAll(".chart")], first = charts[0], picture = first.querySelector(".picture"), tip = first.querySelector(".tip");
    const live = first.querySelector("[aria-live].quiet"), time = first.querySelector(".bar select"), points = () => +picture.dataset.points;
    const cards = () => [...first.querySelectorAll(".legend li")].map((e) => e.textContent), boxes = () => [...first.querySelectorAll(".keys input")];
    const button = (text) => [...first.querySelectorAll("button")].find((b) => b.textContent === text);
    for (const chart of charts) {
      const c = chart.querySelector(".picture"), colours = new Set([...c.querySelectorAll("[fill], [stroke]")].flatMap((e) => [getComputedStyle(e).fill, getComputedStyle(e).stroke])).size;
      check("a chart is painted and named", c.dataset.points >= 90 && colours >= 6 && document.getElementById(c.getAttribute("aria-labelledby")).textContent, colours);
    }

    // The newest values come first, and a change only where it is more than noise.
    check("cards", /^weather[\d,]+± \d+▼ −\d+%$/.test(cards()[0]) && cards()[2] === "примерno value", cards());
    check("the window of the cards", first.querySelector(".when").textContent === "Newest values: 2025-03-06 23:00–00:00 UTC, and the change from the window before", first.querySelector(".when").textContent);
    const changes = [...charts[1].querySelectorAll(".change")].map((e) => e.textContent);
    check("noise is no change", changes.join() === "no clear change,no clear change", changes);
    const overview = [...document.querySelectorAll("nav [data-metric]")].map((e) => e.textContent);
    check("the list of metrics has values", overview.length === 3 && overview.every((text) => /\d/.test(text)) && cards()[0].startsWith(overview[0].slice(0, 10)), overview);

    const box = picture.getBoundingClientRect();
    const move = (type, x, y) => picture.dispatchEvent(new PointerEvent(type, {
      clientX: box.left + x * box.width, clientY: box.top + y * box.height, pointerType: "touch", button: 0, pointerId: 1, bubbles: true,
    }));
    move("pointermove", 0.5, 0.5);
    for (const part of ["2025-03-04", "UTC", "noise at 95%", "weather", "not released in this window"]) check("the tooltip says " + part, !tip.hidden && tip.textContent.includes(part), tip.textContent);
    move("pointerleave", 0.5, 0.5);
    check("the tooltip leaves", tip.hidden);
    for (const [key, begin] of [["Home", "2025-03-03 00:00–01:00: weather "], ["ArrowRight", "2025-03-03 01:00–02:00: weather "], ["End", "2025-03-06 23:00–00:00: weather "]]) {
      press(picture, key);
      check(key, live.textContent.startsWith(begin), live.textContent);
    }
    press(picture, "Escape");
    check("Escape ends it", tip.hidden);

    // Range of time, keys and their place in the address.
    const all = points();
    press(picture, "+");
    check("zoomed in", points() < all && time.selectedOptions[0].textContent === "as zoomed", points(), all);
    pick(time, "86400000");
    const dayLong = points();
    check("the last day", dayLong > 40 && dayLong < all / 2, dayLong, all);
    boxes()[0].click();
    check("a key unticked", cards().length === 2, cards());
    const search = first.querySelector("input[type=search]"), find = (text) => {
      search.value = text;
      search.dispatchEvent(new Event("input"));
    };
    find("TRAIN");
    check("a key found", boxes().map((b) => b.closest("label").querySelector(".full").textContent).join() === "train times", boxes().length);
    find("");
    button("1").click();
    check("the largest key", cards().length === 1 && cards()[0].startsWith("weather"), cards());
    await new Promise((done) => setTimeout(done, 400));
    check("the address", location.hash === "#metric=searches&key=weather&last=86400s", location.hash);
    pick(time, "");
    button("5").click();
    check("all again", points() === all && cards().length === 3, points(), all, cards());
    const follow = (link) => new Promise((done) => {
      window.addEventListener("hashchange", () => setTimeout(done), { once: true });
      location.hash = link;
    });
    await follow("#metric=searches&key=train+times&from=2025-03-04T00:00:00Z&to=2025-03-05T00:00:00Z");
    check("no key is lost", !document.querySelector(".lost"));
    check("a link is followed", cards().length === 1 && cards()[0].startsWith("train times") && points() <= 26 && points() > 10, cards(), points());

    await follow("#metric=searches&key=nobody");
    check("a key of a link is lost", document.querySelector(".lost")?.textContent.includes("a key without values"));
    await follow("#metric=nothing");
    check("a metric of a link is lost", document.querySelectorAll(".lost").length === 1 && document.querySelector(".lost").textContent.includes("a metric without values"));

    // Files.
    const make = URL.createObjectURL;
    let blob = null;
    URL.createObjectURL = (b) => { blob = b; return make(b); };
    button("Save as SVG").click();
    const svg = new DOMParser().parseFromString(await blob.text(), "image/svg+xml"), texts = [...svg.querySelectorAll("text")].map((e) => e.textContent);
    check("the SVG has the chart", !svg.querySelector("parsererror") && svg.querySelectorAll("path").length > 3 && texts.includes("searches, 2025-03-04 UTC") && texts.at(-1) === "train times", texts);
    check("the SVG is as large as it says", +svg.documentElement.getAttribute("height") > picture.clientHeight && svg.documentElement.getAttribute("width") == picture.clientWidth);
    button("CSV of all").click();
    const lines = (await blob.text()).trim().split("\r\n");
    check("CSV", lines[0] === "metric,window_start,window_end,key,value,stddev,low,high,confidence,met,rungs" && lines.length === 1 + all && lines[1].startsWith("searches,2025-03-03T00:00:00.000Z,2025-03-03T01:00:00.000Z,"), lines.length, lines[1]);

    button("5").click();
    pick(time, "");
    for (const select of first.querySelectorAll(".bar:not(.pages) select")) {
      for (const option of [...select.options]) {
        pick(select, option.value);
        check("a chart with " + option.textContent, points() > 0);
      }
    }
    pick(time, "");
    const details = first.querySelector("details"), cells = (column) => [...details.querySelectorAll("tbody tr")].map((r) => r.cells[column].textContent);
    check("the largest keys of the last window stand first", cells(1).join() === "weather,train times" && new Set(cells(0)).size === 1, cells(1), cells(0));
    pick(details.querySelector("select"), "all");
    check("rows", cells(0).length === pageRows, cells(0).length);
    button("value").click();
    button("value").click();
    const values = cells(2).map((text) => +text.replaceAll(",", ""));
    check("sorted", values.every((v, i) => i === 0 || values[i - 1] >= v) && button("value").closest("th").getAttribute("aria-sort") === "descending", values);
    const terms = [...document.querySelectorAll(".exact")], seen = () => terms.filter((e) => getComputedStyle(e).display !== "none").length;
    check("exact terms wait", terms.length > 10 && seen() === 0, seen());
    document.querySelector("#scheme input").click();
    check("exact terms are seen", seen() === terms.length, seen(), terms.length);

    const paper = () => +getComputedStyle(first.closest("section")).backgroundColor.match(/\d+/)[0], light = paper();
    pick(document.querySelector("#scheme select"), "dark");
    check("a dark chart", light - paper() > 100, light, paper());
    check("no error", document.documentElement.dataset.errors === "0", document.documentElement.dataset.errors);
  } catch (e) {
    wrong.push(String(e && e.stack || e));
  }
  return wrong;
})();
const pageRows = 20; // of page/sort.js
