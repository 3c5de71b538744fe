// What every page has around its contents: the count of errors, colours, exact terms.

const root = document.documentElement;
// The zone by whose clock windows begin and end.
const zone = () => root.dataset.zone || "UTC";
root.dataset.errors = 0;
for (const kind of ["error", "securitypolicyviolation"]) window.addEventListener(kind, () => root.dataset.errors++);
root.dataset.plain = "";

// shell calls redraw whenever the width of the page has changed.
function shell(redraw) {
  document.getElementById("scheme").append(
    el("label", null, el("input", { type: "checkbox", onchange: (e) => {
      if (e.target.checked) delete root.dataset.plain;
      else root.dataset.plain = "";
    } }), " exact terms"),
    el("select", { "aria-label": "Colours", onchange: (e) => {
      if (e.target.value) root.dataset.scheme = e.target.value;
      else delete root.dataset.scheme;
    } }, ...[["", "system colours"], ["light", "light"], ["dark", "dark"]].map(([value, name]) => el("option", { value }, name))));
  let pending = 0;
  window.addEventListener("resize", () => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(redraw);
  });
  redraw();
  root.dataset.ready = "true";
}
