#!/usr/bin/env bats
# The recipes of the language model as they are, on generated text: every recipe resolves, steps of the true model run.
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$BATS_TEST_TMPDIR/data
    need_torch
}

steps() { # COUNT RECIPE METHOD ARGUMENTS...
    local count=$1 recipe=$2 method=$3
    shift 3
    sparsetrain -q "$ROOT/recipes/$recipe.yaml" --method "$method" --set "steps=$count" --set record.every=1 --set record.evaluate=0 "$@" -o run --force
    [ "$(grep -c '"record":"step"' run)" = $((count + 1)) ]
    tail -n 1 run | grep -q "\"status\":\"ok\".*\"steps\":$count"
    grep -q '"source":"generated"' run
}

@test "every recipe of the language model resolves" {
    recipes_resolve lm
}

@test "two steps of the paper's model: 8 workers, 16 columns each" {
    steps 2 fig2b "Hard-threshold lambda=0.0022" --set batch=16
    grep -q '"d":28949319,"n":8,"V":28869' run
}

@test "one step of the paper's batch of a worker" {
    steps 1 fig2b "Top-k density=0.00025" --set workers=1
}

@test "two steps at laptop scale" {
    steps 2 mini/fig2b "Top-k density=0.00252"
    steps 2 mini/fig2b Hard-threshold --set methods.Hard-threshold.lambda=0.01
}
