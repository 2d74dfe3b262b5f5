"""Effects of a method's lists of two values each on a final value: a factorial experiment as a table.

Usage: python3 results/analysis/effects.py [--y COLUMN] RESULT.json...

A method with m such lists has 2^m cells, and a cell has the sign -1 or +1 in each list, +1 for the second value. The
effect of a set of lists is 2^(1-m) times the sum over cells of the product of their signs and the cell's value: of one
list, what the second value gains over the first, mean over the other lists; of several, half of what each adds to the
effect of the others (Box, Hunter and Hunter, Statistics for Experimenters). It is found at every seed. The interval is
that of its mean by Student's distribution, with a probability of 0.95 for normal numbers. Python's standard library is
enough."""
# SPDX-License-Identifier: MIT

import argparse
import itertools
import math
import statistics

from basics import get, half_interval, numbers, put_lines, read_result, refuse

MOST = 6  # lists


def read_cell(label):
    """[(key, value)] of a label "Method key=value key=value", or None."""
    name, method = label["label"], label["method"]
    rest = name[len(method):].split()
    if not name.startswith(method) or not rest or any("=" not in word for word in rest):
        return None
    return [tuple(word.split("=", 1)) for word in rest]


def experiment(labels, column):
    """(keys, values of each, {cell: numbers of the seeds}) of a method's labels; None = they are no experiment."""
    cells = [read_cell(label) for label in labels]
    if any(cell is None for cell in cells):
        return None
    keys = [key for key, _ in cells[0]]
    if not 1 <= len(keys) <= MOST or len(cells) != 2 ** len(keys) or any([k for k, _ in c] != keys for c in cells):
        return None
    values = [list(dict.fromkeys(cell[f][1] for cell in cells)) for f in range(len(keys))]
    of = {tuple(values[f].index(value) for f, (_, value) in enumerate(cell)):
          numbers((label["final"].get(column) or {}).get("values")) for cell, label in zip(cells, labels)}
    seeds = min(len(numbers_of) for numbers_of in of.values())
    if any(len(v) != 2 for v in values) or len(of) != len(cells) or seeds == 0:
        return None
    return keys, values, {cell: numbers_of[:seeds] for cell, numbers_of in of.items()}


def effects(keys, values, cells):
    """[(name, effect at each seed)], of single lists first. In a set the first list is the lowest."""
    n = len(keys)
    sets = sorted((s for k in range(1, n + 1) for s in itertools.combinations(range(n), k)),
                  key=lambda s: (len(s), sum(1 << f for f in s)))
    seeds = len(next(iter(cells.values())))
    out = []
    for s in sets:
        sign = lambda cell: math.prod(1 if cell[f] else -1 for f in s)
        name = (f"{keys[s[0]]}: {' → '.join(values[s[0]])}" if len(s) == 1 else " × ".join(keys[f] for f in s))
        out.append((name, [2 * sum(sign(c) * v[seed] for c, v in cells.items()) / 2 ** n for seed in range(seeds)]))
    return out


def put_experiment(method, column, found):
    seeds = len(found[0][1])
    print(f"# Effects on {column} at the end, mean over {seeds} seed{'s' * (seeds != 1)} with its 95 % interval")
    lines = []
    for name, at in found:
        middle, half = statistics.fmean(at), half_interval(at)
        lines.append([name, f"{middle:+.4g}"] + (["-", "-"] if math.isnan(half) else
                                                 [f"{middle - half:+.4g}", f"{middle + half:+.4g}"]))
    put_lines([method, "effect", "from", "to"], lines, (1, 2, 3))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("result", nargs="+", metavar="RESULT.json")
    parser.add_argument("--y", metavar="COLUMN", help="of which column; default: the metric of the result's finding")
    opt = parser.parse_args()
    for path in opt.result:
        document = read_result(path)
        first = (document.get("plots") or [{}])[0].get("y", "")
        column = (opt.y or get(document, "summary.metric") or first).replace("-", "_")
        found = [(method, experiment(list(labels), column))
                 for method, labels in itertools.groupby(document["results"], lambda label: label["method"])]
        if not any(of for _, of in found):
            refuse(f"{path}: no method has lists of two values each, {MOST} at most, and '{column}' at every seed: "
                   f"there are no effects")
        for method, of in found:
            if of:
                put_experiment(method, column, effects(*of))


if __name__ == "__main__":
    main()
