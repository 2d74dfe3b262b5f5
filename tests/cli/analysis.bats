#!/usr/bin/env bats
# results/analysis/effects.py, least_error.py, correlation.py, delay.py and step_efficiency.py: a factorial experiment,
# the least error and the correlation of recorded gradients, and what step efficiency depends on.
# explain.bats and profile.bats test the other scripts; copied.bats has the effects of an experiment that ran.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    SMOKE=$ROOT/recipes/smoke.yaml
}

least_error() {
    python3 -B "$ROOT/results/analysis/least_error.py" --jobs 2 "$@"
}

@test "effects: of two lists that add up and of one that does not; what is no experiment is refused" {
    python3 -B - <<'PY'
import itertools, json
spread = lambda v: {"mean": sum(v) / len(v), "std": 0, "n": len(v), "values": v}
results = [{"label": "SGD", "method": "SGD", "seeds": ["1", "2", "3"], "final": {"loss": spread([1, 1, 1])}}]
for a, b, c in itertools.product((0, 1), repeat=3):
    value = 5 + 2 * a - 3 * b + 8 * a * b * c
    results.append({"label": f"M a={a} b={'xy'[b]} c={c}", "method": "M", "seeds": ["1", "2", "3"],
                    "final": {"loss": spread([value - 1, value, value + 1 + 4 * a])}})
document = {"schema": "sparsebench/1", "results": results, "summary": {"metric": "loss"}, "plots": []}
json.dump(document, open("r.json", "w"))
PY
    run -0 python3 -B "$ROOT/results/analysis/effects.py" r.json
    # The third seed has 4 more with a, so its effects are 4, 4 and 8: 5 1/3, with 4.303 standard errors on each side.
    diff - <(echo "$output") <<'END'
# Effects on loss at the end, mean over 3 seeds with its 95 % interval
# M        effect    from      to
a: 0 → 1   +5.333  -0.404  +11.07
b: x → y       -1      -1      -1
c: 0 → 1       +2      +2      +2
a × b          +2      +2      +2
a × c          +2      +2      +2
b × c          +2      +2      +2
a × b × c      +2      +2      +2
END
    run -1 python3 -B "$ROOT/results/analysis/effects.py" "$ROOT/tests/golden/plot/fig1.json" --y error-norm
    grep -q "there are no effects" <<<"$output"
}

@test "step efficiency: a slow-down, an efficiency of sends and a plane predict what they made, and nothing else" {
    for form in slow-down sends plane noise; do
        python3 -B - $form <<'PY'
import json, math, random, sys
form, rng = sys.argv[1], random.Random(3)
spread = lambda v: {"mean": sum(v) / len(v), "std": 0, "n": len(v), "values": v}
lengths = {"0.25": 250, "0.5": 500, "1": 1000, "2": 2000}
quality = lambda steps: 0.1 + 0.1 * math.log(steps)  # a line, as the curve between its runs
def label(name, method, compressor, steps, density, phi):
    values = [quality(phi * steps) + off for off in (-1e-3, 0, 1e-3)]
    return {"label": name, "method": method, "compressor": compressor, "cells": [{"steps": steps}] * 3,
            "final": {"test_accuracy": spread(values), "average_density": spread([density] * 3),
                      "step_efficiency": spread([phi] * 3)}}
results = [label(f"SGD stretch={t}", "SGD", "none", t, 1, 1) for t in (15, 30, 60, 125, *lengths.values())]
for density in (0.001, 0.004, 0.016, 0.064):
    for stretch, steps in lengths.items():
        z = {"slow-down": 0.7 * math.log(density) + 3, "sends": 0.8 * math.log(steps * density) - 2,
             "plane": 0.5 * math.log(density) + 0.3 * math.log(steps) + 0.6, "noise": rng.gauss(0, 1)}[form]
        phi = math.exp(0.4 * math.log(density)) if form == "slow-down" else 1 / (1 + math.exp(-z))
        results.append(label(f"M density={density} stretch={stretch}", "M", "topk", steps, density, phi))
recipe = {"resolved": {"step_efficiency": {"of": "test-accuracy", "at": {"final": True}}}}
json.dump({"schema": "sparsebench/1", "status": "ok", "recipe": recipe, "results": results}, open(f"{form}.json", "w"))
PY
        python3 -B "$ROOT/results/analysis/step_efficiency.py" $form.json >$form.txt
    done
    awk '$1 == "M" && $4 < 0.01 && $3 > 1 && $5 > 1 { found = 1 } END { exit !found }' slow-down.txt
    awk '$1 == "M" && $3 < 0.1 && $5 < 0.1 && $4 > 1 { found = 1 } END { exit !found }' sends.txt
    grep -q "Kept: plane" sends.txt # on such a curve both forms of sends are one
    awk '$1 == "M" && $6 < 0.01 && $3 > 1 && $4 > 1 { found = 1 } END { exit !found }' plane.txt
    grep -q "Kept: plane" plane.txt
    grep -q "c = 0.60 (M)" plane.txt
    grep -q "c = 1.00 (M)" sends.txt
    grep -q "No form of step efficiency is kept" noise.txt
    grep -q "No form of step efficiency is kept" slow-down.txt # none is nearer than the slow-down that made them
    run -1 python3 -B "$ROOT/results/analysis/step_efficiency.py" "$ROOT/tests/golden/plot/fig1.json"
    grep -q "its recipe has no step-efficiency" <<<"$output"
}

# Gradients in g.npy, made without NumPy, and runs of methods on them in cells.
gradients() { # STEPS WORKERS D
    python3 -B - "$@" <<'PY'
import random, struct, sys
steps, workers, d = (int(x) for x in sys.argv[1:])
rng = random.Random(11)
scale = [2.0 ** rng.randint(-3, 3) for _ in range(d)]
x = [s * (0.3 + rng.gauss(0, 1)) for _ in range(steps * workers) for s in scale]
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d, %d), }" % (steps, workers, d)
head += " " * (-(10 + len(head) + 1) % 64) + "\n"
start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
open("g.npy", "wb").write(start + struct.pack("<%df" % len(x), *x))
PY
    cat >replay.yaml <<YAML
schema: 1
name: replay
task: {kind: recorded, files: g.npy}
workers: $2
epochs: 1
optimizer: {kind: sgd, learning-rate: 0.5}
error-feedback: gradient
record: {every: 1, series: [average-density, total-error, error-relative, error-mean-norm, learning-rate]}
methods:
  - {name: Top-k, compressor: topk, k: 1}
  - {name: Hard-threshold, compressor: hard-threshold, lambda: [2, 4]}
  - {name: In updates, compressor: hard-threshold, lambda: 3, error-feedback: update}
  - {name: QSGD, compressor: qsgd, levels: 4}
  - {name: EF21, compressor: topk, k: 1, error-feedback: ef21}
YAML
    rm -rf cells
    sparsebench -q replay.yaml --folder cells -f -o replay.json
}

@test "the least error is what the program in C found, and as in NumPy" {
    need_numpy
    gradients 24 3 20
    least_error --json g.npy cells/*.ndjson >found.json
    python3 -B - "$ROOT/tests/golden/least-error.tsv" <<'PY'
import json, sys
found = {m["label"].replace(" ", "_"): m for m in json.load(open("found.json"))["methods"]}
rows = [line.split() for line in open(sys.argv[1]) if not line.startswith("#")]
assert len(rows) == 4 and len(found) == 6
assert [found[name]["left_out"] for name in ("QSGD", "EF21")] == ["it sends other numbers than entries",
                                                                  "its residual is no sum of gradients"]
for name, *numbers in rows:
    m = found[name]
    own = [m["sent"]] + [m[e][k] for e in ("least", "least_mean") for k in ("bound", "bound_price", "attained",
                                                                             "attained_sent", "attained_price")]
    assert all(abs(a - float(b)) <= 1e-9 * max(1, abs(a)) for a, b in zip(own, numbers)), (name, own, numbers)
PY
    run -0 "$PYTHON" "$ROOT/tests/cli/oracle_feedback.py" g.npy found.json
    [ "$output" = "ok 4" ]
    least_error g.npy cells/*.ndjson | grep -q "# EF21: no least, its residual is no sum of gradients"
}

@test "of few entries the least error is that of trying every choice" {
    need_numpy
    gradients 5 2 2
    least_error --json g.npy cells/*.ndjson >tiny.json
    run -0 "$PYTHON" "$ROOT/tests/cli/oracle_feedback.py" g.npy tiny.json tiny
}

@test "the least error of a recording; other runs, other lengths and other files are refused" {
    sparsetrain -q "$SMOKE" --method SGD --set steps=6 --seed 1 --record-gradients g.rec -f -o smoke.ndjson
    gradients 6 4 40 # as many as in the recording
    sed 's/g.npy/g.rec/; s/epochs: 1/steps: 6/' replay.yaml >recording.yaml
    sparsebench -q recording.yaml --folder of-recording -f -o replay.json
    least_error --json g.rec of-recording/Top-k-*.ndjson | jq -e '.methods[0].least | .bound > 0 and .bound <= .attained'
    refused() { # PART OF THE MESSAGE, ARGUMENTS
        run -1 least_error "${@:2}"
        grep -q "$1" <<<"$output" || { echo "$output"; false; }
    }
    refused 'neither an .npy file nor a recording' "$SMOKE" cells/Top-k-*.ndjson
    refused 'no run on recorded gradients' g.npy smoke.ndjson
    sparsetrain -q replay.yaml --method Top-k --set steps=4 -f -o short.ndjson
    refused '4 and 6 steps' g.npy cells/Top-k-*.ndjson short.ndjson
    gradients 6 2 40
    refused '2 workers of 40 entries, where the runs have 4 of 40' g.npy short.ndjson
}

@test "correlation: of gradients whose correlation is known, and what a threshold sends of them" {
    # Four workers have a part in common, z(t) - z(t - 1) / 2 with variance 1.25 and lag -0.4, and noise of variance 3.
    python3 -B - <<'PY'
import random, struct
steps, workers, d, rng = 512, 4, 200, random.Random(4)
z, x = [0.0] * d, []
for _ in range(steps):
    old, z = z, [rng.gauss(0, 1) for _ in range(d)]
    x += [a - b / 2 + rng.gauss(0, 3**0.5) for _ in range(workers) for a, b in zip(z, old)]
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d, %d), }" % (steps, workers, d)
head += " " * (-(10 + len(head) + 1) % 64) + "\n"
start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
open("g.npy", "wb").write(start + struct.pack("<%df" % len(x), *x))
PY
    correlation() {
        python3 -B "$ROOT/results/analysis/correlation.py" "$@"
    }
    near() { # OF THE FIRST RESULT, VALUE, TOLERANCE: expressions of jq
        jq -e ".results[0] | ($1) - ($2) | if . < $3 and . > -$3 then true else error(tostring) end" found.json
    }
    correlation --json g.npy >found.json
    near '.numbers["worker lag"].mean' '-0.4 * 1.25 / 4.25' 0.01
    near '.numbers["mean lag"].mean' '-0.4 * 1.25 / 2' 0.015
    near '.numbers["worker ratio"].mean' '(1.25 * (1 - 0.8 * 63 / 64) + 3) / 4.25' 0.06
    near '.numbers["mean ratio"].mean' '(1.25 * (1 - 0.8 * 63 / 64) + 0.75) / 2' 0.06
    near '.recordings[0].layers | length' 1 0.1
    jq -e '.results[0].numbers | .over.mean == 64 and .law.mean == null' found.json
    cat >noise.yaml <<'YAML'
schema: 1
name: noise
task: {kind: recorded, files: g.npy}
workers: 4
epochs: 1
optimizer: {kind: sgd, learning-rate: 0.5}
error-feedback: gradient
record: {every: 512, series: [average-density]}
methods: [{name: Threshold, compressor: hard-threshold, lambda: 9}]
YAML
    sparsetrain -q noise.yaml -f -o noise.ndjson --record-gradients g.rec
    correlation --json --from 256 g.rec >found.json
    near '.numbers.law.mean' '4.25 / 81' 0.001
    near '.numbers.finite.mean' '4.25 / 81 / pow(1 + 0.583 * (4.25 / 81 | sqrt); 2)' 0.001
    # The ratio says how much less than that is sent.
    near '.numbers | .sent.mean / .finite.mean' 0.8 0.05
    [ "$(correlation --from 256 g.rec g.rec | sed -n 2p | cut -c 1-18)" = "Threshold, d = 200" ]
    run -1 correlation --from 511 g.rec
    [[ $output == *"it has 512 steps, and two or more must count" ]]
}

@test "delay: what is published is what it prints" {
    python3 -B "$ROOT/results/analysis/delay.py" --json lag >found.json
    jq -e --slurpfile published "$ROOT/results/delay.json" '[.results, ($published[0].results | map(select(.part == "lag")))]
        | transpose | length == 3 and all(.[0].label == .[1].label and (1e6 * (.[0].mean - .[1].mean) | round) == 0)' found.json
}
