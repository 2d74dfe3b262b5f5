#!/usr/bin/env bats
# The recipes of the networks as they are, on generated images: every recipe resolves, two steps of each network run.
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$BATS_TEST_TMPDIR/data
    need_torch
}

two_steps() { # RECIPE METHOD ARGUMENTS...
    local recipe=$1 method=$2
    shift 2
    sparsetrain -q "$ROOT/recipes/$recipe.yaml" --method "$method" --set steps=2 --set record.every=1 --set record.evaluate=0 "$@" -o run --force
    [ "$(grep -c '"record":"step"' run)" = 3 ]
    tail -n 1 run | grep -q '"status":"ok".*"steps":2'
    grep -q '"source":"generated"' run
}

@test "every recipe of a network resolves" {
    recipes_resolve cnn
}

@test "two steps of ResNet-18 at true size: 8 workers, 256 images each" {
    two_steps fig3 Hard-threshold
}

@test "two steps of SENet-18 and GoogLeNet, 8 workers, 16 images each" {
    two_steps table1-senet18 ACCORDION --set batch=16
    two_steps table1-googlenet ACCORDION --set batch=16
    two_steps table1-cifar100-googlenet Hard-threshold --set batch=16
}

@test "two steps at laptop scale" {
    two_steps mini/fig3 Top-k
    two_steps mini/table1 ACCORDION
    two_steps night/fig2a "Top-k density=0.0012"
    two_steps night/fig3 Hard-threshold
    two_steps night/table1 ACCORDION
    two_steps mini/table1-cifar100 Hard-threshold
    two_steps mini/no-error-feedback "Top-k without"
    two_steps mini/entire-model "Top-k entire"
    two_steps mini/powersgd "ACCORDION on the rank"
    two_steps mini/compressors "ATOMO rank=1"
    two_steps mini/absolute "SVD threshold budget total=0.141"
}

@test "a smoke run of a laptop figure: every method, table and plot" {
    ln -s "$ROOT/recipes" recipes
    run -0 --separate-stderr env SMOKE=1 sh recipes/run mini-fig3 "$BIN" 2
    [[ $output == *"Smoke run of mini-fig3, 16 steps"*"(generated"*"Hard-threshold "*"plot: results/local/mini-fig3-smoke.svg"* ]]
    grep -q "<svg" results/local/mini-fig3-smoke.svg
}
