#!/usr/bin/env bats
# The task ncf through the programs, on a few generated ratings: same bytes everywhere, clear errors.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$BATS_TEST_TMPDIR/data
    cat >ncf.yaml <<'YAML'
schema: 1
name: ncf
task: {kind: ncf, dataset: ml-100k, stand-in: ratings-like, users: 30, factors: 4, mlp: 8-6-4, dropout: 0.3}
workers: 3
batch: 100
epochs: 2
optimizer: {kind: adam, learning-rate: 0.0045, beta1: 0.25, beta2: 0.5, weight-decay: 1e-5}
error-feedback: gradient
record: {every: 10, evaluate: 1, series: [train-loss, hit-rate, ndcg, error-norm, density, bits]}
methods:
  - {name: Adam, compressor: none, baseline: true}
  - {name: Top-k, compressor: topk, density: 0.01}
  - {name: Hard-threshold, compressor: hard-threshold, lambda: 3e-4}
  - {name: Accordion, compressor: accordion, density-min: 0.01, density-max: 0.1, interval: 1}
  - {name: Whole, compressor: topk, density: 0.01, scope: model}
  - {name: Forgetful, compressor: hard-threshold, lambda: 3e-4, error-feedback: none}
YAML
    need_torch
}

ncf() { # METHOD ARGUMENTS...
    local method=$1
    shift
    sparsetrain -q ncf.yaml --method "$method" "$@"
}

# bats test_tags=slow
@test "1 and 2 threads, 1, 2 and 3 ranks: the same bytes, each method in its way" {
    for method in Adam Top-k Hard-threshold Accordion Whole Forgetful; do
        args=(--set 'record.layers=true')
        same_for_threads_and_ranks "$method.one" "2 3" ncf.yaml --method $method "${args[@]}"
        tail -n 1 "$method.one" | grep -q '"status":"ok"'
        run -0 column hit_rate "$method.one" # after each epoch
        [ "${#lines[@]}" = 2 ]
    done
    [ "$(column density Adam.one | sort -u)" = 1 ]
    [ "$(column error_norm Adam.one | sort -u)" = 0 ]
    [ "$(column error_norm Forgetful.one | sort -u)" = 0 ]
    have_mpi || skip "threads only: built without MPI, or mpirun is not installed"
}

# bats test_tags=slow
@test "killed and resumed: the same bytes, with residuals and Adam's state" {
    for method in Hard-threshold Accordion; do
        same_after_kill 5 ncf.yaml --method $method --set epochs=12
    done
}

# bats test_tags=slow
@test "it learns more than what is popular by chance" {
    ncf Adam --set 'task.users=150' --set epochs=10 --set batch=200 --set task.dropout=0 -o run
    awk -v first="$(column train_loss run | head -n 1)" -v last="$(column train_loss run | tail -n 1)" \
        'BEGIN { exit !(first > 0.6 && last < first - 0.15) }' || { column train_loss run; false; }
    awk -v hits="$(column hit_rate run | tail -n 1)" -v gain="$(column ndcg run | tail -n 1)" \
        'BEGIN { exit !(hits > 0.25 && gain > 0.1 && gain < hits) }' || { column hit_rate run; false; } # by chance: 0.1
    grep -q '"generator":"ratings-like"' run
    grep -q '"users":150,' run
}

@test "a worker's own parameters: one worker learns what SGD learns; the same bytes for any threads and ranks" {
    local set=(--set 'optimizer={learning-rate: 30}' --set task.dropout=0 --set record.every=1 --set steps=12)
    ncf Adam --set workers=1 "${set[@]}" --set error-feedback=update -o sgd
    ncf Top-k --set workers=1 "${set[@]}" --set 'error-feedback={form: cser, interval: 5}' -o own
    ncf Top-k --set workers=1 "${set[@]}" --set error-feedback=update -o shared
    paste <(column train_loss sgd) <(column train_loss own) <(column train_loss shared) |
        awk '{ own += ($1 - $2) ^ 2; shared += ($1 - $3) ^ 2 } END { exit !(NR == 12 && own < 2e-13 && shared > 1e-12) }'
    same_for_threads_and_ranks one "2" ncf.yaml --method Top-k "${set[@]}" \
        --set 'error-feedback={form: cser, interval: 5, reset: 0.5, momentum: 0.5}'
}

@test "an untrained model hits by chance" {
    ncf Adam --set task.users=300 --set steps=1 --set record.every=1 --set optimizer.learning-rate=1e-30 -o run
    awk -v hits="$(column hit_rate run)" 'BEGIN { exit !(hits > 0.02 && hits < 0.25) }' || { column hit_rate run; false; } # 10 of 101
}

@test "the reference's sharding gives other batches" {
    ncf Adam -o global
    ncf Adam --set task.sharding=reference -o reference
    [ "$(column train_loss global | md5sum)" != "$(column train_loss reference | md5sum)" ]
    sed -i 's/name: Adam, compressor: none/&, sharding: reference/' ncf.yaml
    ncf Adam -o own
    [ "$(column train_loss own | md5sum)" = "$(column train_loss reference | md5sum)" ]
}

@test "rule: methods of another sharding have a pilot of their own" {
    cat >>ncf.yaml <<'YAML'
  - {name: Cut, compressor: hard-threshold, lambda: 3e-4, sharding: reference}
YAML
    run -0 --separate-stderr sparsetune -q ncf.yaml --rule=estimated --repeats 4
    jq -e '.tune.pilots | map(.methods) == [["Hard-threshold", "Forgetful"], ["Cut"]] and
        .[0].zeta_squared.value != .[1].zeta_squared.value' results/local/ncf/rule.json
}

@test "through sparsebench: cells, means, the stand-in is named" {
    sparsebench -q ncf.yaml --set 'methods.Top-k.density=[0.01, 0.05]' --set epochs=1 --folder cells -o all.json
    [ "$(jq '.results | length' all.json)" = 7 ]
    [ "$(jq -r '[.results[].cells[].status] | unique[]' all.json)" = ok ]
    grep -q ratings-like all.json
}

@test "a missing data set names the fetch command" {
    sed -i 's/ stand-in: ratings-like,//' ncf.yaml
    run -1 --separate-stderr ncf Adam -o out
    [[ $stderr == "sparsetrain: "*"datasets/fetch ml-100k"* ]] || { echo "$stderr"; false; }
    [ ! -e out ]
}

@test "ratings that are cut off, out of range or without a column: file and line" {
    mkdir -p data/ml-100k-mine data/ml-20m-mine
    printf '1\t2\t3\t4\n1\t0\t3\t4\n' >data/ml-100k-mine/u.data
    says 1 "data/ml-100k-mine/u.data:2: movieId '0'" -- ncf Adam --set task.dataset=ml-100k-mine -o out
    printf 'userId,movieId,rating\n1,2,3\n' >data/ml-20m-mine/ratings.csv
    says 1 "ml-20m-mine/ratings.csv:1: no column 'timestamp'" -- ncf Adam --set task.dataset=ml-20m-mine -o out
    printf '1\t2\t3\t4' >data/ml-100k-mine/u.data
    says 1 "u.data" -- ncf Adam --set task.dataset=ml-100k-mine -o out
    [ ! -e out ]
}

@test "values that only the data can refute, and sizes that are none" {
    says 2 "31 workers for 30 users" -- ncf Adam --set workers=31
    says 2 100000 -- ncf Adam --set batch=100000
    says 2 "task.mlp: '8-x'" -- ncf Adam --set task.mlp=8-x
    says 2 "netflix" "ml-25m" -- ncf Adam --set task.dataset=netflix
    says 2 "beta1 and beta2 must be below 1" -- ncf Adam --set optimizer.beta2=1
    says 2 "Adam and AdamW need error-feedback: gradient" -- ncf Adam --set error-feedback=update
    run -1 --separate-stderr ncf Adam --device cuda:1000
    [[ $stderr == *"--device cuda:1000: "*"use --device cpu" ]] || { echo "$stderr"; false; }
}

# bats test_tags=slow
@test "columns of gradients and of the mean residual leave the run as it is, for any number of threads and ranks" {
    errors_leave_the_run ncf.yaml
}
