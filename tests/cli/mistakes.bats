#!/usr/bin/env bats
# Mistakes in a recipe are found before the first step, once, with place and remedy.
# SPDX-License-Identifier: MIT
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

@test "a --set that takes a method or a series from the file's claims is refused where claims are judged" {
    local set='methods.Top-k.k=[1, 7]'
    run -2 sparsebench "$SMOKE" --dry-run --set "$set"
    run -0 sparsebench "$SMOKE" --dry-run --set "$set" --set 'claims=[]' --set 'plots=[]'
    run -0 sparsetrain -q "$SMOKE" --method "Top-k k=7" --set "$set" --set steps=1 -o one
}

@test "a file that lies beside the recipe and not here is named" {
    mkdir sub
    printf '+1 1:1\n-1 2:1\n' >sub/rows
    sed 's|dataset: [^,}]*|dataset: ./rows|' "$SMOKE" >sub/r.yaml
    says 2 'sub/r.yaml:' './rows is not here, but beside the recipe' '(write sub/rows)' -- sparsetrain sub/r.yaml --method SGD
    says 2 '--set: ./rows is not here' -- sparsebench sub/r.yaml --set task.dataset=./rows --dry-run
    cd sub
    run -0 sparsetrain -q r.yaml --method SGD --set workers=2 --set task.stand-in=null
}

@test "a line without a colon: what to write in its place" {
    for line in 'workers:2' 'workers = 2' 'workers 2' $'workers:\u00a02'; do
        recipe "s/^workers:.*/$line/"
        says 2 "r.yaml:$(grep -n '^workers' r.yaml | cut -d: -f1):1: not valid YAML" "(write 'workers: 2')" -- sparsetrain r.yaml --method SGD
    done
}

@test "--method with a method's name means all of its cells" {
    run -0 --separate-stderr sparsebench "$SMOKE" --dry-run --method Top-k --seed 1
    [ "$(awk '!/^#/ { print $3, $4 }' <<<"$output" | xargs)" = "Top-k k=1 Top-k k=4" ]
    run -0 sparsetrain -q "$SMOKE" --method Top-k --set methods.Top-k.k=3 --set steps=1 # one cell: no list
    run -2 --separate-stderr sparsetrain "$SMOKE" --method Top-k
}

@test "a recipe that an editor began with a byte order mark is the same recipe" {
    sparsebench "$SMOKE" --dry-run >list
    { printf '\xef\xbb\xbf'; cat "$SMOKE"; } >r.yaml
    sparsebench r.yaml --dry-run | cmp - list
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

@test "--set of a key of a controller" {
    recipe 's/k: \[1, 4\]/k: 2, controller: {kind: accordion, high: 4}/; /^claims/,$d'
    run -0 --separate-stderr sparsetrain r.yaml --method Top-k --dry-run --set methods.Top-k.controller.high=3
    [ "$(jq -c '.method.controller | [.kind, .high, .interval]' <<<"$output")" = '["accordion",3,10]' ]
    [ "$(sparsetrain r.yaml --method SGD --dry-run | jq -c '.method | keys')" = '["compressor"]' ]
}

@test "--check: nothing to say of a right recipe, --method takes a part" {
    run -0 sparsetrain --check "$SMOKE"
    [ -z "$output" ]
    recipe 's/k: \[1, 4\]/k: [1, 41]/; /^claims/,$d'
    run -0 sparsetrain --check r.yaml --method SGD
    run -2 sparsetrain --check r.yaml --method Top-k
    run -2 sparsetrain --check r.yaml --method SGD --method Top-k
    run -0 sparsebench -q r.yaml --method SGD --seed 1 --folder cells # what is not run is not checked
    run -2 --separate-stderr sparsetrain r.yaml --method "Top-k k=41" # a run of its own says the same
    [ "$stderr" = "sparsetrain: r.yaml:13:44: method 'Top-k k=41': topk: 'k' = 41 is more than the 40 parameters there are" ]
}

@test "--check knows the device of the runs to come, and needs none" {
    recipe '/^claims/,$d; s/series: .*/series: [suboptimality, compression-bias]}/'
    sparsetrain --check r.yaml
    says 2 "is measured on a CPU only" -- sparsetrain --check r.yaml --device cuda
    need_torch
    sed -i 's/^task: .*/task: {kind: cnn, model: resnet8, dataset: cifar-10, stand-in: cifar-like, train-images: 64, test-images: 20, precision: tf32}/
        /^plots/,$d; s/suboptimality, compression-bias/train-loss/; s/learning-rate: [^,}]*/learning-rate: 0.1/' r.yaml
    sparsetrain --check r.yaml --device cuda
    says 2 "r.yaml:5:" "task.precision: tf32 needs --device cuda" -- sparsetrain --check r.yaml
    says 2 "r.yaml:5:" "task.precision: tf32 needs --device cuda" -- sparsebench -q r.yaml --folder cells
    sed -i 's/precision: tf32/graph: true/' r.yaml
    sparsetrain --check r.yaml --device cuda
    says 2 "r.yaml:5:" "task.graph needs --device cuda" -- sparsetrain --check r.yaml
    says 2 "googlenet-deep" "dropout" -- sparsetrain --check r.yaml --device cuda --set task.model=googlenet-deep
}

@test "a plot may name a method for all of its cells, a claim may not" {
    run -0 sparsebench "$SMOKE" --dry-run --set 'plots=[{x: bits, y: suboptimality, methods: [Top-k]}]' --set 'claims=[]'
    run -2 sparsebench "$SMOKE" --dry-run --set 'claims=[{text: t, metric: bits, of: Top-k, at-most: 1}]' --set 'plots=[]'
}

@test "a data set whose name is misspelt: the nearest that is described" {
    run -0 --separate-stderr sparsebench -q "$SMOKE" --method SGD --seed 1 --folder cells --set task.dataset=gisete --set steps=1
    [[ $stderr == *"the data are generated (gisete), not the published set (did you mean 'gisette'?)"* ]]
}

@test "one number or word in the place of a list, and seeds as 1..2" {
    sparsebench "$SMOKE" --dry-run --set 'seeds=[2]' >list
    sparsebench "$SMOKE" --dry-run --set seeds=2 | cmp - list
    sparsebench "$SMOKE" --dry-run --set 'seeds=[1, 2]' >list
    sparsebench "$SMOKE" --dry-run --set seeds=1..2 | cmp - list
    sparsebench "$SMOKE" --dry-run --set 'record.series=[bits]' --set claims=[] --set plots=[] >list
    sparsebench "$SMOKE" --dry-run --set record.series=bits --set claims=[] --set plots=[] | cmp - list
}
