"""Which form of step efficiency predicts runs of one length from those of others.

Usage: python3 results/analysis/step_efficiency.py RESULT.json

The recipe has `step-efficiency`, and methods with lists of `stretch`. A cell is a label with its density V, its steps T
and its step efficiency phi, means over the seeds; cells without phi at some seed are left out. Each length is predicted
from the cells of the same method at other lengths, by four forms:

* sends: what is lost to no compression of T steps depends on T V alone
* slow-down: phi depends on V alone; at a density it is the geometric mean over the other lengths
* phi of sends: phi depends on T V alone
* plane: log(phi / (1 - phi)) = a + b log V + c log T, by least squares, where a method has two densities

A form that is a table is a line between two neighbours on logarithms, and is not continued; a cell that one of the
forms does not reach counts for none. phi becomes a quality by the curve without compression. Printed is the root of the
mean square of the error in quality, and of the standard error of the seeds. A form is kept if its error is within twice
the latter and below that of sends and of slow-down. In the plane of all cells of a method phi depends on V T^(c/b):
0 is a slow-down, 1 is sends (results/STEPS.md). Python's standard library is enough."""
# SPDX-License-Identifier: MIT

import argparse
import math
import statistics

from basics import LOSSES, PERPLEXITIES, SHARES, deviation, get, numbers, put_comment, put_lines, read_result, refuse

FORMS = ("sends", "slow-down", "phi of sends", "plane")


def scale_of(metric):
    """(the scale on which two values are compared, its unit)."""
    if metric in SHARES:
        return lambda v: -100 * v, "points"
    if metric in LOSSES:
        return lambda v: v, "nats"
    return lambda v: math.log(v), "nats" if metric in PERPLEXITIES else "of the logarithm"


def line_at(points, x):
    """The line through neighbours of sorted (x, y); None outside."""
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        if x0 <= x <= x1:
            return y0 if x1 == x0 else y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return points[0][1] if len(points) == 1 and points[0][0] == x else None


def merged(points):
    """Sorted points; those of one x have their mean."""
    of = {}
    for x, y in points:
        of.setdefault(round(x, 9), []).append(y)
    return sorted((x, statistics.fmean(ys)) for x, ys in of.items())


def solve(rows, right):
    """Least squares by the normal equations; None if they are singular."""
    n = len(rows[0])
    a = [[sum(r[i] * r[j] for r in rows) for j in range(n)] + [sum(r[i] * b for r, b in zip(rows, right))]
         for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(a[k][i]))
        a[i], a[pivot] = a[pivot], a[i]
        if abs(a[i][i]) < 1e-9:
            return None
        for k in range(n):
            if k != i:
                a[k] = [x - a[k][i] / a[i][i] * y for x, y in zip(a[k], a[i])]
    return [a[i][n] / a[i][i] for i in range(n)]


def odds(phi):
    phi = min(max(phi, 0.001), 0.999)
    return math.log(phi / (1 - phi))


class Cell:
    def __init__(self, label, metric, scale):
        final, seeds = label["final"], [c for c in label["cells"] if c.get("steps") is not None]
        self.name = label["method"]
        self.setting = label["label"].split(" stretch=")[0]
        self.plain = label["compressor"] == "none"
        self.steps = seeds[0]["steps"] if seeds else math.nan
        self.density = get(final, "average_density.mean")
        self.phi = numbers(get(final, "step_efficiency.values"))
        values = [scale(v) for v in numbers(get(final, f"{metric}.values")) if math.isfinite(v)]
        self.quality = statistics.fmean(values) if values else math.nan
        self.noise = deviation(values) / math.sqrt(len(values)) if values else math.nan
        self.whole = bool(self.phi) and all(math.isfinite(p) and p > 0 for p in self.phi) and bool(self.density)
        self.mean_phi = math.exp(statistics.fmean(map(math.log, self.phi))) if self.whole else math.nan
        self.sends = math.log(self.steps * self.density) if self.whole else math.nan


def row(cell):
    return 1, math.log(cell.density), math.log(cell.steps)


def plane(cells):
    """[a, b, c] of log(phi / (1 - phi)) = a + b log V + c log T, or None."""
    return solve([row(c) for c in cells], [odds(c.mean_phi) for c in cells])


def predict(cell, others, curve):
    """[quality by each form], or None where one does not reach the cell."""
    dense = [line_at(curve, math.log(c.steps)) for c in others]
    own = line_at(curve, math.log(cell.steps))
    if own is None or None in dense:
        return None
    lost = line_at(merged([(c.sends, c.quality - d) for c, d in zip(others, dense)]), cell.sends)
    by_setting = {}
    for c in others:
        by_setting.setdefault(c.setting, []).append(c)
    at_density = merged([(statistics.fmean(math.log(c.density) for c in cs),
                          statistics.fmean(math.log(c.mean_phi) for c in cs)) for cs in by_setting.values()])
    same = by_setting.get(cell.setting)
    slow = (statistics.fmean(math.log(c.mean_phi) for c in same) if same else
            line_at(at_density, math.log(cell.density)))
    of_sends = line_at(merged([(c.sends, math.log(c.mean_phi)) for c in others]), cell.sends)
    fit = plane(others) if len(by_setting) > 1 else None
    if None in (lost, slow, of_sends, fit):
        return None
    z = sum(a * x for a, x in zip(fit, row(cell)))
    lengths = [math.log(cell.steps) + p for p in (slow, of_sends, -math.log1p(math.exp(-z)))]
    qualities = [line_at(curve, t) for t in lengths]
    return None if None in qualities else [own + lost, *qualities]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", metavar="RESULT.json")
    arguments = parser.parse_args()
    document = read_result(arguments.result)
    asked = get(document, "recipe.resolved.step_efficiency")
    if not asked:
        refuse(f"{arguments.result}: its recipe has no step-efficiency")
    if asked.get("at") not in (None, {"final": True}):
        refuse(f"{arguments.result}: its step-efficiency goes by another value than that of the last record")
    metric = asked["of"].replace("-", "_")
    scale, unit = scale_of(metric)
    cells = [Cell(label, metric, scale) for label in document["results"]]
    curve = merged([(math.log(c.steps), c.quality) for c in cells if c.plain and math.isfinite(c.quality)])
    lines, pooled, left, powers = [], [], 0, []
    for name in dict.fromkeys(c.name for c in cells if not c.plain):
        of = [c for c in cells if c.name == name]
        whole, errors = [c for c in of if c.whole], []
        for c in whole:
            others = [o for o in whole if o.steps != c.steps]
            found = predict(c, others, curve) if others else None
            if found:
                errors.append(([q - c.quality for q in found], c.noise))
        left += len(of) - len(errors)
        pooled += errors
        if errors:
            lines.append([name, *summary(errors)])
            fit = plane(whole)
            powers += [f"{fit[2] / fit[1]:.2f} ({name})"] if fit else []
    if not pooled:
        refuse(f"{arguments.result}: no cell can be predicted from other lengths of its method")
    if len(lines) > 1:
        lines.append(["all", *summary(pooled)])
    print(f"# Error of predicted {metric.replace('_', ' ')} in {unit}, each length from the others of its method")
    put_lines(["method", "cells", *FORMS, "noise"], lines, range(1, 7))
    put_comment(f"By the plane phi depends on V T^c, c = {', '.join(powers)}.")
    error, noise = [rms([e[i] for e, _ in pooled]) for i in range(4)], rms([n for _, n in pooled])
    kept = [f for f, e in zip(FORMS[2:], error[2:]) if e <= 2 * noise and e < min(error[:2])]
    put_comment(f"{left} cells are not predicted. " + (f"Kept: {', '.join(kept)}." if kept else
                "No form of step efficiency is kept: none is within twice the noise and nearer than sends and "
                "slow-down."))


def rms(values):
    return math.sqrt(statistics.fmean(v * v for v in values))


def summary(errors):
    return [str(len(errors)), *(f"{rms([e[i] for e, _ in errors]):.3g}" for i in range(4)),
            f"{rms([n for _, n in errors]):.3g}"]


main()
