#!/usr/bin/env bats
# Keys of a recipe that are lists of values: cells, labels, results and plots.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$CACHE
    cat >r.yaml <<'YAML'
schema: 1
name: sweep
task: {kind: logreg, dataset: two-clouds, stand-in: two-clouds, l2: L/100}
workers: [2, 4]
steps: 40
optimizer: {kind: sgd, learning-rate: [0.1/(L+l2), 0.5/(L+l2)]}
seeds: [1, 2]
record: {every: 10, series: [suboptimality, bits]}
methods:
  - {name: SGD, compressor: none, baseline: true}
  - {name: Top-k, compressor: topk, k: [1, 4]}
claims:
  - text: Top-k sends less than SGD
    metric: bits
    of: Top-k k=1 workers=4 learning-rate=0.5/(L+l2)
    at-most: {times: 0.2, of: SGD workers=4 learning-rate=0.5/(L+l2)}
plots:
  - {x: workers, y: suboptimality, kind: points}
  - {x: learning-rate, y: suboptimality, kind: points, log: xy}
  - {x: step, y: suboptimality, methods: [SGD, Top-k k=4 workers=4 learning-rate=0.1/(L+l2)]}
YAML
    NONE=(--set 'claims=[]' --set 'plots=[]')
}

labels() { # of a plan or a result
    jq -r '(.cells // .results)[].label' "$1" | uniq
}

@test "a cell for each value of each list, with labels that filters, claims and plots know" {
    sparsebench r.yaml --folder cells -q -o a.json
    [ "$(jq '.results | length' a.json)" = 12 ]
    [ "$(labels a.json | sed -n '1p;4p;5p;12p')" = "SGD workers=2 learning-rate=0.1/(L+l2)
SGD workers=4 learning-rate=0.5/(L+l2)
Top-k k=1 workers=2 learning-rate=0.1/(L+l2)
Top-k k=4 workers=4 learning-rate=0.5/(L+l2)" ]
    [ "$(jq -c '.results[11] | .swept, .parameters.k' a.json | xargs)" = "{workers:4,learning_rate:0.5/(L+l2)} 4" ]
    [ "$(jq -r '.claims[0].verdict' a.json)" = holds ]
    sparsebench r.yaml --dry-run --json --seed 1 --method "Top-k k=1 workers=2 learning-rate=0.1/(L+l2)" >plan
    [ "$(labels plan)" = "Top-k k=1 workers=2 learning-rate=0.1/(L+l2)" ]
    [ "$(sparsebench r.yaml --dry-run --json --seed 1 --method Top-k | jq '.cells | length')" = 8 ]
}

@test "a baseline counts for the cells of its own values" {
    sparsebench r.yaml --folder cells -q -o a.json --set 'batch=[1, 2]' --set 'steps=[10, 40]' "${NONE[@]}"
    [ "$(jq -r '.traffic.baseline' a.json)" = SGD ]
    [ "$(jq -c '[.results[] | select(.method == "Top-k") | .times_less] | unique' a.json)" = "[5,20]" ]
}

@test "a single value finds the cells of the list, and a list those of single values" {
    sparsebench r.yaml --folder cells -q -o a.json
    run -0 --separate-stderr sparsebench r.yaml --folder cells --dry-run --json "${NONE[@]}" --set workers=4 --set 'optimizer.learning-rate=0.5/(L+l2)'
    [ "$(jq -r '[.cells[] | .action] | unique[]' <<<"$output")" = reuse ]
    [ "$(jq -r '.cells[].label' <<<"$output" | uniq | xargs)" = "SGD Top-k k=1 Top-k k=4" ]
    run -0 --separate-stderr sparsebench r.yaml --folder cells --dry-run --json "${NONE[@]}" --set 'workers=[4, 8]'
    [ "$(jq '[.cells[] | select(.action == "reuse")] | length' <<<"$output")" = 12 ]
}

@test "a plot over a list joins the cells that differ in it alone, the baseline's too" {
    sparsebench r.yaml --folder cells -q -o a.json
    [ "$(jq -c '.plots[0].points | map(.x.mean) | unique' a.json)" = "[2,4]" ]
    [ "$(jq '.plots[1].points | map(.x.mean) | unique | length' a.json)" = 2 ] # the value of the expression
    run -0 --separate-stderr sparseplot-export a.json --panel=1 --format=csv # every point by its own label, curve by curve
    [ "$(sed '/^#/d' <<<"$output" | sed -n '2,3p' | cut -d, -f 2,3)" = "SGD workers=2 learning-rate=0.1/(L+l2),2
SGD workers=4 learning-rate=0.1/(L+l2),4" ]
    run -0 --separate-stderr sparseplot-export a.json --panel=1 --format=svg
    [[ $output == *'data-method="SGD learning-rate=0.1/(L+l2)"'* && $output == *'data-method="Top-k k=4 learning-rate=0.5/(L+l2)"'* ]]
    run -0 --separate-stderr sparseplot-export a.json --panel=2 --format=svg
    [[ $output == *'data-method="SGD workers=2"'* && $output == *'data-method="Top-k k=4 workers=4"'* ]]
    run -0 --separate-stderr sparseplot-export a.json --panel=1 --x=workers --y=bits --format=svg
    [[ $output == *'data-method="Top-k k=1 learning-rate=0.1/(L+l2)"'* ]]
    run -0 --separate-stderr sparseplot-export a.json --panel=3 --format=csv
    [[ $output == *"SGD workers=2 learning-rate=0.1/(L+l2)"* && $output != *"k=1"* ]]
}

@test "two results pair by these labels, beside each other and in a comparison" {
    sparsebench r.yaml --folder cells -q -o a.json
    sparsebench r.yaml --folder cells -q -o b.json --set 'workers=[4, 8]' --set 'claims=[]' --set 'plots=[{x: workers, y: suboptimality, kind: points}]'
    run -0 --separate-stderr sparsebench --compare a.json b.json
    [ "$(grep -c '^# only in a: .* workers=2 ' <<<"$output")" = 6 ]
    [ "$(grep -c '^# only in b: .* workers=8 ' <<<"$output")" = 6 ]
    [[ $output == *"12 of 12 final values are the same."* ]]
    [[ $(sparseplot-export a.json b.json --panel=1 --format=svg) == *'data-method="Top-k k=1 learning-rate=0.1/(L+l2) (b)"'* ]]
}

@test "a modelled network has the workers of each run, or its own" {
    sparsebench r.yaml --folder cells -q -o a.json --network link=1gbe
    [ "$(jq -c '.network.workers, .network.nodes, (.network.model | startswith("each run"))' a.json | xargs)" = "null null true" ]
    sparsebench r.yaml --folder cells -q -o own.json --network link=1gbe "${NONE[@]}" --set workers=4
    time_of() { jq ".results[] | select(.label == \"$2\") | .final.time.mean" "$1"; }
    [ "$(time_of a.json 'Top-k k=4 workers=4 learning-rate=0.1/(L+l2)')" = "$(time_of own.json 'Top-k k=4 learning-rate=0.1/(L+l2)')" ]
    sparsebench r.yaml --folder cells -q -o eight.json --network link=1gbe,workers=8
    [ "$(jq '.network.workers' eight.json)" = 8 ]
    run -2 sparsebench r.yaml --folder cells --network nodes=4 # of 2 workers
}

@test "sparsetrain names the cells and the lists; sparsetune takes single values" {
    run -2 --separate-stderr sparsetrain r.yaml --method Top-k
    [[ $stderr == "sparsetrain: --method 'Top-k' has several cells: choose one with --method, or values with --set for the lists workers, learning-rate: 'Top-k k=1 workers=2 learning-rate=0.1/(L+l2)', "* ]]
    run -0 sparsetrain -q r.yaml --method "Top-k k=1 workers=2 learning-rate=0.1/(L+l2)" -o one
    run -0 sparsetrain -q r.yaml --method Top-k --set workers=2 --set optimizer.learning-rate=0.1/'(L+l2)' --set methods.Top-k.k=1 -o two
    [ "$(jq -r 'select(.record == "header").cell_key' one)" = "$(jq -r 'select(.record == "header").cell_key' two)" ]
    local action
    for action in --match-density --reach-baseline --when --rule=estimated --match-bytes=0.1; do
        run -2 --separate-stderr sparsetune r.yaml "$action"
        [ "$stderr" = "sparsetune: r.yaml:4:11: workers is a list, and sparsetune takes one value (choose it with --set)" ]
    done
}

@test "a --set that makes a list of a value, or a value of a list, is no mistake of the file" {
    run -2 --separate-stderr sparsebench r.yaml --dry-run --set workers=4
    [[ ${stderr_lines[0]} == "sparsebench: r.yaml: its claims and plots do not fit what --set made of it ("* ]]
    [[ ${stderr_lines[1]} == "sparsebench: r.yaml:15:9: unknown method 'Top-k k=1 workers=4 learning-rate=0.5/(L+l2)' ("* ]]
    run -0 sparsebench r.yaml --dry-run --set workers=4 "${NONE[@]}"
}

@test "claims and plots of single values are those of each value of a list" {
    local smoke=$ROOT/recipes/smoke.yaml
    sparsebench "$smoke" --folder cells -q -o a.json --seed 1 --set 'workers=[4, 8]' --set 'batch=[1, 2]' --set steps=20
    [ "$(jq '[.results[].label] | length' a.json)" = 16 ]
    jq -e '.claims | length == 8 and (map(.text) | unique | length) == 8
        and .[0].of == "Top-k k=4 workers=4 batch=1" and (.[0].text | endswith(" (workers=4 batch=1)")) and all(.[]; .verdict == "holds at these seeds")' a.json
    # The bound is that of the same value.
    jq -e '.recipe.resolved.claims | all(.[]; (.of | split(" workers")[1]) == (.at_most.of | split(" workers")[1]))' a.json
    jq -e '[.plots[].methods] | .[0] == null and (.[1] | index("Top-k k=1 workers=8 batch=2"))' a.json
    [[ $(sparseplot-export a.json --panel=2 --format=csv) == *"Top-k k=4 workers=8 batch=1,"* ]]
    # One that is named with its value stays one; a name of no method is still a mistake, said once.
    run -0 --separate-stderr sparsebench "$smoke" --folder cells -q --json --seed 1 --set 'workers=[4, 8]' --set steps=20 --set 'plots=[]' \
        --set 'claims=[{text: t, metric: bits, of: Top-k k=4, at-most: {times: 9, of: Top-k k=1 workers=8}}]'
    [ "$(jq -c '[.claims[].of]' <<<"$output")" = '["Top-k k=4 workers=4","Top-k k=4 workers=8"]' ]
    run -2 --separate-stderr sparsebench "$smoke" --dry-run --set 'workers=[4, 8]' --set 'claims=[{text: t, metric: bits, of: Top-k k=5, at-most: 1}]'
    [ "$(grep -c "got 'Top-k k=5'$" <<<"$stderr")" = 1 ]
}
