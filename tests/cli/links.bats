#!/usr/bin/env bats
# Steps on shaped links between namespaces of this machine (make links): a short try, and what is left of it.
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

@test "two ranks on links of 1 Gbit/s: measured and modelled, and the interface sends what messages have" {
    run --separate-stderr try
    [ "$status" != 77 ] || skip "${output#skipped: }"
    [ "$status" = 0 ] || { echo "$output" "$stderr"; false; }
    [[ $output == *"1000      2  topk"* ]]
    jq -e '.schema == "links/1" and (.steps | length) == 1 and .machine.mpi != null' "$OUT"
    jq -e '.steps[0] | .measured_step_s > 0 and .modelled_step_s > .measured_step_in_memory_s' "$OUT"
    jq -e '[.exchanges[] | .measured_interface_bytes / .algorithm_bytes | . > 1 and . < 1.2] | all' "$OUT"
}

# What the run could leave behind: processes that know the output's name, namespaces, interfaces, mounts.
traces() {
    pgrep -f "$OUT" || true
    ip netns list
    ip -o link | cut -d: -f2
    cut -d' ' -f2 /proc/mounts
}

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
