"""sparsetune --explain once more, in NumPy: rank correlations, their bootstrap intervals, and the pairs of methods.

Reads the evidence on stdin, takes from it what was measured of every seed, and compares the rest."""

import itertools
import json
import sys

import numpy as np
from common import Stream

np.seterr(divide="ignore", invalid="ignore")

BOOTSTRAP, ALL_WORKERS = 15, 2**24 - 1  # purpose of the stream, worker (lib/core/sg_rng.h)


def ranks(x):
    """In the last axis, 1 for the smallest; equal numbers have the mean of their places. NaN has no place."""
    one, other = x[..., :, None], x[..., None, :]
    places = (one > other).sum(-1) + ((one == other).sum(-1) + 1) / 2
    return np.where(np.isnan(x), np.nan, places)


def spearman(x, y):
    """In the last axis, over the places where both have a number."""
    none = np.isnan(x) | np.isnan(y)
    a, b = (ranks(np.where(none, np.nan, v)) for v in (x, y))
    a, b = (np.where(none, 0, v - np.nansum(v, -1, keepdims=True) / (~none).sum(-1, keepdims=True)) for v in (a, b))
    return (a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1))


def means(values, seeds):
    """[draws][methods] of values [methods][seeds] and seeds [draws][seeds]."""
    drawn = values[:, seeds]
    known = np.isfinite(drawn)
    return (np.where(known, drawn, 0).sum(-1) / known.sum(-1)).T


def interval(draws):
    known = draws[np.isfinite(draws)]
    return np.quantile(known, [0.025, 0.975]) if len(known) else [np.nan, np.nan]


def near(a, b):
    return (a is None and np.isnan(b)) or (a is not None and abs(a - b) <= 1e-9)


def main():
    document = json.load(sys.stdin)
    tune, rows = document["tune"], document["results"]
    read = lambda column: np.array([r["final"][column]["values"] for r in rows], dtype=float)
    name = [r["label"] for r in rows]
    sign = -1 if tune["better"] == "higher" else 1
    bad = sign * read(tune["metric"])
    errors = {e["column"]: (1 if e["worse"] == "more" else -1) * read(e["column"]) for e in tune["errors"]}
    n_methods, n_seeds = bad.shape
    first = next((e["column"] for e in tune["errors"] if e["against_first"] == "first"), None)

    def found(seeds, methods):
        """Of every draw and error the correlation, and how far the first error's is above it where both have values."""
        pick = lambda values: np.take_along_axis(means(values, seeds), methods, 1)
        b, m = pick(bad), {c: pick(e) for c, e in errors.items()}
        among = lambda x, y: np.where(np.isnan(y), np.nan, x)
        own = {c: spearman(m[c], b) for c in m}
        return own, {c: spearman(among(m[first], m[c]), b) - spearman(among(m[c], m[first]), b) for c in m}

    def draw(number):
        stream = Stream(int(tune["seed"]), BOOTSTRAP, ALL_WORKERS, number)
        return [stream.below(n_seeds) for _ in range(n_seeds)], [stream.below(n_methods) for _ in range(n_methods)]

    draws = found(*(np.array(d) for d in zip(*(draw(number) for number in range(tune["draws"])))))
    point = found(np.arange(n_seeds)[None], np.arange(n_methods)[None])
    wrong = 0
    for e in tune["errors"]:
        column = e["column"]
        for key, k in (("correlation", 0), ("behind_first", 1)):
            low, high = interval(draws[k][column])
            for part, value in (("value", point[k][column][0]), ("low", low), ("high", high)):
                if not near(e[key][part], value):
                    print(f"wrong: {column} {key} {part}: {e[key][part]} where NumPy has {value}")
                    wrong += 1
        pairs, misses = 0, set()
        for s, a, b in itertools.product(range(n_seeds), range(n_methods), range(n_methods)):
            if bad[a, s] < bad[b, s] and np.isfinite(errors[column][[a, b], s]).all():
                pairs += 1
                if not errors[column][a, s] < errors[column][b, s]:
                    misses.add((rows[0]["seeds"][s], name[a], name[b], bool(np.nanmin(bad[b]) <= np.nanmax(bad[a]))))
        said = {(w["seed"], w["better"], w["worse"], w["overlap"]) for w in e["pairs_wrong"]}
        if (pairs, pairs - len(misses), misses) != (e["pairs"], e["pairs_right"], said):
            right = pairs - len(misses)
            print(f"wrong: {column}: pairs {e['pairs']}, {e['pairs_right']} where NumPy has {pairs}, {right}")
            wrong += 1
    print(f"{len(errors)} errors, {tune['draws']} draws, {wrong} wrong")
    return wrong > 0


sys.exit(main())
