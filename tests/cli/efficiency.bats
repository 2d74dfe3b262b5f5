#!/usr/bin/env bats
# Runs of several lengths of one shape (`stretch`), and which fraction of its steps a run is worth (`step-efficiency`).
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$CACHE
    cat >r.yaml <<'YAML'
schema: 1
name: lengths
task: {kind: logreg, dataset: two-clouds, stand-in: two-clouds, l2: L/100, start: {offset-from-optimum: 0.1}}
workers: 4
batch: 50
epochs: 8
optimizer: {kind: sgd, learning-rate: 0.1/(L+l2), warm-up-epochs: 1, decay-at: [5, 7]}
seeds: [1, 2]
record: {every: 10, series: [suboptimality, average-density, bits]}
step-efficiency: suboptimality
methods:
  - {name: SGD, compressor: none, baseline: true}
  - {name: Shorter, compressor: none, stretch: [0.25, 0.5]}
  - {name: All, compressor: topk, density: 1, stretch: [0.5, 0.75, 1, 2]}
  - {name: Top-1, compressor: topk, k: 1}
  - {name: Rounded, compressor: none, message: {values: bf16}, stretch: 0.75}
claims:
  - text: A run of three quarters is worth at most all of its steps
    metric: step-efficiency
    of: All stretch=0.75
    at-most: 1
plots:
  - {x: average-density, y: step-efficiency, kind: points, log: x}
  - {x: step, y: suboptimality}
YAML
}

keys() { # RECIPE LABEL: the keys of its cells
    sparsebench "$1" --dry-run --json | jq -c --arg which "$2" '[.cells[] | select(.label == $which) | .cell_key]'
}

@test "a stretched run is the run of a recipe with the longer schedule, and its cell is the same" {
    sed -e '/step-efficiency/d' -e '/Shorter\|All\|Top-1\|Rounded/d' -e '/^claims:/,$d' -e 's/epochs: 8/epochs: 4/' \
        -e 's/warm-up-epochs: 1, decay-at: \[5, 7\]/warm-up-epochs: 0.5, decay-at: [2.5, 3.5]/' r.yaml >short.yaml
    [ "$(keys r.yaml "Shorter stretch=0.5")" = "$(keys short.yaml SGD)" ]
    [ "$(keys r.yaml "Shorter stretch=0.25")" != "$(keys short.yaml SGD)" ]
    [ "$(sparsebench short.yaml --set steps=101 --set stretch=0.5 --dry-run --json |
        jq -c '[.cells[] | [.resolved.steps, .resolved.stretch, .resolved.optimizer.decay_at]] | unique')" = '[[51,null,[1.25,1.75]]]' ]
    sparsebench r.yaml --folder cells -q -o r.json
    sparsebench short.yaml --folder cells -o short.json 2>log
    [ "$(jq '[.results[].cells[].reused] | all' short.json)" = true ]
}

@test "step efficiency is the length of the curve without compression that is as good, over the run's" {
    sparsebench r.yaml --folder cells -q -o r.json
    jq -e '
        [.results[] | {key: .label, value: .final}] | from_entries as $of |
        def log_loss(which; s): $of[which].suboptimality.values[s] | log;
        # between 0.5 and 1 of the length, a line of the logarithm of the loss over that of the steps
        def expected(which; length; s):
            (log_loss("Shorter stretch=0.5"; s) - log_loss(which; s)) as $done |
            (log_loss("Shorter stretch=0.5"; s) - log_loss("SGD"; s)) as $whole |
            0.5 * ($done / $whole * (2 | log) | exp) / length;
        def close(a; b): ((a - b) | fabs) < 1e-9;
        def efficiency(which): $of[which].step_efficiency.values;
        efficiency("SGD") == [1, 1] and efficiency("Shorter stretch=0.25") == [1, 1] and
        efficiency("All stretch=0.5") == [1, 1] and efficiency("All stretch=1") == [1, 1] and
        efficiency("All stretch=2") == [null, null] and
        close(efficiency("All stretch=0.75")[1]; expected("All stretch=0.75"; 0.75; 1)) and
        efficiency("Rounded")[1] != 1 and close(efficiency("Rounded")[1]; expected("Rounded"; 0.75; 1)) and # it rounds
        efficiency("Top-1")[0] == null and efficiency("Top-1")[1] < 1' r.json # it ends above the shortest run at seed 1
    [ "$(jq -c '.plots[0].points[] | select(.label == "Top-1").y.values | length' r.json)" = 2 ]
    # A run that is stretched by 1 has the length of SGD, with which it is compared.
    [[ $(jq -r .summary.text r.json) == *"; All stretch=1 reaches it (ends at 1 times it)"* ]]
    # All of the entries with their positions are two times the data of SGD. Top-1 has no efficiency at seed 1. The price
    # names the length at which it was measured.
    [[ $(jq -r .summary.text r.json) == *". By step efficiency, All stretch=0.5 is after 4 steps as good as no compression \
after 4: it needs 1 times the steps and 2 of the data" ]]
    [ "$(jq -r '.claims[0].verdict' r.json)" = "holds at these seeds" ]
    sparsebench --bundle b r.json
    sparsebench --audit b --share 1
}

@test "a recipe that asks for step efficiency has runs of several lengths without compression" {
    sed '/Shorter/d' r.yaml >one.yaml
    run -2 --separate-stderr sparsebench one.yaml --dry-run
    [[ $stderr == *"step-efficiency: no method without compression has several lengths (give one stretch: [0.25, 0.5, 1])"* ]]
    sed '/^step-efficiency/d' r.yaml >none.yaml
    run -2 --separate-stderr sparsebench none.yaml --dry-run
    [[ $stderr == *"'step-efficiency'"* ]]
}

@test "the published finding on gisette names the length at which its price was measured" {
    run -0 --separate-stderr sparsebench --rejudge "$ROOT/results/step-efficiency.json" --json -q
    [[ $(jq -r .summary.text <<<"$output") == *". By step efficiency, Top-k k=2 stretch=0.5 is after 400 steps as good as no \
compression after 345: it needs 1.16 ± 0.046 times the steps and 0.00093 of the data" ]]
    [ "$(jq .summary <<<"$output")" = "$(jq .summary "$ROOT/results/step-efficiency.json")" ]
}

@test "--when, --advise and --reach-baseline name the price of the quality of no compression at the recipe's length" {
    sed -e 's/offset-from-optimum: 0.1/offset-from-optimum: 10/' -e 's/batch: 50/batch: 5/' -e 's/: 0.1.(L/: 2\/(L/' \
        -e 's/0.25, 0.5\]/0.25, 0.5, 2]/' -e 's/k: 1}/k: [1, 2], stretch: [0.5, 1]}/' -e 's/seeds: .*/seeds: [1, 2, 3]/' \
        -e '/Rounded/d' -e '/^claims:/,$d' r.yaml >p.yaml
    echo '  - {name: Hard, compressor: hard-threshold, lambda: [1, 10], stretch: [0.5, 1]}' >>p.yaml
    echo 'network: {link: 1gbe, compute: 1e-4, coding: 10}' >>p.yaml
    when() { sparsetune p.yaml --when --clusters 4 --folder cells --json -q; }
    # Before the runs of all lengths it says what it lacks, and it runs the recipe's own length alone.
    run -0 --separate-stderr when
    [[ $(jq -r '.tune.answer[1]' <<<"$output") == "Step efficiencies are not known before sparsebench has finished all lengths"* ]]
    [ "$(jq -c '.tune.methods | map(.label)' <<<"$output")" = '["SGD","Shorter","All","Top-1 k=1","Top-1 k=2","Hard lambda=1","Hard lambda=10"]' ]
    sparsebench p.yaml --folder cells -q -o p.json
    # The price of a label, by the efficiencies of its seeds.
    price() { # LABEL
        jq -r --arg of "$1" '.results[] | select(.label == $of) | .times_less as $less | .final.step_efficiency.values
            | map(1 / .) | add / length | [., . / $less] | @tsv' p.json | while read -r times data; do
            printf '%s is after 96 steps as good as no compression after %.0f: it needs %.3g' "$1" \
                "$(jq -n "96 / $times")" "$times"
            printf ' ± * times the steps and %.2g of the data' "$data"
        done
    }
    run -0 --separate-stderr when
    pattern="By step efficiency, $(price "Top-1 k=2 stretch=1"). With 4 workers at 1 Gbit/s that is * times as fast."
    [[ $(jq -r '.tune.answer[1]' <<<"$output") == $pattern ]]
    run -0 --separate-stderr sparsetune p.yaml --reach-baseline --method Hard --folder cells -o reach.json
    pattern="By step efficiency, $(price "Top-1 k=1 stretch=1")."
    [[ $(jq -r .tune.price reach.json) == $pattern ]]
    [[ $stderr == *"$(jq -r .tune.price reach.json)"* ]]
    # The steps are those of the candidates: a price of p in steps that are s times faster is s / p times as fast.
    run -0 --separate-stderr sparsetune p.yaml --advise --candidates recipe --set network.bandwidth=0.1 --folder cells --json -q
    pattern="By step efficiency, $(price "Top-1 k=1 stretch=1"). With the modelled steps below that is \
$(printf %.3g "$(jq --slurpfile p p.json '($p[0].results[] | select(.label == "Top-1 k=1 stretch=1").final.step_efficiency.values
        | map(1 / .) | add / length) as $p | .tune.candidates[] | select(.label == "Top-1 k=1").speedup / $p' <<<"$output")") (* to *) times as fast."
    [[ $(jq -r '.tune.assumptions[-1]' <<<"$output") == $pattern ]]
    # The built-in methods have no price of their own, and what takes the least data is named.
    run -0 --separate-stderr sparsetune p.yaml --advise --folder cells --json -q
    pattern="By step efficiency, $(price "Top-1 k=1 stretch=1")."
    [[ $(jq -r '.tune.assumptions[-1]' <<<"$output") == $pattern ]]
    # Two seeds whose interval is too wide tell nothing.
    sed 's/^seeds: .*/seeds: [1, 3]/; s/lambda: .1, 10./lambda: 10/; /Top-1/d; /All/d' p.yaml >two.yaml
    sparsebench two.yaml --folder cells -q -o two.json
    run -0 --separate-stderr sparsetune two.yaml --when --clusters 4 --folder cells --json -q
    [[ $(jq -r '.tune.answer[1]' <<<"$output") == "At the recipe's own length no step efficiency is known well enough to tell." ]]
    # Other actions take one length.
    run -2 --separate-stderr sparsetune p.yaml --theory --folder cells
    [[ $stderr == *"stretch is a list, and sparsetune takes one value"* ]]
}
