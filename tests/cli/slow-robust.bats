#!/usr/bin/env bats
# Every recipe under any number of ranks and threads, and runs killed at random moments: always the same bytes.
# The moments follow from SG_TEST_SEED, which is printed.
# SPDX-License-Identifier: MIT
load common

setup_file() {
    export SG_TEST_SEED=${SG_TEST_SEED:-$(date +%N | sed 's/^0*//')}
    echo "# moments of kill -9: SG_TEST_SEED=$SG_TEST_SEED" >&3
}

setup() {
    cd "$ROOT" || exit 1
    export SPARSE_DATA=$CACHE
    OUT=$BATS_TEST_TMPDIR
    RANDOM=$((SG_TEST_SEED % 32768))
}

# Waits a random share of $1 ms.
random_moment() {
    sleep "$(awk -v r=$RANDOM -v ms="$1" 'BEGIN { printf "%.3f", ms * r / 32768000 }')"
}

# The job $1 ends here, if it has not ended yet.
kill_now() {
    kill -KILL "$1" 2>/dev/null || true
    wait "$1" 2>/dev/null || true
}

milliseconds() {
    echo $(($(date +%s%N) / 1000000))
}

# ---- any number of ranks and threads ----------------------------------------------------------------------------------

# Every method of recipe $1, $2 steps long: the series of one thread is everyone's.
same_everywhere() {
    local plan label
    plan=$(sparsebench "recipes/$1.yaml" --dry-run --json)
    while read -r label; do
        same_for_threads_and_ranks "$OUT/one" "1 2 3 4" "recipes/$1.yaml" --method "$label" --seed 1 --set "steps=$2" --set record.every=7 --set network=null --set 'claims=[]' --set 'plots=[]'
        [ "$(grep -c '"record":"step"' "$OUT/one")" = $((2 + $2 / 7)) ]
    done < <(jq -r '.cells[].label' <<<"$plan" | uniq)
    have_mpi || skip "threads only: built without MPI, or mpirun is not installed"
}

@test "same bytes for 1 to 4 ranks and 1, 2 threads: fig1" {
    same_everywhere fig1 40
}

@test "same bytes for 1 to 4 ranks and 1, 2 threads: bursts" {
    same_everywhere bursts 40
}

@test "same bytes for 1 to 4 ranks and 1, 2 threads: fig1-madelon" {
    need_real madelon
    same_everywhere fig1-madelon 100
}

@test "same bytes for 1 to 4 ranks and 1, 2 threads: madelon-gdstar-20" {
    need_real madelon
    same_everywhere madelon-gdstar-20 40
}

@test "same bytes for 1 to 4 ranks and 1, 2 threads: madelon-gdstar-100" {
    need_real madelon
    same_everywhere madelon-gdstar-100 40
}

@test "same bytes for 1 to 4 ranks and 1, 2 threads: smoke" {
    same_everywhere smoke 100
}

@test "same bytes for 1 to 4 ranks and 1, 2 threads: one-percent" {
    same_everywhere one-percent 8
}

@test "same bytes for 1 to 4 ranks and 1, 2 threads: budget" {
    same_everywhere budget 40
}

@test "same bytes for 1 to 4 ranks and 1, 2 threads: budget-madelon" {
    need_real madelon
    same_everywhere budget-madelon 100
}

@test "same bytes for 1 to 4 ranks and 1, 2 threads: heterogeneity" {
    need_real madelon
    same_everywhere heterogeneity 100
}

@test "same bytes for 1 to 4 ranks and 1, 2 threads: theory" {
    need_real madelon
    same_everywhere theory 100
}

@test "same bytes for 1 to 4 ranks and 1, 2 threads: qsgd-madelon" {
    need_real madelon
    same_everywhere qsgd-madelon 40
}

@test "same bytes for 1 to 4 ranks and 1, 2 threads: signs-madelon" {
    need_real madelon
    same_everywhere signs-madelon 20
}

@test "same bytes for 1 to 4 ranks and 1, 2 threads: learning-rates" {
    need_real madelon
    same_everywhere learning-rates 10
}

@test "same bytes for 1 to 4 ranks and 1, 2 threads: compressors" {
    need_real madelon
    same_everywhere compressors 6
}

@test "no recipe that trains is left out of these tests, but networks: cnn.bats, lm.bats, gpt.bats and ncf.bats have theirs" {
    for recipe in $(grep -L '^kind: kernels\|kind: \(cnn\|lm\|gpt\|ncf\),' recipes/*.yaml); do
        grep -q "^    same_everywhere $(basename "$recipe" .yaml) " "$BATS_TEST_FILENAME" || { echo "$recipe"; false; }
    done
}

# ---- killed at any moment ---------------------------------------------------------------------------------------------

# `sparsetrain ARGUMENTS` ten times, killed at a random moment and resumed. The moments are spread over the time that the
# run takes alone, so some come before the first checkpoint and some perhaps after the end.
kill_and_resume() {
    local args=(-q "$@" --checkpoint-every 40 --force) took from_checkpoint=0
    took=-$(milliseconds)
    sparsetrain "${args[@]}" -o "$OUT/whole"
    took=$((took + $(milliseconds)))
    for round in $(seq 10); do
        rm -f "$OUT"/cut*
        sparsetrain "${args[@]}" -o "$OUT/cut" 3>&- &
        random_moment $took
        kill_now $!
        [ ! -e "$OUT/cut.ckpt" ] || from_checkpoint=$((from_checkpoint + 1))
        sparsetrain "${args[@]}" -o "$OUT/cut" --resume
        same_series "$OUT/whole" "$OUT/cut" || { echo "round $round of $took ms"; false; }
        [ ! -e "$OUT/cut.ckpt" ] && [ ! -e "$OUT/cut.part" ]
    done
    echo "# resumed from a checkpoint in $from_checkpoint of 10 rounds of $took ms" >&3
    [ "$from_checkpoint" -ge 1 ]
}

@test "killed ten times and resumed: Top-k with residuals" {
    kill_and_resume recipes/smoke.yaml --method "Top-k k=4" --set steps=2400
}

@test "killed ten times and resumed: momentum in the gradient form" {
    kill_and_resume recipes/smoke.yaml --method Hard-threshold --set steps=2400 --set error-feedback=gradient \
        --set optimizer.momentum=0.9 --set methods.Hard-threshold.lambda=0.05
}

@test "killed while data are parsed and x* is solved: what is cached then is whole" {
    need_real madelon
    local args=(-q recipes/fig1-madelon.yaml --method Top-1 --set methods.Top-1.steps=20 --force)
    sparsetrain "${args[@]}" -o "$OUT/whole"
    for round in $(seq 6); do
        mkdir -p "$OUT/data/madelon"
        cp "$CACHE/madelon/madelon" "$OUT/data/madelon/"
        sparsetrain "${args[@]}" --data "$OUT/data" -o "$OUT/cut" 3>&- &
        random_moment 600
        kill_now $!
        sparsetrain "${args[@]}" --data "$OUT/data" -o "$OUT/again"
        same_series "$OUT/whole" "$OUT/again" || { echo "round $round"; false; }
        rm -r "$OUT/data"
    done
}

@test "sparsebench killed at random moments: finished cells are reused, the aggregates are the same" {
    local args=(-q recipes/smoke.yaml --jobs 2 --set steps=60000 --force) took finished reused unfinished=0
    took=-$(milliseconds)
    sparsebench "${args[@]}" --folder "$OUT/alone" -o "$OUT/alone.json"
    took=$((took + $(milliseconds)))
    for round in 1 2 3; do
        sparsebench "${args[@]}" --folder "$OUT/cells" -o "$OUT/cut.json" 3>&- &
        until compgen -G "$OUT/cells/*.ndjson" >/dev/null || ! kill -0 $!; do sleep 0.01; done
        random_moment $((took / 3))
        kill_now $!
        finished=$(find "$OUT/cells" -name '*.ndjson' | wc -l)
        for _ in $(seq 200); do # its last cells still hold the folder
            sparsebench "${args[@]}" --folder "$OUT/cells" -o "$OUT/again.json" 2>"$OUT/err" && break
            grep -q "another sparsebench" "$OUT/err"
            sleep 0.05
        done
        reused=$(jq '[.results[].cells[] | select(.reused)] | length' "$OUT/again.json")
        echo "round $round: $finished cells finished, $reused reused"
        [ "$reused" -ge "$finished" ]
        unfinished=$((unfinished + 8 - reused))
        cmp <(jq '.results | del(.[].cells)' "$OUT/alone.json") <(jq '.results | del(.[].cells)' "$OUT/again.json")
        cmp <(jq .claims "$OUT/alone.json") <(jq .claims "$OUT/again.json")
        rm -r "$OUT/cells" "$OUT/again.json"
    done
    [ "$unfinished" -gt 0 ]
}
