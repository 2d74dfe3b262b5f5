#!/usr/bin/env bats
# Asserts and traces (lib/core/sg_debug.h): on where the build asks for them, nothing elsewhere.
# SPDX-License-Identifier: MIT
load common

compile() { # PROGRAM, then options of the compiler; the source is $BATS_TEST_TMPDIR/small.c
    gcc -std=c11 -D_GNU_SOURCE -DSPARSEGRAD_UNSTABLE -O1 -Wall -Wextra -Werror -I"$ROOT/lib/core" -o "$BATS_TEST_TMPDIR/$1" "${@:2}" \
        "$BATS_TEST_TMPDIR/small.c" -lm
}

setup() {
    cat >"$BATS_TEST_TMPDIR/small.c" <<'C'
#include "sg_debug.h"

int main(int argc, char **argv) {
    const int unused = argc; /* without asserts too, this gives no warning */
    int evaluated = 0;
    SG_ASSERT(unused >= 1);
    SG_ASSERT(++evaluated == 1);
    SG_TRACE(2, "%d arguments, %s", argc, argv[0] ? "named" : "not named");
    SG_ASSERT(argc == 1);
    return evaluated;
}
C
}

@test "an assert that does not hold prints its place and aborts; one that holds says nothing" {
    compile on -DSG_ASSERTS=1
    run -1 "$BATS_TEST_TMPDIR/on"
    [ -z "$output" ]
    run -134 bash -c "'$BATS_TEST_TMPDIR/on' more 2>&1"
    [[ $output == *"small.c:9: main: this does not hold: argc == 1"* ]]
}

@test "without asserts the condition is not evaluated and leaves no code" {
    compile off
    run -0 "$BATS_TEST_TMPDIR/off" more # `evaluated` stays 0
    [ -z "$output" ]
    compile off.o -c
    run -0 nm -u "$BATS_TEST_TMPDIR/off.o"
    [ -z "$output" ]
    sed -i '/SG_ASSERT\|SG_TRACE/d; s/argc;/argc; (void)unused, (void)argv;/' "$BATS_TEST_TMPDIR/small.c"
    compile without.o -c
    diff <(objdump -d "$BATS_TEST_TMPDIR/off.o" | tail -n +4) <(objdump -d "$BATS_TEST_TMPDIR/without.o" | tail -n +4)
}

@test "a trace is one line up to its level, and its format is checked at any" {
    compile traced -DSG_TRACE_LEVEL=2
    run -0 bash -c "'$BATS_TEST_TMPDIR/traced' 2>&1 >/dev/null"
    [[ $output == *"small.c:8: 1 arguments, named" && ${#lines[@]} = 1 ]]
    compile less -DSG_TRACE_LEVEL=1
    run -0 bash -c "'$BATS_TEST_TMPDIR/less' 2>&1"
    [ -z "$output" ]
    sed -i 's/%s"/%d"/' "$BATS_TEST_TMPDIR/small.c"
    run ! compile wrong
    [[ $output == *format* ]]
}

@test "asserts and traces are C++ too" {
    command -v g++ >/dev/null || skip "no C++ compiler"
    g++ -std=c++17 -Wall -Wextra -Werror -DSG_ASSERTS=1 -DSG_TRACE_LEVEL=3 -I"$ROOT/lib/core" -x c++ \
        -o "$BATS_TEST_TMPDIR/plus" "$BATS_TEST_TMPDIR/small.c"
    run -134 bash -c "'$BATS_TEST_TMPDIR/plus' more 2>&1"
    [[ $output == *"2 arguments, named"*"this does not hold: argc == 1"* ]]
}

@test "a caller who breaks what a header asks for is told so" {
    cat >"$BATS_TEST_TMPDIR/small.c" <<'C'
#include "sg_rng.h"

int main(void) {
    sg_rng r = sg_rng_open(1, SG_RNG_TEST, 0, 0);
    uint32_t out[4];
    sg_rng_subset(&r, out, 4, 3);
}
C
    compile breaks -DSG_ASSERTS=1 "$ROOT/lib/core/rng.c"
    run -134 bash -c "'$BATS_TEST_TMPDIR/breaks' 2>&1"
    [[ $output == *"rng.c:"*": sg_rng_subset: this does not hold: k <= n"* ]]
}

@test "every mode but release has asserts, and any can have traces" {
    unset MAKEFLAGS MAKELEVEL MODE TRACE
    for mode in debug asan tsan; do
        run -0 make -n -C "$ROOT" MODE=$mode WITH_CUDA=0 -W lib/core/rng.c "build/$mode/lib/core/rng.o"
        [[ $output == *" -DSG_ASSERTS=1 "*"lib/core/rng.c"* && $output != *SG_TRACE_LEVEL* ]]
    done
    run -0 make -n -C "$ROOT" WITH_CUDA=0 -W lib/core/rng.c build/release/lib/core/rng.o
    [[ $output == *"lib/core/rng.c"* && $output != *SG_ASSERTS* && $output != *SG_TRACE_LEVEL* ]]
    run -0 make -n -C "$ROOT" TRACE=2 WITH_CUDA=0 -W lib/core/rng.c build/release/lib/core/rng.o
    [[ $output == *" -DSG_TRACE_LEVEL=2 "*"lib/core/rng.c"* && $output != *SG_ASSERTS* ]]
}

@test "the asserts are of this project only: nothing uses assert.h, and sg_debug.h is not installed" {
    run -1 grep -rnE '#include <(assert|cassert)' "$ROOT/lib" "$ROOT/kernels" "$ROOT/cmd"
    run -0 make -n -C "$ROOT" WITH_CUDA=0 install
    output=$(grep '^install .* -t [^ ]*/include/sparsegrad ' <<<"$output")
    [[ $output == *"lib/core/sg_status.h"* && $output != *"lib/core/sg_debug.h"* ]]
    local installed
    installed=$(grep -o '[a-z/]*/[a-z_]*\.h' <<<"$output")
    [ "$(wc -l <<<"$installed")" -ge 15 ]
    # shellcheck disable=SC2086
    cd "$ROOT" && run -1 grep -l '"sg_debug.h"' $installed
}
