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

@test "a recipe that an editor began with a byte order mark is the same recipe" {
    sparsebench "$SMOKE" --dry-run >list
    { printf '\xef\xbb\xbf'; cat "$SMOKE"; } >r.yaml
    sparsebench r.yaml --dry-run | cmp - list
    printf '\xef\xbb\xbfschmea: 1\n' >r.yaml
    run -2 --separate-stderr sparsebench r.yaml
    [[ $stderr == *"r.yaml:1:1: unknown key"* ]]
}

@test "a data set's name does not begin with a dot" {
    local name
    for name in . .. .hidden; do
        run ! sparsebench "$SMOKE" --dry-run --set "task.dataset=$name"
        [[ $output == *"'$name' is no name of a data set"* ]]
        run ! sparsetrain "$SMOKE" --method SGD --set "task.dataset=$name" --set steps=1
    done
}

@test "seeds as 1,2 and 1..2: the cells of the list" {
    local seeds
    run -2 sparsebench "$SMOKE" --dry-run --set seeds=1..1000000
    [[ $output == *"seeds must have 1 to 1000 entries, got 1000000"* ]]
    sparsebench "$SMOKE" --dry-run --set 'seeds=[1, 2]' >list
    for seeds in 1,2 1..2 "1, 2"; do
        sparsebench "$SMOKE" --dry-run --set "seeds=$seeds" | cmp - list
        recipe "s/^seeds: .*/seeds: $seeds/"
        sparsebench r.yaml --dry-run | cmp - list
    done
}

@test "a controller or a code that does not go with the compressor, and keys of another kind" {
    recipe 's/k: \[1, 4\]/k: 2, controller: {kind: acordion, high: 4}/; /^claims/,$d'
    all_refuse "r.yaml:12:62: unknown kind 'acordion' (did you mean 'accordion'?)"
    recipe 's/k: \[1, 4\]/k: 2, controller: {kind: accordion, high: 4, total: 1}/; /^claims/,$d'
    all_refuse "r.yaml:12:82: key 'total' does not belong here (it is a key of controller 'budget')"
    recipe 's/k: \[1, 4\]/k: 2, controller: accordion/; /^claims/,$d'
    all_refuse "r.yaml:12:55: method 'Top-k': controller: accordion needs 'high'"
    recipe 's/compressor: none/compressor: qsgd, values: levels/; /^claims/,$d'
    all_refuse "r.yaml:11:43: method 'SGD': values: a message of qsgd has a format of its own, so its values cannot be 'levels' too"
    recipe 's/^workers: 4/&\nerror-feedback: {form: ef21, momentum: 0.9}/'
    all_refuse "r.yaml:6:30: key 'momentum' does not belong here (it is a key of error-feedback form 'dgc-momentum')"
}

@test "--set of a key of a controller" {
    recipe 's/k: \[1, 4\]/k: 2, controller: {kind: accordion, high: 4}/; /^claims/,$d'
    run -0 sparsetrain r.yaml --method Top-k --dry-run --set methods.Top-k.controller.high=3
    [ "$(jq -c '.method.controller | [.kind, .high, .interval]' <<<"$output")" = '["accordion",3,10]' ]
    [ "$(sparsetrain r.yaml --method SGD --dry-run | jq -c '.method | keys')" = '["compressor"]' ]
    run -2 --separate-stderr sparsetrain r.yaml --method Top-k --set methods.Top-k.controller.high=0.2
    [ "$stderr" = "sparsetrain: --set methods.Top-k.controller.high=0.2: method 'Top-k': controller.high: topk: 'k' = 0.2 is not between 1 and 4.29497e+09" ]
}

# sparsebench says exactly this, exits with 2 and runs no cell; so does sparsetrain --check, of all cells at once.
data_refute() { # MESSAGE LINES of both, without the program's name
    local program
    rm -rf cells
    run -2 --separate-stderr sparsetrain --check r.yaml
    [ "${stderr//sparsetrain: /}" = "$1" ] || { echo "$stderr"; false; }
    run -2 --separate-stderr sparsebench r.yaml --folder cells -o out.json
    [ "${stderr//sparsebench: /}" = "$1" ] || { echo "$stderr"; false; }
    [ -z "$output" ] && [ ! -e out.json ] && [ -z "$(find cells -name '*.ndjson*')" ]
}

@test "what only the data can refute is found once, before the grid, with place" {
    recipe 's/k: \[1, 4\]/k: [1, 41, d+2]/; /^claims/,$d'
    data_refute "r.yaml:12:44: method 'Top-k k=41': topk: 'k' = 41 is more than the 40 parameters there are
r.yaml:12:48: method 'Top-k k=d+2': topk: 'k' = 42 is more than the 40 parameters there are"
    recipe 's/k: \[1, 4\]/k: 1, controller: {kind: accordion, high: d+1}/; /^claims/,$d'
    data_refute "r.yaml:12:79: method 'Top-k': controller.high: topk: 'k' = 41 is more than the 40 parameters there are"
    recipe 's,lambda: 0.01/gamma,controller: {kind: budget\, total: 0.9999},; /^claims/,$d'
    data_refute "r.yaml:13:68: method 'Hard-threshold': controller: a budget of 47995.2 entries, where a worker can send at most 47960 (0.999166 of all): the first of 1200 steps sends nothing"
    recipe 's/^workers: 4/workers: 241/'
    data_refute "r.yaml:5:10: 241 workers for the 240 rows of 'two-clouds': every worker needs a row"
    recipe 's/^epochs: 20/epochs: 0.001/'
    data_refute "r.yaml:6:9: epochs: less than one step; an epoch has 60 steps"
    recipe 's,l2: L/100,l2: 1-L,'
    data_refute "r.yaml:4:69: task.l2: must not be negative, is $(sparsetrain --check r.yaml 2>&1 | sed 's/.*, is //')"
    recipe 's/name: SGD/learning-rate: l2-L, &/; s/name: Hard-threshold/learning-rate: l2-L, &/'
    data_refute "r.yaml:11:21: optimizer.learning-rate: must be a positive number, is $(sparsetrain --check r.yaml 2>&1 | sed -n '1s/.*, is //p')
r.yaml:13:21: optimizer.learning-rate: must be a positive number, is $(sparsetrain --check r.yaml 2>&1 | sed -n '2s/.*, is //p')"
    [[ $stderr == *" (method 'SGD')"*" (method 'Hard-threshold')" ]]
    recipe 's/compressor: topk, k: \[1, 4\]/compressor: randomk, k: 4, unbiased: 1/; /^claims/,$d'
    data_refute "r.yaml:12:5: method 'Top-k': randomk: 'unbiased' needs error-feedback: none"
    recipe 's/^workers: 4/&\nerror-feedback: {form: cser, reset: 41}/; s/k: \[1, 4\]/k: 1/; s/hard-threshold, .*}/onebit}/; /^claims/,$d'
    data_refute "r.yaml:6:17: method 'Top-k': error-feedback.reset: topk: 'k' = 41 is more than the 40 parameters there are
r.yaml:6:17: method 'Hard-threshold': error-feedback.reset: onebit has nothing that it could change"
    recipe 's/compressor: topk, k: \[1, 4\]/compressor: gtopk, k: 2, error-feedback: cser/; /^claims/,$d'
    data_refute "r.yaml:12:60: method 'Top-k': error-feedback: 'cser' sends residuals, too, and gtopk has an exchange of its own kind"
    recipe 's/lambda: 0.01.gamma/lambda: 1, controller: error-reset, error-feedback: cser/; /^claims/,$d'
    data_refute "r.yaml:13:108: method 'Hard-threshold': error-feedback: 'cser' does not go with the controller 'error-reset', which counts on what a step sends"
}

@test "a problem of several methods is said once and names them, of all methods without names" {
    recipe 's,^methods:,&\n  - {name: A\, compressor: none\, shards: {kind: dirichlet}}\n  - {name: B\, compressor: topk\, k: [1\, 2]\, shards: {kind: dirichlet}},'
    data_refute "r.yaml:11:41: task.shards: 'alpha' goes with kind 'dirichlet', and only with it (method 'A')
r.yaml:12:52: task.shards: 'alpha' goes with kind 'dirichlet', and only with it (methods 'B k=1', 'B k=2')"
}

@test "a value that sparsetune is to find is refused by a grid, with its place" {
    recipe 's,lambda: 0.01/gamma,lambda: match,'
    data_refute "r.yaml:13:64: method 'Hard-threshold': lambda: 'match' stands for a value that sparsetune is to find: run it first"
}

@test "a missing data set is said once, with its place in the recipe" {
    recipe 's/dataset: two-clouds, stand-in: two-clouds/dataset: nosuchset/'
    for program in "sparsebench r.yaml --folder cells" "sparsetune r.yaml --match-density --folder cells"; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr $program
        [ "$(grep -c "r.yaml:4:31: data set 'nosuchset' is not here" <<<"$stderr")" = 1 ] || { echo "$stderr"; false; }
        [ "$(grep -c nosuchset <<<"$stderr")" = 1 ] && [ -z "$output" ]
    done
}

@test "--check: nothing to say of a right recipe, --method takes a part" {
    run -0 sparsetrain --check "$SMOKE"
    [ -z "$output" ]
    recipe 's/k: \[1, 4\]/k: [1, 41]/; /^claims/,$d'
    run -0 sparsetrain --check r.yaml --method SGD
    run -2 sparsetrain --check r.yaml --method Top-k
    run -2 sparsetrain --check r.yaml --method SGD --method Top-k
    run -2 --separate-stderr sparsetrain r.yaml --method SGD --method Top-k
    [ "$stderr" = "sparsetrain: --method is given 2 times: a run has one method" ]
    run -0 sparsebench -q r.yaml --method SGD --seed 1 --folder cells # what is not run is not checked
    run -2 --separate-stderr sparsetrain r.yaml --method "Top-k k=41" # a run of its own says the same
    [ "$stderr" = "sparsetrain: r.yaml:12:44: method 'Top-k k=41': topk: 'k' = 41 is more than the 40 parameters there are" ]
}

@test "a plot may name a method for all of its cells, a claim may not" {
    run -0 sparsebench "$SMOKE" --dry-run --set 'plots=[{x: bits, y: suboptimality, methods: [Top-k]}]' --set 'claims=[]'
    run -2 sparsebench "$SMOKE" --dry-run --set 'plots=[{x: bits, y: suboptimality, methods: [Top]}]' --set 'claims=[]'
    [[ $output == *"unknown method 'Top'"* ]]
    run -2 sparsebench "$SMOKE" --dry-run --set 'claims=[{text: t, metric: bits, of: Top-k, at-most: 1}]' --set 'plots=[]'
    [[ $output == *"unknown method 'Top-k'"* ]]
}

@test "a wrong command line: what to write instead" {
    local name program
    for name in 10gbe 10GbE 10gb; do
        run -2 sparsebench "$SMOKE" --dry-run --network "link=$name"
        [[ $output == *"unknown link '$name' (did you mean '10gbe-tcp'?)" ]]
    done
    run -2 sparsebench "$SMOKE" --dry-run --network link=40gbe # not 1gbe
    [[ $output == *"link must be one of 1gbe, 10gbe-tcp, "*", got '40gbe'" ]]
    run -2 sparsebench "$SMOKE" --dry-run --network "16 workers, 10 GbE"
    [[ $output == "sparsebench: --network: '16 workers' is no KEY=VALUE: "*" --network workers=16,link=10gbe-tcp "* ]]
    for program in "sparsebench --dry-run" "sparsetrain --method SGD" "sparsetune --match-density"; do
        run -2 --separate-stderr $program "$SMOKE" --set workers 8
        [ "${stderr_lines[0]}" = "${program%% *}: --set workers 8: write --set workers=8" ]
        run -2 --separate-stderr $program --set workers "$SMOKE"
        [ "${stderr_lines[0]}" = "${program%% *}: --set workers: write --set KEY=VALUE, as workers=4" ]
    done
    run -1 sparseplot-export "$SMOKE"
    [[ $output == *"smoke.yaml: a recipe, and no result: sparsebench $SMOKE | sparseplot-export" ]]
    run -2 sparsebench - </dev/null
    [ "$output" = "sparsebench: <stdin>: empty, where a recipe is expected" ]
}

@test "a data set whose name is misspelt: the nearest that is described" {
    run -2 sparsebench "$SMOKE" --folder cells --set 'task={kind: logreg, dataset: gisete, l2: L/100}'
    [[ $output == *"data set 'gisete' is not here: "*"; did you mean 'gisette'? "* ]]
    run -0 --separate-stderr sparsebench -q "$SMOKE" --method SGD --seed 1 --folder cells --set task.dataset=gisete --set steps=1
    [[ $stderr == *"the data are generated (gisete), not the published set (did you mean 'gisette'?)"* ]]
}

@test "one number or word in the place of a list, and seeds as 1-2" {
    sparsebench "$SMOKE" --dry-run --set 'seeds=[2]' >list
    sparsebench "$SMOKE" --dry-run --set seeds=2 | cmp - list
    sparsebench "$SMOKE" --dry-run --set 'seeds=[1, 2]' >list
    sparsebench "$SMOKE" --dry-run --set seeds=1-2 | cmp - list
    sparsebench "$SMOKE" --dry-run --set 'record.series=[bits]' --set claims=[] --set plots=[] >list
    sparsebench "$SMOKE" --dry-run --set record.series=bits --set claims=[] --set plots=[] | cmp - list
    run -2 sparsebench "$SMOKE" --dry-run --set seeds=-1
    [[ $output == *"seeds must be between 0 and "*", got -1" ]]
    run -2 sparsebench "$SMOKE" --dry-run --set record.series=bits,loss
    [[ $output == *"series must be a list, got 'bits,loss'" ]]
}
