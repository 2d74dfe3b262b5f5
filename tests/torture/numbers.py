"""Numbers at the edge of what floats hold, in data, parameters and steps: exit 0 means status ok, JSON holds no NaN, and nothing is without a message."""
# SPDX-License-Identifier: MIT

import json
import os

import hostile
import methods
from torture import write

WHAT = "extreme data and parameters (sanitizer build)"
missing = hostile.missing

RECIPE = """schema: 1
name: numbers
task: {kind: logreg, dataset: ./NAME, l2: L/100, start: {offset-from-optimum: 0.1}}
workers: 1
steps: 20
optimizer: {kind: sgd, learning-rate: 1/(L+l2)}
record: {every: 1, layers: true, series: [loss, suboptimality, relative-suboptimality, distance-squared, SERIES]}
methods:
  - {name: SGD, compressor: none, baseline: true}
  - {name: T, compressor: topk, k: 1}
  - {name: D, compressor: topk, density: 1}
  - {name: H, compressor: hard-threshold, lambda: 0.01}
  - {name: A, compressor: accordion, k-min: 1, k-max: 2, interval: 1}
  - {name: B, compressor: hard-threshold, budget: 0.3}
  - {name: R, compressor: randomk, k: 1}
"""
METHODS = ["SGD", "T", "D", "H", "A", "B", "R"]
ADAM = "optimizer={kind: adam, learning-rate: "
# Changes for any method; then those of one method.
CHANGES = [
    ["workers=20"],
    ["workers=21"],
    ["optimizer.learning-rate=1e30"],
    ["optimizer.learning-rate=1e300"],
    ["optimizer.learning-rate=1e-320"],
    ["error-feedback=gradient", "optimizer.learning-rate=1e30"],
    ["message={encoding: auto, values: fp16}"],
    ["task.l2=0"],
    ["task.l2=1e300"],
    ["error-feedback=gradient", ADAM + "1e30}"],
    ["error-feedback=gradient", ADAM + "1, epsilon: 0, beta1: 1, beta2: 1}", "task.l2=1"],
    ["batch=100000"],
    ["error-feedback={form: update, decay: 0}"],
    ["workers=5", "task.shards={kind: dirichlet, alpha: 1e-6}"],
    ["workers=20", "task.shards={kind: sorted}"],
    ["task.oracle=full-shifted"],
    ["task.start={offset-from-optimum: 1e300}"],
    ["error-feedback=gradient", "optimizer.momentum=1", "optimizer.nesterov=1"],
]
OWN = (
    [
        ("T", f"methods.T.k={v}")
        for v in ("0", "1", "3", "4", "4294967295", "4294967296", "-1", "0.5", "d", "d+1", "2*d")
    ]
    + [("D", f"methods.D.density={v}") for v in ("0", "1e-300", "1", "1.0000001", "0.5")]
    + [("H", f"methods.H.lambda={v}") for v in ("0", "1e38", "1e308", "1e-320", "-1", "3.4e38", "3.5e38")]
    + [("B", f"methods.B.budget={v}") for v in ("0", "1", "1.5", "1e18", "1e-300", "60", "61")]
)
EPOCHS = ["0", "1e-9", "0.01", "9.3e17", "1e18", "1e300"]


def prepare(t):
    """The series that every task has are those of the program."""
    _, t.columns = methods.reference(t.run([t.program("sparsetrain"), "--help-recipe"]).out.decode())
    t.check(len(t.columns) > 9, "the program's reference of keys is not as it was")


def rows(rng):
    """Data sets by name."""

    def labelled(features, n=20, label=lambda i: "1" if i % 2 else "-1"):
        return "".join(f"{label(i)} {features(i)}\n" for i in range(n))

    return {
        "one row": "1 1:1 2:2\n",
        "one feature": labelled(lambda i: f"1:{i + 1}"),
        "no features": labelled(lambda i: ""),
        "zeros": labelled(lambda i: "1:0 2:0"),
        "one class": labelled(lambda i: f"1:{i + 1} 2:{rng.random()}", label=lambda i: "1"),
        "the other class": labelled(lambda i: f"1:{i + 1} 2:{rng.random()}", label=lambda i: "-1"),
        "subnormal": labelled(lambda i: f"1:4.9e-324 2:{i * 1e-310}"),
        "wide range": labelled(lambda i: f"1:1e{150 + i} 2:1e-300"),
        "largest double": labelled(lambda i: "1:1.7e308 2:-1.7e308"),
        "largest float": labelled(lambda i: f"1:3.4e38 2:{i}"),
        "normal": labelled(
            lambda i: " ".join(f"{j}:{rng.gauss(0, 1):.6f}" for j in (1, 2, 3)), label=lambda i: rng.choice(["1", "-1"])
        ),
        "separable": labelled(lambda i: f"1:{1 if i % 2 else -1}"),
        "duplicates": "1 1:1 2:2\n-1 1:1 2:2\n" * 10,
        "index 2^32": "1 4294967296:1\n-1 1:1\n",
        "index 2^32 - 1": "1 4294967295:1\n-1 1:1\n",
    }


def case(t):
    kind = t.rng.choice(["data", "data", "change", "own", "epochs"])
    data, method, changes = "normal", t.rng.choice(METHODS), []
    if kind == "data":
        data = t.rng.choice(sorted(rows(t.rng)))
    elif kind == "change":
        data, changes = t.rng.choice(["normal", "normal", "largest float", "separable"]), t.rng.choice(CHANGES)
    elif kind == "own":
        method, change = t.rng.choice(OWN)
        changes = [change]
    else:
        changes = ["steps=null", "epochs=" + t.rng.choice(EPOCHS)]
    write(os.path.join(t.folder, "rows"), rows(t.rng)[data])
    argv = [t.program("sparsetrain", True), "-q", "-", "--method", method, "--data", "."]
    for change in changes:
        argv += ["--set", change]
    what = f"{method} on '{data}' {changes}"
    r = t.run(argv, given=RECIPE.replace("NAME", "rows").replace("SERIES", ", ".join(t.columns)).encode(), timeout=30)
    t.ended_well(r, what, sanitized=True)
    lines = r.out.decode().splitlines()
    for line in lines:
        json.loads(line, parse_constant=lambda name: t.check(False, f"{what}: {name} in the series"))
    t.check(r.code in (0, 1, 2), f"{what}: exit {r.code}")
    t.note(["ok", "failed", "refused"][r.code])
    if r.code == 0:
        end = json.loads(lines[-1])
        t.check(end.get("status") == "ok", f"{what}: exit 0 and status {end.get('status')}")
        t.check(
            kind != "epochs" or end["steps"] > 0 or float(changes[1].split("=")[1]) < 0.05,
            f"{what}: exit 0 after no step at all",
        )
