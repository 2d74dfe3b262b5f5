// page_chart.js: draws one panel of a figure as SVG and reads its values to whoever points at it or asks with the arrow keys.
"use strict";

// ---- numbers ----

const SUPER = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const power = (n) => "10" + [...String(n)].map((c) => SUPER[c]).join("");

// A number with four digits, or a count with all of them.
function show(v, digits = 4) {
  if (v === null || v === undefined || !Number.isFinite(v)) return "–";
  const a = Math.abs(v);
  let text;
  if (Number.isInteger(v) && a < 1e7) text = String(v).replace(/\B(?=(\d{3})+$)/g, a < 1e4 ? "" : "\u202f");
  else if (a >= 1e-3 && a < 1e5) text = String(+v.toPrecision(digits));
  else {
    const [front, exponent] = v.toExponential(digits - 1).split("e");
    text = +front + "×" + power(+exponent);
  }
  return text.replace("-", "−");
}

// The view of an axis over these values: `margin` is the share left free at each end that is not a natural one, as 0 is
// if the values come near it and `zero`.
function fit(values, log, margin, zero = true) {
  let lo = Infinity, hi = -Infinity;
  for (const v of values) {
    if (!Number.isFinite(v) || (log && !(v > 0))) continue;
    if (v < lo) lo = v;
    if (v > hi) hi = v;
  }
  if (!(lo <= hi)) return null;
  if (log) {
    const free = hi / lo > 1.5 ? margin * Math.log10(hi / lo) : 0.25;
    return [lo * 10 ** -free, hi * 10 ** free];
  }
  if (zero && lo >= 0 && lo < 0.4 * hi && margin > 0) lo = 0;
  const free = hi > lo ? margin * (hi - lo) : 0.5 * Math.abs(hi) || 1;
  return [lo === 0 && hi > 0 ? 0 : lo - free, hi + free];
}

// Places and texts of at most about `most` ticks, and the power of ten in which the texts count.
function ticks([lo, hi], log, most) {
  const list = [], decades = log ? Math.log10(hi / lo) : 0;
  const nice = (raw) => {
    const unit = 10 ** Math.floor(Math.log10(raw)), digit = raw / unit;
    return unit * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
  };
  if (decades >= 1.5) {
    const step = Math.ceil(decades / most);
    for (let e = Math.ceil(Math.log10(lo) / step - 1e-9) * step; 10 ** e <= hi * (1 + 1e-9); e += step) list.push({ at: 10 ** e, text: power(e) });
    return { list, exponent: 0 };
  }
  const step = nice((hi - lo) / most), largest = Math.max(Math.abs(lo), Math.abs(hi));
  const exponent = largest >= 1e4 || largest < 1e-2 ? 3 * Math.floor(Math.log10(largest) / 3) : 0;
  if (decades >= 0.6) {
    for (let e = Math.floor(Math.log10(lo)); e <= Math.log10(hi); e++)
      for (const digit of [1, 2, 5]) {
        const at = digit * 10 ** e;
        if (at >= lo && at <= hi) list.push({ at, text: +(at / 10 ** exponent).toPrecision(3) + "" });
      }
    return { list, exponent };
  }
  for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi + 1e-9 * step; k++)
    list.push({ at: k * step, text: (+((k * step) / 10 ** exponent).toPrecision(6) + "").replace("-", "−") });
  return { list, exponent };
}

// ---- elements ----

function add(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) if (value !== null && value !== undefined) node.setAttribute(name, value);
  for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
  return node;
}
const make = (name, attributes, ...children) => add(document.createElement(name), attributes, children);
const draw = (name, attributes, ...children) => add(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

// ---- styles: those of every other format; a dark page has paler colours ----

const MARKS = [
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", "M-3.6 -3.6h7.2v7.2h-7.2z", "M0 -4.8L4.6 3.4H-4.6z",
  "M0 -5L5 0L0 5L-5 0z", "M0 4.8L4.6 -3.4H-4.6z", "M0 -4.6L4.4 -1.4L2.7 3.7H-2.7L-4.4 -1.4z",
];

function style({ style: s }) {
  const color = s.color === "#000000" ? "var(--ink)" : `color-mix(in oklab, ${s.color} var(--strong), white)`;
  return { color, dash: s.dash.map((d) => +(1.6 * d).toFixed(1)).join(" "), mark: MARKS[s.mark], fill: s.hollow ? "var(--ground)" : color };
}

// The sample of a legend or a tooltip.
function sample(curve, points) {
  const s = style(curve);
  return draw("svg", { viewBox: "0 0 30 12", width: 30, height: 12, "aria-hidden": "true" },
    draw("path", { d: "M1 6H29", class: "line", style: `stroke:${s.color}`, "stroke-dasharray": s.dash }),
    points && !curve.level ? draw("path", { d: s.mark, transform: "translate(15 6)", style: `fill:${s.fill};stroke:${s.color}` }) : null);
}

// ---- a panel ----

class Chart {
  // `panel` says which curves there are; read(panel) gives their numbers; isOff(name) is what the legend says.
  constructor(plot, status, read, isOff) {
    Object.assign(this, { plot, status, read, isOff, width: 0, at: null });
    this.tip = make("div", { class: "tip", hidden: "" });
  }

  describe() {
    const { x, y } = this.data, names = this.shown.map((c) => c.name).join(", ");
    return `${y.label} over ${x.label}, ${this.shown.length} curves: ${names}. The arrow keys read values.`;
  }

  draw() {
    const width = Math.max(this.plot.clientWidth, 240), height = Math.round(Math.min(Math.max(width * 0.62, 230), 380));
    const data = (this.data = this.read()), { x, y } = data;
    this.width = this.plot.clientWidth;
    this.shown = data.curves.filter((c) => !this.isOff(c.name) && c.points.length);
    if (data.ranking) return this.drawRanking(width);
    const free = this.shown.filter((c) => !c.level), all = (list, pick) => list.flatMap((c) => c.points.map(pick));
    const low = (p) => (!y.log && p.y >= 0 ? Math.max(p.low, 0) : p.low); // a band below zero does not make norms look negative
    let vx = x.range || fit(all(free.length ? free : this.shown, (p) => p.x), x.log, data.points ? 0.06 : 0);
    let vy = y.range || fit([...all(this.shown, (p) => p.y), ...all(this.shown, (p) => p.high), ...all(this.shown, low)], y.log, 0.05);
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "application", "aria-roledescription": "chart" });
    this.plot.replaceChildren(svg, this.tip);
    this.svg = svg;
    this.hide();
    if (!vx || !vy) {
      svg.append(draw("text", { x: width / 2, y: height / 2, class: "empty" }, data.curves.length ? "Nothing to draw: no curve is on, or no value fits the axes." : "No values yet."));
      svg.setAttribute("aria-label", "An empty figure");
      this.shown = [];
      return;
    }
    const ty = ticks(vy, y.log, 6);
    const left = Math.max(34, 12 + 7 * Math.max(...ty.list.map((t) => t.text.length), 1)), box = { left, right: width - 14, top: 26, bottom: height - 42 };
    const tx = ticks(vx, x.log, Math.max(3, Math.floor((box.right - left) / 75)));
    const scale = ([lo, hi], log, a, b) => (log ? (v) => a + ((b - a) * Math.log(v / lo)) / Math.log(hi / lo) : (v) => a + ((b - a) * (v - lo)) / (hi - lo));
    const sx = scale(vx, x.log, box.left, box.right), sy = scale(vy, y.log, box.bottom, box.top);
    this.box = box;
    for (const t of ty.list) {
      svg.append(draw("path", { class: "grid", d: `M${box.left} ${sy(t.at)}H${box.right}` }),
        draw("text", { x: box.left - 7, y: sy(t.at) + 4, "text-anchor": "end" }, t.text));
    }
    for (const t of tx.list)
      svg.append(draw("path", { class: "axis", d: `M${sx(t.at)} ${box.bottom}v5` }), draw("text", { x: sx(t.at), y: box.bottom + 19, "text-anchor": "middle" }, t.text));
    const title = (axis, t) => axis.label + (t.exponent ? ` (×${power(t.exponent)})` : "");
    svg.append(draw("path", { class: "axis", d: `M${box.left} ${box.top}V${box.bottom}H${box.right}` }),
      draw("text", { x: 0, y: 13 }, title(y, ty)),
      draw("text", { x: box.right, y: height - 5, "text-anchor": "end" }, title(x, tx)));
    const clip = "c" + Math.random().toString(36).slice(2);
    svg.append(draw("clipPath", { id: clip }, draw("rect", { x: box.left - 5, y: box.top - 5, width: box.right - box.left + 10, height: box.bottom - box.top + 10 })));
    const layer = (name) => svg.appendChild(draw("g", { "clip-path": `url(#${clip})`, "data-layer": name }));
    const bands = layer("bands"), lines = layer("lines"), baselines = layer("baselines");
    this.cursor = svg.appendChild(draw("g", { "aria-hidden": "true" }));
    for (const c of this.shown) {
      const at = (v, s, log) => (log && !(v > 0) ? NaN : s(v));
      c.spots = c.points.map((p) => ({ p, px: c.level ? box.left : at(p.x, sx, x.log), py: at(p.y, sy, y.log) })).filter((s) => Number.isFinite(s.px) && Number.isFinite(s.py));
      const edge = (v) => Math.min(at(v, sy, y.log) || box.bottom + 9, box.bottom + 9);
      this.curve(c, data.points, { bands, line: c.baseline ? baselines : lines, edge });
    }
    svg.setAttribute("aria-label", this.describe());
    this.listen(svg);
  }

  listen(svg) {
    svg.addEventListener("pointermove", (e) => this.point(e));
    svg.addEventListener("pointerdown", (e) => this.point(e));
    svg.addEventListener("pointerleave", () => this.hide());
    svg.addEventListener("blur", () => this.hide());
    svg.addEventListener("keydown", (e) => this.key(e));
  }

  // Rows with their names, the best at the top: seeds as rings, a bar and a mark; the baseline is a line down all rows.
  drawRanking(width) {
    const { y } = this.data, rows = this.shown.filter((c) => !c.level), lines = this.shown.filter((c) => c.level);
    const values = this.shown.flatMap((c) => c.points.flatMap((p) => [p.y, p.low, p.high, ...p.seeds]));
    const view = y.range || fit(values, y.log, 0.04, false), pitch = 17;
    const left = Math.min(0.5 * width, 16 + 6.6 * Math.max(...rows.map((c) => c.name.length), 4));
    const height = rows.length * pitch + 58, box = (this.box = { left, right: width - 14, top: 8, bottom: height - 42 });
    const svg = (this.svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "application", "aria-roledescription": "chart" }));
    this.plot.replaceChildren(svg, this.tip);
    this.hide();
    if (!view) return;
    const [lo, hi] = y.log ? view.map(Math.log) : view, at = (v) => box.left + ((box.right - box.left) * ((y.log ? Math.log(v) : v) - lo)) / (hi - lo);
    const inside = (v) => Math.min(Math.max(at(v), box.left), box.right), isIn = (v) => v >= view[0] && v <= view[1];
    const t = ticks(view, y.log, Math.max(3, Math.floor((box.right - left) / 75)));
    for (const tick of t.list)
      svg.append(draw("path", { class: "grid", d: `M${at(tick.at)} ${box.top}V${box.bottom}` }), draw("text", { x: at(tick.at), y: box.bottom + 19, "text-anchor": "middle" }, tick.text));
    svg.append(draw("path", { class: "axis", d: `M${box.left} ${box.top}V${box.bottom}H${box.right}` }),
      draw("text", { x: box.right, y: height - 5, "text-anchor": "end" }, y.label + (t.exponent ? ` (×${power(t.exponent)})` : "")));
    for (const c of lines) {
      const p = c.points[0], s = style(c);
      svg.append(draw("path", { class: "band", style: `fill:${s.color}`, d: `M${inside(p.low)} ${box.top}H${inside(p.high)}V${box.bottom}H${inside(p.low)}z` }),
        draw("path", { class: "line", style: `stroke:${s.color}`, "stroke-dasharray": s.dash, d: `M${at(p.y)} ${box.top}V${box.bottom}` }));
      c.spots = [{ p, px: at(p.y), py: box.top }];
    }
    this.cursor = svg.appendChild(draw("g", { "aria-hidden": "true" }));
    rows.forEach((c, i) => {
      const p = c.points[0], py = box.top + (i + 0.5) * pitch, s = style(c), color = `stroke:${s.color}`;
      c.spots = [{ p, px: inside(p.y), py }];
      svg.append(draw("text", { x: box.left - 7, y: py + 4, "text-anchor": "end" }, c.name), draw("path", { class: "grid", d: `M${box.left} ${py}H${box.right}` }));
      if (!isIn(p.y)) {
        const low = p.y < view[0];
        svg.append(draw("text", { x: low ? box.left + 5 : box.right - 5, y: py + 4, "text-anchor": low ? "start" : "end" }, low ? `← ${show(p.y, 3)}` : `${show(p.y, 3)} →`));
        return;
      }
      for (const v of p.seeds.filter(isIn)) svg.append(draw("circle", { cx: at(v), cy: py, r: 2.2, style: `fill:none;${color}` }));
      svg.append(draw("path", { class: "line thin", style: color, d: `M${inside(p.low)} ${py}H${inside(p.high)}` }), draw("circle", { cx: at(p.y), cy: py, r: 3.4, style: `fill:${s.color}` }));
    });
    svg.setAttribute("aria-label", `${y.label}, ${rows.length} methods, the best first: ${rows.map((c) => c.name).join(", ")}. The arrow keys read values.`);
    this.listen(svg);
  }

  curve(c, points, { bands, line, edge }) {
    const s = style(c), spots = thin(c.spots), color = `stroke:${s.color}`, xy = (x, y) => x.toFixed(1) + " " + y.toFixed(1);
    if (!spots.length) return;
    const path = c.level ? `M${xy(this.box.left, spots[0].py)}H${this.box.right}` : "M" + spots.map((p) => xy(p.px, p.py)).join("L");
    if (points && !c.level) {
      line.append(draw("path", { class: "line thin", d: path, style: color, "stroke-dasharray": s.dash }));
      for (const { p, px, py } of spots) {
        if (p.high > p.low) line.append(draw("path", { class: "line thin", style: color, d: `M${xy(px, edge(p.low))}V${edge(p.high).toFixed(1)}` }));
        line.append(draw("path", { d: s.mark, transform: `translate(${xy(px, py)})`, style: `fill:${s.fill};stroke:${s.color}` }));
      }
      return;
    }
    if (!c.level && spots.some(({ p }) => p.high > p.low))
      bands.append(draw("path", { class: "band", style: `fill:${s.color}`,
        d: "M" + spots.map(({ p, px }) => xy(px, edge(p.high))).join("L") + "L" + spots.slice().reverse().map(({ p, px }) => xy(px, edge(p.low))).join("L") + "z" }));
    line.append(draw("path", { class: "line", d: path, style: color, "stroke-dasharray": s.dash }));
  }

  // The spot of a curve that is nearest to a place of the drawing; across alone for lines.
  nearest(c, px, py) {
    let best = null, least = Infinity;
    for (const spot of c.spots) {
      const d = c.level ? 6 + (this.data.ranking ? Math.abs(spot.px - px) : Math.abs(spot.py - py)) : this.data.points ? Math.hypot(spot.px - px, spot.py - py) : Math.abs(spot.px - px);
      if (d < least) [best, least] = [spot, d];
    }
    return best && { c, spot: best, away: this.data.points ? least : Math.abs(best.py - py), across: least };
  }

  point(event) {
    const frame = this.svg.getBoundingClientRect(), scale = this.svg.viewBox.baseVal.width / frame.width;
    const px = (event.clientX - frame.left) * scale, py = (event.clientY - frame.top) * scale;
    if (px < this.box.left - 12 || px > this.box.right + 12 || py < this.box.top - 12 || py > this.box.bottom + 24) return this.hide();
    const found = this.shown.map((c) => this.nearest(c, px, py)).filter(Boolean).sort((a, b) => a.away - b.away);
    if (!found.length) return this.hide();
    const near = found[0], beside = this.data.points ? [near] : found.filter((f) => f.c.level || Math.abs(f.spot.px - near.spot.px) <= Math.max(6, f.across + 1));
    this.mark(near, beside.slice(0, 9), px);
  }

  // Shows what is at a spot, and at the spots of other curves beside it.
  mark(near, beside, px) {
    const { x, y, points } = this.data, p = near.spot.p, at = near.c.level ? px : near.spot.px;
    this.at = near;
    this.cursor.replaceChildren(
      near.c.level ? "" : draw("path", { class: "cross", d: `M${at} ${this.box.top}V${this.box.bottom}` }),
      points ? draw("path", { class: "cross", d: `M${this.box.left} ${near.spot.py}H${this.box.right}` }) : "",
      ...beside.filter((f) => !f.c.level).map((f) => draw("circle", { cx: f.spot.px, cy: f.spot.py, r: f === near ? 5 : 3.2, style: `fill:${style(f.c).color};stroke:var(--ground);stroke-width:1.5` })));
    const row = (f) => make("tr", { class: f === near ? "near" : null }, make("td", {}, sample(f.c, points)), make("th", {}, f.spot.p.label),
      make("td", {}, show(f.spot.p.y)), make("td", { class: "d" }, spread(f.spot.p)));
    const where = points && near.c.level ? "without compression, at every x" : `${x.label}: ${show(p.x)}`;
    this.tip.replaceChildren(make("p", {}, where), make("table", {}, make("tbody", {}, beside.sort((a, b) => a.spot.py - b.spot.py).map(row))), ...(points ? [make("p", {}, y.label)] : []));
    this.tip.hidden = false;
    const k = this.plot.clientWidth / this.svg.viewBox.baseVal.width, wide = this.tip.offsetWidth, room = this.plot.clientWidth;
    const high = this.tip.offsetHeight, right = at * k + 16 + wide <= room, left = at * k - 16 - wide >= 0;
    // Beside the spot, or, where there is no room, below the drawing.
    this.tip.style.left = (right ? at * k + 16 : left ? at * k - 16 - wide : Math.max(0, Math.min(at * k - wide / 2, room - wide))) + "px";
    this.tip.style.top = (right || left ? Math.max(0, Math.min(near.spot.py * k - high / 2, this.box.bottom * k - high)) : (this.box.bottom + 24) * k) + "px";
  }

  hide() {
    this.at = null;
    this.tip.hidden = true;
    if (this.cursor) this.cursor.replaceChildren();
  }

  // Left and right go along a curve, up and down to the next one.
  key(event) {
    const curves = this.shown.filter((c) => c.spots.length), step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9, PageUp: -10, PageDown: 10 }[event.key];
    const turn = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (event.key === "Escape") return this.hide();
    if (!curves.length || (step === undefined && turn === undefined)) return;
    event.preventDefault();
    let c = this.at ? this.at.c : curves[0], i = this.at ? c.spots.indexOf(this.at.spot) : -1;
    if (turn && this.at) {
      const px = this.at.spot.px;
      c = curves[(curves.indexOf(c) + turn + curves.length) % curves.length];
      i = c.spots.indexOf(this.nearest(c, px, this.at.spot.py).spot);
    } else i = this.at || step > 1 || step < -1 ? Math.min(Math.max(i + (step || 0), 0), c.spots.length - 1) : 0;
    const spot = c.spots[i], near = { c, spot, away: 0, across: 0 };
    const beside = this.data.points ? [near] : [near, ...curves.filter((o) => o !== c).map((o) => this.nearest(o, spot.px, spot.py)).filter((f) => f.c.level || f.across <= 6)];
    this.mark(near, beside.slice(0, 9), spot.px);
    this.status.textContent = `${spot.p.label}: ${c.level ? "" : `${this.data.x.label} ${show(spot.p.x)}, `}${this.data.y.label} ${show(spot.p.y)} ${spread(spot.p)}`;
  }
}

// " ± 0.1", or the quartiles where those are drawn.
function spread(p) {
  if (p.quartiles) return `(${show(p.low, 3)} … ${show(p.high, 3)})`;
  return p.std > 1e-9 * Math.abs(p.y) ? "± " + show(p.std, 2) : "";
}

// Of many spots in one column of pixels: the first, the lowest, the highest and the last.
function thin(spots) {
  if (spots.length < 1500) return spots;
  const columns = new Map();
  for (const s of spots) {
    const key = Math.round(s.px), c = columns.get(key);
    if (!c) columns.set(key, { first: s, low: s, high: s, last: s });
    else Object.assign(c, { last: s, low: s.py > c.low.py ? s : c.low, high: s.py < c.high.py ? s : c.high });
  }
  const kept = new Set([...columns.values()].flatMap((c) => [c.first, c.low, c.high, c.last]));
  return spots.filter((s) => kept.has(s));
}
