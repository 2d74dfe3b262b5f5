#!/usr/bin/env bats
# Under Slurm: ranks by srun, cells as an array, preemption and requeue. Each test gets the same bytes as without Slurm.
# SPDX-License-Identifier: MIT
load common

setup_file() {
    export CLUSTER=$BATS_FILE_TMPDIR/cluster
    # It ends with the file, and also when the file's process does.
    "$BATS_TEST_DIRNAME/../slurm/cluster" "$CLUSTER" bash -c 'touch "$0/ready"; exec tail --pid='$$' -f /dev/null' "$CLUSTER" \
        2>"$BATS_FILE_TMPDIR/reason" 3>&- &
    echo $! >"$BATS_FILE_TMPDIR/pid"
    until [ -e "$CLUSTER/ready" ] || ! kill -0 $! 2>/dev/null; do sleep 0.05; done
}

teardown_file() {
    kill "$(cat "$BATS_FILE_TMPDIR/pid")" 2>/dev/null || true
}

setup() {
    cd "$ROOT" || exit 1
    if [ ! -e "$CLUSTER/ready" ]; then
        grep -q "^no Slurm:" "$BATS_FILE_TMPDIR/reason" || { cat "$BATS_FILE_TMPDIR/reason"; false; }
        skip "$(cat "$BATS_FILE_TMPDIR/reason")"
    fi
    sparsetrain --version | grep -q "mpi on" || skip "built without MPI"
    export SLURM_CONF=$CLUSTER/slurm.conf SPARSE_DATA=$CACHE SQUEUE_FORMAT="%i %T %r"
    export OMPI_MCA_mpi_yield_when_idle=1 # there are fewer cores than the node claims
    OUT=$BATS_TEST_TMPDIR
    RUN=(recipes/smoke.yaml -q --set workers=8 --method Hard-threshold)
}

teardown() {
    [ ! -e "$CLUSTER/ready" ] || scancel --user root
}

# The run of $RUN without Slurm, in $OUT/one.
alone() {
    sparsetrain "${RUN[@]}" -o "$OUT/one"
}

# Slurm lets a requeued job wait for two minutes, because its node refuses credentials that are not younger, in whole seconds,
# than the job's last end. Two seconds are enough here.
start_again() { # JOB
    patiently eval "squeue -h -j $1 | grep -q 'PENDING BeginTime'"
    scontrol update "job=$1" StartTime=now+2seconds
    patiently eval "! squeue -h -j $1 | grep -q PENDING" # it runs, or has ended already
}

ranks_of() {
    sed -n 's/.*"record":"run".*"ranks":\([0-9]*\).*/\1/p' "$1"
}

@test "srun -n 4 sparsetrain: the bytes of one process" {
    alone
    srun -n 4 sparsetrain "${RUN[@]}" -o "$OUT/four" 3>&-
    [ "$(ranks_of "$OUT/four")" = 4 ]
    same_series "$OUT/one" "$OUT/four"
    salloc -Q -n 4 mpirun --allow-run-as-root sparsetrain "${RUN[@]}" -o "$OUT/mpirun" 3>&-
    [ "$(ranks_of "$OUT/mpirun")" = 4 ]
    same_series "$OUT/one" "$OUT/mpirun"
}

@test "without PMIx four tasks say what to do; one task and a batch script need no MPI" {
    alone
    run --separate-stderr srun --mpi=none -n 4 sparsetrain "${RUN[@]}" -o "$OUT/none" 3>&-
    [ "$status" -ne 0 ]
    [ "$(grep -c "srun started 4 tasks that cannot find each other: use srun --mpi=pmix" <<<"$stderr")" = 1 ]
    srun --mpi=none -n 1 sparsetrain "${RUN[@]}" -o "$OUT/single" 3>&-
    same_series "$OUT/one" "$OUT/single"
    sbatch --wait -n 4 -o "$OUT/log" --wrap "sparsetrain ${RUN[*]} -o '$OUT/batch'"
    same_series "$OUT/one" "$OUT/batch"
    run ! grep -v "using generated data" "$OUT/log"
}

@test "sparsebench --launcher 'srun -n 4': the result of a bench without it, and a stopped one goes on" {
    grid=(recipes/smoke.yaml -q --set workers=8 --set steps=60000 --set record.every=100 --seed 1 --method SGD --method Hard-threshold)
    sparsebench "${grid[@]}" --folder "$OUT/alone" -o "$OUT/alone.json"
    salloc -Q -n 4 sparsebench "${grid[@]}" --launcher "srun -n 4" --folder "$OUT/cells" -o "$OUT/cut.json" 2>"$OUT/err" 3>&- &
    patiently eval 'grep -qs "\"step\":300," "$OUT"/cells/*.ndjson.part'
    kill "$(pgrep -P $! sparsebench)"
    code=0
    wait $! || code=$?
    [ $code = 143 ]
    compgen -G "$OUT/cells/*.ckpt" # the ranks of srun wrote a checkpoint
    salloc -Q -n 4 sparsebench "${grid[@]}" --launcher "srun -n 4" --folder "$OUT/cells" -o "$OUT/cells.json" 3>&-
    [ "$(jq -r '.status' "$OUT/cells.json")" = ok ]
    [ "$(cat "$OUT"/cells/*.ndjson | jq -s '[.[] | select(.record == "run") | .ranks] | unique | . == [4]')" = true ]
    cmp <(jq '.results | del(.[].cells)' "$OUT/alone.json") <(jq '.results | del(.[].cells)' "$OUT/cells.json")
}

@test "recipes/clusters/array.sbatch: eight jobs over one folder, then one result" {
    grid=(recipes/smoke.yaml --set workers=8)
    sparsebench "${grid[@]}" -q --folder "$OUT/alone" -o "$OUT/alone.json"
    sbatch --wait -o "$OUT/log-%a" recipes/clusters/array.sbatch "${grid[@]}" --folder "$OUT/cells"
    cells=$(jq '[.results[].cells[]] | length' "$OUT/alone.json")
    [ "$(find "$OUT/cells" -name '*.ndjson' | wc -l)" = "$cells" ]
    [ "$(grep -l "done after" "$OUT"/log-* | wc -l)" -gt 1 ]
    sparsebench "${grid[@]}" -q --folder "$OUT/cells" -o "$OUT/all.json"
    [ "$(jq '[.results[].cells[] | select(.reused)] | length' "$OUT/all.json")" = "$cells" ]
    cmp <(jq '.results | del(.[].cells)' "$OUT/alone.json") <(jq '.results | del(.[].cells)' "$OUT/all.json")
    cmp <(jq .claims "$OUT/alone.json") <(jq .claims "$OUT/all.json")
}

@test "recipes/clusters/ranks.sbatch: preempted, then told that its time is over, and the same bytes in the end" {
    # Long enough that the test sees it run three times, also on a fast machine: ten seconds with four ranks.
    RUN+=(--set steps=300000 --set record.every=500)
    alone
    job=$(sbatch --parsable -o "$OUT/log" recipes/clusters/ranks.sbatch "$OUT/four" "${RUN[@]}")
    patiently grep -qs '"step":1500,' "$OUT/four.part"
    sbatch --wait -p urgent -n 8 -o /dev/null --wrap true
    patiently grep -q "stopped by signal 15" "$OUT/log"
    [ -s "$OUT/four.ckpt" ] && [ ! -e "$OUT/four" ]
    start_again "$job"
    size=$(stat -c %s "$OUT/four.part")
    patiently eval '[ "$(stat -c %s "$OUT/four.part")" -gt $((size + 200)) ]'
    scancel --signal=USR1 "$job" # as --signal does before the time limit
    patiently grep -q "stopped by signal 10" "$OUT/log"
    [ -s "$OUT/four.ckpt" ] && [ ! -e "$OUT/four" ]
    start_again "$job"
    patiently [ -e "$OUT/four" ]
    scontrol show job "$job" | grep -q "Restarts=2"
    [ "$(ranks_of "$OUT/four")" = 4 ]
    same_series "$OUT/one" "$OUT/four"
}

@test "a preempted job of sparsebench leaves checkpoints and goes on" {
    # Long enough for a look: a series is written once a second, or after 64 records.
    grid=(recipes/smoke.yaml --set workers=8 --set steps=2000000 --set record.every=20000 --seed 1 --method SGD --method Hard-threshold)
    sparsebench "${grid[@]}" -q --jobs 2 --folder "$OUT/alone" -o "$OUT/alone.json"
    job=$(sbatch --parsable --requeue --open-mode=append -c 2 -o "$OUT/log" \
        --wrap "sparsebench ${grid[*]} --jobs 2 --folder '$OUT/cells' -o '$OUT/all.json'")
    patiently eval '[ "$(cat "$OUT"/cells/*.part 2>/dev/null | grep -c "\"record\":\"step\"")" -gt 2 ]'
    scontrol requeue "$job"
    patiently grep -q "stopped by a signal" "$OUT/log"
    compgen -G "$OUT/cells/*.ckpt"
    start_again "$job"
    patiently eval '[ "$(jq -r .status "$OUT/all.json" 2>/dev/null)" = ok ]'
    cmp <(jq '.results | del(.[].cells)' "$OUT/alone.json") <(jq '.results | del(.[].cells)' "$OUT/all.json")
}

@test "recipes/clusters/gpu.sbatch: the ranks of a node see all its GPUs" {
    mkdir "$OUT/bin"
    cat >"$OUT/bin/sparsetrain" <<'END'
#!/bin/sh
echo "rank $SLURM_PROCID, of its node $SLURM_LOCALID: $CUDA_VISIBLE_DEVICES: $*"
END
    chmod +x "$OUT/bin/sparsetrain"
    PATH=$OUT/bin:$PATH
    gpu=(--wait -o "$OUT/log" --nodes=1 --cpus-per-task=2) # this Slurm has no more
    sbatch "${gpu[@]}" recipes/clusters/gpu.sbatch run.ndjson r.yaml --seed 1
    for rank in 0 1 2 3; do
        grep -qxF "rank $rank, of its node $rank: 0,1,2,3: r.yaml --seed 1 --device cuda -o run.ndjson --resume" "$OUT/log"
    done
}

@test "recipes/clusters/grid.sbatch on 20 nodes with a GPU each: two cells side by side, on eight of them each" {
    grid=(recipes/smoke.yaml --set workers=8 --set seeds=[1,2] --method SGD)
    # One process runs the cell, when the ranks of both jobs are there. Open MPI does not bear so many nodes on one machine.
    cat >"$OUT/traced" <<'END'
#!/bin/bash
[[ " $* " == *" --check "* ]] || echo "$SLURM_ARRAY_TASK_ID $SLURMD_NODENAME $SLURM_PROCID $CUDA_VISIBLE_DEVICES" >>"$TRACE"
[ "${SLURM_PROCID:-0}" = 0 ] || exit 0
[[ " $* " == *" --check "* ]] || until [ "$(wc -l <"$TRACE")" = 16 ]; do sleep 0.05; done
exec env -i PATH="$PATH" SPARSE_DATA="$SPARSE_DATA" sparsetrain "$@"
END
    chmod +x "$OUT/traced"
    # As the script stands, but for the device.
    TRACE=$OUT/trace NODES=20 timeout 60 "$BATS_TEST_DIRNAME/../slurm/cluster" "$OUT/twenty" sbatch --wait -o "$OUT/log-%a" --array=1-2 \
        recipes/clusters/grid.sbatch "${grid[@]}" --device cpu --program "$OUT/traced" --folder "$OUT/cells" 3>&-
    [ "$(awk '{ print $2 }' "$OUT/trace" | sort -u | wc -l)" = 16 ] # nodes
    for job in 1 2; do
        [ "$(sed -n "s/^$job [^ ]* \([0-9]*\) 0$/\1/p" "$OUT/trace" | sort -n | xargs)" = "0 1 2 3 4 5 6 7" ]
    done
    [ "$(find "$OUT/cells" -name '*.ndjson' | wc -l)" = 2 ]
}

@test "recipes/clusters/grid.sbatch: told that its time is over, then preempted, and the same bytes in the end" {
    grid=(recipes/smoke.yaml --set workers=8 --set steps=200000 --set record.every=500 --method Hard-threshold --seed 1 --device cpu)
    sparsebench "${grid[@]}" -q --folder "$OUT/alone" -o "$OUT/alone.json"
    job=$(sbatch --parsable -o "$OUT/log" --array=1 --nodes=1 --ntasks-per-node=2 --gpus-per-node=2 --cpus-per-task=2 \
        recipes/clusters/grid.sbatch "${grid[@]}" --folder "$OUT/cells")_1
    patiently eval 'grep -qs "\"step\":1500," "$OUT"/cells/*.part'
    scancel --signal=USR1 --batch "$job" # as --signal=B: does before the time limit
    patiently grep -q "stopped by a signal (User" "$OUT/log"
    compgen -G "$OUT/cells/*.ckpt" # the ranks wrote it
    start_again "$job"
    size=$(stat -c %s "$OUT"/cells/*.part)
    patiently eval '[ "$(stat -c %s "$OUT"/cells/*.part)" -gt $((size + 200)) ]'
    sbatch --wait -p urgent -n 8 -o /dev/null --wrap true
    patiently grep -q "stopped by a signal (Term" "$OUT/log"
    start_again "$job"
    patiently compgen -G "$OUT/cells/*.ndjson"
    [ "$(jq -c 'select(.record == "run") | [.segments[].ranks]' "$OUT"/cells/*.ndjson)" = "[2,2,2]" ]
    cmp <(grep '"record":"step"' "$OUT"/alone/*.ndjson) <(grep '"record":"step"' "$OUT"/cells/*.ndjson)
}

@test "recipes/clusters/grid.pbs, without a PBS: submitted again at the time limit, and resumed" {
    mkdir "$OUT/bin"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    echo localhost >"$OUT/nodes" # one rank, which no busy machine slows down
    printf '#!/bin/sh\necho "$@" >>"%s"\n' "$OUT/submitted" >"$OUT/bin/qsub"
    chmod +x "$OUT/bin/qsub"
    export PATH=$OUT/bin:$PATH PBS_O_WORKDIR=$ROOT PBS_NODEFILE=$OUT/nodes RECIPE=recipes/smoke.yaml
    export OPTIONS="--device cpu --set steps=200000 --set record.every=500 --method Hard-threshold --seed 1 --folder $OUT/cells"
    code=0
    OPTIONS+=" --time-limit 1" bash recipes/clusters/grid.pbs || code=$?
    [ "$code" = 124 ]
    [ "$(cat "$OUT/submitted")" = recipes/clusters/grid.pbs ]
    bash recipes/clusters/grid.pbs
    [ "$(jq -c 'select(.record == "run") | [.segments[].ranks]' "$OUT"/cells/*.ndjson)" = "[1,1]" ]
    [ "$(wc -l <"$OUT/submitted")" = 1 ]
}

@test "a killed script takes its Slurm with it" {
    "$BATS_TEST_DIRNAME/../slurm/cluster" "$OUT/other" sleep 60 3>&- &
    pid=$!
    patiently eval "SLURM_CONF='$OUT/other/slurm.conf' sinfo -h 2>/dev/null | grep -q idle"
    [ "$(pgrep -fc -- "$OUT/other/(munge|slurm.conf)")" -ge 3 ]
    kill -9 $pid
    patiently eval '! pgrep -f -- "$OUT/other/(munge|slurm.conf)"'
}

@test "the page names every script" {
    for script in recipes/clusters/*.sbatch recipes/clusters/*.pbs; do
        grep -qF "($(basename "$script"))" recipes/clusters/README.md
    done
}
