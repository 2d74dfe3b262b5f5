#!/usr/bin/env bats
# The task cnn through the programs, on a few generated images: same bytes everywhere, clear errors.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$BATS_TEST_TMPDIR/data
    cat >cnn.yaml <<'YAML'
schema: 1
name: cnn
task: {kind: cnn, model: resnet8, dataset: cifar-10, stand-in: cifar-like, train-images: 48, test-images: 20}
workers: 3
batch: 4
epochs: 2
optimizer: {kind: sgd, learning-rate: 0.05, momentum: 0.9, nesterov: 1, weight-decay: 1e-4, scale: 2, warm-up-epochs: 1, decay-at: [1.5]}
error-feedback: gradient
record: {every: 3, evaluate: 1, series: [train-loss, test-loss, test-accuracy, test-accuracy-averaged, error-norm, density, bits]}
methods:
  - {name: SGD, compressor: none, baseline: true}
  - {name: Top-k, compressor: topk, density: 0.01}
  - {name: Hard-threshold, compressor: hard-threshold, lambda: 0.05}
  - {name: Accordion, compressor: accordion, density-min: 0.01, density-max: 0.1, interval: 1}
  - {name: Whole, compressor: topk, density: 0.01, scope: model}
  - {name: Forgetful, compressor: topk, density: 0.01, error-feedback: none}
  - {name: PowerSGD, compressor: powersgd, rank: 1, controller: {kind: accordion, high: 3, interval: 1}}
  - {name: ARC, compressor: arc-topk, density: 0.05}
  - {name: QSGD, compressor: qsgd, levels: 7, error-feedback: none}
YAML
}

cnn() { # METHOD ARGUMENTS...
    local method=$1
    shift
    sparsetrain -q cnn.yaml --method "$method" "$@"
}

# bats test_tags=slow
@test "1 and 2 threads, 1, 2 and 4 ranks: the same bytes, each method in its way" {
    need_torch
    for method in SGD Top-k Hard-threshold Accordion Whole Forgetful PowerSGD ARC QSGD; do
        args=(--set workers=4 --set 'record.layers=true' --set batch=3)
        same_for_threads_and_ranks "$method.one" "2 4" cnn.yaml --method $method "${args[@]}"
        tail -n 1 "$method.one" | grep -q '"status":"ok".*"steps":8'
        run -0 column test_accuracy "$method.one" # after each epoch
        [ "${#lines[@]}" = 2 ]
    done
    [ "$(column density SGD.one | sort -u)" = 1 ]
    [ "$(column error_norm SGD.one | sort -u)" = 0 ]
    [ "$(column error_norm Forgetful.one | sort -u)" = 0 ]
    [ "$(column density Whole.one | sort -u)" != "$(column density Top-k.one | sort -u)" ]
    grep -q '"mode":\[[01,]*1' Accordion.one
    grep -q '"mode":\[[01,]*1' PowerSGD.one
    grep -q '"entries":\[[0-9.,]*[1-9]' PowerSGD.one
    have_mpi || skip "threads only: built without MPI, or mpirun is not installed"
}

# bats test_tags=slow
@test "killed and resumed: the same bytes, with residuals, statistics and the averaged model" {
    need_torch
    for method in Hard-threshold Accordion PowerSGD ARC; do
        same_after_kill 5 cnn.yaml --method $method --set epochs=12
    done
}

# bats test_tags=slow
@test "layers in buckets: the bytes of whole messages, for any ranks and threads, and after a kill" {
    local run set method sets args pid
    need_torch
    have_mpi || skip "built without MPI, or mpirun is not installed"
    for run in SGD "SGD methods.SGD.values=fp16 exchange.buckets=100" "Top-k message.encoding=auto" \
        "Top-k participation=0.5 methods.Top-k.values=bf16" Hard-threshold Forgetful QSGD; do
        read -r method sets <<<"$run"
        args=(cnn.yaml --method "$method" --set batch=3 --set record.layers=true)
        for set in $sets; do args+=(--set "$set"); done
        sparsetrain -q "${args[@]}" -o whole --force
        [[ ${args[*]} == *exchange.buckets* ]] || args+=(--set exchange.buckets=20kB)
        same_for_threads_and_ranks one "2 3" "${args[@]}"
        same_series whole one
    done
    args=(cnn.yaml --method Top-k --set epochs=12)
    sparsetrain -q "${args[@]}" -o whole --force
    args+=(--set exchange.buckets=20kB)
    $MPI -n 3 "$BIN/sparsetrain" -q "${args[@]}" -o cut --checkpoint-every 5 3>&- </dev/null >/dev/null 2>&1 &
    pid=$!
    patiently [ -e cut.ckpt ]
    kill -KILL "$(pgrep -P $pid -x sparsetrain | head -n 1)"
    wait $pid && false
    [ -s cut.part ] && [ ! -e cut ]
    $MPI -n 2 "$BIN/sparsetrain" -q "${args[@]}" -o cut --resume 3>&- </dev/null
    same_series whole cut
}

@test "layers in buckets: a run and --dry-run say in how many, or why messages travel as a whole" {
    need_torch
    run -0 --separate-stderr sparsetrain cnn.yaml --method SGD --dry-run --set exchange.buckets=20kB
    [[ $stderr == *"layers in 5 buckets"* ]]
    run -0 --separate-stderr sparsetrain cnn.yaml --method PowerSGD --dry-run --set exchange.buckets=20kB
    [[ $stderr == *"'PowerSGD' travel as a whole, because "* ]]
    run -0 --separate-stderr sparsetrain cnn.yaml --method SGD --dry-run --set exchange.buckets=25MB
    [[ $stderr == *"travel as a whole, because one bucket has all layers"* ]]
    run -0 --separate-stderr sparsetrain cnn.yaml --method SGD --set exchange.buckets=20kB --set epochs=1 -o alone
    [[ $stderr != *bucket* ]]
    have_mpi || return 0
    # A failure within a bucket ends all ranks with the first layer that is wrong.
    run --separate-stderr $MPI -n 3 "$BIN/sparsetrain" -q cnn.yaml --method Top-k --set exchange.buckets=20kB --set optimizer.learning-rate=1e30
    [ "$status" = 1 ]
    [[ $stderr == *"worker 0, step 1"* ]]
}

# bats test_tags=slow
@test "it learns, batch-norm's statistics and the average too" {
    need_torch
    cnn SGD --set 'task.train-images=480' --set 'task.test-images=60' --set batch=20 --set epochs=6 --set 'optimizer.decay-at=[5]' -o run
    awk -v first="$(column train_loss run | head -n 1)" -v last="$(column train_loss run | tail -n 1)" \
        'BEGIN { exit !(first > 2 && last < first - 0.2) }' || { column train_loss run; false; }
    grep -q '"generator":"cifar-like"' run
    grep -q '"model":"resnet8"' run
}

@test "through sparsebench: cells, means, the stand-in is named" {
    need_torch
    sparsebench -q cnn.yaml --set 'methods.Top-k.density=[0.01, 0.05]' --set epochs=1 --folder cells -o all.json
    [ "$(jq '.results | length' all.json)" = 10 ]
    [ "$(jq -r '[.results[].cells[].status] | unique[]' all.json)" = ok ]
    grep -q cifar-like all.json
}

@test "a missing data set names the fetch command" {
    need_torch
    sed -i 's/ stand-in: cifar-like,//' cnn.yaml
    run -1 --separate-stderr cnn SGD -o out
    [[ $stderr == "sparsetrain: "*"datasets/fetch cifar-10"* ]] || { echo "$stderr"; false; }
    [ ! -e out ]
}

@test "CIFAR files that are cut off or of wrong labels: file and place" {
    need_torch
    mkdir -p data/cifar-10
    for i in 1 2 3 4 5; do head -c 30730000 /dev/zero >"data/cifar-10/data_batch_$i.bin"; done
    head -c 30730000 /dev/zero >data/cifar-10/test_batch.bin
    truncate -s 30729999 data/cifar-10/data_batch_3.bin
    says 1 "data_batch_3.bin" -- cnn SGD -o out
    truncate -s 30730000 data/cifar-10/data_batch_3.bin
    printf '\012' | dd of=data/cifar-10/test_batch.bin bs=1 seek=$((3073 * 7)) conv=notrunc 2>/dev/null
    says 1 "test_batch.bin" 10 -- cnn SGD -o out
    rm data/cifar-10/test_batch.bin # some files are there: no stand-in
    says 1 "test_batch.bin" "datasets/fetch cifar-10" -- cnn SGD -o out
    [ ! -e out ]
}

@test "values that only the data can refute, and a model that is not there" {
    need_torch
    says 2 "resnet9" "resnet8" -- cnn SGD --set task.model=resnet9
    says 2 "21 workers for 20 test images" -- cnn SGD --set workers=21
    says 2 17 -- cnn SGD --set batch=17
    run -1 --separate-stderr cnn SGD --device cuda:1000
    [[ $stderr == *"--device cuda:1000: "*"use --device cpu" ]] || { echo "$stderr"; false; }
}

@test "precisions tf32 and bf16 and graphs are for a GPU, and a cell without them keeps its key" {
    need_torch
    run -1 --separate-stderr cnn SGD --set task.precision=tf32
    [[ $stderr == *"precision: tf32 needs --device cuda" ]] || { echo "$stderr"; false; }
    says 1 "precision: bf16 needs --device cuda" -- cnn SGD --set task.precision=bf16
    says 2 "fp16" "fp32" -- cnn SGD --set task.precision=fp16
    says 1 "task.graph needs --device cuda" -- cnn SGD --set task.graph=true
    cnn SGD --set task.graph=false -o plain
    cnn SGD -o usual
    [ "$(grep '"record":"step"' plain)" = "$(grep '"record":"step"' usual)" ]
    [ "$(sparsetrain --dry-run cnn.yaml --method SGD | jq -c '.task | has("precision", "graph")' | sort -u)" = false ]
    [ "$(sparsetrain --dry-run cnn.yaml --method SGD --set task.precision=tf32 | jq -r .task.precision)" = tf32 ]
}

@test "a diverging run says where and exits 1" {
    need_torch
    says 1 "worker 0, step" -- cnn SGD --set optimizer.learning-rate=1e30 -o out
    tail -n 1 out | grep -q '"status":"diverged"'
}

@test "without the libtorch plug-in the error names the packages; other tasks run" {
    mkdir bin
    cp "$BIN/sparsetrain" bin/
    says 1 "needs libtorch" "apt-get install libtorch-dev libopenblas0-pthread g++" -- bin/sparsetrain cnn.yaml --method SGD
    bin/sparsetrain -q "$ROOT/recipes/smoke.yaml" --method SGD -o out
}

@test "a plug-in of another build, and one that is no library" {
    command -v gcc >/dev/null || skip "no compiler"
    mkdir -p bin lib/sparsegrad
    cp "$BIN/sparsetrain" bin/
    echo 'const void *sg_task_plugin(const char *name, const char *sources) { (void)name; (void)sources; return 0; }' >other.c
    gcc -shared -fPIC -o lib/sparsegrad/tasks-torch.so other.c
    says 1 "tasks-torch.so is of another build: run make again" -- bin/sparsetrain cnn.yaml --method SGD
    echo nonsense >lib/sparsegrad/tasks-torch.so
    says 1 "tasks-torch.so" -- bin/sparsetrain cnn.yaml --method SGD
}

@test "a plug-in from other sources is refused, however much its structs look alike" {
    need_torch
    local sources plugin=lib/sparsegrad/tasks-torch.so
    mkdir -p bin lib/sparsegrad
    cp "$BIN/sparsetrain" bin/
    cp "$BIN/../$plugin" $plugin
    bin/sparsetrain -q cnn.yaml --method SGD --set epochs=null --set steps=1 -o out
    sources=$(bin/sparsetrain --version | sed -n 's/.*sources \([0-9a-f]*\)).*/\1/p')
    [ "${#sources}" = 12 ]
    LC_ALL=C sed -i "s/$sources/another-one!/g" $plugin
    ! cmp -s "$BIN/../$plugin" $plugin
    says 1 "tasks-torch.so is of another build: run make again" -- bin/sparsetrain cnn.yaml --method SGD
}

# bats test_tags=slow
@test "columns of gradients and of the mean residual leave the run as it is, for any number of threads and ranks" {
    need_torch
    errors_leave_the_run cnn.yaml
}
