// page_axes.js: draws a panel of curves over other columns and scales than those of its file, for page.js.
// SPDX-License-Identifier: MIT

const axisKeys = ["x", "y"];
const drawn = (name, attributes, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

// An axis over values, from `from` to `to` in the drawing: where a value stands, and its ticks.
class Axis {
  constructor(values, log, from, to, zero) {
    const shown = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
    this.t = log ? Math.log10 : (v) => v;
    this.log = log;
    this.empty = !shown.length;
    let min = shown.reduce((a, b) => Math.min(a, b), Infinity), max = shown.reduce((a, b) => Math.max(a, b), -Infinity);
    if (!log && min >= 0 && min < 0.25 * max) min = 0;
    if (!(max > min)) [min, max] = log ? [min / 2, max * 2] : [min - (Math.abs(min) || 1) / 2, max + (Math.abs(max) || 1) / 2];
    const pad = zero ? 0 : 0.05 * (this.t(max) - this.t(min));
    [this.min, this.max] = [this.t(min) - (min === 0 && !log ? 0 : pad), this.t(max) + pad];
    this.at = (v) => from + ((to - from) * (this.t(v) - this.min)) / (this.max - this.min);
  }

  // Powers of ten, or of fewer than two decades and on an even axis round steps: [value, text].
  get ticks() {
    const decades = this.max - this.min, ten = (e) => "10" + [...String(e)].map((c) => SUPER[c]).join("");
    if (this.log && decades >= 2) {
      const step = Math.ceil(decades / 7), first = Math.ceil(this.min / step) * step;
      return Array.from({ length: Math.floor((this.max - first) / step) + 1 }, (_, i) => [10 ** (first + i * step), ten(first + i * step)]);
    }
    const [a, b] = this.log ? [10 ** this.min, 10 ** this.max] : [this.min, this.max], raw = (b - a) / 6, power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((d) => d * power >= raw * (1 - 1e-9)), first = Math.ceil(a / step - 1e-9);
    return Array.from({ length: Math.floor(b / step + 1e-9) - first + 1 }, (_, i) => (first + i) * step).map((v) => [v, show(+v.toPrecision(12))]);
  }
}

// Draws the curves over other columns or scales. `series(name)` has the columns of a method, `name(column)` its words.
function drawOver(panel, { x, y, logX, logY }, series, name) {
  panel.restore();
  const node = panel.node, right = panel.left + panel.width, bottom = panel.top + panel.height, found = new Map();
  const numbersOf = (column) => (Array.isArray(column) ? column : column ? column.mean : null) || [];
  for (const { name: method } of panel.all) {
    const own = series(method) || {}, xs = numbersOf(own[x]), ys = numbersOf(own[y]), std = (own[y] && own[y].std) || [];
    found.set(method, xs.map((v, i) => ({ x: v, y: ys[i], std: std[i] || 0 })).filter((p) => [[p.x, logX], [p.y, logY]].every(([v, log]) => Number.isFinite(v) && (!log || v > 0))));
  }
  const points = [...found.values()].flat(), across = new Axis(points.map((p) => p.x), logX, panel.left, right, true);
  const low = (p) => (logY ? p.y / (1 + p.std / p.y) : p.y - p.std), high = (p) => p.y + p.std, up = new Axis(points.flatMap((p) => [low(p), high(p)].map((v) => (p.y >= 0 ? Math.max(v, logY ? v : 0) : v))), logY, bottom, panel.top, false);
  if (across.empty || up.empty) return panel.restore();
  [panel.x, panel.y] = [name(x), name(y)];
  const caption = one("text", node);
  every("text", node).forEach((text) => text !== caption && text.remove());
  if (x !== panel.columns.x || y !== panel.columns.y) caption.textContent = `${caption.textContent.match(/^\([a-z]\)/) || ""} ${panel.y} over ${panel.x}`;
  const path = (line, place) => (line.length ? "M" + line.map(place).join("L") : "");
  const spot = (v) => (p) => `${across.at(p.x).toFixed(2)} ${up.at(v(p)).toFixed(2)}`;
  for (const { group, name: method } of panel.all) {
    const line = one("path.line", group), list = found.get(method);
    const level = group.dataset.level !== undefined;
    every("[data-point]", group).forEach((e) => e.remove());
    if (!line || level || !list.length) {
      group.remove();
      continue;
    }
    line.setAttribute("d", path(list, spot((p) => p.y)));
    Object.assign(group.dataset, { x: list.map((p) => p.x).join(" "), y: list.map((p) => p.y).join(" "), low: list.map(low).join(" "), high: list.map(high).join(" ") });
  }
  for (const band of every("[data-band]", node)) {
    const list = found.get(band.dataset.band) || [];
    band.setAttribute("d", list.some((p) => p.std) ? path([...list.map(spot(low)), ...list.slice().reverse().map(spot(high))], (p) => p) + "Z" : "");
  }
  const xs = across.ticks.map(([v, text]) => [across.at(v), text]), ys = up.ticks.map(([v, text]) => [up.at(v), text]);
  one(".grid", node).setAttribute("d", xs.map(([at]) => `M${at} ${bottom}V${panel.top}`).join("") + ys.map(([at]) => `M${panel.left} ${at}H${right}`).join(""));
  one(".axis", node).setAttribute("d", xs.map(([at]) => `M${at} ${bottom}v5`).join("") + ys.map(([at]) => `M${panel.left} ${at}h-5`).join("") + `M${panel.left} ${panel.top}V${bottom}H${right}`);
  const text = (attributes, words) => node.append(drawn("text", { "font-size": 12, ...attributes }, words));
  for (const [at, words] of xs) text({ x: at, y: bottom + 19, "text-anchor": "middle" }, words);
  for (const [at, words] of ys) text({ x: panel.left - 8, y: at + 4, "text-anchor": "end" }, words);
  text({ x: (panel.left + right) / 2, y: bottom + 37, "text-anchor": "middle" }, panel.x);
  text({ transform: `translate(${Math.max(panel.left - 48, 12)} ${(panel.top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, panel.y);
  panel.read();
}

// Columns and scales of a panel of curves, filled in when they are opened.
function axesOf(result, panel, words) {
  const details = make("details", { class: "axes" }, make("summary", {}, words));
  details.addEventListener("toggle", () => {
    const plot = result.plotOf(panel);
    if (!details.open || details.children.length > 1) return;
    if (!plot) return details.append(" this result does not say which columns they are");
    panel.columns = plot;
    const choose = (key) => make("select", { "aria-label": `column of ${key}` }, result.columns.map((c) => make("option", { value: c, selected: c === plot[key] ? "" : null }, result.words(c))));
    const scale = (key) => { const e = make("input", { type: "checkbox" }); e.checked = plot.log.includes(key); return e; };
    const column = Object.fromEntries(axisKeys.map((k) => [k, choose(k)])), log = Object.fromEntries(axisKeys.map((k) => [k, scale(k)]));
    const redraw = () => {
      drawOver(panel, { x: column.x.value, y: column.y.value, logX: log.x.checked, logY: log.y.checked }, (name) => result.series(name), (c) => result.words(c));
      result.apply();
    };
    const back = make("button", { type: "button" }, "as drawn");
    back.addEventListener("click", () => {
      for (const k of axisKeys) [column[k].value, log[k].checked] = [plot[k], plot.log.includes(k)];
      panel.restore();
      result.apply();
    });
    for (const k of axisKeys) for (const e of [column[k], log[k]]) e.addEventListener("change", redraw);
    details.append(...axisKeys.map((k) => make("span", {}, `${k}: `, column[k], make("label", {}, log[k], " logarithmic"))), back);
  });
  return details;
}
