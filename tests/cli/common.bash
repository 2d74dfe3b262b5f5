# Shared by all Bats files: where the tree and the programs are, and small helpers.
# SPDX-License-Identifier: MIT
bats_require_minimum_version 1.5.0
ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BIN=${SG_BIN:-$ROOT/build/bin}
PATH=$BIN:$PATH
SHARED=${SPARSE_SHARED_DATA:-$ROOT/../shared/data}
unset SPARSE_DATA COLUMNS
export OMP_NUM_THREADS=2

# Runs COMMAND until it succeeds, at most a minute.
patiently() { # COMMAND...
    for _ in $(seq 12000); do
        "$@" && return
        sleep 0.005
    done
    echo "in vain for a minute: $*" >&2
    return 1
}

# COMMAND ends with STATUS, and its messages have these texts, one behind the other.
says() { # STATUS TEXT... -- COMMAND...
    local ends=$1 rest text texts=()
    shift
    while [ "$1" != -- ]; do
        texts+=("$1")
        shift
    done
    shift
    run "-$ends" --separate-stderr "$@"
    rest=$stderr
    for text in "${texts[@]}"; do
        [[ $rest == *"$text"* ]] || { echo "not said: $text"; echo "$stderr"; return 1; }
        rest=${rest#*"$text"}
    done
}

# A folder of caches kept for the whole test run, so that generated data and optima are made once.
CACHE=$ROOT/build/test-cache
mkdir -p "$CACHE"

# The files of the sources, one a line.
sources() {
    sh "$BATS_TEST_DIRNAME/../sources" "$ROOT"
}

# Real data, or a skip that says why.
need_real() {
    [ -d "$SHARED/$1" ] || skip "real data set $1 is not at $SHARED"
    # Suites run beside each other: one unpacks, the others wait for it.
    flock "$CACHE/.unpack" sh -c '[ -f "$1/$2/$2" ] || "$3/unpack" "$1" "$2"' sh "$CACHE" "$1" "$SHARED" >/dev/null
}

# The names of a table that recipes can name: compressor, controller, code, error-feedback form, optimizer, task.
table() {
    sparsetrain --help-recipe | sed -n "s/^### $1 \`\([a-z0-9-]*\)\`/\1/p"
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

# Values of a column that are not null.
column() { # NAME FILE
    sed -n "s/.*\"record\":\"step\".*\"$1\":\([-0-9.e]*\)[,}].*/\1/p" "$2"
}

# The Python that has these modules, as PYTHON. SPARSE_TORCH_PYTHON names one that is tried first, for PyTorch.
find_python() { # MODULE...
    for PYTHON in ${SPARSE_TORCH_PYTHON:-} python3 /usr/bin/python3; do # the last one has Debian's NumPy
        ! "$PYTHON" -c "import $(sed 's/ /, /g' <<<"$*")" 2>/dev/null || return 0
    done
    return 1
}
need_numpy() {
    find_python numpy || skip "no Python has NumPy: apt-get install python3-numpy"
}

need_torch() {
    [ -e "$BIN/../lib/sparsegrad/tasks-torch.so" ] || skip "built without libtorch: apt-get install libtorch-dev libopenblas0-pthread g++"
}

# These numbers of ranks; on a push the largest alone, whose parts differ most.
ranks() { # NUMBER...
    [ "${SPARSE_TEST_LEVEL:-}" = all ] && echo "${@: -1}" || echo "$@"
}

MPI="mpirun --allow-run-as-root --oversubscribe --mca btl_vader_single_copy_mechanism none"
have_mpi() {
    sparsetrain --version | grep -q "mpi on" && command -v mpirun >/dev/null
}

# The series that one thread writes to FILE is that of two threads, and of these numbers of ranks where there is MPI.
same_for_threads_and_ranks() { # FILE "RANKS" ARGUMENTS...
    local one=$1 ranks=$2 n
    shift 2
    have_mpi || ranks=""
    sparsetrain -q "$@" --threads 1 -o "$one" --force
    sparsetrain -q "$@" --threads 2 -o "$one.many" --force
    same_series "$one" "$one.many" || { echo "$* differs for 2 threads"; false; }
    # shellcheck disable=SC2086
    for n in $(ranks $ranks); do
        $MPI -n "$n" "$BIN/sparsetrain" -q "$@" -o "$one.many" --force 3>&- </dev/null
        same_series "$one" "$one.many" || { echo "$* differs for $n ranks"; false; }
    done
}

# The columns that runs of every task can record, as record.series lists them: those that the program knows.
columns() {
    sparsetrain --help-recipe | sed '1,/^### Series of every task/d; /^### Constants of every task/,$d' |
        awk '/\(not of task/ { n = before }
            match($0, /^[*] `[a-z-]+`/) { before = n; name[++n] = substr($0, 4, RLENGTH - 4) }
            END { for (i = 1; i <= n; i++) printf "%s%s", (i > 1 ? ", " : ""), name[i] }'
}

# Killed once there is a checkpoint, and resumed: the series of a run left alone. A checkpoint every EVERY steps.
same_after_kill() { # EVERY ARGUMENTS...
    local every=$1 pid
    shift
    sparsetrain -q "$@" -o whole --force
    for _ in $(seq 50); do # a short run may end before it is killed
        rm -f cut*
        sparsetrain -q "$@" -o cut --checkpoint-every "$every" 3>&- &
        pid=$!
        patiently eval "[ -e cut.ckpt ] || ! kill -0 $pid 2>/dev/null"
        kill -KILL $pid 2>/dev/null || true
        wait $pid || true
        [ ! -e cut.ckpt ] || break
    done
    [ -e cut.ckpt ] || { echo "$* always ended before it was killed"; false; }
    sparsetrain -q "$@" -o cut --resume --checkpoint-every 1000 --force
    same_series whole cut || { echo "$* differs"; false; }
    [ ! -e cut.ckpt ]
}

# Recording gradients and the mean residual leaves a run as it is, for any number of threads and ranks.
errors_leave_the_run() { # RECIPE
    local series='[train-loss, error-norm, total-error, gradient-norm, error-relative, error-mean-norm, error-common, error-lag, error-curvature, error-by-layer, error-weighed]'
    sparsetrain -q "$1" --method Top-k -o plain
    same_for_threads_and_ranks measured "2 3" "$1" --method Top-k --set "record.series=$series" --set record.layers=true
    [ "$(jq -r '.parameters_sha256 // empty' plain)" = "$(jq -r '.parameters_sha256 // empty' measured)" ] || { echo "other parameters"; false; }
    column error_curvature measured | awk '$1 > 0 { n++ } END { exit !(n >= 2) }'
}

# What sparsetune wrote to $BATS_TEST_TMPDIR/evidence.json: the filter is true, or its list of findings is shown.
evidence_holds() { # LIST DEFINITIONS FILTER
    jq -e "$2 $3" "$BATS_TEST_TMPDIR/evidence.json" >/dev/null ||
        { echo "not so: $3"; jq ".tune.$1" "$BATS_TEST_TMPDIR/evidence.json" | grep -v '^ *"seed\|overlap' | head -120; false; }
}

# All recipes of a task, as they are.
recipes_resolve() { # KIND
    local recipe
    for recipe in $(grep -l "kind: $1" "$ROOT"/recipes/*.yaml "$ROOT"/recipes/mini/*.yaml); do
        sparsebench "$recipe" --dry-run >/dev/null || { echo "$recipe"; false; }
    done
}
