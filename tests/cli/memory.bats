#!/usr/bin/env bats
# The memory of a run, before it runs: held against the peaks of real runs, and refused where the host has too little.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$CACHE SPARSE_DATASETS=$ROOT/datasets
}

METHODS='methods:
  - {name: SGD, compressor: none}
  - {name: Top-k, compressor: topk, density: 0.01}
  - {name: Hard-threshold, compressor: hard-threshold, lambda: 10}
  - {name: Random-k, compressor: randomk, density: 0.01, values: fp16}
  - {name: QSGD, compressor: qsgd, levels: 4, error-feedback: none}
  - {name: Signs, compressor: ef-signsgd}
  - {name: EF21, compressor: topk, density: 0.01, error-feedback: ef21}
  - {name: DGC, compressor: topk, density: 0.01, error-feedback: dgc}'

logreg() { # WORKERS
    cat >r.yaml <<YAML
schema: 1
name: wide
task: {kind: logreg, dataset: gisette, stand-in: gisette-like, solve-optimum: false, l2: L/10000}
workers: $1
steps: 4
optimizer: {kind: sgd, learning-rate: 0.01}
seeds: [1]
record: {every: 2, series: [bits, error-norm]}
$METHODS
YAML
}

# The peak of a run is what was expected of it, but for so many per cent.
near() { # PERCENT COMMAND...
    local percent=$1
    shift
    "$@" -v -f -o run.ndjson 2>said
    sed -n 's/^.*memory: \([0-9.]*\) MB at most, \([0-9.]*\) MB expected$/\1 \2/p' said >peak
    awk -v p="$percent" '{ n++; d = 100 * ($2 / $1 - 1); print "off by " d " %"; bad = d > p || d < -p } END { exit bad || n != 1 }' peak ||
        { echo "$*: $(cat peak)"; cat said; return 1; }
}

names() {
    sed -n 's/.*{name: \([^,]*\), compressor.*/\1/p' r.yaml
}

@test "logreg with 1200 workers: the peak of eight methods is met within 6 %" {
    logreg 1200
    sparsetrain -q r.yaml --method SGD -f -o run.ndjson # parsing the data would be the peak
    for method in $(names); do
        near 6 sparsetrain r.yaml --method "$method"
    done
    near 6 sparsetrain r.yaml --method Top-k --threads 1 --set 'record.series=[error-mean-norm, compression-bias, error-lag]'
}

@test "logreg over ranks: the peak of a rank is met within 6 %" {
    have_mpi || skip "no MPI"
    logreg 1200
    for method in SGD Top-k QSGD EF21; do
        # shellcheck disable=SC2086
        near 6 $MPI -n 3 sparsetrain r.yaml --method "$method"
    done
    echo '  - {name: Halves, compressor: fp16}' >>r.yaml
    # shellcheck disable=SC2086
    near 2 $MPI -n 3 sparsetrain r.yaml --method Halves
}

# bats test_tags=slow
@test "cnn: the peak is met within 15 %" {
    need_torch
    logreg 24
    sed -i 's/^task:.*/task: {kind: cnn, model: resnet18, width: 0.25, dataset: cifar-10, stand-in: cifar-like, train-images: 2000, test-images: 480, average-model: false}/; s/^steps: 4/batch: 8\nscope: model\nsteps: 2/' r.yaml
    for method in SGD Top-k Signs DGC; do
        near 15 sparsetrain r.yaml --method "$method"
    done
}

# bats test_tags=slow
@test "gpt: the peak is met within 15 %" {
    need_torch
    logreg 8
    sed -i 's/^task:.*/task: {kind: gpt, dataset: wikitext-2, stand-in: text-like, tokens: bytes, layers: 4, heads: 4, width: 256, context: 64}/; s/^steps: 4/batch: 4\nscope: model\nsteps: 2/; s/^optimizer: {kind: sgd/error-feedback: gradient\noptimizer: {kind: adamw/' r.yaml
    for method in SGD Top-k Signs DGC; do
        near 15 sparsetrain r.yaml --method "$method" --set record.evaluate=1e9 --set task.test-tokens=4096
    done
}

@test "a dry run says what a rank takes, by worker, and is silent with --quiet" {
    logreg 100
    run -0 --separate-stderr sparsetrain r.yaml --method EF21 --dry-run
    [[ $stderr == *"100 workers of "*"vectors of 5000 numbers"* ]]
    [[ $stderr =~ "100 workers of "([0-9.]+)" kB each" ]]
    awk -v kb="${BASH_REMATCH[1]}" 'BEGIN { exit !(kb >= 40) }' # a residual and a vector of EF21, of 5000 floats each
    jq -e .workers <<<"$output"
    run -0 --separate-stderr sparsebench r.yaml --dry-run
    [[ $stderr == *"of all methods "*" takes most: memory: "*"100 workers of "* ]]
    for program in "sparsetrain --method SGD" sparsebench; do
        # shellcheck disable=SC2086
        run -0 --separate-stderr $program r.yaml --dry-run -q
        [ -z "$stderr" ]
    done
    run -0 --separate-stderr sparsetrain r.yaml --method SGD --dry-run --set task.stand-in=null --set task.dataset=none-such
    [[ $stderr == *"memory: not known: "* ]]
}

host() { # AVAILABLE_KB [LIMIT USED]: a host with so much memory, and a control group of version 2 with so many bytes
    mkdir -p host/proc/self host/sys/fs/cgroup/jobs/17
    printf 'MemTotal:  9000000 kB\nMemAvailable:  %s kB\n' "$1" >host/proc/meminfo
    echo "0::/jobs/17" >host/proc/self/cgroup
    if [ $# -gt 1 ]; then
        echo "$2" >host/sys/fs/cgroup/jobs/memory.max
        echo "$3" >host/sys/fs/cgroup/jobs/memory.current
        printf 'anon 5\ninactive_file 1000000\n' >host/sys/fs/cgroup/jobs/memory.stat
        echo max >host/sys/fs/cgroup/jobs/17/memory.max
        echo 7 >host/sys/fs/cgroup/jobs/17/memory.current
    fi
    export SPARSE_HOST_ROOT=$PWD/host
}

@test "a run that the host cannot hold is refused with what would fit, and runs with --no-memory-check" {
    logreg 200
    host 3000 # kB
    says 1 "need about" "and this host has 3.07 MB left" "workers in all it fits" "--no-memory-check runs it" -- \
        sparsetrain r.yaml --method Top-k -o run.ndjson
    [ ! -e run.ndjson ]
    local fits
    fits=$(sed -n 's/.*with \([0-9]*\) workers in all it fits.*/\1/p' <<<"$stderr")
    sparsetrain -q r.yaml --method Top-k -o run.ndjson --set workers="$fits"
    says 1 "need about" -- sparsetrain r.yaml --method Top-k -o more.ndjson --set workers=$((fits + 5))
    sparsetrain -q r.yaml --method Top-k -o all.ndjson --no-memory-check
    tail -n 1 all.ndjson | jq -e '.status == "ok"'
    # Cells at once: each with its program and data.
    host 900000
    sparsebench -q r.yaml --method Top-k --set 'seeds=1..4' --jobs 2 --folder cells -o all.json
    host 400000
    says 1 "2 cells at once need about" "--jobs 1 fits, --no-memory-check runs them" -- \
        sparsebench -q r.yaml --method Top-k --set 'seeds=1..4' --jobs 2 --folder cells --fresh -o two.json
    sparsebench -q r.yaml --method Top-k --set 'seeds=1..4' --jobs 2 --folder cells --fresh --no-memory-check -o two.json
    jq -e '.status == "ok"' two.json
}

@test "the limits of control groups count, of version 1 and 2" {
    logreg 200
    left() {
        sparsetrain r.yaml --method Top-k --dry-run 2>&1 >/dev/null | sed -n 's/.*this host has \(.*\) left/\1/p'
    }
    host 3000000
    [ "$(left)" = "3.07 GB" ]
    host 3000000 100000000 60000000 # 100 MB less 60, and 1 of page cache
    [ "$(left)" = "41 MB" ]
    says 1 "need about" -- sparsetrain r.yaml --method Top-k -o run.ndjson --set workers=6000 --set batch=1
    rm -r host
    host 3000000
    echo "4:memory:/a/b" >host/proc/self/cgroup
    mkdir -p host/sys/fs/cgroup/memory # in a container the group's own path is not there
    echo 50000000 >host/sys/fs/cgroup/memory/memory.limit_in_bytes
    echo 20000000 >host/sys/fs/cgroup/memory/memory.usage_in_bytes
    echo "total_inactive_file 2000000" >host/sys/fs/cgroup/memory/memory.stat
    [ "$(left)" = "32 MB" ]
    rm -r host
    mkdir -p host/proc # nothing is told
    [ "$(left)" = "an unknown amount" ]
    sparsetrain -q r.yaml --method Top-k -o run.ndjson
}

@test "threads: the least of the quotas of control groups and OMP_NUM_THREADS, and --threads overrides them" {
    logreg 200
    host 3000000
    threads() { # EXPECTED OMP_NUM_THREADS ARGUMENTS...
        local expected=$1
        [ "$(OMP_NUM_THREADS=$2 sparsetrain r.yaml --method Top-k --json "${@:3}" 2>/dev/null | jq .run.threads)" = "$expected" ]
    }
    local all
    all=$(nproc)
    [ "$all" -gt 1 ] || skip "one core"
    threads 2 2,1
    threads 1 1,4
    threads "$all" 1000
    threads "$all" none
    threads 2 1 --threads 2
    echo "max 100000" >host/sys/fs/cgroup/jobs/17/cpu.max
    threads "$all" ""
    echo "50000 100000" >host/sys/fs/cgroup/jobs/cpu.max # half a core, of the group above
    threads 1 ""
    threads 2 "" --threads 2
    echo "150000 100000" >host/sys/fs/cgroup/jobs/cpu.max
    threads 2 ""
    rm -r host/sys/fs/cgroup/jobs/cpu.max host/sys/fs/cgroup/jobs/17/cpu.max
    mkdir -p host/sys/fs/cgroup/cpu/box
    printf '5:memory:/\n3:cpu,cpuacct:/box\n' >host/proc/self/cgroup # version 1
    echo 20000 >host/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us
    echo 100000 >host/sys/fs/cgroup/cpu/box/cpu.cfs_period_us
    threads 1 ""
    echo -1 >host/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us # none
    threads "$all" ""
}
