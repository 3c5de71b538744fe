// Uses a page as a person would and notes what happens. The test adds it to a
// page; no page has it.
const said = (async () => {
  const said = {};
  try {
    const press = (e, key) => e.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    const copy = (canvas) => {
      const c = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height }).getContext("2d", { willReadFrequently: true });
      c.drawImage(canvas, 0, 0);
      return c.getImageData(0, 0, canvas.width, canvas.height).data;
    };
    const painted = (canvas) => {
      const pixels = copy(canvas), colours = new Set();
      for (let i = 0; i < pixels.length; i += 4) colours.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
      return colours.size;
    };
    const charts = [...document.querySelectorAll(".chart")];
    const parts = (chart) => ({
      canvas: chart.querySelector("canvas"), tip: chart.querySelector(".tip"), live: chart.querySelector("[aria-live].quiet"),
      legend: () => [...chart.querySelectorAll(".legend li")].map((e) => e.textContent), boxes: () => [...chart.querySelectorAll(".keys input")],
      button: (text) => [...chart.querySelectorAll("button")].find((b) => b.textContent === text),
    });
    said.charts = charts.map((c) => {
      const p = parts(c);
      return { points: +p.canvas.dataset.points, colours: painted(p.canvas), label: document.getElementById(p.canvas.getAttribute("aria-labelledby")).textContent };
    });

    const p = parts(charts[0]), box = p.canvas.getBoundingClientRect();
    const move = (type, x, y) => p.canvas.dispatchEvent(new PointerEvent(type, {
      clientX: box.left + x * box.width, clientY: box.top + y * box.height, pointerType: "touch", button: 0, pointerId: 1, bubbles: true,
    }));
    move("pointermove", 0.5, 0.5);
    said.hover = p.tip.hidden ? "" : p.tip.textContent;
    move("pointerleave", 0.5, 0.5);
    said.left = p.tip.hidden;
    press(p.canvas, "Home");
    said.home = p.live.textContent;
    press(p.canvas, "ArrowRight");
    said.right = p.live.textContent;
    press(p.canvas, "End");
    said.end = p.live.textContent;
    press(p.canvas, "Escape");
    said.escape = p.tip.hidden;
    const all = +p.canvas.dataset.points;
    press(p.canvas, "+");
    said.zoomed = all - p.canvas.dataset.points;
    const time = charts[0].querySelector(".bar select"), choose = (select, value) => { select.value = value; select.dispatchEvent(new Event("change")); };
    choose(time, "");
    said.unzoomed = all - p.canvas.dataset.points;

    const before = p.legend().length;
    p.boxes()[0].click();
    said.unticked = before - p.legend().length;
    const search = charts[0].querySelector("input[type=search]");
    search.value = "TRAIN";
    search.dispatchEvent(new Event("input"));
    said.found = p.boxes().map((b) => b.closest("label").querySelector(".full").textContent);
    search.value = "";
    search.dispatchEvent(new Event("input"));
    p.button("1").click();
    said.largest = p.legend();

    for (const select of charts[0].querySelectorAll(".bar:not(.pages) select")) {
      for (const option of select.options) {
        select.value = option.value;
        select.dispatchEvent(new Event("change"));
        if (!(+p.canvas.dataset.points > 0)) said.blank = option.textContent;
      }
    }

    const details = charts[0].querySelector("details"), cells = (column) => [...details.querySelectorAll("tbody tr")].map((r) => r.cells[column].textContent);
    said.last = cells(1).join(",");
    said.first = new Set(cells(0)).size;
    const scope = details.querySelector("select");
    scope.value = "all";
    scope.dispatchEvent(new Event("change"));
    said.rows = cells(0).length;
    p.button("value").click();
    p.button("value").click();
    const values = cells(2).map((text) => +text.replaceAll(",", ""));
    said.sorted = values.every((v, i) => i === 0 || values[i - 1] >= v);
    said.direction = p.button("value").closest("th").getAttribute("aria-sort");
    const terms = [...document.querySelectorAll(".exact")], toggle = document.querySelector("#scheme input");
    const seen = () => terms.filter((e) => getComputedStyle(e).display !== "none").length;
    said.plain = seen();
    toggle.click();
    said.exact = terms.length - seen();

    const make = URL.createObjectURL;
    let blob = null;
    URL.createObjectURL = (b) => { blob = b; return make(b); };
    p.button("CSV of all").click();
    said.csv = await blob.text();

    const scheme = document.querySelector("#scheme select"), paper = () => copy(p.canvas)[0];
    const light = paper();
    scheme.value = "dark";
    scheme.dispatchEvent(new Event("change"));
    said.darker = light - paper();
    said.errors = document.documentElement.dataset.errors;
  } catch (e) {
    said.failed = String(e && e.stack || e);
  }
  return said;
})();
