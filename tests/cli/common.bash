# Shared by all Bats files: where the tree and the programs are, and small helpers.
bats_require_minimum_version 1.5.0
ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BIN=${SG_BIN:-$ROOT/build/bin}
PATH=$BIN:$PATH
SHARED=${SPARSE_SHARED_DATA:-$ROOT/../shared/data}
unset SPARSE_DATA
export OMP_NUM_THREADS=2

# A folder of caches kept for the whole test run, so that generated data and optima are made once.
CACHE=$ROOT/build/test-cache
mkdir -p "$CACHE"

# Real data, or a skip that says why.
need_real() {
    [ -d "$SHARED/$1" ] || skip "real data set $1 is not at $SHARED"
    [ -f "$CACHE/$1/$1" ] || "$SHARED/unpack" "$CACHE" "$1" >/dev/null
}

# A series without its one volatile record (times, ranks, host).
stable() {
    grep -v '"record":"run"' "$1"
}

# 0 if two series are byte-identical apart from that record.
same_series() {
    cmp <(stable "$1") <(stable "$2")
}

# What a run computed, without how it was sent: the steps less bytes_sent, and the parameters at the end.
without_bytes() {
    sed -n -e '/"record":"step"/s/,"bytes_sent":[^,}]*//p' -e '/"record":"end"/p' "$1"
}
