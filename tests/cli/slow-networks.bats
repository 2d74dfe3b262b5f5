#!/usr/bin/env bats
# The recipes of the networks as they are, on generated images, text and ratings: every recipe resolves, and some steps of
# each network run, of the true ones too.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$BATS_TEST_TMPDIR/data
    need_torch
}

# All steps are recorded; nothing is evaluated unless ARGUMENTS ask for it.
steps() { # COUNT RECIPE METHOD ARGUMENTS...
    local count=$1 recipe=$2 method=$3
    shift 3
    sparsetrain -q "$ROOT/recipes/$recipe.yaml" --method "$method" --set epochs=null --set "steps=$count" --set record.every=1 --set record.evaluate=0 \
        "$@" -o run --force
    [ "$(grep -c '"record":"step"' run)" = $((count + 1)) ]
    tail -n 1 run | grep -q "\"status\":\"ok\".*\"steps\":$count"
}

generated_steps() { # COUNT RECIPE METHOD ARGUMENTS...
    steps "$@"
    grep -q '"source":"generated"' run
}

@test "every recipe of a network resolves" {
    recipes_resolve cnn
    recipes_resolve lm
    recipes_resolve ncf
}

@test "two steps of ResNet-18 at true size: 8 workers, 256 images each" {
    generated_steps 2 fig3 Hard-threshold
}

@test "two steps of SENet-18 and GoogLeNet, 8 workers, 16 images each" {
    generated_steps 2 table1-senet18 ACCORDION --set batch=16
    generated_steps 2 table1-googlenet ACCORDION --set batch=16
    generated_steps 2 table1-cifar100-googlenet Hard-threshold --set batch=16
}

@test "two steps of image classifiers at laptop scale" {
    generated_steps 2 mini/fig3 Top-k
    generated_steps 2 mini/table1 ACCORDION
    generated_steps 2 night/fig2a "Top-k density=0.0012"
    generated_steps 2 night/fig3 Hard-threshold
    generated_steps 2 night/table1 ACCORDION
    generated_steps 2 mini/table1-cifar100 Hard-threshold
    generated_steps 2 mini/no-error-feedback "Top-k without"
    generated_steps 2 mini/entire-model "Top-k entire"
    generated_steps 2 mini/powersgd "ACCORDION on the rank"
    generated_steps 2 mini/compressors "ATOMO rank=1"
    generated_steps 2 mini/absolute "SVD threshold budget total=0.141"
}

@test "a smoke run of a laptop figure: every method, table and plot" {
    ln -s "$ROOT/recipes" recipes
    run -0 --separate-stderr env SMOKE=1 sh recipes/run mini-fig3 "$BIN" 2
    [[ $output == *"Smoke run of mini-fig3, 16 steps"*"(generated"*"Hard-threshold "*"plot: results/local/mini-fig3-smoke.svg"* ]]
    grep -q "<svg" results/local/mini-fig3-smoke.svg
}

@test "two steps of the paper's language model: 8 workers, 16 columns each" {
    generated_steps 2 fig2b "Hard-threshold lambda=0.0022" --set batch=16
    grep -q '"d":28949319,"n":8,"V":28869' run
}

@test "one step of the paper's batch of a worker of the language model" {
    generated_steps 1 fig2b "Top-k density=0.00025" --set workers=1
}

@test "two steps of the language model at laptop scale" {
    generated_steps 2 mini/fig2b "Top-k density=0.00252"
    generated_steps 2 mini/fig2b Hard-threshold --set methods.Hard-threshold.lambda=0.01
}

@test "two steps of NeuMF at laptop scale, with an evaluation" {
    generated_steps 2 mini/fig2c Hard-threshold --set methods.Hard-threshold.lambda=1e-3 --set record.evaluate=1
    generated_steps 2 mini/fig2c "Hard-threshold, shuffled lambda=0.001768" --set record.evaluate=1
    run -0 grep -c '"hit_rate":0\.[0-9]' run
    [ "$output" = 1 ]
}

@test "two steps of NeuMF at true size: 31.8 million parameters, 8 workers, 16,384 examples each" {
    generated_steps 2 fig2c Hard-threshold --set methods.Hard-threshold.lambda=1e-5 --set batch=16384
    [ "$(head -n 1 run | jq .constants.d)" = 31832577 ]
}

@test "20 million ratings: read and split in 30 s of processor time and 4 GiB" {
    mkdir -p data/ml-20m-made
    awk 'BEGIN { print "userId,movieId,rating,timestamp"
        for (u = 1; u <= 138493; u++)
            for (i = 0; i < 20 + u * 7919 % 250; i++)
                printf "%d,%d,3.5,%d\n", u, 1 + (i * 521 + u * 31) % 26744 * 5, 1112486027 + (u * 37 + i * 1009) % 100000 }' \
        >data/ml-20m-made/ratings.csv
    [ "$(wc -l <data/ml-20m-made/ratings.csv)" -gt 20000000 ]
    # An epoch of one example a step takes nothing, so this is the reading; the limits are of the process.
    (ulimit -t 30 -v 4194304 && steps 2 fig2c Adam --set task.dataset=ml-20m-made --set task.factors=1 --set task.mlp=2-1 --set batch=1)
    [ "$(head -n 1 run | jq '.dataset.users, .dataset.items' | tr '\n' ' ')" = "138493 26744 " ]
}
