#!/usr/bin/env bats
# Finished cells and what they depend on: data, versions, checkpoints and partial results, with the real sparsetrain.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$BATS_TEST_TMPDIR/data
    mkdir data
}

# A recipe of one method on one data set: NAME TASK-KEYS.
recipe() {
    cat >r.yaml <<YAML
schema: 1
name: $1
task: {kind: $2}
workers: 2
batch: ${3:-1}
steps: ${4:-4}
optimizer: {kind: sgd, learning-rate: 0.01}
seeds: [1, 2, 3]
record: {every: 2, series: [${5:-loss}]}
methods:
  - {name: SGD, compressor: none, baseline: true}
YAML
}

# LIBSVM text of this many rows, the same rows for the same number.
rows() {
    awk -v n="$1" 'BEGIN { srand(3); for (i = 0; i < n; i++) printf "%d 1:%.3f 2:%.3f 3:%.3f\n", i % 2 ? 1 : -1, rand(), rand(), rand() }'
}

bench() {
    sparsebench r.yaml --folder cells "$@"
}

actions() { # of the cells, in order
    bench --dry-run "$@" 2>/dev/null | sed -n 's/^\([a-z]*\) .*/\1/p' | xargs
}

# The data set that would be read is the one that a run names, and so its cell is reused.
told_as_read() {
    run -0 --separate-stderr bench -q --seed 1
    [ "$(jq -c '.dataset | [.name, .source, .generator, .verified]' <<<"$output")" = \
        "$(bench --dry-run --json 2>/dev/null | jq -c '.dataset | [.name, .source, .generator, .verified]')" ]
    local now
    now=$(bench --dry-run --json 2>/dev/null | jq -r .dataset.sha256)
    [ -z "$now" ] || [ "$(jq -r .dataset.sha256 <<<"$output")" = "$now" ]
    [ "$(jq -r .dataset.source <<<"$output")" = "$1" ]
    [ "$(actions --seed 1)" = reuse ]
}

@test "a data file that was cut makes its cells anew; the result is of one set" {
    recipe own "logreg, dataset: ./own.libsvm, l2: 0.1"
    rows 2000 >own.libsvm
    bench -q --seed 1 >/dev/null
    [ "$(actions)" = "reuse run run" ]
    rows 1000 >own.libsvm
    [ "$(actions)" = "run run run" ]
    run -0 --separate-stderr bench
    [[ $stderr == *"1 finished cell was made from other data than are here now (own.libsvm, SHA-256 "*"), so it is run again"* ]]
    [ "$(jq '[.results[].cells[] | select(.reused)] | length' <<<"$output")" = 0 ]
    [ "$(jq -r .dataset.sha256 <<<"$output")" = "$(sha256sum <own.libsvm | cut -d' ' -f1)" ]
    [ "$(sed -n 's/.*"dataset":{[^}]*"sha256":"\([^"]*\)".*/\1/p' cells/*.ndjson | sort -u | wc -l)" = 1 ]
    touch own.libsvm # another time, the same bytes
    [ "$(actions)" = "reuse reuse reuse" ]
}

@test "a stand-in that ran once gives way when the real set appears" {
    recipe pair "logreg, dataset: pair, stand-in: two-clouds, l2: 0.1"
    bench -q >/dev/null
    [ "$(actions)" = "reuse reuse reuse" ]
    rows 50 | gzip >data/pair.gz
    [ "$(actions)" = "run run run" ]
    run -0 --separate-stderr bench
    [[ $stderr == *"3 finished cells were made from other data than are here now (two-clouds, generated, SHA-256 "* ]]
    [ "$(jq -r '.dataset | .source, .sha256' <<<"$output" | xargs)" = "file $(rows 50 | sha256sum | cut -d' ' -f1)" ]
}

@test "where the data are not here at all, finished cells are taken as they are, and that is said once" {
    recipe pair "logreg, dataset: pair, l2: 0.1"
    rows 50 >data/pair
    bench -q >1.json
    rm data/pair
    run -0 --separate-stderr bench
    [ "$(grep -c "the data set is not here, so finished cells are taken without comparing their data" <<<"$stderr")" = 1 ]
    cmp <(jq '.results | del(.[].cells)' 1.json) <(jq '.results | del(.[].cells)' <<<"$output")
}

@test "cells of different data that cannot be told apart beforehand: an error that names both, and no result" {
    recipe pair "logreg, dataset: pair, l2: 0.1"
    rows 50 >data/pair
    bench -q --seed 1 >/dev/null
    rows 40 >data/pair
    bench -q --seed 2 >/dev/null
    rm data/pair
    run -1 --separate-stderr bench --seed 1 --seed 2 -o out.json
    [[ $stderr == *"cells of different data have no means: SGD, seed 1 (cells/SGD-seed1-"*".ndjson) read pair, SHA-256 $(rows 50 |
        sha256sum | cut -c1-12), but SGD, seed 2 (cells/SGD-seed2-"*".ndjson) read pair, SHA-256 $(rows 40 |
        sha256sum | cut -c1-12)"* ]]
    [ -z "$output" ] && [ ! -e out.json ]
}

@test "sparsetune goes by the same rules" {
    recipe pair "logreg, dataset: pair, l2: 0.1" 1 40 "loss, average-density"
    sed -i 's/seeds: .*/seeds: [1]/' r.yaml
    cat >>r.yaml <<'YAML'
  - {name: Top-k, compressor: topk, k: 1}
  - {name: Hard-threshold, compressor: hard-threshold, lambda: match}
YAML
    rows 50 >data/pair
    local tune="sparsetune r.yaml --match-density --tolerance 0.5 --folder cells"
    $tune -q >/dev/null
    run -0 --separate-stderr $tune
    [[ $stderr != *": done after"* ]]
    rows 40 >data/pair
    run -0 --separate-stderr $tune
    [[ $stderr == *"1 finished cell was made from other data than are here now (pair, SHA-256 "* ]]
    [[ $stderr == *"Top-k, seed 1: done after"* ]]
    sed -i -e 's/"identity":"/&older/' -e 's/,"sha256":"[0-9a-f]*"}$/}/' cells/*.ndjson
    run -0 --separate-stderr $tune --any-version
    [[ $stderr != *": done after"* ]]
    says 0 "made by another version of the program (older" ": --any-version takes it" -- $tune
}

@test "what would be read is what a run names: logreg" {
    recipe pair "logreg, dataset: pair, stand-in: two-clouds, l2: 0.1"
    told_as_read generated
    rows 50 | xz >data/pair.xz
    told_as_read file
    mkdir data/pair
    rows 30 >data/pair/pair # found before the packed one
    told_as_read file
}

@test "what would be read is what a run names: cnn" {
    need_torch
    recipe images "cnn, model: resnet8, dataset: cifar-10-tiny, stand-in: cifar-like, train-images: 16, test-images: 8, average-model: false" 2 2 test-loss
    told_as_read generated
    mkdir data/cifar-10-tiny
    for file in data_batch_1 data_batch_2 data_batch_3 data_batch_4 data_batch_5 test_batch; do
        for i in 1 2 3 4; do
            printf "\\$i"
            head -c 3072 /dev/zero | tr '\0' "\\$i"
        done >data/cifar-10-tiny/$file.bin
    done
    told_as_read file
}

@test "what would be read is what a run names: lm" {
    need_torch
    recipe text "lm, dataset: words, stand-in: text-like, train-tokens: 400, test-tokens: 100, vocabulary: 50, embedding: 4, layers: 1, bptt: 5" 2 2 test-loss
    told_as_read generated
    mkdir data/words
    for i in $(seq 60); do echo "the cat number $((i % 7)) sat on the mat"; done | tee data/words/train.txt >data/words/valid.txt
    told_as_read file
}

@test "what would be read is what a run names: gpt" {
    need_torch
    recipe text "gpt, dataset: words, stand-in: text-like, tokens: bytes, train-tokens: 400, test-tokens: 100, layers: 1, width: 4, context: 5" 2 2 test-loss
    told_as_read generated
    mkdir data/words
    for i in $(seq 60); do echo "the cat number $((i % 7)) sat on the mat"; done | tee data/words/train.txt >data/words/valid.txt
    told_as_read file
}

@test "what would be read is what a run names: ncf" {
    need_torch
    recipe ratings "ncf, dataset: ml-100k-tiny, stand-in: ratings-like, users: 4, factors: 2, mlp: 4-2, test-negatives: 5" 4 2 hit-rate
    told_as_read generated
    mkdir data/ml-100k-tiny
    for user in 1 2 3 4; do
        for item in $(seq 25); do printf '%d\t%d\t3\t%d\n' $user $((item + user)) $((item * user)); done
    done >data/ml-100k-tiny/u.data
    told_as_read file
}

@test "a checksum is remembered until the file changes; a damaged memory is as none" {
    recipe pair "logreg, dataset: pair, l2: 0.1"
    rows 50 >data/pair
    local memory first
    first=$(bench --dry-run --json | jq -r .dataset.sha256)
    run ! ls data/derived/checksum-*.cache # the file is too new
    sleep 3
    [ "$(bench --dry-run --json | jq -r .dataset.sha256)" = "$first" ]
    memory=$(echo data/derived/checksum-*.cache)
    [ -f "$memory" ]
    sed 's/1/2/2' data/pair >data/edited # as large, and written into the same file, which gets its old times
    touch -r data/pair data/times
    cat data/edited >data/pair
    touch -r data/times data/pair
    [ "$(bench --dry-run --json | jq -r .dataset.sha256)" = "$(sha256sum <data/edited | cut -d' ' -f1)" ]
    [ "$first" != "$(sha256sum <data/edited | cut -d' ' -f1)" ]
    rows 40 >data/other # as large, of the same time: another inode
    head -c "$(stat -c %s data/pair)" <(cat data/other data/other) >data/same
    touch -r data/pair data/same
    mv data/same data/pair
    [ "$(bench --dry-run --json | jq -r .dataset.sha256)" = "$(sha256sum <data/pair | cut -d' ' -f1)" ]
    [ "$first" != "$(sha256sum <data/pair | cut -d' ' -f1)" ]
    printf x | dd of="$memory" bs=1 seek=192 conv=notrunc 2>/dev/null # the first digit that is remembered
    [ "$(bench --dry-run --json | jq -r .dataset.sha256)" = "$(sha256sum <data/pair | cut -d' ' -f1)" ]
    head -c 100 "$memory" >cut && cp cut "$memory"
    [ "$(bench --dry-run --json | jq -r .dataset.sha256)" = "$(sha256sum <data/pair | cut -d' ' -f1)" ]
    rm "$memory" && mkfifo "$memory"
    timeout -k 1 20 sparsebench r.yaml --folder cells --dry-run --json >piped
    [ "$(jq -r .dataset.sha256 piped)" = "$(sha256sum <data/pair | cut -d' ' -f1)" ]
}

@test "a finished cell with a wrong bit is run again, and that is said; one of an older program has no checksum" {
    recipe pair "logreg, dataset: pair, l2: 0.1"
    rows 50 >data/pair
    bench -q --json >whole.json
    cell=$(echo cells/SGD-seed2-*)
    cp "$cell" good
    sed -i '0,/"loss":0\.6/s//"loss":0.7/' "$cell"
    run ! cmp -s "$cell" good
    [ "$(actions)" = "reuse run reuse" ]
    [ "$(actions --any-version)" = "reuse run reuse" ]
    says 2 "is damaged" -- sparsetrain r.yaml --seed 2 -o "$cell" --resume
    run -0 --separate-stderr bench --json
    [[ $stderr == *"1 finished cell is damaged (cells/SGD-seed2-"*"), so it is run again"* ]]
    cmp <(jq -c '.results[].final' whole.json) <(jq -c '.results[].final' <<<"$output")
    same_series "$cell" good
    sed -i 's/,"sha256":"[0-9a-f]*"}$/}/' "$cell"
    [ "$(actions)" = "reuse reuse reuse" ]
}

@test "a pipe, a device, a folder or a link in the place of a cell's files: a message at once, and no file is overwritten" {
    recipe odd "logreg, dataset: two-clouds, stand-in: two-clouds, l2: 0.1"
    bench -q >/dev/null
    local cell ending place
    cell=$(echo cells/SGD-seed1-*.ndjson)
    cp "$cell" good
    for ending in "" .part .ckpt; do
        for place in pipe link zero folder; do
            rm -rf "$cell" "$cell".*
            echo precious >victim
            [ "$ending" != .ckpt ] || : >"$cell.part"
            case $place in
            pipe) mkfifo "$cell$ending" ;;
            link) ln -s "$PWD/victim" "$cell$ending" ;;
            zero) ln -s /dev/zero "$cell$ending" ;;
            folder) mkdir "$cell$ending" ;;
            esac
            for arguments in --dry-run --json; do
                timeout -k 1 20 sparsebench r.yaml --folder cells -q "$arguments" >out 2>err || [ $? -lt 124 ]
            done
            [ "$(cat victim)" = precious ]
            if [ "$(jq -r .status out)" = ok ]; then
                same_series "$cell" good
            else
                grep -qE "$cell$ending(: Is| is| is not) a " err
            fi || { echo "$place$ending"; cat err; false; }
        done
    done
}

@test "--device names where cells ran; without it one that ran on a GPU is reused and that is said" {
    recipe pair "logreg, dataset: pair, l2: 0.1"
    rows 50 >data/pair
    bench -q >/dev/null
    sed -i -e 's/"device":"cpu"/"device":"cuda:0"/g' -e 's/,"sha256":"[0-9a-f]*"}$/}/' cells/SGD-seed1-* # as if on a GPU
    [ "$(actions)" = "reuse reuse reuse" ]
    [ "$(actions --device cpu)" = "run reuse reuse" ]
    [ "$(actions --device cuda:1)" = "reuse run run" ]
    says 0 "1 finished cell ran on a GPU and is reused all the same" -- bench --dry-run
    says 0 "2 finished cells ran on another device than --device names (cpu), so they are run again" -- bench --dry-run --device cuda
    run -0 sparsetrain r.yaml -o "$(echo cells/SGD-seed1-*)" --resume
    says 2 "ran on cuda:0 and not on cpu" -- sparsetrain r.yaml -o "$(echo cells/SGD-seed1-*)" --resume --device cpu
    run -0 --separate-stderr bench -q --device cpu --json
    [ "$(jq '[.results[].cells[] | select(.reused)] | length' <<<"$output")" = 2 ]
}

@test "sparsetrain --resume: a finished file of other data is not this run, nor is such a checkpoint" {
    recipe pair "logreg, dataset: pair, l2: 0.1"
    rows 50 >data/pair
    sparsetrain -q r.yaml -o out
    run -0 sparsetrain r.yaml -o out --resume
    [[ $output == *"out is finished"* ]]
    rows 40 >data/pair
    run -2 sparsetrain r.yaml -o out --resume
    [[ $output == *"out was made from other data (pair, SHA-256 $(rows 50 | sha256sum | cut -c1-12);"*"--force"* ]]
    sparsetrain -q r.yaml -o out --resume --force
    sparsetrain -q r.yaml -o fresh
    same_series out fresh
    stop_train 100
    rows 50 >data/pair
    run -0 --separate-stderr sparsetrain r.yaml --set steps=300000 --set record.every=100000 -o cut --resume
    [[ $stderr == *"the checkpoint belongs to a run on other data: starting afresh"* ]]
}

# A run that is killed once it has a checkpoint: cut.part and cut.ckpt.
stop_train() { # EVERY
    sparsetrain -q r.yaml --set steps=300000 --set record.every=100000 -o cut --checkpoint-every "$1" 3>&- &
    local pid=$!
    patiently [ -e cut.ckpt ]
    kill -KILL $pid
    wait $pid || true
    [ -e cut.ckpt ] && [ -e cut.part ]
}

@test "--dry-run says resume where there is a checkpoint of this recipe, version and data" {
    recipe pair "logreg, dataset: pair, l2: 0.1" 1 300000
    sed -i 's/every: 2/every: 100000/' r.yaml
    rows 50 >data/pair
    local path
    path=$(bench --dry-run --seed 1 | awk '/^run/ { print $NF }')
    mkdir cells
    stop_train 100
    mv cut.part "$path.part"
    mv cut.ckpt "$path.ckpt"
    [ "$(actions)" = "resume run run" ]
    [ "$(actions --fresh)" = "run run run" ]
    [ "$(bench --dry-run --json | jq -r '.cells | map(.action) | join(" ")')" = "resume run run" ]
    rows 40 >data/pair
    [ "$(actions)" = "run run run" ]
    rows 50 >data/pair
    mv "$path.part" kept
    [ "$(actions)" = "run run run" ] # of no use without its series
    mv kept "$path.part"
    [ "$(actions)" = "resume run run" ]
    run -0 --separate-stderr bench --seed 1 -v
    [ "$(actions --seed 1)" = "reuse" ]
}

@test "Ctrl-C with --table: a table that says how far it came, and the same command goes on" {
    recipe pair "logreg, dataset: pair, l2: 0.1" 1 3000000
    sed -i 's/every: 2/every: 1000000/; s/seeds: .*/seeds: [1]/' r.yaml
    rows 50 >data/pair
    env --default-signal=INT sparsebench r.yaml --folder cells --table -o out.json >table 2>err 3>&- &
    local pid=$!
    for _ in $(seq 500); do ls cells/*.part >started 2>/dev/null && break; sleep 0.02; done
    [ -s started ]
    sleep 0.3
    kill -INT $pid
    local code=0
    wait $pid || code=$?
    [ $code = 130 ]
    tr -s '\n# ' ' ' <table | grep -q "not finished: SGD, seed 1 at "
    run ! grep -i "no column\|no series" err
    grep -q "give the same command again to resume" err
    [ "$(jq -r .status out.json)" = interrupted ]
    [ "$(actions)" = resume ]
    run -0 --separate-stderr sparsebench r.yaml --folder cells --table -o out.json
    [[ $output == *SGD* ]]
    [ "$(jq -r .status out.json)" = ok ]
}

@test "--dry-run counts the files of a folder that belong to none of its cells" {
    recipe pair "logreg, dataset: pair, l2: 0.1"
    rows 50 >data/pair
    bench -q >/dev/null
    run -0 --separate-stderr bench --dry-run
    [[ $stderr != *"other file"* ]]
    bench -q --set workers=4 --seed 1 >/dev/null
    echo "a note" >cells/notes.txt
    says 0 "1 other file" -- bench --dry-run
    [ -f cells/notes.txt ]
}

@test "started by a launcher: says --launcher, once" {
    recipe pair "logreg, dataset: pair, l2: 0.1"
    OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=0 run -2 bench
    [[ $output == *'--launcher "mpirun -n 3"'* ]]
    OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=1 run -0 bench
    [ -z "$output" ]
    PMI_SIZE=2 PMI_RANK=0 run -2 bench
    SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0 run -2 bench
    OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 run -2 sparsetune r.yaml --match-density
    [[ $output == *"--launcher"* ]]
    rows 50 >data/pair
    SLURM_NTASKS=8 SLURM_PROCID=0 run -0 bench -q # in a batch script
    OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 run -0 bench --dry-run
    have_mpi || return 0
    run -2 --separate-stderr $MPI -n 2 "$BIN/sparsebench" r.yaml --folder cells 3>&-
    [ "$(grep -c -- '--launcher "mpirun -n 2"' <<<"$stderr")" = 1 ]
}

@test "make FIGURE ARGS=: sparsebench gets all of them, sparsetrain and sparsetune those that they have" {
    mkdir bin
    for program in sparsebench sparsetrain sparsetune sparseplot-export; do
        cat >bin/$program <<'SH'
#!/bin/bash
{ printf '%s' "${0##*/}"; printf ' <%s>' "$@"; echo; } >>"$STUB_LOG"
while [ $# -gt 0 ]; do
    case $1 in -o | --record-inputs) : >"$2" ;; esac
    shift
done
SH
        chmod +x bin/$program
    done
    export STUB_LOG=$PWD/stub.log
    ln -s "$ROOT/recipes" "$ROOT/datasets" .
    mkdir -p data/madelon data/gisette
    : >data/madelon/x >data/gisette/x
    ARGS="--fresh --set 'title=It'\\''s [1,2]' --set=workers=8 --seed 2 --method Budget --jobs 3 --strict" \
        run -0 sh recipes/run budget-madelon bin 2
    local common="<--set> <title=It's [1,2]> <--set=workers=8>"
    grep -qF "sparsebench <recipes/budget-madelon.yaml> <--folder> <results/local/budget-madelon/cells> <--jobs> <2> <--points> <600> <--table> <-o> <results/local/budget-madelon,title=It_s__1,2_,workers=8,seed=2,method=Budget.json> <--force> <--fresh> $common <--seed> <2> <--method> <Budget> <--jobs> <3> <--strict>" stub.log
    [ "$(grep -c "^sparsetrain" stub.log)" = 1 ]
    grep -qF "sparsetrain <recipes/budget-madelon.yaml> $common <--seed> <2> <--method> <Budget> <--record-inputs>" stub.log
    grep -qF "sparsetune <recipes/budget-madelon.yaml> <--fresh> $common <--jobs> <3> <--oracle>" stub.log
    : >stub.log
    ARGS="--set workers=8 --any-version" run -0 sh recipes/run theory bin 2
    grep -qF "sparsetune <recipes/theory.yaml> <--folder> <results/local/theory/cells> <--set> <workers=8> <--any-version> <--theory>" stub.log
    : >stub.log
    DEVICE=cuda JOBS='' run -0 sh recipes/run budget-madelon bin 2
    grep -qE "^sparsebench .*<--jobs> <0> .*<--device> <cuda>" stub.log
    grep -qE "^sparsetune .*<--device> <cuda> <--oracle>" stub.log
    DEVICE=cuda JOBS=3 run -0 sh recipes/run theory bin 3
    grep -qE "^sparsebench .*<--jobs> <3> .*<--device> <cuda>" stub.log
    : >stub.log
    run -2 sh recipes/run fig3-early bin 2 # of TF32
    [[ $output == *"make fig3-early DEVICE=cuda"* && ! -s stub.log ]]
    run -0 sh recipes/run budget-madelon bin 2
    [ "$(grep -c "^sparsetrain" stub.log)" -gt 1 ]
    [ "$(grep -c "^sparsebench" stub.log)" = 1 ]
    grep -qF "<-o> <results/local/budget-madelon.json>" stub.log
}

@test "make FIGURE with a change leaves the figure's own result, and --compare finds it by the name" {
    mkdir recipes
    cp "$ROOT/recipes/run" "$ROOT/recipes/smoke.yaml" recipes/
    local own=results/local/smoke.json made=results/local/smoke,workers=2
    SPARSE_DATA="$CACHE" run -0 sh recipes/run smoke "$BIN" 1
    cp "$own" own.json
    SPARSE_DATA="$CACHE" ARGS="--set workers=2" run -0 sh recipes/run smoke "$BIN" 1
    [[ $output == *"plot: $made.svg"*"data: $made.json"*"sparsebench --compare $made.json"* ]]
    cmp "$own" own.json
    run -0 sparsebench --compare "$made.json" --json
    [ "$output" = "$(sparsebench --compare "$own" "$made.json" --json)" ]
    [ "$(jq -c '[.settings[] | select(.key == "workers") | [.a, .b]]' <<<"$output")" = '[["4","2"]]' ]
    run -2 sparsebench --compare "$own"
    SPARSE_DATA="$CACHE" ARGS="--set 'title=$(printf 'long%.0s' {1..40})'" run -0 sh recipes/run smoke "$BIN" 1
    [ "$(ls results/local/smoke,title=*.json | awk '{ print length < 130 }')" = 1 ]
}

@test "make FIGURE ARGS=--dry-run lists the cells with the other options" {
    ln -s "$ROOT/recipes" "$ROOT/datasets" .
    ARGS="--dry-run --fresh --set workers=8 --seed 1" run -0 sh recipes/run smoke "$BIN" 2
    [ "$(grep -c '^run .*results/local/smoke/cells/.*\.ndjson$' <<<"$output")" = 4 ]
    run -0 make -s -C "$ROOT" --eval 'show-args: ; @echo "<$$ARGS>"' show-args ARGS="--fresh --set 'a=[1]'"
    [ "$output" = "<--fresh --set 'a=[1]'>" ]
    run -0 make -s -C "$ROOT" help
    [[ $output == *'make fig1 ARGS="--fresh --set workers=8"'* ]]
}
