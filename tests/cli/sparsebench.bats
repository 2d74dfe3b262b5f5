#!/usr/bin/env bats
# sparsebench on a stand-in for sparsetrain: cells, reuse, failures, signals, output.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    FAKE=$ROOT/tests/cli/fake_sparsetrain
    export FAKE_LOG=$BATS_TEST_TMPDIR/log
    : >"$FAKE_LOG"
    export SPARSE_DATA=$BATS_TEST_TMPDIR # the set is here, so nothing is generated
    printf '1 1:1 2:2\n-1 1:3 2:0.5\n' >two-clouds
    ARGS=(r.yaml --program "$FAKE" --folder cells) # for jobs: of a function, $! is not the program
    cat >r.yaml <<'YAML'
schema: 1
name: grid
title: "A grid"
task: {kind: logreg, dataset: two-clouds, stand-in: two-clouds, l2: 0.1}
epochs: 4
optimizer: {kind: sgd, learning-rate: 0.1}
seeds: [1, 2, 3]
record: {every: 10, series: [suboptimality]}
methods:
  - {name: SGD, compressor: none, baseline: true}
  - {name: Top-k, compressor: topk, k: [1, 2]}
claims:
  - {text: "ends below 100", metric: suboptimality, of: SGD, at-most: 100}
  - {text: "ends below 0.5", metric: suboptimality, of: SGD, at-most: 0.5}
plots:
  - {x: epoch, y: suboptimality}
YAML
}

teardown() { # nothing may be left running in this test's folder
    local pid
    for pid in $(cat pids 2>/dev/null); do kill -9 "$pid" 2>/dev/null || true; done
}

bench() {
    sparsebench "${ARGS[@]}" "$@"
}

started() {
    grep -c "^start" "$FAKE_LOG" || true
}

wait_for() { # PATTERN in the log
    patiently grep -qs -- "$1" "$FAKE_LOG"
}

ends_with() { # STATUS PID of a job; `run` would ask a subshell, whose child it is not
    local code=0
    wait "$2" || code=$?
    [ "$code" = "$1" ]
}

@test "all cells run; one JSON comes out, means and claims in it" {
    run -0 --separate-stderr bench
    [ "$(started)" = 9 ]
    echo "$output" >out.json
    run -0 jq -r '.schema, .status, (.results | map(.label) | join(",")), .results[0].final.suboptimality.mean,
        .results[0].series.suboptimality.std[3], (.claims | map(.verdict) | join(",")), .libraries.fake,
        .plots[0].y, .results[1].parameters.k, .run.launcher, .recipe.name' out.json
    [ "${lines[*]}" = "sparsebench/1 ok SGD,Top-k k=1,Top-k k=2 8 4 holds,fails 1 suboptimality 1 null grid" ]
    [ "$(jq '[.results[].cells[] | select(.status == "ok" and .reused == false)] | length' out.json)" = 9 ]
}

@test "what --set changed is named beside the recipe" {
    run -0 --separate-stderr bench -q
    [ "$(jq -c .recipe.set <<<"$output")" = "[]" ]
    run -0 --separate-stderr bench -q --set workers=8 --set 'seeds=[1,2]' --json
    [ "$(jq -c .recipe.set <<<"$output")" = '["workers=8","seeds=[1,2]"]' ]
}

@test "off a terminal: a plain line per finished cell" {
    run -0 --separate-stderr bench
    [ "$(grep -c ': done after .* (. of 9)$' <<<"$stderr")" = 9 ]
    [[ $stderr != *$'\033'* ]]
}

@test "--quiet says nothing when all is well" {
    run -0 --separate-stderr bench --quiet
    [ -z "$stderr" ]
}

@test "finished cells are reused, --fresh runs them again" {
    bench -q >1.json
    run -0 --separate-stderr bench
    [ "$(started)" = 9 ]
    [ "$(jq '[.results[].cells[] | select(.reused)] | length' <<<"$output")" = 9 ]
    cmp <(jq '.results | del(.[].cells)' 1.json) <(jq '.results | del(.[].cells)' <<<"$output")
    bench -q --fresh >/dev/null
    [ "$(started)" = 18 ]
    ! grep 'start' "$FAKE_LOG" | tail -n 9 | grep -v -- --no-resume
}

@test "a changed recipe or another build makes other cells" {
    bench -q --method SGD --seed 1 >/dev/null
    bench -q --method SGD --seed 1 --set workers=2 >/dev/null
    [ "$(started)" = 2 ]
    bench -q --method SGD --seed 1 --set title=x >/dev/null
    [ "$(started)" = 2 ]
    sed -i 's/"identity":"/&older/' cells/SGD-seed1-*
    bench -q --method SGD --seed 1 >/dev/null
    [ "$(started)" = 3 ]
}

@test "finished cells of another version are counted; --any-version takes them and the result names them" {
    bench -q --method SGD >/dev/null
    sed -i 's/"identity":"/&older/' cells/SGD-seed[12]-*
    run -0 --separate-stderr bench --method SGD --dry-run
    [[ $stderr == *"2 finished cells were made by another version of the program (older"*"): --any-version takes them"* ]]
    [ "$(grep -c '^run' <<<"$output")" = 2 ]
    run -0 --separate-stderr bench --method SGD --any-version
    [ "$(started)" = 3 ]
    [ "$(jq '.identities | length' <<<"$output")" = 2 ]
    [ "$(jq '[.results[].cells[] | select(.reused)] | length' <<<"$output")" = 3 ]
    run -0 --separate-stderr bench --method SGD
    [ "$(started)" = 5 ]
    [[ $stderr == *"2 finished cells were made by another version"* ]]
    [ "$(jq -c '.identities == [.program.identity]' <<<"$output")" = true ]
}

@test "cells that read different data while the grid ran: an error that names both, and no result" {
    FAKE_DATA='{"sha256":"feedfeedfeedfeed"}' FAKE_DATA_OF=SGD:2 run -1 --separate-stderr bench --method SGD -o out.json
    [[ $stderr == *"cells of different data have no means: SGD, seed 1 (cells/SGD-seed1-"*", but SGD, seed 2 (cells/SGD-seed2-"*") read two-clouds, SHA-256 feedfeedfeed"* ]]
    [ ! -e out.json ]
    run -0 bench -q --method SGD -o out.json
    [ "$(started)" = 4 ]
}

@test "a truncated or foreign file in a cell's place is run again" {
    bench -q --method SGD >/dev/null
    sed -i '$d' cells/SGD-seed1-*
    echo garbage >"$(echo cells/SGD-seed2-*)"
    : >"$(echo cells/SGD-seed3-*)"
    bench -q --method SGD >/dev/null 2>err
    grep -q "3 finished cells are damaged (cells/SGD-seed1-" err
    [ "$(started)" = 6 ]
}

@test "--method and --seed choose; what is not in the grid is an error" {
    bench -q --method "Top-k k=2" --method SGD --seed 3 >out.json
    [ "$(jq -r '[.results[] | .label, .seeds[]] | join(" ")' out.json)" = "SGD 3 Top-k k=2 3" ]
}

@test "--dry-run lists cells and touches nothing" {
    bench -q --method SGD >/dev/null
    run -0 --separate-stderr bench --dry-run
    [ "$(grep -c '^reuse' <<<"$output")" = 3 ]
    [ "$(grep -c '^run' <<<"$output")" = 6 ]
    rm -r cells
    bench --dry-run --json >plan.json
    [ ! -e cells ]
    [ "$(jq -r '.cells | length' plan.json)" = 9 ]
    [ "$(jq -r '.cells[3].resolved.method.k' plan.json)" = 1 ]
    [ "$(started)" = 3 ]
}

@test "a failed cell: the others run, its last words and exit 1" {
    FAKE_FAIL="SGD:2" run -1 --separate-stderr bench -j 2
    [ "$(jq -r '.status, .results[0].cells[1].status' <<<"$output" | xargs)" = "failed failed" ]
    [ "$(jq '[.results[].cells[] | select(.status == "ok")] | length' <<<"$output")" = 8 ]
    [ "$(jq -r '.claims[0] | .verdict, .reason' <<<"$output" | xargs)" = "undecided SGD, seed 2: failed" ]
    run -0 bench -q
    [ "$(started)" = 10 ]
}

@test "cells that crash, lie, or write without end fail" {
    FAKE_CRASH=SGD:1 FAKE_LIAR=SGD:2 FAKE_NOISY=SGD:3 run -1 --separate-stderr bench --method SGD
    [ "$(grep -c 'SGD, seed [123] failed: ' <<<"$stderr")" = 3 ]
    [[ $stderr == *"noise 10000"* ]]
    [[ $stderr != *"noise 9990"$'\n'* ]]
    [ "$(jq -r '.results[0].final, .results[0].series.step | length' <<<"$output" | xargs)" = "0 0" ]
}

@test "--network adds modelled times to finished cells, and runs and changes none" {
    sed -i 's/series: .*/series: [suboptimality, bytes-sent]}/' r.yaml
    run -0 "$BIN/sparsebench" r.yaml --folder real --json --quiet
    [ "$(jq .network <<<"$output")" = null ]
    before=$(cd real && sha256sum -- *.ndjson)
    run -0 --separate-stderr "$BIN/sparsebench" r.yaml --folder real --json --network workers=16,link=1gbe,compute=0.01
    [[ $stderr == *"9 of 9 cells were finished before"* ]]
    [ "$before" = "$(cd real && sha256sum -- *.ndjson)" ]
    jq -e '.network.modelled and .network.link.name == "1gbe" and .network.workers == 16' <<<"$output"
    [ "$(jq -r .units.time <<<"$output")" = "s, modelled: 16 workers, 1gbe, auto, overlap fused in 25 MiB, coding of v100" ]
    jq -e '.results[] | .final | .time.mean > .exposed_time.mean and .compute_time.mean > 0' <<<"$output"
    "$BIN/sparseplot-export" --x time --format pgfplots <<<"$output" >plot.tex
    grep -q "xlabel={time (s, modelled: .* coding of v100)}" plot.tex
    grep -q "^% .*modelled" plot.tex
    "$BIN/sparseplot-export" --format table <<<"$output" | grep "^method .* time .* exposed time"
    run -2 --separate-stderr "$BIN/sparsebench" r.yaml --folder real --network link=2gbe
    [[ $stderr == *"link must be one of 1gbe, "*", got '2gbe'"* ]]
}

@test "--network: workers that step by themselves encode when they send" {
    sed -i -e 's/series: .*/series: [suboptimality, bytes-sent]}/' -e '/^methods:/,$d' r.yaml
    cat >>r.yaml <<'END'
methods:
  - {name: Top-k, compressor: topk, k: 2}
  - {name: local, compressor: topk, k: 2, error-feedback: {form: local-steps, steps: 8}}
  - {name: signs, compressor: ef-signsgd}
  - {name: local signs, compressor: ef-signsgd, error-feedback: {form: local-steps, steps: 8}}
END
    for coding in coding=100 processor=cpu; do
        run -0 --separate-stderr sparsebench r.yaml --folder local --json --quiet --network "workers=8,$coding"
        jq -e '[.results[].final.compute_time.mean] | [.[0] / .[1], .[2] / .[3]] | all(.[]; (. - 8 | fabs) < 1e-6)' <<<"$output"
    done
}

@test "--measure-coding: its file is what coding takes on a modelled network" {
    sed -i 's/series: .*/series: [suboptimality, bytes-sent]}/' r.yaml
    run -0 sparsebench --measure-coding --set 'compressors.names=[topk, hard-threshold]' --set 'compressors.sizes=[10000]' \
        -o coding.json --quiet
    run -0 --separate-stderr sparsebench r.yaml --folder real --json --quiet --network processor=coding.json
    jq -e '.network | .processor == "coding.json" and .coding_ns == null and (.coding | contains("measured in coding.json"))' <<<"$output"
    jq -e '[.results[].final.compute_time.mean] | .[0] == 0 and all(.[1:][]; . > 0)' <<<"$output"
    sed -i 's/"topk"/"qsgd"/' coding.json
    run -2 --separate-stderr sparsebench r.yaml --folder real --json --quiet --network processor=coding.json
    [[ $stderr == *"network.processor: coding.json has no times of 'topk'"* ]]
    run -2 --separate-stderr sparsebench --measure-coding r.yaml
}

@test "bursts of recorded runs: a constant k has none, and those of a threshold have the sign of Jensen's inequality" {
    local bursts='record={every: 1, evaluate: 0, layers: true, workers: true, series: [bits]}'
    SPARSE_DATA=$CACHE run -0 --separate-stderr "$BIN/sparsebench" "$ROOT/recipes/smoke.yaml" --set "$bursts" --set claims=[] --set plots=[] --json \
        --method "Top-k k=4" --method Hard-threshold --network bursts=true,latency=0
    jq -e '.results[] | select(.label == "Top-k k=4").final | [to_entries[] | select(.key | startswith("burst_"))] |
        length == 16 and all(.value.mean == 0)' <<<"$output"
    jq -e '.results[] | select(.label == "Hard-threshold").final | map_values(.mean) |
        .burst_linear == 0 and .burst_hidden > 0 and .burst_half_hidden >= 0 and .burst_union < 0 and .burst_entropy < 0 and
        .burst_messages <= 0 and .burst_dense_switch <= 0 and .burst_linear_workers > 0 and .burst_entropy_workers > .burst_entropy' <<<"$output"
    [ "$(jq -r .units.burst_union <<<"$output")" = modelled ]
}

@test "a diverged cell is a result, is reused, and exits 1" {
    FAKE_DIVERGE="SGD:2" run -1 --separate-stderr bench --method SGD
    [ "$(jq -r '.status, .results[0].cells[1].status, .results[0].cells[1].steps' <<<"$output" | xargs)" = "diverged diverged 30" ]
    [ "$(jq -c '.results[0].series.suboptimality.n' <<<"$output")" = "[3,3,2,2]" ]
    [[ $stderr == *"SGD, seed 2 diverged: step 30: the gradient is not finite"* ]]
    run -1 --separate-stderr bench --method SGD
    [ "$(started)" = 3 ]
    [[ $stderr == *"SGD, seed 2 diverged: step 30"* ]]
}

@test "claims about methods that were not asked for are not judged" {
    run -0 --separate-stderr bench --method "Top-k k=1"
    [[ $stderr != *claim* ]]
    [ "$(jq -r '.claims[] | .verdict + ", " + .reason' <<<"$output" | sort -u)" = "not judged, SGD was not asked for" ]
    run -0 --separate-stderr bench -q --method "Top-k k=1" --table
    [[ $output != *claims* && $output == *"Top-k k=1"* ]]
    run -0 --separate-stderr bench -q --method "Top-k k=1" --strict
}

@test "--no-judge: no verdict, no finding, whatever --strict says" {
    run -0 --separate-stderr bench --no-judge --strict
    [[ $stderr != *claim* && $stderr != *reach* ]]
    [ "$(jq -r '[.claims[].verdict] | unique | join(",")' <<<"$output")" = "not judged" ]
    [ "$(jq -r '.summary.text, .summary.reason' <<<"$output" | xargs)" = "null --no-judge was given" ]
    run -0 --separate-stderr bench -q --no-judge --table
    [[ $output != *claims* && $output != *reach* ]]
}

@test "a smoke run of a figure judges nothing; a whole one prints its claims once" {
    mkdir recipes
    cp "$ROOT/recipes/run" "$ROOT/recipes/smoke.yaml" recipes/
    grep -q '^claims:' recipes/smoke.yaml
    run -0 --separate-stderr env SPARSE_DATA="$CACHE" SMOKE=1 recipes/run smoke "$BIN" 2
    [[ $output == *"# Smoke run of smoke, 16 steps"* && $output$stderr != *claim* && $output != *reach* ]]
    [ "$(jq -r '[.claims[].verdict] | unique | join(",")' results/local/smoke-smoke.json)" = "not judged" ]
    run -0 --separate-stderr env SPARSE_DATA="$CACHE" recipes/run smoke "$BIN" 2
    [ "$(grep -c "Top-k with k = 4 sends at most" <<<"$output$stderr")" = 1 ]
    [[ $output == *"claims (ratio = value / bound)"* ]]
}

@test "the table: a line for a claim, with -v one for each of its seeds, and the finding last" {
    run -0 --separate-stderr bench -q --table
    [ "$(grep -c "ends below" <<<"$output")" = 2 ]
    [[ $output != *"seed 1:"* && $output != *"± 0"* ]]
    finding=${lines[-1]}
    [ -z "$stderr" ]
    run -0 --separate-stderr bench -v --table
    [ "$(grep -c "^           seed [123]: [0-9.]* \(≤\|>\) [0-9.]* (ratio " <<<"$output")" = 6 ]
    run -0 --separate-stderr bench --json
    [[ $stderr == *"sparsebench: $finding"* ]]
    [ "$(jq -r .summary.text <<<"$output")" = "$finding" ]
}

@test "the finding says that a baseline ended worse than it began" {
    export SPARSE_DATA=$CACHE
    run -0 --separate-stderr sparsebench "$ROOT/recipes/smoke.yaml" --folder cells -q --table --seed 1 --set claims=[] # it begins near the optimum
    [[ ${lines[-1]} == *"; but SGD itself ends worse than it begins, at "*" after 0.0"*"learning rate"* ]]
    run -0 --separate-stderr sparsebench "$ROOT/recipes/smoke.yaml" --folder cells -q --json --seed 1 --set claims=[] --set task.start.offset-from-optimum=10
    jq -e '.summary | .start > .value and (.text | contains("itself") | not)' <<<"$output"
}

@test "verdicts in the table are coloured on a terminal, unless NO_COLOR or --color says otherwise" {
    bench -q >/dev/null
    local red=$'\e[31mfails\e[0m      ends below 0.5'
    run -0 bash -c "env -u NO_COLOR TERM=xterm script -qec 'sparsebench ${ARGS[*]} -q' /dev/null </dev/null"
    [[ $output == *"$red"* ]]
    run -0 bash -c "NO_COLOR=1 TERM=xterm script -qec 'sparsebench ${ARGS[*]} -q' /dev/null </dev/null"
    [[ $output == *"fails      ends below 0.5"* && $output != *$'\e[3'* ]]
    run -0 bash -c "env -u NO_COLOR TERM=xterm script -qec 'sparsebench ${ARGS[*]} -q --color=never' /dev/null </dev/null"
    [[ $output != *$'\e[3'* ]]
    run -0 bench -q --table --color=always
    [[ $output == *"$red"* ]]
    run -0 bench -q --table
    [[ $output != *$'\e[3'* ]]
}

@test "a table of a grid that was stopped before anything was finished is no second error" {
    FAKE_HANG="SGD:1" env --default-signal=INT sparsebench "${ARGS[@]}" --table >out 2>err 3>&- &
    pid=$!
    echo $pid >pids
    wait_for "hang SGD:1"
    kill -INT $pid
    ends_with 130 $pid
    grep -q "give the same command again" err
    run -1 grep -E "no column|columns:" err
}

@test "one seed never holds nor fails, and --rejudge gives an older result these words" {
    bench -q -o one.json --seed 1
    run -3 --separate-stderr bench -q --seed 1 --strict --table
    [ "$(grep -c ' at these seeds  ends below ' <<<"$output")" = 2 ]
    jq '.claims[0] |= (del(.margin) | .verdict = "holds" | .reason = null) | .claims[1].verdict = "fails"' one.json >old.json
    run -0 --separate-stderr sparsebench --rejudge old.json -o new.json
    cmp one.json new.json
    run -0 bench -q -o three.json
    run -0 sparsebench -q --rejudge three.json -o again.json
    cmp three.json again.json
    run -3 sparsebench -q --rejudge three.json --strict
}

@test "--strict: exit 3 when a claim fails, 0 when it does not" {
    run -3 bench -q --strict
    sed -i '/below 0.5/d' r.yaml
    run -0 bench -q --strict
}

@test "one check before the first cell, without the launcher, and none when all cells are there" {
    bench -q -j 3 --seed 1 --set workers=2 --data D --launcher "env FAKE_X=1" >/dev/null
    [ "$(head -n 1 "$FAKE_LOG")" = "check r.yaml --check --method SGD --method Top-k --data D --set workers=2" ]
    [ "$(grep -c '^check' "$FAKE_LOG")" = 1 ]
    [ "$(started)" = 3 ]
    bench -q -j 3 --seed 1 --set workers=2 --data D >/dev/null
    [ "$(grep -c '^check' "$FAKE_LOG")" = 1 ]
    bench -q --seed 2 --device cuda --method SGD >/dev/null
    [ "$(grep '^check' "$FAKE_LOG" | tail -n 1)" = "check r.yaml --check --device cuda --method SGD" ]
}

@test "what the check refuses is said once, exit 2, nothing is run and nothing written" {
    FAKE_REFUSE="r.yaml:11:41: k is too large" run -2 --separate-stderr bench -o out.json
    [ "$stderr" = "sparsebench: r.yaml:11:41: k is too large" ]
    [ -z "$output" ] && [ "$(started)" = 0 ] && [ ! -e out.json ]
}

@test "SIGTERM during the check: it is stopped, exit 143" {
    FAKE_CHECK_HANGS=1 sparsebench "${ARGS[@]}" -q >/dev/null 2>err &
    pid=$!
    echo $pid >pids
    wait_for "^check"
    kill -TERM $pid
    ends_with 143 $pid
    grep -q "before the first cell: give the same command again to resume" err
    [ "$(started)" = 0 ]
}

@test "on a GPU one cell at a time, unless --jobs says how many" {
    bench -q --method SGD --threads 1 --device cuda >out.json
    [ "$(jq .run.jobs out.json)" = 1 ]
    bench -q --method SGD --threads 1 --device cuda --jobs 2 --fresh >out.json
    [ "$(jq .run.jobs out.json)" = 2 ]
}

@test "--jobs, --threads, --set, --data, --device and --launcher reach the cells" {
    bench -q --method SGD --seed 1 -j 1 --threads 3 --data D --device cpu --set workers=2 \
        --launcher "env FAKE_X=1" >out.json
    grep -q -- '--progress-fd 1 --device cpu --threads 3 --data D --set workers=2$' "$FAKE_LOG"
    [ "$(jq -r '.run.jobs, .run.threads, .run.launcher' out.json | xargs)" = "1 3 env FAKE_X=1" ]
    run -1 --separate-stderr bench -q --seed 2 --launcher no-such-launcher
    [[ $stderr == *"cannot run 'no-such-launcher': No such file"* ]]
}

@test "SIGTERM stops the cells at their checkpoints; the same command resumes" {
    FAKE_HANG="SGD:2" sparsebench "${ARGS[@]}" --method SGD -j 1 -o out.json 2>err &
    pid=$!
    echo $pid >pids
    wait_for "hang SGD:2"
    kill -TERM $pid
    ends_with 143 $pid
    grep -q "stop SGD:2" "$FAKE_LOG"
    grep -q "with 2 of 3 cells unfinished: give the same command again to resume" err
    [ "$(jq -r '.status, (.results[0].cells | map(.status) | join(" "))' out.json | xargs)" = "interrupted ok interrupted not_run" ]
    run -0 bench -q --method SGD -j 1 -o out.json
    grep -q "resume SGD:2" "$FAKE_LOG"
    [ "$(jq -c '.results[0].final.suboptimality.values' out.json)" = "[4,8,12]" ]
}

@test "SIGTERM reaches a cell that is stopped" {
    FAKE_HANG="SGD:1" sparsebench "${ARGS[@]}" -q --seed 1 --method SGD >/dev/null 2>&1 &
    pid=$!
    echo $pid >pids
    wait_for "hang SGD:1"
    cell=$(pgrep -P $pid)
    echo "$cell" >>pids
    kill -STOP -- "-$cell"
    patiently grep -q '^State:.*stopped' "/proc/$cell/status"
    kill -TERM $pid
    patiently grep -q "stop SGD:1" "$FAKE_LOG"
    ends_with 143 $pid
}

@test "SIGINT to the whole group reaches each cell once" {
    FAKE_HANG="SGD:1" env --default-signal=INT setsid sparsebench "${ARGS[@]}" -q --seed 1 >/dev/null 2>&1 &
    pid=$!
    echo $pid >pids
    wait_for "hang SGD:1"
    kill -INT -- -$pid
    ends_with 130 $pid
    [ "$(grep -c 'stop SGD:1' "$FAKE_LOG")" = 1 ]
}

@test "killed -9, the cells stop too; until then they stay locked" {
    FAKE_HANG="SGD:1" FAKE_DEAF="SGD:1" sparsebench "${ARGS[@]}" -q --seed 1 --method SGD >/dev/null 2>&1 &
    pid=$!
    echo $pid >pids
    wait_for "hang SGD:1"
    cell=$(pgrep -P $pid)
    echo $cell >>pids
    kill -9 $pid
    bench --seed 1 --method SGD >/dev/null 2>err &
    echo $! >>pids
    patiently grep -q "another sparsebench runs 1 of the cells in this folder: waiting for it" err
    [ "$(started)" = 1 ]
    kill -9 $cell
    ends_with 0 $!
    [ "$(started)" = 2 ]
}

@test "two in one folder share the cells, and both have the whole result" {
    FAKE_HANG="SGD:1" sparsebench "${ARGS[@]}" -q -j 1 --seed 1 >first.json 2>&1 &
    pid=$!
    echo $pid >pids
    wait_for "hang SGD:1"
    bench -j 1 --seed 1 >second.json 2>err &
    echo $! >>pids
    wait_for "start Top-k k=2:1"
    patiently grep -q "runs 1 of the cells in this folder: waiting for it" err
    [ "$(started)" = 3 ]
    kill -TERM $pid # the second goes on with what the first left
    ends_with 143 $pid
    ends_with 0 $!
    grep -q "resume SGD:1" "$FAKE_LOG"
    [ "$(started)" = 4 ]
    [ "$(jq -r .status second.json)" = ok ]
    FAKE_SLOW="SGD:2" sparsebench "${ARGS[@]}" -q -j 1 --seed 2 >first.json &
    pid=$!
    wait_for "start SGD:2"
    bench -q -j 1 --seed 2 >second.json
    ends_with 0 $pid
    [ "$(started)" = 7 ]
    cmp <(jq -c '.results[] | del(.cells)' first.json) <(jq -c '.results[] | del(.cells)' second.json)
}

@test "--part deals the cells to the jobs of an array" {
    for part in 1 2 3 4; do
        bench -q --part $part/4 >$part.json
        [ "$(jq -r '.status, .run.part, .claims[0].verdict' $part.json | xargs)" = "ok $part/4 not judged" ]
    done
    [ "$(started)" = 9 ]
    [ "$(jq -s '[.[].results[].cells[]] | length' [1-4].json)" = 9 ]
    [ "$(jq '[.results[].cells[]] | length' 1.json)" = 3 ]
    bench -q >all.json
    [ "$(started)" = 9 ]
    [ "$(jq -r '.run.part, .claims[0].verdict' all.json | xargs)" = "null holds" ]
    run -0 bench -q --part 12/12 --dry-run
    [ "$(wc -l <<<"$output")" = 1 ]
    for part in 0/4 5/4 3 1/ /4 1/x; do
        run -2 bench --part $part
        [[ $output == *"--part $part: must be I/N"* ]]
    done
}

@test "a signal that comes again within a second is the same one; a later one ends all at once" {
    FAKE_HANG="SGD:1" FAKE_DEAF="SGD:1" sparsebench "${ARGS[@]}" -q --seed 1 --method SGD >/dev/null 2>&1 &
    pid=$!
    echo $pid >pids
    wait_for "hang SGD:1"
    pgrep -P $pid >>pids
    kill -TERM $pid
    kill -USR1 $pid
    sleep 0.3
    kill -TERM $pid
    sleep 0.3
    kill -0 $pid # still waits for its cell
    sleep 1
    kill -TERM $pid
    ends_with 143 $pid
}

@test "a recipe on stdin is saved for the cells" {
    run -0 --separate-stderr sparsebench - --program "$FAKE" --folder cells -q <r.yaml
    cmp r.yaml cells/recipe-*.yaml
    [ "$(jq -r '.recipe.path' <<<"$output")" = "<stdin>" ]
    [ "$(jq -r '.recipe.sha256' <<<"$output")" = "$(sed '1{/^# yaml-language-server:/d}' r.yaml | sha256sum | cut -d' ' -f1)" ]
}

@test "a partial result is replaced by the same command, and by no other" {
    FAKE_FAIL="SGD:2" run -1 bench -q --method SGD --set workers=2 -o out.json
    [ "$(jq -r '.status, .run.set[0], .run.methods[0], (.run.seeds | length)' out.json | xargs)" = "failed workers=2 SGD 0" ]
    cp out.json before.json
    for other in "" "--set workers=3" "--set workers=2 --method Top-k k=1" "--set workers=2 --seed 1 --method SGD"; do
        # shellcheck disable=SC2086
        run -2 bench -q $other -o out.json
        cmp out.json before.json
    done
    sed -i 's/below 0.5/below 4/' r.yaml
    run -2 bench -q --method SGD --set workers=2 -o out.json
    [[ $output == *"out.json exists"* ]]
    sed -i 's/below 4/below 0.5/' r.yaml
    run -0 bench -q --method SGD --set workers=2 -o out.json
    [ "$(jq -r .status out.json)" = ok ]
    run -2 bench -q --method SGD --set workers=2 -o out.json # a whole one stays
    echo '{"schema":"sparsebench/1","status":"interrupted"}' >foreign.json
    run -2 bench -q -o foreign.json
    : >empty.json
    run -2 bench -q -o empty.json
}

@test "a result without a single finished cell blocks nothing" {
    FAKE_FAIL="SGD:1 SGD:2 SGD:3" run -1 bench -q --method SGD -o out.json
    run -0 bench -q --method "Top-k k=1" --set workers=2 -o out.json
    [ "$(jq -r .status out.json)" = ok ]
}

@test "-o: whole or not at all, never over another file unless forced" {
    run -0 --separate-stderr bench -q -o out.json
    [ -z "$output" ]
    jq -e '.status == "ok"' out.json
    cp out.json before.json
    run -2 bench -o out.json
    [[ $output == *"out.json exists"*"--force"* ]]
    cmp out.json before.json
    [ "$(started)" = 9 ]
    run -1 bench -o missing/out.json
    [[ $output == *"cannot write missing/out.json"* ]]
    [ "$(started)" = 9 ]
    run -0 bench -q --force -o out.json
}

@test "a full disk or a closed pipe under the result" {
    bench -q >/dev/null
    run -1 --separate-stderr bash -c "sparsebench r.yaml --program '$FAKE' --folder cells -q >/dev/full"
    [[ $stderr == *"cannot write the result"* ]]
    run -1 bench -q --force -o /dev/full
    [[ $output == *"cannot write /dev/full"* ]]
    run bash -c "sparsebench r.yaml --program '$FAKE' --folder cells -q 2>err | true; cat err"
    [ -z "$output" ]
}

@test "a folder whose lock is a link is refused, and what it leads to stays" {
    mkdir linked && echo precious >victim && ln -s ../victim linked/.lock
    run -1 sparsebench r.yaml --program "$FAKE" --folder linked
    [ "$(cat victim)" = precious ]
    [ "$(started)" = 0 ]
}

@test "another build's sparsetrain" {
    FAKE_IDENTITY=other run -1 bench --method SGD --seed 1
    [[ $output == *"written by another build (other, this is "* ]]
}

@test "generated data are announced" {
    rm two-clouds
    run -0 --separate-stderr bench -q --method SGD
    [[ $stderr == *"warning: the data are generated (two-clouds)"* ]]
}

@test "--verbose shows what finished cells said" {
    FAKE_TALK="SGD:1" run -0 --separate-stderr bench -v --method SGD --seed 1
    [[ $stderr == *"SGD, seed 1 said:"*"fake: a word"* ]]
    [ "$(jq '.results[0].cells[0].message' <<<"$output")" = null ]
}

@test "on a terminal: a live overview that is erased, then the table" {
    TERM=xterm FAKE_SLOW="SGD:1 SGD:2 SGD:3" run -0 script -qec \
        "sparsebench r.yaml --program '$FAKE' --folder cells -j 2 --color=never" /dev/null
    [[ $output == *"cells done, "*" running"* ]]
    [[ $output =~ \[#+\.+\]\ +[257][05]\ %\ \ SGD,\ seed\ [123] ]]
    [[ $output == *$'\033[J'* ]]
    tail=${output##*$'\033[J'}
    [[ $tail == *"SGD"* && $tail == *"ends below 0.5"* && $tail != *"{"* ]]
    run -0 script -qec "sparsebench r.yaml --program '$FAKE' --folder cells --json -q" /dev/null
    [[ $output == "{"* ]]
}

@test "help, version, key reference" {
    run -0 --separate-stderr sparsebench --help
    [[ $output == "usage: sparsebench"*"--launcher"* && -z $stderr ]]
    run -0 sparsebench -h
    run -0 sparsebench --version
    [[ $output == "sparsebench "* ]]
    run -0 sparsebench --help-recipe
    [[ $output == *"learning-rate"* ]]
}

@test "--compare says what differs beyond the noise of seeds, and runs nothing" {
    export SPARSE_DATA=$CACHE
    sparsebench -q "$ROOT/recipes/smoke.yaml" --set steps=40 --folder smoke -o a.json
    sparsebench -q "$ROOT/recipes/smoke.yaml" --set steps=60 --folder smoke -o b.json
    run -0 --separate-stderr sparsebench --compare --strict a.json a.json
    [ "$output" = "16 of 16 final values are the same." ]
    run -3 --separate-stderr sparsebench --compare --strict a.json b.json
    [[ $output == "# steps: 40, now 60"* ]]
    [ "$(grep -c 'bits .* beyond noise$' <<<"$output")" -ge 3 ]
    run ! grep -q 'within noise$' <<<"$output"
    sparsebench --compare -v a.json b.json | grep -q 'within noise$'
    sparsebench --compare a.json b.json -o c.json
    [ "$(jq -r '[.schema, (.columns | length), .settings[0].key] | join(" ")' c.json)" = "sparsebench-compare/1 16 steps" ]
    [ "$(sparsebench --compare a.json b.json --json)" = "$(cat c.json)" ]
}

html_page() {
    timeout -k 5 120 python3 "$BATS_TEST_DIRNAME/html_page.py" "$@"
}

@test "--html: the page of a result, also of a grid that was stopped, which the same command replaces" {
    FAKE_HANG="SGD:2" sparsebench "${ARGS[@]}" -j 1 --method SGD --html page.html -o out.json -q 2>err 3>&- &
    local pid=$!
    echo $pid >pids
    wait_for "hang SGD:2"
    kill -TERM $pid
    ends_with 143 $pid
    head -n 2 page.html | grep -qx '<!-- sparsegrad page, status interrupted -->'
    html_page static page.html out.json
    # The same command goes on, and replaces both; a finished page is not replaced unasked.
    run -0 bench -j 1 --method SGD --html page.html -o out.json -q
    html_page static page.html out.json
    grep -q '"status":"ok"' page.html
    run -2 --separate-stderr bench --html page.html -o other.json
    [[ $stderr == *"page.html"*"--force"* && ! -e other.json ]]
}

@test "--html: a page that cannot be written is said once, and the result is there all the same" {
    mkdir folder
    FAKE_SLOW="SGD:1 SGD:2 SGD:3" sparsebench "${ARGS[@]}" -j 3 --method SGD --html folder/page.html -o out.json -q 2>err 3>&- &
    local pid=$!
    echo $pid >pids
    patiently grep -qs SGD log
    rm -r folder
    ends_with 1 $pid
    grep -q "folder/page.html" err
    jq -e '.status == "ok"' out.json
}

@test "--html: a page is a plain file" {
    mkfifo pipe
    run -2 --separate-stderr timeout -k 1 20 sparsebench "${ARGS[@]}" --html pipe -o out.json
    [[ $stderr == *"pipe is not a plain file"* && ! -s log ]]
    run -2 --separate-stderr bench --html /dev/null -o out.json
}

@test "a full disk ends the grid once, and the same command goes on when there is room" {
    [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || skip "needs root, for a small disk"
    mkdir small
    cat >in-small <<'SH'
export SPARSE_DATA=$PWD/none
mount -t tmpfs -o size=60k tmpfs small && cd small || exit 77
sparsebench "$1" -j 1 --folder cells -o ../out.json 2>../err
code=$?
mount -o remount,size=9m . && sparsebench "$1" -q -j 1 --folder cells -o ../out.json && exit $code
SH
    run unshare -m bash in-small "$ROOT/recipes/smoke.yaml"
    [ "$status" != 77 ] || skip "no tmpfs can be mounted"
    [ "$status" = 1 ] || { echo "$status $output"; cat err; false; }
    [ "$(grep -c "failed after" err)" = 1 ]
    grep -q "stopped because the disk of cells is full, with [1-7] of 8 cells unfinished: make room and give" err
    jq -e '.status == "ok" and ([.results[].cells[]] | length == 8)' out.json
}
