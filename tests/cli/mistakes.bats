#!/usr/bin/env bats
# Mistakes in a recipe are found before the first step, once, with place and remedy.
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$CACHE
    SMOKE=$ROOT/recipes/smoke.yaml
}

# The smoke recipe as r.yaml, edited.
recipe() { # SED...
    sed "$@" "$SMOKE" >r.yaml
}

# Every program that reads r.yaml says exactly this, exits with 2 and runs nothing.
all_refuse() { # MESSAGE
    local command
    for command in "sparsebench r.yaml --folder cells" "sparsebench r.yaml --dry-run" "sparsetrain r.yaml --method SGD" \
        "sparsetrain r.yaml --method SGD --dry-run" "sparsetune r.yaml --match-density --folder cells"; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr $command
        [ "$stderr" = "${command%% *}: $1" ] || { echo "$command: $stderr"; false; }
        [ -z "$output" ] && [ ! -e cells ]
    done
}

@test "a claim or a plot that names a series that is misspelt or not recorded" {
    recipe 's/metric: bits/metric: bit/'
    all_refuse "r.yaml:16:13: metric: unknown series 'bit' (did you mean 'bits'?)"
    recipe 's/y: error-norm/y: error_norm/'
    all_refuse "r.yaml:26:19: y: unknown series 'error_norm' (did you mean 'error-norm'?)"
    recipe 's/x: epoch, y: suboptimality/x: average-density, y: suboptimality/'
    all_refuse "r.yaml:25:9: x: series 'average-density' is not recorded (add it to record.series)"
    recipe 's/\[suboptimality, error-norm/[suboptimality, error_nrm/'
    all_refuse "r.yaml:9:45: record.series: task 'logreg' cannot record 'error_nrm' (did you mean 'error-norm'?)"
    recipe 's/metric: error-bound/metric: error-bond/'
    all_refuse "r.yaml:23:23: metric: unknown series 'error-bond' (did you mean 'error-bound'?)"
}

@test "an unknown constant in an expression" {
    recipe 's,1/(L+l2),1/(L+l3),'
    all_refuse "r.yaml:7:39: learning-rate: expression '1/(L+l3)': unknown name 'l3' (did you mean 'l2'? names: L, row_mean, row_max, m, d, n, l2, label_skew, D, f_star, f_start)"
}

@test "a --set that takes a method or a series from the file's claims is refused where claims are judged" {
    local set='methods.Top-k.k=[1, 7]' program
    for program in "sparsebench --dry-run" "sparsetune --match-density"; do
        run -2 --separate-stderr $program "$SMOKE" --set "$set"
        [[ ${stderr_lines[0]} == "${program%% *}: $SMOKE:17:9: there is no method 'Top-k k=4' any more after --set $set ("*"--set claims=[]"* ]]
    done
    run -2 --separate-stderr sparsebench "$SMOKE" --folder cells --set 'record.series=[suboptimality, bits]'
    [[ ${stderr_lines[0]} == "sparsebench: $SMOKE:20:13: series 'error-norm' is not recorded any more after --set "* ]]
    [ ! -e cells ]
    run -0 sparsebench "$SMOKE" --dry-run --set "$set" --set 'claims=[]' --set 'plots=[]'
    run -0 sparsetrain -q "$SMOKE" --method "Top-k k=7" --set "$set" --set steps=1 -o one
}

@test "a tab that indents is called one, with its place" {
    recipe 's/^  - text: Top-k/\t- text: Top-k/'
    all_refuse "r.yaml:15:1: a tab indents this line: YAML takes blanks only (put blanks in its place)"
}

@test "--method with a method's name means all of its cells" {
    run -0 sparsebench "$SMOKE" --dry-run --method Top-k --seed 1
    [ "$(awk '!/^#/ { print $3, $4 }' <<<"$output" | xargs)" = "Top-k k=1 Top-k k=4" ]
    run -0 sparsetrain -q "$SMOKE" --method Top-k --set methods.Top-k.k=3 --set steps=1 # one cell: no list
    run -2 --separate-stderr sparsetrain "$SMOKE" --method Top-k
    [ "$stderr" = "sparsetrain: --method 'Top-k' has several cells: choose one with --method: 'Top-k k=1', 'Top-k k=4'" ]
    run -2 --separate-stderr sparsetrain "$SMOKE"
    [ "$stderr" = "sparsetrain: the recipe has several methods: choose one with --method: 'SGD', 'Top-k k=1', 'Top-k k=4', 'Hard-threshold'" ]
}

@test "seeds as 1,2 and 1..2: the cells of the list" {
    local seeds
    sparsebench "$SMOKE" --dry-run --set 'seeds=[1, 2]' >list
    for seeds in 1,2 1..2 "1, 2"; do
        sparsebench "$SMOKE" --dry-run --set "seeds=$seeds" | cmp - list
        recipe "s/^seeds: .*/seeds: $seeds/"
        sparsebench r.yaml --dry-run | cmp - list
    done
}
