#!/usr/bin/env bats
# Ratings and NeuMF at true size: recipes resolve, 20 million ratings are read and trained on, all on generated ones.
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$BATS_TEST_TMPDIR/data
    need_torch
}

steps() { # RECIPE METHOD ARGUMENTS...
    local recipe=$1 method=$2
    shift 2
    sparsetrain -q "$ROOT/recipes/$recipe.yaml" --method "$method" --set epochs=null --set steps=2 --set record.every=1 "$@" -o run --force
    [ "$(grep -c '"record":"step"' run)" = 3 ]
    tail -n 1 run | grep -q '"status":"ok".*"steps":2'
}

@test "every recipe of NeuMF resolves" {
    recipes_resolve ncf
}

@test "two steps at laptop scale, with an evaluation" {
    steps mini/fig2c Hard-threshold --set methods.Hard-threshold.lambda=1e-3
    steps mini/fig2c "Hard-threshold, shuffled lambda=0.001768"
    grep -q '"source":"generated"' run
    run -0 grep -c '"hit_rate":0\.[0-9]' run
    [ "$output" = 1 ]
}

@test "two steps at true size: 31.8 million parameters, 8 workers, 16,384 examples each" {
    steps fig2c Hard-threshold --set methods.Hard-threshold.lambda=1e-5 --set batch=16384 --set record.evaluate=0
    grep -q '"source":"generated"' run
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
    (ulimit -t 30 -v 4194304 && steps fig2c Adam --set task.dataset=ml-20m-made --set task.factors=1 --set task.mlp=2-1 --set batch=1 --set record.evaluate=0)
    [ "$(head -n 1 run | jq '.dataset.users, .dataset.items' | tr '\n' ' ')" = "138493 26744 " ]
}
