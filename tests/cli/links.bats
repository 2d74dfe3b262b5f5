#!/usr/bin/env bats
# Steps on shaped links between namespaces of this machine (make links): a short try, and what is left of it.
# SPDX-License-Identifier: MIT
load common

setup() {
    TOOLS=$ROOT/build/release/links
    [ -x "$TOOLS/report" ] || skip "make link-tools was not run"
    export SPARSE_DATA=$CACHE
    OUT=$BATS_TEST_TMPDIR/links.json
}

try() { # a short try, skipped with its reason where it cannot run
    "$ROOT/tests/links/run" "$BIN" "$TOOLS" "$OUT" quick 3>&-
}

# bats test_tags=slow
@test "two ranks on links of 20 Mbit/s: exchange and step, measured and modelled, and what the interface sends" {
    RATES=20 run --separate-stderr try
    [ "$status" != 77 ] || skip "${output#skipped: }"
    [ "$status" = 0 ] || { echo "$output" "$stderr"; false; }
    [[ $output == *"20      2  topk"* ]]
    jq -e '.schema == "links/2" and (.steps | length) == 1 and .machine.mpi != null and .summary.rows == 1' "$OUT"
    jq -e '.steps[0] | .mbit_per_s == 20 and .measured_step_s > .measured_exchange_s and
                       .modelled_step_s > .measured_step_in_memory_s' "$OUT"
    jq -e '.steps[0] | .exchange_ratio > 0 and .modelled_collectives_s > 0.01' "$OUT" # 34 kB take 14 ms
    jq -e '[.exchanges[] | .measured_interface_bytes / .algorithm_bytes | . > 1 and . < 1.2] | all' "$OUT"
}

# bats test_tags=slow
@test "layers in buckets on links: the same parameters as with whole messages, and the limit of a step" {
    command -v jq >/dev/null || skip "jq is not installed"
    BUCKETS=150kB RATES=1000 RANKS=2 METHODS=SGD run --separate-stderr try
    [ "$status" != 77 ] || skip "${output#skipped: }"
    [ "$status" = 0 ] || { echo "$output" "$stderr"; false; }
    jq -e '.schema == "buckets/1" and ([.results[].buckets] == ["150kB", "whole"])' "$OUT"
    jq -e '[.results[] | .same_parameters and .step_s > 0 and .limit_s > .whole_gradient_s] | all' "$OUT"
}

# What the run could leave behind: processes that know the output's name, namespaces, interfaces, mounts.
traces() {
    pgrep -f "$OUT" || true
    ip netns list
    ip -o link | cut -d: -f2
    cut -d' ' -f2 /proc/mounts
}

# bats test_tags=slow
@test "killed, it leaves no process, namespace, interface or mount" {
    run --separate-stderr "$ROOT/tests/links/run" "$BIN" "$TOOLS" "$OUT" check 3>&-
    [ "$status" != 77 ] || skip "${output#skipped: }"
    local before signal pid
    before=$(traces)
    for signal in KILL TERM; do
        "$ROOT/tests/links/run" "$BIN" "$TOOLS" "$OUT" quick >/dev/null 2>&1 3>&- &
        pid=$!
        patiently pgrep -f -- "--inside .*$OUT" >/dev/null
        sleep 3 # ranks run now
        kill -$signal $pid
        wait $pid || true
        same() { [ "$(traces)" = "$before" ]; }
        patiently same
    done
}

@test "rates and ranks that cannot be measured are refused by name, and so is a folder without steps" {
    local setting
    for setting in RATES=fast RATES=0 RANKS=1 RANKS=65; do
        run -2 env "$setting" "$ROOT/tests/links/run" "$BIN" "$TOOLS" "$OUT"
        [[ $output == *"${setting%=*}"*"${setting#*=}"* ]]
    done
    run -1 "$TOOLS/report" "$BATS_TEST_TMPDIR" "$OUT"
    [[ $output == *"report: $BATS_TEST_TMPDIR"* ]]
    [ ! -e "$OUT" ]
}

@test "what is missing is said, and the run is skipped" {
    local tool
    mkdir "$BATS_TEST_TMPDIR/bin"
    for tool in bash id dirname; do
        ln -s "$(command -v $tool)" "$BATS_TEST_TMPDIR/bin"
    done
    PATH=$BATS_TEST_TMPDIR/bin run -77 "$ROOT/tests/links/run" "$BIN" "$TOOLS" "$OUT"
    [[ $output == "skipped: real links need "* ]]
    [ "$(id -u)" != 0 ] || [[ $output == *"the program ip"* ]]
    [ ! -e "$OUT" ]
}
