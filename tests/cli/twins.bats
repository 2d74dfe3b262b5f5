#!/usr/bin/env bats
# Compressors against independent twins in Python (tests/twins), bit for bit, on normal vectors and at the edges.
load common

setup_file() {
    command -v gcc >/dev/null || skip "no compiler"
    command -v python3 >/dev/null || skip "python3 is not installed"
    [ -e "$ROOT/build/release/libsparsegrad.a" ] || skip "no release build"
    gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -I"$ROOT/lib/core" -I"$ROOT/lib/wire" -I"$ROOT/lib/method" -I"$ROOT/kernels" \
        -fopenmp -o "$BATS_FILE_TMPDIR/twin" "$ROOT/tests/twins/twin.c" "$ROOT/build/release/libsparsegrad.a" -lm
}

twin() { # NAME [CPU]: its message, numbers, bits and residuals, said once more by NAME.py
    SG_CPU=${2:-} "$BATS_FILE_TMPDIR/twin" "$1" | python3 -B "$ROOT/tests/twins/$1.py"
}

@test "qsgd: data, bits and residual, on every kernel table of this machine" {
    run -0 twin qsgd
    [ "$output" = "144 cases, 0 wrong" ]
    for cpu in c avx2 avx512; do
        SG_CPU=$cpu "$BATS_FILE_TMPDIR/twin" qsgd >"$BATS_TEST_TMPDIR/$cpu" 2>/dev/null || continue
        cmp <("$BATS_FILE_TMPDIR/twin" qsgd) "$BATS_TEST_TMPDIR/$cpu"
    done
}

@test "powersgd: sum and residuals over steps, both kinds of residual" {
    run -0 twin powersgd
    [ "$output" = "20 steps, 0 wrong" ]
}

@test "a twin of other random numbers disagrees" {
    cp "$ROOT"/tests/twins/*.py "$BATS_TEST_TMPDIR"
    sed -i 's/CODE, START = 11, 12/CODE, START = 12, 11/' "$BATS_TEST_TMPDIR/common.py"
    for name in qsgd powersgd; do
        run -1 bash -c "'$BATS_FILE_TMPDIR/twin' $name | python3 -B '$BATS_TEST_TMPDIR/$name.py'"
    done
}
