#!/usr/bin/env bats
# Methods that a recipe tunes: trials as cells, their draws, reuse, and interrupted grids.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$CACHE
    cat >r.yaml <<'YAML'
schema: 1
name: tuned
task: {kind: logreg, dataset: two-clouds, stand-in: two-clouds, l2: L/100}
workers: 4
steps: 40
optimizer: {kind: sgd, learning-rate: 1/(L+l2), scale: log 0.01..3}
seeds: [1, 2, 3]
record: {every: 10, series: [relative-suboptimality, bits]}
tune: {trials: 3, by: relative-suboptimality, at: {tail-median: 0.5}}
methods:
  - {name: SGD, compressor: none, baseline: true, learning-rate: 0.3/(L+l2)}
  - {name: Top-k, compressor: topk, k: log 1..8}
claims:
  - text: Tuned Top-k sends less than SGD
    metric: bits
    of: Top-k
    at-most: {of: SGD}
plots:
  - {x: step, y: relative-suboptimality, log: y}
  - {x: scale, y: relative-suboptimality, kind: points, log: xy}
YAML
}

result() { # FILE: without what differs from call to call
    jq -S 'del(.run, .results[].cells[].reused, .results[].cells[].elapsed_s, .results[].cells[].file)' "$1"
}

@test "trials are listed, run and kept, and the best of each study is the method's result" {
    run -0 --separate-stderr sparsebench r.yaml --folder cells --dry-run
    [ "$(grep -c 'trial=' <<<"$output")" = 18 ]
    [[ $output == *"Top-k trial=3 scale="*" k="* && $output != *winner=* && $stderr == *"18 of the 18 cells are trials of 6 studies"* ]]
    sparsebench r.yaml --folder cells -q -o a.json
    [ "$(jq -r '.results[].label' a.json | xargs)" = "SGD Top-k" ]
    [ "$(jq '[.results[].cells | length] | add' a.json)" = 24 ]
    [ "$(jq '[.results[].cells[] | select(.won)] | length' a.json)" = 6 ]
    # in every study the smallest value wins, and runs at the fresh seed; of these runs the median over the seeds is told
    [ "$(jq '.results[] | [.cells | map(select(.fresh | not)) | group_by(.seed)[] | (min_by(.value) == (.[] | select(.won)))] | all' a.json | xargs)" = "true true" ]
    [ "$(jq -c '.results[] | ([.cells[] | select(.won) | [.trial, .drawn]] | sort) == ([.cells[] | select(.fresh) | [.trial, .drawn]] | sort)' a.json | xargs)" = "true true" ]
    [ "$(jq -r '.results[0] | [.seeds[], (.cells[] | select(.fresh).seed), (.cells[] | select(.won).seed)] | unique | sort_by(tonumber)[]' a.json | xargs)" = "1 2 3 1001 1002 1003" ]
    [ "$(jq '.results[] | .tuned.winner.value == ([.cells[] | select(.fresh).value] | sort[1])' a.json | xargs)" = "true true" ]
    run -0 --separate-stderr sparsebench r.yaml --folder cells --dry-run --json
    [ "$(jq -r '[.cells[] | select(.label | test("winner"))] | "\(length) \(map(.action) | unique[])"' <<<"$output")" = "6 reuse" ]
    [ "$(jq -c '.results[1] | [.final.scale.values[]] | sort' a.json)" = "$(jq -c '.results[1] | [.cells[] | select(.fresh).drawn.scale] | sort' a.json)" ]
    [[ $(jq -r '.claims[0].verdict' a.json) == holds* ]]
    # the runs are those of their values: the series of a trial, and one of a recipe that gives what it drew
    trial=$(jq -c '.results[1].cells[] | select(.seed == "1002" and .trial == 3)' a.json)
    sparsebench r.yaml --folder other -q -o b.json --set seeds=1002 --method Top-k --set tune=null --set 'claims=[]' --set 'plots=[]' \
        --set "optimizer.scale=$(jq .drawn.scale <<<"$trial")" --set "methods.Top-k.k=$(jq .drawn.k <<<"$trial")"
    cmp <(stable "$(jq -r .file <<<"$trial")" | sed '/"header"/d') <(stable "$(jq -r '.results[0].cells[0].file' b.json)" | sed '/"header"/d')
    # tables and figures name the method and the values that won
    run -0 --separate-stderr sparseplot-export --format=markdown a.json
    [[ $output == *"scale that won"*"k that won"* ]]
    run -0 --separate-stderr sparseplot-export --format=svg --panel=1 a.json
    [[ $output == *"Top-k scale="*" k="* ]]
}

@test "a stopped grid goes on to the same result, and its cells are reused" {
    sparsebench r.yaml --folder whole -q -o whole.json
    sparsebench r.yaml --folder cells -q -j 1 -o a.json &
    pid=$!
    patiently sh -c 'ls cells/*.ndjson >/dev/null 2>&1'
    kill -9 $pid
    wait $pid || true
    done=$(ls cells/*.ndjson | wc -l)
    [ "$done" -ge 1 ] && [ "$done" -lt 24 ] && [ ! -e a.json ]
    sparsebench r.yaml --folder cells -q -o a.json --force
    [ "$(jq '[.results[].cells[] | select(.reused)] | length' a.json)" -ge "$done" ]
    cmp <(result whole.json) <(result a.json)
}

@test "a series of the name of a drawn key is one column" {
    sparsebench r.yaml --folder cells -q -o a.json --set claims=null --set plots=null \
        --set optimizer=null --set 'optimizer={kind: sgd, learning-rate: log 0.01..1}' \
        --set 'record.series=[relative-suboptimality, learning-rate]'
    [ "$(jq --stream -c 'select(length == 2 and .[0][0] == "results" and .[0][2:] == ["final", "learning_rate", "n"]) | .[1]' a.json | xargs)" = "3 3" ]
    [ "$(jq -c '.results[1].final.learning_rate.values | sort' a.json)" = "$(jq -c '[.results[1].cells[] | select(.fresh).drawn.learning_rate] | sort' a.json)" ]
}

@test "other seeds and methods go on with the same draws" {
    sparsebench r.yaml --folder cells -q -o a.json
    run -0 --separate-stderr sparsebench r.yaml --folder cells --dry-run --json --set 'seeds=[3, 4]' --method Top-k
    [ "$(jq -r '.cells[].action' <<<"$output" | sort | uniq -c | xargs)" = "4 reuse 3 run" ]
    run -0 --separate-stderr sparsebench r.yaml --folder cells --dry-run --json --seed 3
    [ "$(jq -r '.cells[].label' <<<"$output" | wc -l)" = 8 ]
}

@test "trials are evaluated on the validation part, and the winner on the test set" {
    need_torch
    sed -i -e 's/^task: .*/task: {kind: ncf, dataset: ml-100k, stand-in: ratings-like, users: 40, factors: 2, mlp: 8-4, test-negatives: 20, validation: true}/' \
        -e 's/^steps: .*/steps: 8\nbatch: 64/' -e 's/^optimizer: .*/optimizer: {kind: sgd, learning-rate: log 0.01..0.1}/' -e 's/^seeds: .*/seeds: [1]/' \
        -e 's/relative-suboptimality, bits/hit-rate, bits/' -e 's/^tune: .*/tune: {trials: 2, by: hit-rate}/' -e 's/, learning-rate: 0.3[^}]*//' \
        -e '/^plots/,$d' r.yaml
    sparsebench r.yaml --folder cells -q -o a.json
    run -0 --separate-stderr sparsebench r.yaml --folder cells --dry-run --json
    [ "$(jq -c '.cells[] | select(.label | test("winner")).resolved.task.evaluate_on' <<<"$output" | sort -u)" = null ]
    [ "$(jq -c '.cells[] | select(.label | test("trial")).resolved.task.evaluate_on' <<<"$output" | sort -u)" = '"validation"' ]
}

@test "the parts of a grid have whole studies, which one result then puts together" {
    sparsebench r.yaml --folder whole -q -o whole.json
    for part in 1 2; do
        sparsebench r.yaml --folder cells -q -o part.json --force --part $part/2
        [ "$(jq -r .status part.json)" = ok ]
    done
    run -0 --separate-stderr sparsebench r.yaml --folder cells --dry-run --json
    [ "$(jq -r '[.cells[].action] | unique[]' <<<"$output")" = reuse ]
    sparsebench r.yaml --folder cells -q -o a.json
    cmp <(result whole.json) <(result a.json)
}

@test "draws, written once more in Python" {
    need_numpy
    sparsebench r.yaml --folder cells --dry-run --json --set tune.trials=40 >plan 2>/dev/null
    cat >draws.py <<'PY'
import hashlib, json, math, sys
sys.path.insert(0, sys.argv[1])
from common import Stream

TRIALS = 40

def draws(seed, path, trial):
    s = Stream(seed, 16, int(hashlib.sha256(path.encode()).hexdigest()[:6], 16), trial)
    words = [s.u32() for _ in range(4)]
    return [((words[i + 1] << 32 | words[i]) >> 11) / 2**53 for i in (0, 2)]

def uniform(seed, path, trial):
    own, inside = draws(seed, path, trial)
    stratum = sum((draws(seed, path, t)[0], t) < (own, trial) for t in range(1, TRIALS + 1))
    return (stratum + inside) / TRIALS

checked = 0
for cell in json.load(open("plan"))["cells"]:
    seed, (name, trial) = int(cell["seed"]) - 1000, cell["label"].split(" trial=")
    scale = 0.01 * 300 ** uniform(seed, "optimizer.scale", int(trial))
    assert float("%.4g" % scale) == cell["resolved"]["optimizer"]["scale"], (cell["label"], scale)
    if name == "Top-k":
        assert min(math.floor(9 ** uniform(seed, "method.k", int(trial))), 8) == cell["resolved"]["method"]["k"]
    checked += 1
print(checked)
PY
    [ "$("$PYTHON" -B draws.py "$ROOT/tests/twins")" = 240 ]
}

@test "what takes one value refuses trials by name" {
    says 2 "scale has a range" -- sparsetune --match-density r.yaml
    says 2 "has several cells" "Top-k trial=3" -- sparsetrain r.yaml --method Top-k
    sparsetrain r.yaml --method "Top-k trial=3" --seed 2 -q -o one.ndjson
    [ "$(head -n 1 one.ndjson | jq -r .method)" = "Top-k trial=3" ]
}

@test "wrong seeds beside a range are told" {
    sed -i 's/^seeds: .*/seeds: [one]/' r.yaml
    says 2 "r.yaml:7" "seeds" -- sparsebench r.yaml --dry-run
    sed -i 's/^seeds: .*/seeds: []/' r.yaml
    says 2 "seeds must have 1 to 1000 entries" -- sparsebench r.yaml --dry-run
}
