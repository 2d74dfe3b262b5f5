#!/usr/bin/env bats
# Compressors against their twins in Python (tests/twins), bit for bit, on normal vectors and at the edges.
# SPDX-License-Identifier: MIT
load common

setup_file() {
    command -v gcc >/dev/null || skip "no compiler"
    need_numpy
    export PYTHON
    [ -e "$ROOT/build/release/libsparsegrad.a" ] || skip "no release build"
    for program in twin play; do
        gcc -std=c11 -D_GNU_SOURCE -DSPARSEGRAD_UNSTABLE -Wall -Wextra -Werror -I"$ROOT/lib/core" -I"$ROOT/lib/wire" -I"$ROOT/lib/method" -I"$ROOT/lib/zoo" \
            -I"$ROOT/kernels" -I"$ROOT/tests/deviations" -fopenmp -o "$BATS_FILE_TMPDIR/$program" "$ROOT/tests/twins/$program.c" \
            "$ROOT"/tests/deviations/released*.c "$ROOT/build/release/libsparsegrad.a" -lm
    done
    sparsetrain "$ROOT/recipes/smoke.yaml" --method=SGD --quiet -o "$BATS_FILE_TMPDIR/run.ndjson" \
        --record-inputs="$BATS_FILE_TMPDIR/inputs"
    { read -r _ && tail -c +17; } <"$BATS_FILE_TMPDIR/inputs" >"$BATS_FILE_TMPDIR/real" # from the first worker's gradient on
}

twin() { # NAME [CPU]: its message, numbers, bits and residuals, said once more by NAME.py
    SG_CPU=${2:-} "$BATS_FILE_TMPDIR/twin" "$1" | "$PYTHON" -B "$ROOT/tests/twins/$1.py"
}

@test "qsgd: data, bits and residual, on every kernel table of this machine" {
    run -0 twin qsgd
    [ "$output" = "144 cases, 0 wrong" ]
    for cpu in c avx2 avx512; do
        SG_CPU=$cpu "$BATS_FILE_TMPDIR/twin" qsgd >"$BATS_TEST_TMPDIR/$cpu" 2>/dev/null || continue
        cmp <("$BATS_FILE_TMPDIR/twin" qsgd) "$BATS_TEST_TMPDIR/$cpu"
    done
}

@test "numbers in fewer bits: every bit, for each code that has levels" {
    run -0 twin fields
    [ "$output" = "432 cases, 0 wrong" ]
}

@test "powersgd: sum and residuals over steps, both kinds of residual, with and without a warm start, of small and large gradients" {
    run -0 twin powersgd
    [ "$output" = "60 steps, 0 wrong" ]
}

@test "a twin of other random numbers disagrees" {
    cp "$ROOT"/tests/twins/*.py "$BATS_TEST_TMPDIR"
    sed -i 's/CODE, START = 3, 11, 12/CODE, START = 3, 12, 11/' "$BATS_TEST_TMPDIR/common.py"
    for name in qsgd powersgd; do
        run -1 bash -c "'$BATS_FILE_TMPDIR/twin' $name | "$PYTHON" -B '$BATS_TEST_TMPDIR/$name.py'"
    done
}

@test "every twin that is played agrees on normal, real and extreme vectors, over steps" {
    cd "$ROOT/tests/twins"
    names=$(grep -l '^SETTINGS' *.py | sed 's/.py$//' | grep -v '^play$')
    run -0 "$PYTHON" -B play.py "$BATS_FILE_TMPDIR/play" "$BATS_FILE_TMPDIR/real" $names
    [ "$(grep -c 'cases, 0 wrong' <<<"$output")" = "$(wc -w <<<"$names")" ]
    [[ "$output" != *"wrong:"* ]]
}

@test "a twin of another rule disagrees" {
    cp "$ROOT"/tests/twins/*.py "$BATS_TEST_TMPDIR"
    sed -i 's/np.abs(p) >= /np.abs(p) > /' "$BATS_TEST_TMPDIR/hard_threshold.py"
    run -1 "$PYTHON" -B "$BATS_TEST_TMPDIR/play.py" "$BATS_FILE_TMPDIR/play" hard_threshold
    [[ "$output" == *"wrong: hard-threshold lambda=3"* ]]
}

@test "network: the seconds of every exchange that methods have, and of those that may be set" {
    cd "$BATS_TEST_TMPDIR" || exit 1
    sed -e 's/^record: .*/record: {every: 10, series: [suboptimality, bytes-sent]}/' -e '/^claims:/,$d' -e 's/^seeds: .*/seeds: [1]/' \
        "$ROOT/recipes/smoke.yaml" >r.yaml
    for method in "topk, k: 3" "gtopk, k: 4" "ok-topk, k: 4" fp16 "qsgd, levels: 4" "none, exchange: ring" "topk, k: 2, exchange: all-gather" \
        "topk, k: 1, exchange: star" "fp16, exchange: star" "none, exchange: parameter-server"; do
        echo "  - {name: \"$method\", compressor: $method}" >>r.yaml
    done
    for network in workers=6 workers=64 workers=96,bandwidth=0.001 workers=2,collective=tree workers=3,collective=tree,gather=two-round \
        workers=6,share=3,servers=2; do
        sparsebench r.yaml --folder cells --quiet --json --points 0 --network "$network,compute=0.01,coding=0" | jq -c .
    done >results.ndjson
    run -0 "$PYTHON" -B "$ROOT/tests/twins/network.py" <results.ndjson
    [ "$output" = "84 times, 0 wrong" ]
}
