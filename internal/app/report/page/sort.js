// A table that is sorted by its heads and shows some rows at a time. A column has a name, a number
// of a row to sort by, what stands in it, whether it names the row, and whether only exact terms have it.

const pageRows = 20;

function sorted(rows, by, down, then) {
  const sign = down ? -1 : 1;
  for (const r of rows) r.by = sign * by(r);
  return rows.sort((a, b) => a.by - b.by || then(a, b));
}

const press = (text, onclick, set) => el("button", { type: "button", onclick, ...set }, text);

class SortedTable {
  // then decides between rows that are equal; more are buttons beside those of the table.
  constructor(label, columns, then, more, none) {
    Object.assign(this, { columns, then, none, rows: [], first: 0, column: 0, down: false });
    const turn = (text, by) => press(text, () => { this.first += by; this.fill(); });
    this.said = el("span", { "aria-live": "polite" });
    this.back = turn("Earlier rows", -pageRows);
    this.on = turn("More rows", pageRows);
    this.body = el("tbody");
    this.heads = columns.map((c, i) => el("th", { scope: "col", class: c.exact && "exact" }, press(c.name, () => this.order(i, this.column === i && !this.down))));
    this.bar = el("div", { class: "bar pages" }, ...more, this.said, this.back, this.on);
    this.scroll = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
      el("table", { class: "values" }, el("caption", { class: "quiet" }, label), el("thead", null, el("tr", null, ...this.heads)), this.body));
  }

  // show shows rows, from one of them on, in the order that was chosen.
  show(rows, first) {
    this.rows = rows;
    this.order(this.column, this.down, first);
  }

  order(column, down, first = 0) {
    Object.assign(this, { column, down, first: first < this.rows.length ? first : 0 });
    sorted(this.rows, this.columns[column].by, down, this.then);
    this.fill();
  }

  fill() {
    const { rows, first } = this, shown = rows.slice(first, first + pageRows);
    this.heads.forEach((h, i) => h.setAttribute("aria-sort", i === this.column ? (this.down ? "descending" : "ascending") : "none"));
    this.body.replaceChildren(...shown.map((r) => el("tr", null, ...this.columns.map((c) => el(c.row ? "th" : "td", { scope: c.row && "row", class: c.exact ? "exact" : c.soft && c.soft(r) && "soft" }, c.cell(r))))));
    this.back.disabled = first === 0;
    this.on.disabled = first + pageRows >= rows.length;
    this.back.hidden = this.on.hidden = rows.length <= pageRows;
    this.said.textContent = rows.length ? "Rows " + grouped(first + 1, 0) + " to " + grouped(first + shown.length, 0) + " of " + grouped(rows.length, 0) : this.none;
  }
}
