// page.js: reads, switches, enlarges and compares the figures of a page, which are drawn in it, and sorts its tables.
// SPDX-License-Identifier: MIT
"use strict";

const one = (selector, from = document) => from.querySelector(selector);
const every = (selector, from = document) => [...from.querySelectorAll(selector)];

function make(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) if (value !== null && value !== undefined) node.setAttribute(key, value);
  for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
  return node;
}

// ---- numbers ----

const SUPER = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

// A number with four digits, or a count with all of them.
function show(v, digits = 4) {
  if (!Number.isFinite(v)) return "–";
  const a = Math.abs(v);
  let text;
  if (Number.isInteger(v) && a < 1e7) text = String(v).replace(/\B(?=(\d{3})+$)/g, a < 1e4 ? "" : "\u202f");
  else if (a >= 1e-3 && a < 1e5) text = String(+v.toPrecision(digits));
  else {
    const [front, exponent] = v.toExponential(digits - 1).split("e");
    text = +front + "×10" + [...String(+exponent)].map((c) => SUPER[c]).join("");
  }
  return text.replace("-", "−");
}

// The ends of a spot's band or bar.
const spread = (s) => (s.low < s.high ? `${show(s.low, 3)} … ${show(s.high, 3)}` : "");

// ---- tables ----

function sortable(table) {
  const heads = every("thead th", table), body = one("tbody", table);
  let column = 0;
  for (const th of heads) {
    const at = column, button = make("button", { type: "button" }, ...th.childNodes);
    column += th.colSpan;
    th.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = th.getAttribute("aria-sort") !== "ascending";
      const value = (row) => {
        const cell = row.cells[at], text = cell.textContent.trim();
        return cell.dataset.v !== undefined ? +cell.dataset.v : cell.matches(".n") ? NaN : text;
      };
      const rows = [...body.rows].map((row) => ({ row, v: value(row) }));
      rows.sort((a, b) => {
        const none = Number.isNaN(a.v) - Number.isNaN(b.v); // what has no number stands at the end either way
        const order = typeof a.v === "number" && typeof b.v === "number" ? a.v - b.v : String(a.v).localeCompare(String(b.v), "en", { numeric: true });
        return none || (up ? order : -order);
      });
      for (const h of heads) h.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", up ? "ascending" : "descending");
      body.append(...rows.map((r) => r.row));
    });
  }
  if (body.rows.length > 15 && !table.closest(".numbers-of")) {
    const input = make("input", { type: "search" });
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/);
      for (const row of body.rows) row.hidden = !words.every((w) => row.textContent.toLowerCase().includes(w));
    });
    table.parentNode.before(make("label", { class: "filter" }, "Show rows with", input));
  }
}

// ---- what a drawing shows ----

const numbers = (text) => (text ? text.split(" ").map(Number) : []);

// The spots of a curve: values and places in the drawing. A level line is one spot that is everywhere.
function spots(group) {
  const name = group.dataset.method, xs = numbers(group.dataset.x), ys = numbers(group.dataset.y);
  const color = (e) => (e.getAttribute("stroke") ?? "none") !== "none" ? e.getAttribute("stroke") : e.getAttribute("fill");
  const low = numbers(group.dataset.low), high = numbers(group.dataset.high), line = one("path.line", group);
  if (group.dataset.level !== undefined || xs.length) {
    const place = line.getAttribute("d").slice(1).split(/[LHV]/).map(numbers), level = group.dataset.level !== undefined;
    return place.slice(0, level ? 1 : undefined).map(([px, py], i) => ({ name, level, color: color(line), x: xs[i], y: ys[i], low: low[i], high: high[i], px, py }));
  }
  return every("[data-point]", group).map((p) => {
    const mark = p.lastElementChild, box = mark.getBBox(), { x, y, low, high } = p.dataset;
    return { name: p.dataset.point, color: color(mark), x: +x, y: +y, low: +low, high: +high, px: box.x + box.width / 2, py: box.y + box.height / 2 };
  });
}

class Panel {
  constructor(node) {
    this.node = node;
    this.kind = node.dataset.panel;
    [this.left, this.top, this.width, this.height] = numbers(node.dataset.box);
    this.original = node.cloneNode(true);
    this.restore();
  }

  // As the file has it.
  restore() {
    const node = this.node;
    node.replaceChildren(...this.original.cloneNode(true).childNodes);
    this.x = node.dataset.xlabel;
    this.y = node.dataset.ylabel;
    this.read();
  }

  read() {
    const node = this.node;
    this.all = every("[data-method]", node).map((group) => ({ group, name: group.dataset.method, spots: spots(group) })).filter((c) => c.spots.length);
  }

  get curves() {
    return this.all.filter((c) => !c.group.hasAttribute("display"));
  }

  has(x, y) {
    return x >= this.left - 8 && x <= this.left + this.width + 8 && y >= this.top - 8 && y <= this.top + this.height + 8;
  }

  // How far a spot is from (x, y).
  away(spot, x, y) {
    const level = spot.level && (this.kind === "ranking" ? Math.abs(spot.px - x) : Math.abs(spot.py - y));
    return spot.level ? level : Math.hypot(spot.px - x, spot.py - y);
  }

  // The spot of a curve nearest to (x, y): along a curve only x counts.
  nearest(curve, x, y) {
    const away = (s) => (this.kind === "curves" && !s.level ? Math.abs(s.px - x) : this.away(s, x, y));
    return curve.spots.reduce((a, b) => (away(b) < away(a) ? b : a));
  }

  // The value that a row or a curve has here.
  value(spot) {
    return this.kind === "ranking" ? spot.x : spot.y;
  }
}

// ---- a figure ----

class Figure {
  constructor(svg, result) {
    this.svg = svg;
    this.result = result;
    this.place = svg.parentNode;
    this.panels = every("[data-panel]", svg).map((node) => new Panel(node));
    this.whole = svg.getAttribute("viewBox");
    this.tip = make("div", { class: "tip", hidden: "" });
    this.status = make("p", { class: "hidden", role: "status" });
    this.cross = svg.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "path"));
    this.cross.setAttribute("class", "cross");
    this.place.append(this.tip, this.status);
    svg.setAttribute("tabindex", "0");
    svg.setAttribute("role", "group");
    svg.setAttribute("aria-label", `${one("title", svg).textContent}. The arrow keys read values, Enter compares with one, Escape ends.`);
    svg.addEventListener("pointermove", (e) => this.move(e));
    svg.addEventListener("pointerleave", () => this.hide());
    svg.addEventListener("pointerdown", (e) => (this.from = e.pointerType === "mouse" ? this.point(e) : null));
    svg.addEventListener("pointerup", (e) => this.release(e));
    svg.addEventListener("keydown", (e) => e.target === svg && this.key(e));
    for (const entry of every("[data-legend]", svg)) this.switch(entry);
    this.fillControls();
    this.fillNumbers();
  }

  point(event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
  }

  // ---- switches ----

  switch(entry) {
    const turn = () => this.result.turn(entry.dataset.legend);
    entry.setAttribute("role", "button");
    entry.setAttribute("tabindex", "0");
    entry.setAttribute("aria-pressed", "true");
    entry.addEventListener("click", turn);
    entry.addEventListener("keydown", (e) => {
      if (e.key !== "Enter" && e.key !== " ") return;
      e.preventDefault();
      turn();
    });
  }

  fillControls() {
    const views = this.panels.length > 1 ? this.panels.map((p, i) => [`(${String.fromCharCode(97 + i)}) larger`, p.node.getBBox()]) : [];
    const button = ([text, box]) => {
      const b = make("button", { type: "button" }, text);
      b.addEventListener("click", () => this.enlarge(box));
      return b;
    };
    this.back = make("button", { type: "button", hidden: "" }, "whole figure");
    this.back.addEventListener("click", () => this.enlarge(null));
    const axes = this.panels.filter((p) => p.kind === "curves").map((panel) => axesOf(this.result, panel, this.panels.length > 1 ? `(${String.fromCharCode(97 + this.panels.indexOf(panel))}) axes` : "axes"));
    this.place.before(make("div", { class: "controls", role: "group", "aria-label": "Parts of the figure" }, views.map(button), this.back, axes));
  }

  enlarge(box) {
    const [, , width, height] = this.whole.split(" ").map(Number), room = box ? Math.min(width, this.place.clientWidth) : width;
    this.svg.setAttribute("width", room);
    this.svg.setAttribute("height", box ? (room * box.height) / box.width : height);
    this.svg.setAttribute("viewBox", box ? `${box.x - 4} ${box.y - 4} ${box.width + 8} ${box.height + 8}` : this.whole);
    this.back.hidden = !box;
    this.hide();
  }

  // A dragged rectangle is enlarged; a click compares with the spot there.
  release(event) {
    const to = this.point(event), from = this.from;
    this.from = null;
    if (from && Math.abs(to.x - from.x) > 8 && Math.abs(to.y - from.y) > 8)
      this.enlarge({ x: Math.min(from.x, to.x), y: Math.min(from.y, to.y), width: Math.abs(to.x - from.x), height: Math.abs(to.y - from.y) });
    else if (this.at) this.pin();
  }

  pin() {
    this.pinned = this.pinned && this.pinned.spot === this.at.spot ? null : this.at;
    this.mark(this.at);
  }

  // ---- values ----

  move(event) {
    const { x, y } = this.point(event), panel = this.panels.find((p) => p.has(x, y)), from = this.from;
    if (from && (Math.abs(x - from.x) > 8 || Math.abs(y - from.y) > 8)) {
      this.tip.hidden = true;
      return this.cross.setAttribute("d", `M${from.x} ${from.y}H${x}V${y}H${from.x}Z`);
    }
    if (!panel || !panel.curves.length) return this.hide();
    const found = panel.curves.map((curve) => ({ panel, curve, spot: panel.nearest(curve, x, y) }));
    this.mark(found.reduce((a, b) => (panel.away(b.spot, x, y) < panel.away(a.spot, x, y) ? b : a)));
  }

  // Shows a spot, and what other curves have at its place.
  mark(near) {
    const { panel, curve, spot } = near, box = panel, pinned = this.pinned && this.pinned.panel === panel ? this.pinned.spot : null;
    const others = panel.kind === "curves" ? panel.curves.filter((c) => c !== curve).map((c) => panel.nearest(c, spot.px, spot.py)) : [];
    const beside = [spot, ...others.filter((s) => s.level || Math.abs(s.px - spot.px) <= 6)].slice(0, 9);
    const ratio = (s) => (pinned && pinned !== s ? `${show(panel.value(s) / panel.value(pinned), 3)} × ${pinned.name}` : pinned ? "compared" : "");
    const row = (s) => make("tr", { class: s === spot ? "near" : null }, make("td", {}, make("i", { style: `background:${s.color}` })), make("th", {}, s.name),
      make("td", {}, show(panel.value(s))), make("td", { class: "d" }, spread(s)), make("td", { class: "d" }, ratio(s)));
    const where = panel.kind === "ranking" ? panel.x : spot.level ? "at every x" : `${panel.x}: ${show(spot.x)}`;
    this.at = near;
    const down = `M${spot.px} ${box.top}v${box.height}`, across = `M${box.left} ${spot.py}h${box.width}`;
    this.cross.setAttribute("d", spot.level ? (panel.kind === "ranking" ? down : across) : panel.kind === "curves" ? down : down + across);
    this.tip.replaceChildren(make("p", {}, where), make("table", {}, make("tbody", {}, beside.sort((a, b) => a.py - b.py).map(row))), panel.kind === "ranking" ? "" : make("p", {}, panel.y));
    this.tip.hidden = false;
    const to = new DOMPoint(spot.level ? box.left + box.width / 2 : spot.px, spot.py).matrixTransform(this.svg.getScreenCTM()), frame = this.place.getBoundingClientRect();
    const wide = this.tip.offsetWidth, x = to.x - frame.x, right = x + 16 + wide <= frame.width;
    this.tip.style.left = Math.max(0, right ? x + 16 : x - 16 - wide) + this.place.scrollLeft + "px";
    this.tip.style.top = (right || x - 16 - wide >= 0 ? Math.max(0, to.y - frame.y - this.tip.offsetHeight / 2) : to.y - frame.y + 24) + "px";
    this.status.textContent = `${spot.name}: ${spot.level || panel.kind === "ranking" ? "" : `${panel.x} ${show(spot.x)}, `}${panel.kind === "ranking" ? panel.x : panel.y} ${show(panel.value(spot))} ${spread(spot)} ${ratio(spot)}`;
  }

  hide() {
    this.at = null;
    this.tip.hidden = true;
    this.cross.setAttribute("d", "");
  }

  // Left and right go along a curve, up and down to the next one, also of the next panel.
  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9, PageUp: -10, PageDown: 10 }[event.key], turn = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (event.key === "Escape") {
      this.pinned = null;
      return this.hide();
    }
    if (event.key === "Enter" && this.at) return this.pin();
    const list = this.panels.flatMap((panel) => panel.curves.map((curve) => ({ panel, curve })));
    if (!list.length || (step === undefined && turn === undefined)) return;
    event.preventDefault();
    const now = this.at, i = now ? list.findIndex((c) => c.curve === now.curve) : -1;
    if (!now) return this.mark({ ...list[0], spot: list[0].curve.spots[0] });
    if (turn) {
      const next = list[(i + turn + list.length) % list.length];
      return this.mark({ ...next, spot: next.panel === now.panel ? next.panel.nearest(next.curve, now.spot.px, now.spot.py) : next.curve.spots[0] });
    }
    const along = now.curve.spots, to = along.indexOf(now.spot) + step;
    this.mark({ ...now, spot: along[Math.min(Math.max(to, 0), along.length - 1)] });
  }

  // What the figure shows now as tables: points one a line, curves at some twenty places.
  fillNumbers() {
    const details = make("details", { class: "numbers-of" }, make("summary", {}, "Numbers of this figure"));
    details.addEventListener("toggle", () => {
      every(".scroll", details).forEach((e) => e.remove());
      if (details.open) details.append(...this.panels.map((panel) => this.table(panel)));
      every("table", details).forEach(sortable);
    });
    this.place.after(details);
  }

  table(panel) {
    const head = (text, n) => make("th", { scope: "col", class: n ? "n" : null }, text), curves = panel.curves.filter((c) => !c.spots[0].level);
    const number = (v) => make("td", { class: "n", "data-v": Number.isFinite(v) ? v : null }, show(v));
    let heads = [head("method"), ...(panel.kind === "ranking" ? [] : [head(panel.x, true)]), head(panel.kind === "ranking" ? panel.x : panel.y, true), head("spread")], rows;
    if (panel.kind !== "curves")
      rows = curves.flatMap((c) => c.spots).map((s) => make("tr", {}, make("th", { scope: "row" }, s.name), panel.kind === "ranking" ? null : number(s.x), number(panel.value(s)), make("td", {}, spread(s))));
    else {
      const longest = curves.reduce((a, c) => (c.spots.length > a.length ? c.spots : a), []), n = longest.length, most = Math.min(n, 21);
      const at = Array.from({ length: most }, (_, i) => longest[Math.round((i * (n - 1)) / Math.max(most - 1, 1))]);
      const gap = at.length > 1 ? Math.abs(at[1].px - at[0].px) / 2 : Infinity;
      heads = [head(panel.x, true), ...curves.map((c) => head(c.name, true))];
      rows = at.map((s) => make("tr", {}, number(s.x), curves.map((c) => { const near = panel.nearest(c, s.px, s.py); return number(Math.abs(near.px - s.px) <= gap ? near.y : NaN); })));
    }
    const caption = `${panel.y} over ${panel.x}`;
    const table = make("table", { class: "sortable" }, make("caption", {}, make("span", {}, caption)), make("thead", {}, make("tr", {}, heads)), make("tbody", {}, rows));
    return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, table);
  }
}

// ---- the page ----

class Result {
  constructor(article) {
    this.article = article;
    this.figures = every(".plot > svg", article).map((svg) => new Figure(svg, this));
  }

  // The result as JSON, which is read when it is first asked for.
  get document() {
    this.read ??= JSON.parse(one("script[type='application/json']", this.article).textContent);
    return this.read;
  }

  // Columns and scales that the recipe asks for in a panel; null = panels and plots do not go together.
  plotOf(panel) {
    const panels = this.figures.flatMap((f) => f.panels), plots = this.document.plots || [], plot = plots[panels.indexOf(panel)];
    return panels.length === plots.length && plot ? { x: plot.x, y: plot.y, log: (plot.log || "none").replace("none", "") } : null;
  }

  series(label) {
    return (this.document.results.find((r) => r.label === label) || {}).series;
  }

  get columns() {
    return [...new Set(this.document.results.flatMap((r) => Object.keys(r.series || {})))];
  }

  words(column) {
    const unit = (this.document.units || {})[column];
    return column.replaceAll("_", " ") + (unit ? ` (${unit})` : "");
  }

  // Hides in what was drawn anew the methods that are switched off.
  apply() {
    for (const entry of every("[data-legend][aria-pressed='false']", this.article))
      for (const e of every("[data-method], [data-band]", this.article))
        if ((e.dataset.method ?? e.dataset.band) === entry.dataset.legend) e.setAttribute("display", "none");
    for (const figure of this.figures) figure.hide();
  }

  // Switches a method on or off in all figures of the result.
  turn(name) {
    const of = (attribute) => every(`[${attribute}]`, this.article).filter((e) => e.getAttribute(attribute) === name);
    const off = of("data-legend")[0].getAttribute("aria-pressed") === "true";
    for (const entry of of("data-legend")) entry.setAttribute("aria-pressed", !off);
    for (const e of [...of("data-method"), ...of("data-band")]) off ? e.setAttribute("display", "none") : e.removeAttribute("display");
    for (const figure of this.figures) figure.hide();
  }
}

function begin() {
  every("table.sortable").forEach(sortable);
  const observer = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen)
      if (isIntersecting) {
        observer.unobserve(target);
        const folded = one("details.folded:not([open])", target);
        if (folded) folded.addEventListener("toggle", () => new Result(target), { once: true });
        else new Result(target);
      }
  }, { rootMargin: "800px" });
  every("article").forEach((article) => observer.observe(article));
  for (const button of every(".download"))
    button.addEventListener("click", () => {
      const text = one("script", button.closest("article")).textContent;
      const link = make("a", { download: button.dataset.name, href: URL.createObjectURL(new Blob([text], { type: "application/json" })) });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
}
begin();
