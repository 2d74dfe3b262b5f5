#!/usr/bin/env bats
# --time-limit: runs and grids in several segments, and what a result says of cells that are not finished.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$CACHE
    SMOKE=$ROOT/recipes/smoke.yaml
    LONG=("$SMOKE" --set epochs=null --set steps=60000 --set record.every=500)
    RUN=("${LONG[@]}" --method "Top-k k=4" --seed 1 -q)
}

# Runs the command with this limit again and again until it does not end by it. Later limits are longer, so that this ends
# on any machine.
in_segments() { # SECONDS COMMAND...
    local status=124 limit=$1
    shift
    while [ $status = 124 ]; do
        status=0
        "$@" --time-limit "$limit" || status=$?
        limit=$(awk "BEGIN { print 1.2 * $limit }")
    done
    return $status
}

# A piece of a grid with the folder cells: stopped at the first limit, of longer and longer ones, at which a cell was begun
# and left its checkpoint. Under load a short limit passes before any cell has begun.
piece() { # COMMAND...
    local limit=0.1
    until ls cells/*.ckpt; do
        run -124 "$@" --force --time-limit "$limit"
        limit=$(awk "BEGIN { print 1.5 * $limit }")
    done
}

@test "a run stops at its limit with status 124 and a checkpoint, and its segments end with the same bytes" {
    sparsetrain "${RUN[@]}" -o whole
    says 124 "stopped at the time limit after step " " of 60000" -- sparsetrain "${RUN[@]}" -o cut --resume --time-limit 0.05
    [ -e cut.ckpt ] && [ -e cut.part ] && [ ! -e cut ]
    in_segments 0.05 sparsetrain "${RUN[@]}" -o cut --resume 2>/dev/null
    same_series whole cut
    jq -es '.[] | select(.record == "run") | .planned_steps == 60000 and .segments[0].from_step == 0
        and .segments[-1].to_step == 60000 and (.segments | length) >= 2
        and ([.segments[:-1], .segments[1:]] | transpose | all(.[0].to_step == .[1].from_step))
        and (.segments | all(.device == "cpu" and .processor != null))' cut
    [ "$(jq -es '.[] | select(.record == "run") | .segments | length' whole)" = 1 ]
}

@test "a limit of nothing still takes one step, so that a chain of short segments ends" {
    says 124 "after step 1 of 60000" -- sparsetrain "${RUN[@]}" -o cut --time-limit 0
    says 124 "after step 2 of 60000" -- sparsetrain "${RUN[@]}" -o cut --resume --time-limit 0
    says 2 "--time-limit=soon: must be a number from 0 to" -- sparsetrain "${RUN[@]}" --time-limit soon
}

@test "the limit under mpirun: all ranks stop together, and another number of ranks goes on" {
    command -v mpirun >/dev/null || skip "no mpirun"
    sparsetrain "${RUN[@]}" -o whole
    run -124 --separate-stderr $MPI -n 2 sparsetrain "${RUN[@]}" -o cut --resume --time-limit 0.05
    [ -e cut.ckpt ]
    run -0 sparsetrain "${RUN[@]}" -o cut --resume --threads 1
    same_series whole cut
    [ "$(jq -cs '.[] | select(.record == "run") | [.segments[].ranks]' cut)" = "[2,1]" ]
}

@test "a stopped run goes on in a copy of its folder, by another path, name and number of threads" {
    mkdir here
    sparsetrain "${RUN[@]}" -o whole
    (cd here && run -124 sparsetrain "${RUN[@]}" -o cut --threads 2 --time-limit 0.05)
    tar -C here -cf - . | split -b 4096 - carried.
    mkdir -p there/deep
    cat carried.* | tar -C there/deep -xf -
    rm -r here
    mv there/deep/cut.part there/deep/other.part
    mv there/deep/cut.ckpt there/deep/other.ckpt
    cp -r "$CACHE" data
    cp "$SMOKE" there/copy.yaml
    run -0 --separate-stderr sparsetrain there/copy.yaml "${RUN[@]:1}" -o "$PWD/there/deep/other" --resume --threads 1 --data data
    [ -z "$stderr" ]
    same_series whole there/deep/other
    [ "$(jq -cs '.[] | select(.record == "run") | [.segments[].threads]' there/deep/other)" = "[2,1]" ]
}

@test "a checkpoint in another byte order is refused" {
    run -124 sparsetrain "${RUN[@]}" -o cut --time-limit 0.05
    {
        head -c 376 cut.ckpt
        printf '\0\0\0\0\0\0\0\1'
        tail -c +385 cut.ckpt | head -c -64
    } >body
    { cat body; sha256sum body | cut -c 1-64 | tr -d '\n'; } >cut.ckpt
    cp cut.ckpt kept
    says 1 "cut.ckpt was written on a machine with another order of bytes: " -- sparsetrain "${RUN[@]}" -o cut --resume
    cmp kept cut.ckpt
}

@test "a run that comes from a GPU and goes on on a CPU says so, and its result names both" {
    run -124 sparsetrain "${RUN[@]}" -o cut --time-limit 0.05
    python3 - cut.ckpt <<'PY'
import hashlib, struct, sys
data = bytearray(open(sys.argv[1], "rb").read()[:-64])
size = struct.unpack_from("<Q", data, 368)[0]
text = bytes(data[-size:]).replace(b'"device":"cpu"', b'"device":"cuda:0"')
text = text.replace(b'"processor":"', b'"processor":"GPU, not ')
data[-size:] = text
struct.pack_into("<Q", data, 368, len(text))
open(sys.argv[1], "wb").write(bytes(data) + hashlib.sha256(data).hexdigest().encode())
PY
    run -0 --separate-stderr sparsetrain "${RUN[@]:0:${#RUN[@]}-1}" -o cut --resume
    [[ $stderr == *"the run comes from GPU, not "*" and goes on on "*"its last digits may be those of neither"* ]]
    mkdir cells
    cell=$(sparsebench "${LONG[@]}" --folder cells --method "Top-k k=4" --seed 1 --dry-run | awk 'END { print $NF }')
    mv cut "$cell"
    sparsebench "${LONG[@]}" --folder cells --method "Top-k k=4" --seed 1 -o out.json 2>err
    [ "$(jq '.results[0].cells[0].devices | length' out.json)" = 2 ]
    grep -q "Top-k k=4, seed 1 ran on GPU, not " err
}

@test "a grid in pieces: how far cells came, no verdict yet, and in the end the result of an unbroken one" {
    sparsebench "${LONG[@]}" -q --folder whole -j 2 -o whole.json
    run -124 --separate-stderr sparsebench "${LONG[@]}" --folder cells -j 1 --time-limit 0.3 --table -o cut.json
    [[ $stderr == *"stopped at the time limit with "*" of 8 cells unfinished: give the same command again to resume"* ]]
    grep -qE "SGD, seed [12]: (ok|step [0-9]+ of 60000 \(epoch [0-9.]+ of 1000\))" <<<"$stderr"
    [[ $stderr == *"Hard-threshold, seed 2: not begun"* && $output == *"not finished: "* ]]
    jq -e '.status == "interrupted" and (.claims | all(.verdict == "not judged" and (.reason | startswith("not yet: "))))
        and .summary.text == null and .summary.reason == "not all cells are finished"
        and ([.results[].cells[]] | length == 8 and all(.planned_steps == 60000))
        and ([.results[].cells[] | select(.steps != null)] | length > 0)' cut.json
    in_segments 0.4 sparsebench "${LONG[@]}" -q --folder cells -j 2 -o cut.json 2>/dev/null
    diff <(jq -S '.results[] | {label, series, final}, .claims, .summary' <(jq . whole.json)) \
        <(jq -S '.results[] | {label, series, final}, .claims, .summary' cut.json)
    for cell in whole/*.ndjson; do same_series "$cell" "cells/${cell##*/}"; done
}

@test "a result so far has the series of a cell whose checkpoint was lost, but none of another cell" {
    piece sparsebench "${LONG[@]}" -q --folder cells --method SGD --seed 1 -j 1 -o cut.json
    rm cells/*.ckpt
    says 124 "SGD, seed 1: step " " of 1000), without a checkpoint to go on from" -- \
        sparsebench "${LONG[@]}" --folder cells --method SGD --seed 1 --time-limit 0 --force -o left.json
    for file in left cut; do jq '.results[0] | .series, (.cells[0] | .steps, .status)' $file.json >$file; done
    cmp left cut
    [ "$(tail -n 1 left)" = '"interrupted"' ]
    sed -i 's/"cell_key":"...../"cell_key":"other/' cells/*.part
    says 124 "SGD, seed 1: not begun" -- sparsebench "${LONG[@]}" --folder cells --method SGD --seed 1 --time-limit 0 --force -o left.json
    sparsebench "${LONG[@]}" -q --folder cells --method SGD --seed 1 --force -o whole.json
    [ "$(jq -c '[.status, .results[0].cells[0].steps]' whole.json)" = '["ok",60000]' ]
    # Nor that of a cell that read other data than those that are finished, which it would begin again.
    rm -f cells/*.part
    piece sparsebench "${LONG[@]}" -q --folder cells --method SGD -j 1 -o cut.json
    rm -f cells/*.ckpt
    says 124 "SGD, seed 2: step " -- sparsebench "${LONG[@]}" --folder cells --method SGD --time-limit 0 --force -o left.json
    sed -i '1s/\("dataset":{[^}]*"sha256":"\)..../\1feed/' cells/*.part
    says 124 "SGD, seed 2: not begun" -- sparsebench "${LONG[@]}" --folder cells --method SGD --time-limit 0 --force -o left.json
}

@test "a grid that is killed after a piece goes on, too" {
    LONG+=(--set steps=240000) # so long that the next limit after one that passed too early does not end it
    sparsebench "${LONG[@]}" -q --folder whole --method SGD -o whole.json
    local status=0 limit=0.15
    until [ $status = 137 ]; do # a fast machine may finish before a later kill
        rm -rf cells
        piece sparsebench "${LONG[@]}" -q --folder cells --method SGD -j 1 -o cut.json
        status=0
        timeout -s KILL "$limit" sparsebench "${LONG[@]}" -q --folder cells --method SGD -j 1 --force -o cut.json || status=$?
        limit=$(awk "BEGIN { print $limit / 2 }")
    done
    run -0 sparsebench "${LONG[@]}" -q --folder cells --method SGD --force -o cut.json
    for cell in whole/*.ndjson; do same_series "$cell" "cells/${cell##*/}"; done
}

@test "--time-limit 0 runs nothing, and shows what the folder has" {
    run -124 --separate-stderr sparsebench "${LONG[@]}" --folder cells --time-limit 0 --json
    [[ $stderr == *"with 8 of 8 cells unfinished"* ]]
    [ "$(jq -c '[.results[].cells[] | .status, .steps] | unique' <<<"$output")" = '[null,"not_run"]' ]
    piece sparsebench "${LONG[@]}" -q --folder cells -j 1 -o cut.json
    run -124 --separate-stderr sparsebench "${LONG[@]}" -q --folder cells --time-limit 0 --json
    [ "$(jq '.results[0].cells[0].steps > 0 and (.results[0].series.step | length) > 0 and .results[0].final.bits.n == 1' <<<"$output")" = true ]
    sparsebench "${LONG[@]}" -q --folder cells -o done.json
    run -0 --separate-stderr sparsebench "${LONG[@]}" -q --folder cells --time-limit 0 --json # nothing is missing
    [ "$(jq -r .status <<<"$output")" = ok ]
}

@test "figures, tables and pages of an unfinished result say under them how far it came" {
    cp "$SMOKE" r.yaml
    sparsebench "${LONG[@]}" -q --folder cells --method SGD --method Hard-threshold --seed 1 -o done.json
    run -124 sparsebench "${LONG[@]}" -q --folder cells --method SGD --method Hard-threshold --time-limit 0 -o cut.json
    for format in svg pgfplots csv markdown latex table html; do
        sparseplot-export -q cut.json --format $format >out.$format 2>/dev/null
        tr -s '\n# ' ' ' <out.$format | grep -q "not finished: SGD" || { echo "$format says nothing"; false; }
    done
    sparseplot-export -q done.json --format svg | { ! grep -q "not finished"; }
    run -124 sparsebench "${LONG[@]}" -q --folder cells --time-limit 0 -o all.json
    sparseplot-export -q all.json --format markdown | grep -q "not finished: SGD, seed 2 not begun, Top-k k=1, seed 1 not begun, "
    run -124 sparsebench "${LONG[@]}" -q --set 'seeds=[1,2,3]' --folder cells --time-limit 0 -o more.json
    sparseplot-export -q more.json --format markdown | grep -q "not finished: 10 of 12 cells, of which 10 not begun"
}

@test "kernels: the limit keeps the cases that were finished, and the same command runs the others" {
    cat >k.yaml <<'YAML'
schema: 1
kind: kernels
name: k
sizes: [10000, 20000, 30000]
distributions: [gaussian, all-equal]
densities: [0.01, 0.1]
operations: [ef-threshold, quickselect]
back-ends: [c]
threads: [1]
samples: 100
YAML
    says 124 "stopped with cases left to run: give the same command again to resume" -- sparsebench k.yaml --time-limit 0.9 -o k.json
    [ "$(jq -r .status k.json)" = interrupted ]
    cp k.json first.json
    n=$(jq '.results | length' k.json)
    [ "$n" -lt 36 ]
    in_segments 1.5 sparsebench k.yaml -o k.json
    [ "$(jq -r .status k.json)" = ok ]
    [ "$(jq '.results | length' k.json)" = 36 ]
    [ "$(jq -c '[.results[] | [.n, .distribution, .density, .operation]] | unique | length' k.json)" = 36 ]
    diff <(jq -c --argjson n "$n" '.results[:$n]' k.json) <(jq -c .results first.json)
    # Another program's cases are not taken, and a whole result is not replaced unasked.
    jq '.program.commit = "other"' first.json >k2.json
    says 2 "k2.json" "--force" -- sparsebench k.yaml -o k2.json
    says 2 "--force" -- sparsebench k.yaml -o k.json
}

@test "make FIGURE PIECE=SECONDS ends well, says how to go on, and the last piece is the figure" {
    mkdir recipes
    cp "$ROOT/recipes/run" "$SMOKE" recipes/
    local made=results/local/smoke,epochs=null,steps=2000000,record.every=200,seed=1,method=Hard-threshold
    local piece=1.5 args="--set epochs=null --set steps=2000000 --set record.every=200 --points 100 --seed 1 --method Hard-threshold"
    run -0 --separate-stderr env PIECE=$piece ARGS="$args" recipes/run smoke "$BIN" 1
    [[ $stderr == *"cells unfinished: give the same command again"* && $output == *"plot so far: "*"data: $made.json"* ]]
    [ "$(jq -r .status "$made.json")" = interrupted ]
    sed 's/<[^>]*>//g' "$made.svg" | tr -s '\n ' ' ' | grep -q "not finished: "
    while [ "$(jq -r .status "$made.json")" = interrupted ]; do
        piece=$(awk "BEGIN { print 1.5 * $piece }")
        run -0 --separate-stderr env PIECE="$piece" ARGS="$args" recipes/run smoke "$BIN" 1
    done
    [ "$(jq -r .status "$made.json")" = ok ]
    [[ $output == *"plot: $made.svg"* ]]
    says 2 "--time-limit=soon: must be a number" -- env PIECE=soon recipes/run smoke "$BIN" 1
}
