#!/usr/bin/env bats
# results/analysis/explain.py: errors that are made to order methods, or not to; results that are joined; refusals.
# results/analysis/law.py: the law of a threshold, simulated.
# SPDX-License-Identifier: MIT
load common

# Results of twelve methods at four seeds: total_error orders them, error_relative is the same doubled,
# average_compression_error is drawn at random, and error_lag, a mean of a plot, orders them in reverse.
setup_file() {
    cd "$BATS_FILE_TMPDIR"
    python3 -B - <<'PY'
import copy, json, random
random.seed(5)
names, seeds = [f"Method {m}" for m in range(12)], ["1", "2", "3", "4"]
spread = lambda v: {"mean": sum(v) / len(v), "std": 0, "n": len(v), "values": v}
results, points = [], []
for m, name in enumerate(names):
    quality = [0.9 - 0.05 * m + 0.01 * s for s in range(4)]
    total = [(m + 1) * 10.0 + s for s in range(4)]
    columns = {"test_accuracy": quality, "total_error": total, "error_relative": [2 * v for v in total],
               "average_compression_error": [random.random() for _ in seeds], "error_lag": [0.1] * 4}
    gradient = {"mean": [1000.0 if m % 2 else 0.0, None, 2.0 * m, 4.0 * m]} # the first eighth does not count
    results.append({"label": name, "method": name, "compressor": "topk", "baseline": False, "seeds": seeds,
                    "series": {"step": [1, 2, 8, 16], "gradient_norm": gradient},
                    "final": {c: spread(v) for c, v in columns.items()}})
    points.append({"label": name, "x": spread([20.0 - m] * 4), "y": spread(quality)})
results.append(dict(copy.deepcopy(results[0]), label="SGD", method="SGD", compressor="none", baseline=True))
for c in ("total_error", "error_relative", "average_compression_error"):
    results[-1]["final"][c] = spread([0.0] * 4)
document = {"schema": "sparsebench/1", "status": "ok", "dataset": {"name": "made", "sha256": "00"},
            "recipe": {"name": "planted", "title": "Planted", "resolved": {"task": {"kind": "cnn"}, "workers": 4}},
            "results": results, "claims": [], "summary": {"metric": "test_accuracy"},
            "plots": [{"x": "error_lag", "y": "test_accuracy", "kind": "points", "log": "none", "x_at": {"mean": True},
                       "y_at": {"final": True}, "points": points}]}

def write(name, change):
    other = copy.deepcopy(document)
    change(other)
    json.dump(other, open(name, "w"))

def part(d, which, column=None):
    d["recipe"]["name"] = "part"
    d["results"] = [r for r in d["results"] if r["label"] in which]
    for r in d["results"]:
        r["final"].pop(column, None)

write("all.json", lambda d: None)
write("few.json", lambda d: part(d, names[:3]))
write("head.json", lambda d: part(d, names[:8], "error_relative"))
write("tail.json", lambda d: part(d, names[6:]))
write("workers.json", lambda d: d["recipe"]["resolved"].update(workers=8))
write("total-8.json", lambda d: d["recipe"]["resolved"].update(total_batch=8))
write("total-32.json", lambda d: d["recipe"]["resolved"].update(total_batch=32))
write("sampled.json", lambda d: d["recipe"]["resolved"].update(participation=0.5))
write("unmeasured.json", lambda d: [r["final"].pop("test_accuracy") for r in d["results"]])
write("unfinished.json", lambda d: d.update(status="interrupted"))
write("no-plot.json", lambda d: d.update(plots=[]))

def better(d):
    part(d, names[:1])
    d["results"][0]["final"]["test_accuracy"] = spread([0.99] * 4)
    d["plots"] = []
write("better.json", better)
PY
}

setup() {
    cd "$BATS_FILE_TMPDIR" || exit 1
}

explain() {
    python3 -B "$ROOT/results/analysis/explain.py" "$@"
}

evidence() {
    explain --json "$@" >"$BATS_TEST_TMPDIR/evidence.json"
}

holds() { # FILTER of the evidence; e(COLUMN) is what was found of an error
    evidence_holds errors 'def e($c): .tune.errors[] | select(.column == $c);' "$1"
}

@test "an error that orders is first, its double ties, a random one cannot tell, a reversed one is said to be" {
    evidence all.json
    holds 'e("total_error") | .correlation == {value: 1, low: 1, high: 1} and .verdict == "orders"
        and .against_first == "first" and .pairs == 264 and .pairs_right == 264 and .pairs_wrong == []'
    holds 'e("error_relative") | .against_first == "ties" and .verdict == "orders"'
    holds 'e("average_compression_error") | .verdict == "cannot tell" and .against_first == "behind"
        and .correlation.low < 0 and .correlation.high > 0 and (.pairs_wrong | length) == .pairs - .pairs_right'
    holds 'e("error_lag") | .verdict == "orders in reverse" and .number == "mean over records" and .pairs_right == 0'
    holds '.tune.left_out == [{name: "SGD", reason: "no error"}] and (.results | length) == 12'
    explain --json all.json | cmp "$BATS_TEST_TMPDIR/evidence.json"
}

@test "three methods cannot tell, whatever their order; a mean that is not in the result is left out" {
    evidence few.json
    holds 'e("total_error") | .correlation.value == 1 and .verdict == "cannot tell"'
    evidence no-plot.json
    holds '[.tune.left_out[].name] == ["SGD", "error_lag"] and ([.tune.errors[].column] | index("error_lag") == null)'
}

@test "results of one setting are joined: a method that is in both counts once, another of its name gets the recipe's" {
    evidence head.json tail.json
    holds '[.results[].label] == [range(12) | "Method \(.)"]'
    holds '(e("total_error") | .methods == 12 and .pairs == 264) and (e("error_relative") | .methods == 6)'
    evidence all.json better.json
    holds '[.results[].label] | length == 13 and index("Method 0 (part)") == 12'
}

@test "what is refused: other settings, no metric, no result, unfinished runs, a label that is not there" {
    refused() { # PART OF THE MESSAGE, ARGUMENTS
        run -1 explain "${@:2}"
        grep -q "$1" <<<"$output"
    }
    refused 'workers differs' all.json workers.json
    refused 'total_batch differs' total-8.json total-32.json
    refused 'participation differs' all.json sampled.json
    refused 'it has no test_accuracy' all.json unmeasured.json
    refused 'it has no train_loss' all.json --metric train-loss
    refused 'not all of its runs are finished' unfinished.json
    refused 'missing.json' missing.json
    refused "no method 'Other'" all.json --later Other
    run -2 explain
}

@test "what chance gives, what gradients give without a residual, and the methods that came later" {
    evidence all.json --later "Method 3" --later "Method 7" --later "Method 9"
    holds 'e("total_error") | .p == 1 / 5001 and .p_largest == 1 / 5001 and .later == 1'
    holds 'e("error_lag") | .p == 1 and .p_largest > 0.9 and .later == -1'
    holds 'e("average_compression_error") | .p > 0.01 and .p_largest > .p'
    holds '.tune.gradient_alone == 1 and .tune.shuffles == 5000'
    evidence few.json
    holds 'e("total_error") | .p > 0.1 and .p < 0.25 and .later == null' # three methods have six orders
}

@test "a table for readers, and a scatter of the methods for each error" {
    run -0 --separate-stderr explain all.json
    row='^total_error +last record +12 +1.00 +1.00 to 1.00 +orders +first +0.00 to 0.00 +264 of 264 +0.0002 +0.0002$'
    grep -Eq "$row" <<<"$output"
    grep -q '^# left out: SGD (no error)$' <<<"$output"
    evidence all.json
    sparseplot-export "$BATS_TEST_TMPDIR/evidence.json" --format=svg >"$BATS_TEST_TMPDIR/scatter.svg"
    [ "$(grep -c 'over error lag' "$BATS_TEST_TMPDIR/scatter.svg")" -ge 1 ]
}

@test "a simulated walk sends the share that the law at finite density says" {
    run -0 python3 -B "$ROOT/results/analysis/law.py" 0.0031 0.08
    awk '!/^#/ { rows++; if ($3 / $1 < 0.95 || $3 / $1 > 1.05 || $4 < 1) wrong++ } END { exit rows != 2 || wrong }' <<<"$output"
}

@test "of published results it finds what the program in C found" {
    evidence "$ROOT"/results/mini-why-errors.json "$ROOT"/results/archive/mini-why-{threshold,curvature}.json
    python3 -B - "$ROOT/tests/golden/explain.tsv" "$BATS_TEST_TMPDIR/evidence.json" <<'PY'
import json, sys
found = {e["column"]: e for e in json.load(open(sys.argv[2]))["tune"]["errors"]}
rows = [line.split() for line in open(sys.argv[1]) if not line.startswith("#")]
assert [r[0] for r in rows] == list(found) and len(rows) == 8, list(found)
for name, *numbers, pairs, right in rows:
    e = found[name]
    own = [e[k][p] for k in ("correlation", "behind_first") for p in ("value", "low", "high")]
    assert all(abs(a - float(b)) <= 1e-9 for a, b in zip(own, numbers)), (name, own, numbers)
    assert (e["pairs"], e["pairs_right"]) == (int(pairs), int(right)), name
PY
}
