#!/usr/bin/env bats
# The same workers over R MPI ranks: same bytes for every R, and clear ends. A push tries the largest R of each list.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$ROOT" || exit 1
    export SPARSE_DATA=$CACHE
    OUT=$BATS_TEST_TMPDIR
    sparsetrain --version | grep -q "mpi on" || skip "built without MPI"
    command -v mpirun >/dev/null || skip "mpirun is not installed"
}

@test "R = 1, 2, 3, 4 give the same bytes: dense, Top-k, hard-threshold, 7 workers" {
    set=(--set workers=7 --set "record.series=[suboptimality, $(columns)]")
    [[ "${set[*]}" == *", bits, "*", error-lag]" && "${set[*]}" != *train-loss* ]]
    for method in SGD "Top-k k=4" Hard-threshold; do
        sparsetrain -q recipes/smoke.yaml "${set[@]}" --method "$method" -o "$OUT/one" --force
        for ranks in $(ranks 1 2 3 4); do
            $MPI -n $ranks "$BIN/sparsetrain" -q recipes/smoke.yaml "${set[@]}" --method "$method" -o "$OUT/many" --force 3>&-
            same_series "$OUT/one" "$OUT/many" || { echo "$method differs for $ranks ranks"; false; }
        done
    done
}

@test "the documented comparison: jq without the run record gives equal bytes for R = 1, 2, 3" {
    local line="jq -c 'select(.record != \"run\")'" # as the documents write it
    grep -qF "$line" cmd/README.md
    sed 's/\\-/-/g' cmd/sparsetrain.man | grep -qF "$line run.ndjson"
    for ranks in 1 $(ranks 2 3); do
        $MPI -n $ranks "$BIN/sparsetrain" -q recipes/smoke.yaml --method "Top-k k=4" -o "$OUT/run.ndjson" --force 3>&-
        bash -c "$line '$OUT/run.ndjson'" >"$OUT/series.$ranks"
        $MPI -n $ranks "$BIN/sparsetrain" -q recipes/smoke.yaml --method "Top-k k=4" --json -o "$OUT/run.json" --force 3>&-
        jq 'del(.run)' "$OUT/run.json" >"$OUT/result.$ranks"
        jq -e ".run.ranks == $ranks" "$OUT/run.json"
        cmp "$OUT/series.1" "$OUT/series.$ranks"
        cmp "$OUT/result.1" "$OUT/result.$ranks"
    done
    [ "$(wc -l <"$OUT/series.1")" -gt 20 ]
}

@test "mini-batches, random-k and the gradient form too" {
    set=(--set batch=3 --set error-feedback=gradient --set optimizer.momentum=0.5)
    sparsetrain -q recipes/smoke.yaml "${set[@]}" --method "Top-k k=4" -o "$OUT/one"
    $MPI -n 3 "$BIN/sparsetrain" -q recipes/smoke.yaml "${set[@]}" --method "Top-k k=4" -o "$OUT/three" 3>&-
    same_series "$OUT/one" "$OUT/three"
}

@test "reference points of lsvrg: the same bytes for threads and R = 1, 2, 3, and after a kill" {
    cd "$OUT" || exit 1
    run=("$ROOT/recipes/smoke.yaml" --set workers=7 --set batch=300 --set steps=2000 --set epochs=null --set task.refresh=0.02
        --set "record={every: 1, series: [suboptimality, error-norm, error-curvature, bits, density]}")
    for method in SGD "Top-k k=4"; do
        for oracle in lsvrg lsvrg-shifted; do
            same_for_threads_and_ranks one "2 3" "${run[@]}" --method "$method" --set task.oracle=$oracle
            same_after_kill 50 "${run[@]}" --method "$method" --set task.oracle=$oracle
        done
    done
}

@test "--record-inputs: the same bytes for R = 1, 2, 3" {
    run=(-q recipes/smoke.yaml --method "Top-k k=4" --set epochs=3)
    sparsetrain "${run[@]}" --record-inputs "$OUT/one" >/dev/null
    for ranks in $(ranks 2 3); do
        $MPI -n $ranks "$BIN/sparsetrain" "${run[@]}" --record-inputs "$OUT/many" --force >/dev/null 3>&-
        cmp "$OUT/one" "$OUT/many"
    done
}

@test "schedule, layers and accordion: same bytes for R = 1, 2, 4" {
    set=(--set error-feedback=gradient --set workers=5 --set epochs=6 --set 'optimizer.decay-at=[3]' --set record.evaluate=1
        --set "record.series=[loss, $(columns)]" --set record.layers=true
        --set optimizer.scale=2 --set optimizer.warm-up-epochs=1.5)
    for accumulate in 0 1; do
        args=(-q recipes/smoke.yaml "${set[@]}" --set
            "methods=[{name: A, compressor: accordion, k-min: 1, k-max: 4, interval: 2, threshold: 100, accumulate: $accumulate}]" --force)
        sparsetrain "${args[@]}" -o "$OUT/one"
        grep -q '"mode":\[1\]' "$OUT/one"
        grep -q '"mode":\[0\]' "$OUT/one"
        for ranks in $(ranks 2 4); do
            $MPI -n $ranks "$BIN/sparsetrain" "${args[@]}" -o "$OUT/many" 3>&-
            same_series "$OUT/one" "$OUT/many" || { echo "accumulate $accumulate differs for $ranks ranks"; false; }
        done
    done
}

@test "a budget: same bytes for R = 1, 2, 3, after an interruption too, and met within 2 %" {
    args=(-q "$ROOT/recipes/smoke.yaml" --set workers=7 --set epochs=200 --set 'record={every: 1, series: [average-density, lambda]}'
        --set "methods=[{name: B, compressor: hard-threshold, budget: 0.05}]" --force)
    sparsetrain "${args[@]}" -o "$OUT/one"
    for ranks in $(ranks 2 3); do
        $MPI -n $ranks "$BIN/sparsetrain" "${args[@]}" -o "$OUT/many" 3>&-
        same_series "$OUT/one" "$OUT/many" || { echo "differs for $ranks ranks"; false; }
    done
    cd "$OUT" || exit 1
    same_after_kill 100 "${args[@]}"
    grep '"record":"step"' "$OUT/one" | tail -n 1 | jq -e '(.average_density / 0.05 - 1) | fabs <= 0.02'
    [ "$(grep -o '"lambda":[0-9.e+-]*' "$OUT/one" | sort -u | wc -l)" -gt 10 ]
}

@test "the exchange sums the same on every rank, R = 1, 2, 3, 4" {
    program=$ROOT/build/release/tests/test_comm
    [ -x "$program" ] || skip "unit tests are not built"
    for ranks in 1 2 3 4; do
        $MPI -n $ranks "$program" >"$OUT/tap" 3>&-
        [ "$(grep -c '^1[.][.]' "$OUT/tap")" -eq $ranks ]
    done
}

# The smoke recipe's first steps with each of these as its only method, over R = 1, 2, 3 ranks.
same_over_ranks() { # METHOD...
    local method ranks args
    for method; do
        args=(-q recipes/smoke.yaml --set workers=5 --set epochs=3 --set "methods=[{name: A, compressor: $method}]" --force)
        sparsetrain "${args[@]}" -o "$OUT/one"
        for ranks in $(ranks 2 3); do
            $MPI -n $ranks "$BIN/sparsetrain" "${args[@]}" -o "$OUT/many" 3>&-
            same_series "$OUT/one" "$OUT/many" || { echo "$method differs for $ranks ranks"; false; }
        done
    done
}

@test "controllers that a recipe gives and every form of error feedback: same bytes for R = 1, 2, 3" {
    local form forms=()
    for form in $(table "error-feedback form" | grep -vx diloco); do # whose preset interval is longer than the run
        forms+=("topk, k: 3, error-feedback: $form")
    done
    [ "${#forms[@]}" -gt 9 ]
    same_over_ranks "${forms[@]}" "topk, k: 2, controller: {kind: accordion, high: 6, interval: 2}" \
        "hard-threshold, lambda: 0.5, controller: {kind: noise, every: 3}" \
        "randomk, density: 0.2, controller: {kind: l-greco, least: 0.1, most: 1, values: 5, every: 7}" \
        "topk, k: 3, error-feedback: {form: dgc, nesterov: 1, clip: 0.5}" \
        "topk, k: 3, error-feedback: {form: cser, interval: 3, momentum: 0.5}" \
        "randomk, k: 3, error-feedback: {form: cser, interval: 4, reset: 20}" \
        "topk, k: 3, values: levels, error-feedback: {form: local-steps, steps: 3}" \
        "topk, k: 3, error-feedback: {form: diloco, steps: 3}" \
        "topk, k: 3, error-feedback: {form: diloco, steps: 3, delay: 2, mixing: 0.5}" \
        "none, error-feedback: {form: diloco, steps: 2, outer: {kind: adamw, learning-rate: 0.01}}" \
        "topk, k: 3, optimizer: {kind: adamw, learning-rate: 0.01}, error-feedback: {form: diloco, steps: 3}" \
        "sparseloco, k: 2, chunk: 4, optimizer: {kind: adamw, learning-rate: 0.01}, error-feedback: {form: local-steps, steps: 3,
            decay: 0.95, outer: {learning-rate: 0.4}}" \
        "demo, k: 2, chunk: 4, optimizer: {learning-rate: 0.01, weight-decay: 0.1}, error-feedback: {form: lr-correction, decay: 0.999}" \
        "demo, k: 2, chunk: 4, sign: 0, error-feedback: {form: diloco, steps: 3}" \
        "gtopk, k: 3, error-feedback: {form: local-steps, steps: 2}" "none, error-feedback: local-steps" \
        "gtopk, k: 3, message: auto, error-feedback: {form: dynamic-averaging, threshold: 0.1}" \
        "none, error-feedback: {form: dynamic-averaging, threshold: 0.1}" \
        "topk, k: 3, values: fp16, error-feedback: {form: ef21, decay: 0.5}"
}

@test "client sampling: same bytes for R = 1, 2, 3, where ranks may have no worker that takes part, and after a kill" {
    local how args some
    some=$(columns)
    some=${some/, error-lag/} some=${some/, error-curvature/} # they need the gradients of all workers
    for how in none qsgd "topk, k: 3" "topk, k: 3, message: rice" "randomk, k: 3, shared: 1" "randomk, k: 3, shared: 1, message: auto" \
        "topk, k: 3, error-feedback: {form: local-steps, steps: 3}" "topk, k: 3, error-feedback: ef21"; do
        args=(-q recipes/smoke.yaml --set workers=5 --set participation=0.4 --set epochs=6 --force --set
            "record={every: 3, layers: true, workers: true, series: [loss, $some]}" --set "methods=[{name: A, compressor: $how}]")
        sparsetrain "${args[@]}" -o "$OUT/one"
        for ranks in $(ranks 2 3); do
            $MPI -n $ranks "$BIN/sparsetrain" "${args[@]}" -o "$OUT/many" 3>&-
            same_series "$OUT/one" "$OUT/many" || { echo "$how differs for $ranks ranks"; false; }
        done
    done
    cd "$OUT" || exit 1
    same_after_kill 100 "$ROOT/recipes/smoke.yaml" --set workers=5 --set participation=0.4 --set epochs=400 --method "Top-k k=4"
    [ "$(grep -o '"segments":.*' cut | grep -o started_at | wc -l)" -gt 1 ]
}

@test "values in levels and qsgd: same bytes for R = 1, 2, 3" {
    same_over_ranks "topk, k: 3, values: {code: levels, levels: 3}" "topk, k: 3, values: levels, error-feedback: ef21" \
        "topk, k: 3, values: lookup" "qsgd, levels: 7" "qsgd, levels: 1, controller: {kind: accordion, high: 63, interval: 2}" \
        "qsgd, levels: 31, controller: {kind: dqsgd, alpha: 0.9}" \
        "qsgd, levels: 1, controller: {kind: adaqs, ratio: 0.9}"
}

# 5000 numbers of 21 workers are enough for ranks to share the work; test_comm asserts that they do.
@test "codes of all numbers, which ranks cut or decode in slices: same bytes for R = 1, 2, 3, 4, and with absent workers" {
    local method share args
    for method in "qsgd, bucket: 100, message: auto" ef-signsgd 8bit mxfp8 "nvfp4, message: auto" "grid, step: 0.01, bits: 4" "eden, bits: 2" \
        "inceptionn, error-bound: 0.01" global-qsgd-exp; do
        for share in 1 0.4; do
            args=(-q recipes/smoke.yaml --force --set workers=21 --set steps=3 --set epochs=null --set participation=$share --set
                "task={kind: logreg, dataset: gisette, stand-in: gisette-like, solve-optimum: false, l2: L/10000}" --set
                "record={every: 1, series: [error-norm, bits, bytes-sent]}" --set optimizer.learning-rate=0.01
                --set "methods=[{name: A, compressor: $method}]")
            [[ "$share $method" != "0.4 "[^q]* ]] || continue # one code is enough
            sparsetrain "${args[@]}" -o "$OUT/one"
            for ranks in $(ranks 2 3 4); do
                $MPI -n $ranks "$BIN/sparsetrain" "${args[@]}" -o "$OUT/many" 3>&-
                same_series "$OUT/one" "$OUT/many" || { echo "$method differs for $ranks ranks"; false; }
            done
        done
    done
}

@test "sums that are not just added up: same bytes for R = 1, 2, 3, and with encoded messages" {
    same_over_ranks "clt-k, k: 3" "clt-k, k: 2, error-feedback: scalecom-lpf" "gtopk, k: 3" "gtopk, density: 1" \
        "topk-twice, k: 3" "topk-twice, density: 0.1, error-feedback: gradient, message: auto" \
        "vqsgd, k: 6, least-error: 1" \
        "gtopk, k: 2, conserve: 1, message: auto" "ok-topk, k: 3" "ok-topk, density: 0.1, refresh: 3, message: rice" \
        "global-qsgd-exp" "global-qsgd-exp, bits: 4, error-feedback: none" \
        "sparseloco, k: 2, chunk: 5" "demo, k: 2, chunk: 5, error-feedback: {form: gradient, decay: 0.9}"
}

@test "signs, and sums that are compressed again: same bytes for R = 1, 2, 3" {
    same_over_ranks "onebit" "signsgd, error-feedback: momentum" "terngrad-shared" "dryden, density: 0.2" "stc, k: 3" \
        "sign-l2-twice, error-feedback: gradient" "ef-signsgd-twice, error-feedback: dist-ef-sgdm"
}

@test "Top-k and hard-threshold in turn, and clipped: same bytes for R = 1, 2, 3" {
    same_over_ranks "topk-then-threshold, k: 3, lambda: 1, at: 7" "threshold-then-topk, density: 0.2, lambda: 1, at: 7" \
        "clipped-topk, k: 5, clip: 1" "clipped-threshold, lambda: 1, clip: 1.5"
}

@test "before the switch residuals that are sent by themselves are Top-k's, too" {
    run=(-q recipes/smoke.yaml --set 'error-feedback={form: cser, interval: 4}' --set record.every=1 --set epochs=2)
    for how in "topk, k: 3" "topk-then-threshold, k: 3, lambda: 0.1, at: 1000"; do
        sparsetrain "${run[@]}" --set "methods=[{name: A, compressor: $how}]" -o "$OUT/${how%%,*}"
    done
    cmp <(grep '"record":"step"' "$OUT/topk") <(grep '"record":"step"' "$OUT/topk-then-threshold")
}

@test "an evaluation that workers share has the same bytes for R = 1, 2, 3, 4" {
    program=$ROOT/build/release/tests/test_train_records
    [ -x "$program" ] || skip "unit tests are not built"
    for method in Accordion Sums Hard-threshold SGD; do
        "$program" "$OUT/one" $method
        [ "$(grep -c '"record":"step"' "$OUT/one")" -gt 14 ]
        grep -q '"loss":-' "$OUT/one"
        for ranks in $(ranks 1 2 3 4); do
            $MPI -n $ranks "$program" "$OUT/many" $method 3>&-
            same_series "$OUT/one" "$OUT/many" || { echo "$method differs for $ranks ranks"; false; }
        done
    done
}

@test "encoded messages: same bytes for R = 1 and 3, and only bytes_sent differs from raw" {
    set=(--set workers=5 --set 'record.series=[suboptimality, error-norm, bits, bytes-sent]' --method Hard-threshold)
    sparsetrain -q recipes/smoke.yaml "${set[@]}" -o "$OUT/raw"
    encodings=$(sparsetrain --help-recipe | sed -n '0,/^\* `encoding` (/s/^\* `encoding` (\([a-z|-]*\)[*;].*/\1/p' | tr '|' '\n' | grep -vx raw)
    [ "$(wc -w <<<"$encodings")" -gt 4 ]
    for encoding in $encodings; do
        sparsetrain -q recipes/smoke.yaml "${set[@]}" --set message=$encoding -o "$OUT/one" --force
        $MPI -n 3 "$BIN/sparsetrain" -q recipes/smoke.yaml "${set[@]}" --set message=$encoding -o "$OUT/three" --force 3>&-
        same_series "$OUT/one" "$OUT/three" || { echo "R = 1 and 3 differ with $encoding"; false; }
        cmp <(without_bytes "$OUT/raw") <(without_bytes "$OUT/three") || { echo "$encoding changes the run"; false; }
        run ! cmp -s <(grep '"step"' "$OUT/raw") <(grep '"step"' "$OUT/three")
    done
}

@test "levels in fewer bits: same bytes for R = 1 and 3, and only bytes_sent differs from raw, where it is less" {
    set=(--set workers=5 --set 'record.series=[suboptimality, bits, bytes-sent]' --method SGD)
    for code in "qsgd, levels: 3" terngrad natural-dithering "grid, step: 0.25, error-feedback: update"; do
        method="methods=[{name: SGD, error-feedback: none, compressor: $code}]"
        [[ $code != *feedback* ]] || method=${method/error-feedback: none, /}
        sparsetrain -q recipes/smoke.yaml --set "$method" "${set[@]}" -o "$OUT/raw" --force
        sparsetrain -q recipes/smoke.yaml --set "$method" "${set[@]}" --set message=auto -o "$OUT/one" --force
        $MPI -n 3 "$BIN/sparsetrain" -q recipes/smoke.yaml --set "$method" "${set[@]}" --set message=auto -o "$OUT/three" \
            --force 3>&-
        same_series "$OUT/one" "$OUT/three" || { echo "R = 1 and 3 differ with $code"; false; }
        cmp <(without_bytes "$OUT/raw") <(without_bytes "$OUT/three") || { echo "$code differs from raw"; false; }
        cat "$OUT/raw" "$OUT/one" | jq -es '[.[] | select(.record == "step" and .step == 400).bytes_sent] | .[0] > .[1]'
    done
}

@test "a subset that workers share: same bytes for R = 1 and 3, and no byte for positions" {
    set=(--set workers=5 --set 'record={every: 1, series: [suboptimality, bits, bytes-sent]}' --set steps=7)
    for how in raw auto "{encoding: rice, values: fp16}" "auto, values: levels"; do
        method="methods=[{name: R, compressor: randomk, k: 6, shared: 1, message: $how}]"
        sparsetrain -q recipes/smoke.yaml "${set[@]}" --set "$method" -o "$OUT/one" --force
        $MPI -n 3 "$BIN/sparsetrain" -q recipes/smoke.yaml "${set[@]}" --set "$method" -o "$OUT/three" --force 3>&-
        same_series "$OUT/one" "$OUT/three" || { echo "R = 1 and 3 differ with $how"; false; }
        # 7 steps of 6 values, 32 bits each, and in bytes 4 more for their count
        [ "$how" != raw ] || grep -q '"step":7,.*"bits":1344,"bytes_sent":196}' "$OUT/one"
    done
}

@test "a second compression counts one message more for all workers" {
    set=(--set workers=5 --set 'record={every: 1, series: [density, bits, bytes-sent]}' --set steps=1 --set message=raw)
    for method in "stc, k: 4" "signtopk, k: 4" sign-l2-twice sign-l2; do
        sparsetrain -q recipes/smoke.yaml "${set[@]}" --set "methods=[{name: M, compressor: $method}]" -o "$OUT/one" --force
        grep '"step":1,' "$OUT/one"
    done >"$OUT/four"
    # 6 messages in place of 5, in entries, bits and bytes
    jq -se 'def sixth($a; $b): [$a, $b] | map([.density, .bits, .bytes_sent]) | transpose | all(.[0] * 5 - .[1] * 6 | fabs < 1e-9);
        sixth(.[0]; .[1]) and sixth(.[2]; .[3])' "$OUT/four"
}

@test "fp16 values: same bytes for R = 1 and 3, sparse and dense" {
    set=(--set workers=5 --set message.values=fp16)
    for method in "Top-k k=4" SGD; do
        sparsetrain -q recipes/smoke.yaml "${set[@]}" --method "$method" -o "$OUT/one" --force
        $MPI -n 3 "$BIN/sparsetrain" -q recipes/smoke.yaml "${set[@]}" --method "$method" -o "$OUT/three" --force 3>&-
        same_series "$OUT/one" "$OUT/three" || { echo "$method differs"; false; }
    done
}

@test "more ranks than workers" {
    run --separate-stderr $MPI -n 3 "$BIN/sparsetrain" -q recipes/smoke.yaml --set workers=2 --method SGD
    [ "$status" -ne 0 ]
    [[ $stderr == *"3 ranks for 2 workers"* ]]
}

@test "a checkpoint of 3 ranks resumes under 2 and under none" {
    args=(-q recipes/smoke.yaml --set workers=6 --set epochs=1500 --method Hard-threshold --force)
    sparsetrain "${args[@]}" -o "$OUT/whole"
    for next in "$MPI -n 2" ""; do
        $MPI -n 3 "$BIN/sparsetrain" "${args[@]}" -o "$OUT/cut" --checkpoint-every 50 3>&- >/dev/null 2>&1 &
        pid=$!
        patiently [ -e "$OUT/cut.ckpt" ]
        victim=$(pgrep -P $pid -x sparsetrain | head -n 1)
        kill -KILL "$victim"
        code=0
        wait $pid || code=$?
        [ "$code" -ne 0 ]
        [ -s "$OUT/cut.ckpt" ] && [ -s "$OUT/cut.part" ] && [ ! -e "$OUT/cut" ]
        $next "$BIN/sparsetrain" "${args[@]}" -o "$OUT/cut" --resume 3>&-
        same_series "$OUT/whole" "$OUT/cut"
        rm "$OUT/cut"
    done
}

@test "a rank that dies ends the run within seconds, last checkpoint intact" {
    args=(-q recipes/smoke.yaml --set epochs=200000 --method Hard-threshold -o "$OUT/r" --checkpoint-every 100)
    timeout 60 $MPI -n 2 "$BIN/sparsetrain" "${args[@]}" >"$OUT/log" 2>&1 3>&- &
    pid=$!
    patiently [ -e "$OUT/r.ckpt" ]
    victim=$(pgrep -f "$BIN/sparsetrain.*$OUT/r" | grep -v "^$pid$" | tail -n 1)
    kill -KILL "$victim"
    started=$SECONDS
    code=0
    wait $pid || code=$?
    [ "$code" -ne 0 ]
    [ $((SECONDS - started)) -le 10 ]
    grep -qiE "killed|signal" "$OUT/log"
    [ -s "$OUT/r.ckpt" ]
}

@test "a signal to one rank stops all of them, and the exit code is that of the signal" {
    args=(-q recipes/smoke.yaml --set epochs=200000 --method Hard-threshold -o "$OUT/s" --checkpoint-every 100)
    for rank in 0 1; do
        $MPI -n 2 "$BIN/sparsetrain" "${args[@]}" --force >/dev/null 2>"$OUT/log" 3>&- &
        pid=$!
        patiently [ -e "$OUT/s.ckpt" ]
        for process in $(pgrep -P $pid -x sparsetrain); do
            ! grep -qz "^OMPI_COMM_WORLD_RANK=$rank$" "/proc/$process/environ" || kill -TERM "$process"
        done
        code=0
        wait $pid || code=$?
        [ "$code" = 143 ] || { echo "rank $rank: $code"; false; }
        grep -q "stopped by signal 15" "$OUT/log"
        rm "$OUT/s.ckpt"
    done
}

@test "a diverging run ends all ranks with one message" {
    run --separate-stderr $MPI -n 2 "$BIN/sparsetrain" -q recipes/smoke.yaml --method SGD --set optimizer.learning-rate=1e30 -o "$OUT/d"
    [ "$status" -ne 0 ]
    [ "$(grep -c 'worker 0, step' <<<"$stderr")" = 1 ]
    tail -n 1 "$OUT/d" | grep -q '"status":"diverged"'
}

# Two ranks, of which rank 1 changes its command line ("$@") before it starts. Their error says WHAT.
refused_mixture() { # CHANGE WHAT [ARGUMENTS...]
    printf '#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" != 1 ] || { %s; }\nexec "$@"\n' "$1" >"$OUT/rank"
    local what=$2
    chmod +x "$OUT/rank"
    shift 2
    run --separate-stderr timeout 60 $MPI -n 2 "$OUT/rank" "$BIN/sparsetrain" -q recipes/smoke.yaml --method SGD --set steps=20 \
        "$@" -o "$OUT/mixed" --force
    [ "$status" -ne 0 ]
    [ ! -e "$OUT/mixed" ]
    [[ $stderr == *"$what"* ]] || { echo "$stderr"; false; }
}

@test "ranks that run other things are refused before the first step, by name" {
    refused_mixture 'set -- "$@" --set optimizer.learning-rate=0.5' "rank 1 has another recipe, method or seed"
    refused_mixture 'set -- "$@" --set workers=2' "rank 1 has another recipe, method or seed"
    refused_mixture 'set -- "$@" --seed 7' "rank 1 has another recipe, method or seed"
    refused_mixture 'set -- "$@" --set workers=0' "[rank 1] "
    refused_mixture 'set -- "$@" --set workers=1' "2 ranks for 1 workers"
    identity=$(sparsetrain recipes/smoke.yaml --method SGD --set steps=2 --ndjson | jq -r 'select(.record == "header").program.identity')
    mkdir "$OUT/other" "$OUT/other/bin"
    [ ! -e "$BIN/../lib" ] || ln -s "$(realpath "$BIN/../lib")" "$OUT/other/lib"
    LC_ALL=C sed "s/$identity/$(tr '[0-9a-f]' '[1-9a-f0]' <<<"$identity")/g" "$BIN/sparsetrain" >"$OUT/other/bin/sparsetrain"
    chmod +x "$OUT/other/bin/sparsetrain"
    refused_mixture "shift; set -- $OUT/other/bin/sparsetrain \"\$@\"" "rank 1 has another build or other plug-ins"
    for rank in 0 1; do
        mkdir "$OUT/data$rank"
        for i in $(seq 30); do echo "$((i % 2 * 2 - 1)) 1:$i 2:$rank"; done >"$OUT/data$rank/pair"
    done
    refused_mixture "set -- \"\$@\" --data $OUT/data1" "rank 1 has other data" --set task.dataset=pair --data "$OUT/data0" \
        --set task.stand-in=null
    if command -v cc >/dev/null; then
        flags=()
        for folder in lib/method lib/core lib/wire kernels; do flags+=("-I$ROOT/$folder"); done
        cc -shared -fPIC "${flags[@]}" lib/examples/coder.c -o "$OUT/one.so"
        cc -O2 -shared -fPIC "${flags[@]}" lib/examples/coder.c -o "$OUT/two.so"
        SPARSEGRAD_PLUGINS=$OUT/one.so refused_mixture "export SPARSEGRAD_PLUGINS=$OUT/two.so" \
            "rank 1 has another build or other plug-ins" --set "methods=[{name: SGD, compressor: my-topk, k: 4}]"
    fi
}

@test "a recipe error is said once, whatever the number of ranks" {
    run --separate-stderr $MPI -n 2 "$BIN/sparsetrain" recipes/smoke.yaml --method SGD --set workrs=4
    [ "$status" -ne 0 ]
    [ "$(grep -c "did you mean 'workers'" <<<"$stderr")" = 1 ]
}

@test "--resume of a finished run ends all ranks at once" {
    $MPI -n 2 "$BIN/sparsetrain" -q recipes/smoke.yaml --method SGD -o "$OUT/r" 3>&-
    run --separate-stderr $MPI -n 2 "$BIN/sparsetrain" recipes/smoke.yaml --method SGD -o "$OUT/r" --resume
    [ "$status" -eq 0 ]
    [ "$(grep -c "nothing to resume" <<<"$stderr")" = 1 ]
    run --separate-stderr $MPI -n 2 "$BIN/sparsetrain" -q recipes/smoke.yaml --method "Top-k k=4" -o "$OUT/r" --resume
    [ "$status" -ne 0 ]
    [ "$(grep -c "another recipe, method or seed" <<<"$stderr")" = 1 ]
}

@test "sparsebench --measure-link prints a section that recipes take, and needs two ranks" {
    have_mpi || skip "no MPI"
    cd "$BATS_TEST_TMPDIR" || exit 1
    # shellcheck disable=SC2086
    $MPI -n 2 sparsebench --measure-link >section
    grep -E '^network: \{bandwidth: [0-9.e+-]+, latency: [0-9.e+-]+\}$' section
    # On one host messages go through memory: microseconds, and more than 0.1 Gbit/s.
    sed -n 's/.*bandwidth: \([^,]*\), latency: \([^}]*\)}/\1 \2/p' section | awk '{ exit !($1 > 0.1 && $2 < 1e5) }'
    cp "$ROOT/recipes/smoke.yaml" r.yaml
    cat section >>r.yaml
    sparsebench -q r.yaml --dry-run >/dev/null
    # shellcheck disable=SC2086
    $MPI -n 3 sparsebench --measure-link --json >link.json
    jq -e '(.bytes | length) == 12 and .bandwidth_gbit_per_s > 0 and ([.seconds[] | select(. > 0)] | length) == 12' link.json
    says 2 "start it by a launcher" -- sparsebench --measure-link
}

@test "a rank that does not answer is named, and a signal or the time limit ends the others, which cannot wait it out" {
    local args=(-q recipes/smoke.yaml --set epochs=2000000 --method Hard-threshold --force -o "$OUT/r" --checkpoint-every 100)
    local end pid code ranks
    for end in TERM:143 limit:124; do
        ranks=() code=0
        [ $end = TERM:143 ] || args+=(--time-limit 2)
        timeout 60 $MPI -n 2 "$BIN/sparsetrain" "${args[@]}" >/dev/null 2>"$OUT/log" 3>&- &
        pid=$!
        patiently [ -e "$OUT/r.ckpt" ]
        ranks=($(pgrep -f "^$BIN/sparsetrain.*$OUT/r ")) # rank 0 first
        [ ${#ranks[@]} = 2 ]
        kill -STOP "${ranks[1]}"
        patiently grep -q '^State:.*stopped' "/proc/${ranks[1]}/status"
        [ $end != TERM:143 ] || kill -TERM "${ranks[0]}"
        wait $pid || code=$?
        [ $code = ${end#*:} ] || { cat "$OUT/log"; false; }
        grep -q "^sparsetrain: \[rank 0\] ends here, because .* has waited .* for rank 1 on .* in step .*: --resume goes on from $OUT/r.ckpt" "$OUT/log"
        [ -s "$OUT/r.ckpt" ] && [ -s "$OUT/r.part" ]
        rm "$OUT"/r.*
    done
}

# bats test_tags=slow
@test "a wait of 20 s is said, with whom it is for, and so is its end" {
    timeout 90 $MPI -n 2 "$BIN/sparsetrain" -q recipes/smoke.yaml --set epochs=2000000 --method Hard-threshold -o "$OUT/r" --checkpoint-every 100 >/dev/null 2>"$OUT/log" 3>&- &
    pid=$!
    patiently [ -e "$OUT/r.ckpt" ]
    ranks=($(pgrep -f "^$BIN/sparsetrain.*$OUT/r "))
    kill -STOP "${ranks[0]}"
    for _ in $(seq 30); do
        ! grep -q "\[rank 1\] has waited 2[0-9] s, since .* UTC, for rank 0 on .* in step" "$OUT/log" || break
        sleep 1
    done
    kill -CONT "${ranks[0]}"
    patiently grep -q "\[rank 1\] goes on after waiting for some" "$OUT/log"
    kill -TERM "${ranks[0]}"
    code=0
    wait $pid || code=$?
    [ $code = 143 ]
    grep -q "stopped by signal 15 after step" "$OUT/log"
}

@test "--measure-link: a line through the sizes that its time has room for" {
    run -0 --separate-stderr $MPI -n 2 "$BIN/sparsebench" --measure-link --json 3>&-
    [ "$(jq -c '[(.bytes | length), (.seconds | length), .bytes[-1]]' <<<"$output")" = "[12,12,2097152]" ]
    # One trip of two sizes, which may show no difference between them.
    run --separate-stderr $MPI -n 2 "$BIN/sparsebench" --measure-link --time-limit 0 3>&-
    [[ $status = 0 && $output == *"messages of 4 to 256 bytes"*"larger ones had no room in 0 s"*"network: {"* ]] ||
        [[ $status = 2 && $stderr == *"nothing can be fitted"* ]]
}
