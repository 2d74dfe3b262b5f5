#!/usr/bin/env bats
# Methods whose k is copied from another method's run (k-from): what they send, and what they refuse.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$BATS_TEST_TMPDIR/data
    cat >copied.yaml <<'YAML'
schema: 1
name: copied
task: {kind: logreg, dataset: two-clouds, stand-in: two-clouds, l2: L/100, start: {offset-from-optimum: 0.1}}
workers: 4
steps: 60
optimizer: {kind: sgd, learning-rate: 1/(L+l2)}
seeds: [1, 2]
record: {every: 1, layers: true, workers: true, series: [suboptimality, error-norm, bits, density]}
methods:
  - {name: Copied, compressor: topk, k-from: {method: Hard-threshold, layers: [true, false], steps: [true, false], workers: [true, false]}}
  - {name: Hard-threshold, compressor: hard-threshold, lambda: 0.01/gamma}
YAML
}

cell() { # LABEL SEED: its file
    echo cells/"${1// /_}"-seed"$2"-*.ndjson
}

# What the files of a folder sent, against the rule written once more.
check_spread() {
    "$PYTHON" - "$@" <<'PY'
import glob, json, re, sys
import numpy as np

def sent(path):
    lines = [json.loads(x) for x in open(path)]
    n = [x["elements"] for x in lines[0]["layers"]]
    return np.array([x["layers"]["workers"] for x in lines if x["record"] == "step" and x["step"] > 0]), np.array(n)  # [steps][workers][layers]

checked = 0
for path in glob.glob("cells/Copied*.ndjson"):
    layers, steps, workers = (x == "true" for x in re.findall(r"=(true|false)", path))
    seed = re.search("seed[0-9]+", path).group()
    c, n = sent(glob.glob("cells/Hard-threshold-%s-*.ndjson" % seed)[0])
    assert c.std() > 0, "nothing to copy"
    m = c.astype(float)
    if not layers:
        m = m.sum(axis=2, keepdims=True) * n / n.sum()
    if not steps:
        m = np.broadcast_to(m.mean(axis=0), m.shape)
    if not workers:
        m = np.broadcast_to(m.mean(axis=1, keepdims=True), m.shape)
    up_to = np.floor(m.cumsum(axis=0) + 0.5 + 1e-9)
    near = np.abs(m.cumsum(axis=0) + 0.5 - np.round(m.cumsum(axis=0) + 0.5)) < 1e-6  # either rounding is right
    got = sent(path)[0].cumsum(axis=0)
    assert ((got == up_to) | (near & (np.abs(got - up_to) <= 1))).all(), path
    assert abs(got[-1].sum() - c.sum()) <= got[-1].size / 2, path
    checked += 1
print(checked, "checked")
PY
}

# The effects of the eight cells, against least squares on their signs.
check_effects() {
    python3 -B "$ROOT/results/analysis/effects.py" copied.json --y error-norm >effects
    "$PYTHON" - <<'PY'
import itertools, json
import numpy as np

finals = {x["label"]: x["final"]["error_norm"]["values"] for x in json.load(open("copied.json"))["results"]}
names = ["layers", "steps", "workers"]
told = [line.rsplit(None, 3) for line in open("effects") if not line.startswith("#")]
told = {name.split(":")[0].strip(): float(mean) for name, mean, low, high in told}
cells = list(itertools.product([1, -1], repeat=3))  # true is what the recipe has first
word = {1: "true", -1: "false"}
y = np.array([np.mean(finals["Copied layers=%s steps=%s workers=%s" % tuple(word[s] for s in c)]) for c in cells])
sets = [s for n in (1, 2, 3) for s in itertools.combinations(range(3), n)]
signs = np.array([[1] + [np.prod([-c[f] for f in s]) for s in sets] for c in cells])
effects = 2 * np.linalg.solve(signs, y)[1:]
assert len(told) == 7, told
for s, effect in zip(sets, effects):
    assert abs(told[" × ".join(names[f] for f in s)] - effect) <= 2e-3 * abs(effects).max(), (s, told, effect)
PY
}

@test "k along layers, steps and workers, and means along the others; along all of them it is the other run" {
    need_numpy
    sparsebench -q copied.yaml --folder cells --jobs 2 -o copied.json
    run -0 check_spread
    [ "$output" = "16 checked" ]
    for seed in 1 2; do # as many as are above the threshold: the same entries, so the same run
        one=$(cell Hard-threshold $seed) other=$(cell "Copied layers=true steps=true workers=true" $seed)
        cmp <(grep '"record":"step"' $one) <(grep '"record":"step"' $other)
    done
    run -0 check_effects
}

@test "layers of a network" {
    need_numpy
    need_torch
    sed -i -e 's/^task:.*/task: {kind: cnn, model: resnet8, dataset: cifar-10, stand-in: cifar-like, train-images: 48, test-images: 20}/' \
        -e 's/^workers:.*/workers: 2\nbatch: 4/' -e 's/^steps:.*/steps: 12/' -e 's/1\/(L+l2)/0.05/; s/suboptimality, //; s/\[1, 2\]/[1]/' \
        -e 's/lambda: .*}/lambda: 0.05, error-feedback: gradient}/' copied.yaml
    sparsebench -q copied.yaml --folder cells -o copied.json
    run -0 check_spread
    [ "$output" = "8 checked" ]
    for copied in cells/Copied_layers=false*; do # the layers' shares are those of their sizes
        jq -se '[.[] | .layers?.workers? // empty | flatten | max] | max > 100' "$copied" >/dev/null
    done
}

@test "the same bytes for ranks and threads, and after a kill" {
    sparsebench -q copied.yaml --folder cells --method Hard-threshold -o source.json
    method="Copied layers=true steps=false workers=true"
    from=(--seed 2 --k-from "$(cell Hard-threshold 2)")
    same_for_threads_and_ranks one "2 3" copied.yaml --method "$method" "${from[@]}"
    sed -i 's/steps: 60/steps: 3000/' copied.yaml
    sparsebench -q copied.yaml --folder cells --method Hard-threshold -o longer.json
    from=(--k-from "$(ls -t cells/Hard-threshold-seed1-* | head -n 1)")
    same_after_kill 20 copied.yaml --method "$method" "${from[@]}"
}

@test "another run, no run, or a method that copies nothing: refused" {
    find_python json || skip "no Python"
    method="Copied layers=true steps=true workers=true"
    sparsebench -q copied.yaml --folder cells --method Hard-threshold -o source.json
    for wrong in "--method Hard-threshold --k-from $(cell Hard-threshold 1)" "--seed 1" "--seed 2 --k-from $(cell Hard-threshold 1)" \
        "--seed 1 --k-from $(cell Hard-threshold 1) --set steps=50"; do
        case $wrong in --seed*) set -- --method "$method" ;; *) set -- ;; esac
        run sparsetrain -q copied.yaml "$@" $wrong -o never
        [ "$status" != 0 ]
        [ ! -e never ]
    done
    # What the other run sent must be counts, as many as there are layers; the file's checksum is right.
    for wrong in '[[-1]' '[[0.5]' '[["x"]' '[[null]' '[[4294967296]' '[[]' '[[1,2]' '[[{}]'; do
        "$PYTHON" - "$(cell Hard-threshold 1)" "$wrong" >wrong.ndjson <<'PY'
import hashlib, re, sys
text = re.sub(r',"sha256":"[0-9a-f]*"', "", open(sys.argv[1]).read())
text, changed = re.subn(r'("workers":)\[\[\d+\]', lambda m: m[1] + sys.argv[2], text, count=1)
assert changed == 1
stop = text.index("\n", text.index('\n{"record":"run"') + 1)
print(text[:stop - 1] + ',"sha256":"' + hashlib.sha256(text.encode()).hexdigest() + '"' + text[stop - 1:], end="")
PY
        says 1 "--k-from: record 1 of wrong.ndjson: what worker 0 sent must be 1 whole numbers, one for each layer" -- \
            sparsetrain -q copied.yaml --method "$method" --seed 1 --k-from wrong.ndjson -o never
    done
    run -1 sparsebench -q copied.yaml --folder other --method Copied -o never.json
    [ -z "$(ls other/*.ndjson 2>/dev/null)" ]
}

@test "memory is estimated as for a threshold, and another method's name may begin with this one's" {
    sed -i -e 's/^  - {name: Hard-threshold/  - {name: Copied wide/; s/method: Hard-threshold/method: Copied wide/' copied.yaml
    sparsetrain --check copied.yaml
    worker() { # what the run says that each of its workers takes
        sparsetrain copied.yaml --method "$1" --dry-run 2>&1 >/dev/null | grep -o "[0-9]* workers of [^;]*"
    }
    [ -n "$(worker "Copied wide")" ]
    [ "$(worker "Copied layers=true steps=true workers=true")" = "$(worker "Copied wide")" ]
}

@test "each part of a grid runs what its cells copy from" {
    for part in 1 2 3; do
        sparsebench -q copied.yaml --folder cells --part $part/3 -o /dev/null
    done
    [ "$(ls cells/*.ndjson | wc -l)" = 18 ]
}

@test "a list of workers or lengths, of which only one is the other run's, is refused before anything runs" {
    sed -e 's/^workers: 4/workers: [4, 8]/; s/method: Hard-threshold,/method: Hard-threshold workers=8,/' copied.yaml >workers.yaml
    says 2 "workers.yaml:10:" "has other workers or steps than 'Hard-threshold workers=8'" -- sparsetrain --check workers.yaml
    sed -e 's/^steps: 60/epochs: 2/; s/^workers: 4/workers: 4\nbatch: [1, 2]/; s/method: Hard-threshold,/method: Hard-threshold batch=2,/' \
        copied.yaml >batch.yaml
    says 2 "has other workers or steps" -- sparsetrain --check batch.yaml
    sed -i 's/^epochs: 2/steps: 60/' batch.yaml
    sparsetrain --check batch.yaml
}
