#!/usr/bin/env bats
# The torture's own behaviour: it notices what it is for, says how to try it again, and its table is the document's.
# SPDX-License-Identifier: MIT
load common

setup() {
    command -v python3 >/dev/null || skip "python3 is not installed"
    cd "$BATS_TEST_TMPDIR" || exit 1
    TORTURE=$ROOT/tests/torture/run
}

# A program that does as the real one does, and then something more.
wrapped() { # PROGRAM COMMAND
    mkdir -p bin
    printf '#!/bin/sh\n"%s/%s" "$@"\ncode=$?\n%s\nexit $code\n' "$BIN" "$1" "$2" >"bin/$1"
    chmod +x "bin/$1"
}

@test "a case that goes well, and the same case of a program that runs a command" {
    run -0 "$TORTURE" --seed 1 --only injection --case 0 --bin "$BIN"
    [[ $output == *"injection: 1 tried, 0 failed, 0 without effect"* ]]
    wrapped sparseplot-export "touch canary"
    run -1 "$TORTURE" --seed 1 --only injection --case 0 --bin "$PWD/bin"
    [[ $output == *"a command ran"*"again: tests/torture/run --seed 1 --only injection --case 0"* ]]
    [[ $output == *"injection: 1 tried, 1 failed, 0 without effect"* ]]
    grep -q -- "--format=" "$ROOT/build/torture/failures/injection-0/commands"
    rm -r "$ROOT/build/torture/failures/injection-0"
}

@test "a campaign without effect is a failure: programs that allocate nothing" {
    command -v gcc >/dev/null || skip "no compiler"
    printf '#!/bin/sh\n[ -z "$FAIL_COUNT" ] || echo 1000000000 >"$FAIL_COUNT"\nunset LD_PRELOAD FAIL_COUNT\nexec "%s/${0##*/}" "$@"\n' "$BIN" >wrapper
    mkdir -p bin
    for program in sparsetrain sparsebench sparseplot-export; do install -m 755 wrapper bin/$program; done
    run -1 "$TORTURE" --short --seed 1 --only allocations --bin "$PWD/bin"
    [[ $output == *"most cases had no effect"* ]]
    [[ ${lines[-2]} == "not ok 1 - allocations: 40 tried, 1 failed, 40 without effect"* ]]
}

@test "a campaign that is not there is named" {
    run -2 "$TORTURE" --only nothing
    [[ $output == *"the campaigns are kills, "* ]]
}

@test "tests/README.md lists the driver's campaigns, whose shares of the time are a hundred" {
    sed -nE 's/^    \("([a-z_]+)", ([0-9]+), [0-9]+\),/\1 \2/p' "$TORTURE" >driver
    sed -n '/^## Torture/,/^A case/s/^\* \(`[^:]*`\):.*/\1/p' "$ROOT/tests/README.md" | tr -d '\`,' | xargs -n 1 >document
    diff document <(cut -d ' ' -f 1 driver)
    [ "$(awk '{ sum += $2 } END { print sum }' driver)" = 100 ]
}
