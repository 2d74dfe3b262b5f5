// page.js: starts a page of results: draws figures when they come into view, sorts and filters tables, keeps what the
// reader switched over a reload of a page whose grid still runs.
"use strict";

const one = (selector, from = document) => from.querySelector(selector);
const every = (selector, from = document) => [...from.querySelectorAll(selector)];

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

// ---- what the reader switched ----

const memory = {
  key: "sparsegrad " + location.pathname,
  all: {},
  load() {
    try { this.all = JSON.parse(sessionStorage.getItem(this.key)) || {}; } catch { this.all = {}; }
  },
  save() {
    try { sessionStorage.setItem(this.key, JSON.stringify(this.all)); } catch { /* a browser without it forgets */ }
  },
};

// ---- a result ----

const isClock = (name) => /^(step|epoch|bits|bytes)/.test(name) || /(^|_)time$/.test(name);
const means = (column) => (Array.isArray(column) ? column : column && column.mean) || null;

function quartiles(values) {
  const v = values.filter(Number.isFinite).sort((a, b) => a - b);
  const at = (q) => {
    const i = q * (v.length - 1), k = Math.floor(i);
    return v[k] + (i - k) * ((v[k + 1] ?? v[k]) - v[k]);
  };
  return v.length > 3 ? [at(0.25), at(0.75)] : null;
}

// Around a mean: ± 1 standard deviation. That may reach below zero, so a log axis shows the same factor up and down.
const around = (mean, std, log) => ({ low: log && mean > 0 ? (mean * mean) / (mean + std) : mean - std, high: mean + std });

class Result {
  constructor(article) {
    this.article = article;
    this.number = article.dataset.result;
    this.text = one(`#r${this.number}-document`).textContent;
    this.json = JSON.parse(this.text);
    this.view = JSON.parse(one(`#r${this.number}-view`).textContent);
    const saved = (memory.all[this.number] ||= { off: [], panels: {} });
    this.off = new Set(saved.off);
    this.saved = saved;
  }

  label(column) {
    return this.view.columns[column] ?? column.replaceAll("_", " ");
  }

  // The columns that a panel's axes may have: of runs for curves, of ends for points.
  choices(panel, side) {
    const group = panel.points ? "final" : "series", results = panel.curves.flatMap((c) => c.at).map((i) => this.json.results[i]);
    const names = new Set(results.flatMap((r) => Object.keys(r?.[group] || {})));
    const fits = [...names].filter((n) => (panel.points ? !/^(step|epoch)$/.test(n) : isClock(n) === (side === "x")));
    return [...new Set([panel.plan[side], ...fits])];
  }

  // The numbers of a panel with the axes it has now.
  read(panel) {
    const { x, y, plan } = panel, plot = panel.plot === null ? {} : this.json.plots?.[panel.plot] ?? {};
    const planned = x === plan.x && y === plan.y;
    const axis = (side) => {
      const range = planned && panel[side + "log"] === plan[side + "log"] ? plot[side + "_range"] : null;
      return { label: this.label(panel[side]), log: panel[side + "log"], range: Array.isArray(range) && range[0] < range[1] ? range : null };
    };
    const curves = panel.curves.map((c) => {
      const results = c.at.map((i) => this.json.results[i]).filter(Boolean);
      const points = panel.points ? this.ends(results, x, y, planned ? plot.points : null, panel.ylog) : results.flatMap((r) => this.run(r, x, y, panel.ylog));
      return { name: c.name, baseline: c.baseline, style: c.style, level: c.level && panel.points, points };
    });
    return { x: axis("x"), y: axis("y"), points: panel.points, ranking: panel.ranking, curves };
  }

  run(result, x, y, log) {
    const at = means(result.series?.[x]), value = means(result.series?.[y]), std = result.seeds?.length > 1 ? result.series?.[y]?.std : null;
    const points = [];
    for (let i = 0; at && value && i < value.length; i++) {
      if (value[i] === null || at[i] === null) continue;
      const s = std?.[i] ?? 0;
      points.push({ x: at[i], y: value[i], std: s, ...around(value[i], s, log), label: result.label });
    }
    return points;
  }

  ends(results, x, y, given, log) {
    const value = (r, name) => (typeof r.final?.[name] === "number" ? { mean: r.final[name] } : r.final?.[name]) ?? (r.constants?.[name] !== undefined ? { mean: r.constants[name] } : { mean: means(r.series?.[name])?.findLast((v) => v !== null) });
    return results.map((r) => {
      const point = given?.find((p) => p.label === r.label), at = point?.x ?? value(r, x), to = point?.y ?? value(r, y);
      const several = r.seeds?.length > 1, box = log && several && to?.values ? quartiles(to.values) : null, s = several ? to?.std ?? 0 : 0;
      return { x: at?.mean ?? null, y: to?.mean ?? null, std: s, ...(box ? { low: box[0], high: box[1] } : around(to?.mean, s, log)), quartiles: !!box, seeds: (several && to?.values) || [], label: r.label };
    }).filter((p) => p.y !== null && p.y !== undefined && (p.x !== null || results[0].baseline));
  }

  keep() {
    this.saved.off = [...this.off];
    memory.save();
  }

  start() {
    this.panels = this.view.panels.map((p, i) => {
      const { x, y, xlog, ylog } = p, plan = { x, y, xlog, ylog };
      return new Figure(this, { ...p, plan, ...this.saved.panels[i] }, i);
    });
    const names = (f) => f.entries().map((e) => e.name).join("\n"), shared = one(".legend.shared", this.article);
    if (this.panels.length > 1 && this.panels.every((f) => names(f) === names(this.panels[0]))) {
      this.legends = [[shared, this.panels[0]]];
      for (const f of this.panels) f.legend.remove();
    } else this.legends = this.panels.map((f) => [f.legend, f]);
    this.redraw();
    const observer = new ResizeObserver(() => this.panels.forEach((f) => f.chart.width !== f.plot.clientWidth && f.chart.draw()));
    this.panels.forEach((f) => observer.observe(f.plot));
  }

  redraw() {
    for (const [place, figure] of this.legends) figure.fillLegend(place);
    for (const figure of this.panels) figure.refresh();
  }
}

// ---- a figure: its switches, its drawing, its numbers as a table ----

class Figure {
  constructor(result, panel, index) {
    this.result = result;
    this.panel = panel;
    this.index = index;
    this.node = one(`figure[data-panel="${index}"]`, result.article);
    this.caption = one("figcaption", this.node);
    this.title = this.caption.textContent;
    this.plot = make("div", { class: "plot" });
    this.legend = make("div", { class: "legend" });
    this.controls = make("div", { class: "controls", role: "group", "aria-label": "Axes" });
    const status = make("p", { class: "hidden", role: "status" });
    this.numbers = make("details", { class: "numbers-of" }, make("summary", {}, "Numbers of this figure"));
    this.node.append(this.controls, this.plot, this.legend, status, this.numbers);
    this.chart = new Chart(this.plot, status, () => result.read(panel), (name) => result.off.has(name));
    this.numbers.addEventListener("toggle", () => this.fillNumbers());
    this.fillControls();
  }

  entries() {
    return this.result.read(this.panel).curves;
  }

  change(values) {
    Object.assign(this.panel, values);
    const { x, y, xlog, ylog } = this.panel;
    this.result.saved.panels[this.index] = { x, y, xlog, ylog };
    this.result.keep();
    const focus = this.controls.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    this.fillControls();
    if (focus) one(`[data-key="${focus}"]`, this.controls)?.focus();
    this.refresh();
  }

  refresh() {
    const { x, y, plan } = this.panel, planned = x === plan.x && y === plan.y;
    this.caption.textContent = planned && !/^(\(\w\))?$/.test(this.title) ? this.title : `${/^\(\w\)/.exec(this.title)?.[0] ?? ""} ${this.result.label(y)} over ${this.result.label(x)}`.trim();
    this.chart.draw();
    this.fillNumbers();
  }

  fillControls() {
    const { panel, result } = this, parts = [];
    for (const side of panel.ranking ? [] : ["x", "y"]) { // a ranking is of its own columns
      const select = make("select", { "data-key": side }, result.choices(panel, side).map((name) => make("option", { value: name }, name.replaceAll("_", " "))));
      select.value = panel[side];
      select.addEventListener("change", () => this.change({ [side]: select.value }));
      const log = make("button", { type: "button", "data-key": side + "log", "aria-pressed": panel[side + "log"], "aria-label": `logarithmic ${side} axis` }, "log");
      log.addEventListener("click", () => this.change({ [side + "log"]: !panel[side + "log"] }));
      parts.push(make("span", { class: "group" }, make("label", {}, side, select), log));
    }
    if (["x", "y", "xlog", "ylog"].some((k) => panel[k] !== panel.plan[k])) {
      const reset = make("button", { type: "button" }, "as planned");
      reset.addEventListener("click", () => { this.change(panel.plan); one("select", this.controls).focus(); });
      parts.push(reset);
    }
    this.controls.replaceChildren(...parts);
  }

  fillLegend(place) {
    const { off } = this.result, curves = this.entries().filter((c) => c.level || !this.panel.ranking), focus = place.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    const button = (c) => {
      const b = make("button", { type: "button", "aria-pressed": !off.has(c.name), "data-name": c.name }, sample(c, this.panel.points), c.name);
      b.addEventListener("click", () => this.toggle([c.name], off.has(c.name)));
      return b;
    };
    const all = (text, on) => {
      const b = make("button", { type: "button", class: "all", "data-name": "\n" + text }, text);
      b.addEventListener("click", () => this.toggle(curves.map((c) => c.name), on));
      return b;
    };
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", "Curves, on or off");
    place.replaceChildren(...curves.map(button), ...(curves.length > 5 ? [make("span", {}, all("all", true), all("none", false))] : []));
    if (focus !== null) every("button", place).find((b) => b.dataset.name === focus)?.focus();
  }

  toggle(names, on) {
    for (const name of names) on ? this.result.off.delete(name) : this.result.off.add(name);
    this.result.keep();
    this.result.redraw();
  }

  // What the figure shows now, as a table: points one a line, curves at some twenty places.
  fillNumbers() {
    one(".scroll", this.numbers)?.remove();
    if (!this.numbers.open) return;
    const { x, y, points } = this.chart.data, curves = this.chart.shown, head = (text, n) => make("th", { scope: "col", class: n ? "n" : null }, text);
    const number = (v) => make("td", { class: "n", "data-v": Number.isFinite(v) ? v : null }, show(v));
    let heads, rows;
    if (points) {
      heads = [head("method"), head(x.label, true), head(y.label, true), head("spread")];
      rows = curves.flatMap((c) => c.points.map((p) => make("tr", {}, make("th", { scope: "row" }, p.label), number(p.x), number(p.y), make("td", {}, spread(p)))));
    } else {
      const longest = curves.reduce((a, c) => (c.points.length > (a?.points.length ?? 0) ? c : a), null), n = longest?.points.length ?? 0, most = Math.min(n, 21);
      const at = Array.from({ length: most }, (_, i) => longest.points[Math.round((i * (n - 1)) / Math.max(most - 1, 1))].x);
      const gap = at.length > 1 ? Math.abs(at[1] - at[0]) / 2 : Infinity;
      const near = (c, v) => c.points.reduce((a, p) => (Math.abs(p.x - v) < Math.abs((a?.x ?? Infinity) - v) ? p : a), null);
      heads = [head(x.label, true), ...curves.map((c) => head(c.name, true))];
      rows = at.map((v) => make("tr", {}, number(v), curves.map((c) => { const p = near(c, v); return number(p && Math.abs(p.x - v) <= gap ? p.y : NaN); })));
    }
    const caption = `${y.label}${points ? "" : ", mean over the seeds,"} over ${x.label}`;
    const table = make("table", { class: "sortable" }, make("caption", {}, make("span", {}, caption)), make("thead", {}, make("tr", {}, heads)), make("tbody", {}, rows));
    this.numbers.append(make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, table));
    sortable(table);
  }
}

// ---- the page ----

function begin() {
  memory.load();
  every("table.sortable").forEach(sortable);
  const results = new Map(), open = (article) => {
    if (results.has(article)) return results.get(article);
    const result = new Result(article);
    results.set(article, result);
    if (result.view.panels.length) result.start();
    return result;
  };
  const observer = new IntersectionObserver((seen) => seen.filter((s) => s.isIntersecting).forEach((s) => open(s.target)), { rootMargin: "800px" });
  every("article").forEach((article) => observer.observe(article));
  addEventListener("beforeprint", () => every("article").forEach(open));
  for (const button of every(".download"))
    button.addEventListener("click", () => {
      const link = make("a", { download: button.dataset.name, href: URL.createObjectURL(new Blob([open(button.closest("article")).text], { type: "application/json" })) });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
}
begin();
