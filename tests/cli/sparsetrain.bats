#!/usr/bin/env bats
# sparsetrain: one run, its output, its errors.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$ROOT" || exit 1
    export SPARSE_DATA=$CACHE
    OUT=$BATS_TEST_TMPDIR
    SMOKE=recipes/smoke.yaml
}

recipe() { # a small recipe with one change: recipe 's/…/…/'
    sed "$1" "$SMOKE" >"$OUT/r.yaml"
}

@test "help: short, long, version, recipe keys, all on stdout" {
    for option in -h --help --version --help-recipe; do
        run -0 --separate-stderr sparsetrain "$option"
        [ -n "$output" ] && [ -z "$stderr" ]
    done
    run -0 sparsetrain --version
    [[ $output == *"features: mpi"* && $output == *libyaml* ]]
}

@test "in a pipe: a series, complete, with every column in every line" {
    run -0 --separate-stderr sparsetrain "$SMOKE" --method "Top-k k=4" --seed 2
    [[ ${lines[0]} == '{"record":"header","schema":"sparsetrain/1"'* ]]
    [[ ${lines[-1]} == '{"record":"end","status":"ok","message":null'* ]]
    steps=$(grep -c '"record":"step"' <<<"$output")
    [ "$steps" = "$(grep -c '"record":"step".*"epoch".*"suboptimality".*"error_norm".*"bits".*"density"' <<<"$output")" ]
    [ "$steps" -gt 10 ]
    # 4 values and 4 indices of 32 bits a step
    grep -q '"step":10,.*"bits":2560,' <<<"$output"
    [[ ${lines[0]} == *'"source":"generated"'* ]]
    [[ $stderr == *"generated data (two-clouds)"* ]]
}

@test "--json folds the series into one object" {
    sparsetrain -q "$SMOKE" --method SGD --json >"$OUT/one.json"
    sparsetrain -q "$SMOKE" --method SGD --json -o "$OUT/two.json"
    grep -q '"series"' "$OUT/one.json"
    cmp <(sed '/"run"/,/^\t}/d' "$OUT/one.json") <(sed '/"run"/,/^\t}/d' "$OUT/two.json")
    [ ! -e "$OUT/two.json.part" ] && [ ! -e "$OUT/two.json.ckpt" ]
}

@test "the run record names what --set changed, and the figure does" {
    run -0 --separate-stderr sparsetrain -q "$SMOKE" --method SGD --seed 2 --set steps=20 --set workers=2 --json
    [ "$(jq -c .run.recipe.set <<<"$output")" = '["steps=20","workers=2"]' ]
    echo "$output" >"$OUT/r.json"
    run -0 --separate-stderr sparseplot-export -q "$OUT/r.json" --y=suboptimality --format=csv
    [[ ${lines[0]} = "# Top-k and hard-threshold on two generated clouds — steps=20, workers=2 — generated data (two-clouds)" ]]
    [[ ${lines[1]} = "# recipe smoke, steps=20, workers=2 (sha256 "* ]]
    run -0 --separate-stderr sparsetrain -q "$SMOKE" --method SGD --json
    [ "$(jq -c .run.recipe.set <<<"$output")" = '[]' ]
}

@test "the run record says where the time went: every phase, together no more than there was" {
    run -0 --separate-stderr sparsetrain -q $SMOKE --method "Top-k k=4" --threads 1 --json
    jq -e '.run | (.phase_s | keys == ["compression", "exchange", "gradient", "update"] and all(. > 0)) and
        (.phase_s | add) <= .elapsed_s' <<<"$output"
}

@test "on a terminal: a table with units, and a progress bar that is erased" {
    run -0 script -qec "sparsetrain $SMOKE --method SGD" /dev/null
    [[ $output =~ "# step "\ *"epoch "\ *suboptimality && $output == *"(bit per worker)"* ]]
    [[ $output != *'"record"'* ]]
}

@test "an existing result is not overwritten unasked" {
    sparsetrain -q "$SMOKE" --method SGD -o "$OUT/r.ndjson"
    run -2 --separate-stderr sparsetrain -q "$SMOKE" --method SGD -o "$OUT/r.ndjson"
    [[ $stderr == *"exists"*"--force"* ]]
    sparsetrain -q "$SMOKE" --method SGD -o "$OUT/r.ndjson" --force
}

@test "same bytes again, for any number of threads and any kernels" {
    sparsetrain -q "$SMOKE" --method "Hard-threshold" -o "$OUT/a.ndjson"
    sparsetrain -q "$SMOKE" --method "Hard-threshold" --threads 1 -o "$OUT/b.ndjson"
    SG_CPU=c sparsetrain -q "$SMOKE" --method "Hard-threshold" --threads 3 -o "$OUT/c.ndjson"
    same_series "$OUT/a.ndjson" "$OUT/b.ndjson"
    same_series "$OUT/a.ndjson" "$OUT/c.ndjson"
    run -1 --separate-stderr env SG_CPU=mmx sparsetrain -q "$SMOKE" --method SGD
    [[ $stderr == *SG_CPU* ]]
}

@test "another seed gives another series" {
    sparsetrain -q "$SMOKE" --method SGD --seed 1 -o "$OUT/a.ndjson"
    sparsetrain -q "$SMOKE" --method SGD --seed 2 -o "$OUT/b.ndjson"
    run ! same_series "$OUT/a.ndjson" "$OUT/b.ndjson"
}

last() { # COLUMN FILE: its last recorded value
    sed -n "s/.*\"record\":\"step\".*\"$1\":\([^,}]*\).*/\1/p" "$2" | tail -n 1
}

@test "encodings change bytes_sent and nothing else" {
    args=(-q "$SMOKE" --method "Top-k k=4" --set 'record.series=[suboptimality, error-norm, bits, bytes-sent]')
    sparsetrain "${args[@]}" -o "$OUT/raw"
    # 1200 steps of 4 bytes for the count and 8 for each of 4 entries
    [ "$(last bytes_sent "$OUT/raw")" = 43200 ]
    for encoding in raw bitmap delta-varint rice elias-fano auto; do
        sparsetrain "${args[@]}" --set message=$encoding -o "$OUT/$encoding" --force
        cmp <(without_bytes "$OUT/raw") <(without_bytes "$OUT/$encoding")
    done
    # header 6, gaps below 128 in one byte each, 4 values; a bitmap of 40 positions takes 5 bytes
    [ "$(last bytes_sent "$OUT/delta-varint")" = $((1200 * (6 + 4 + 16))) ]
    [ "$(last bytes_sent "$OUT/bitmap")" = $((1200 * (6 + 5 + 16))) ]
    for encoding in bitmap delta-varint rice elias-fano; do
        [ "$(last bytes_sent "$OUT/auto" | cut -d. -f1)" -le "$(last bytes_sent "$OUT/$encoding" | cut -d. -f1)" ]
    done
}

@test "fp16 values: half the bytes, the rounding error kept, a method may differ" {
    args=(-q "$SMOKE" --method SGD --set 'record.series=[suboptimality, error-norm, bytes-sent]')
    sparsetrain "${args[@]}" -o "$OUT/whole"
    sparsetrain "${args[@]}" --set message.values=fp16 -o "$OUT/half"
    [ "$(last bytes_sent "$OUT/whole")" = $((1200 * (4 + 4 * 40))) ]
    [ "$(last bytes_sent "$OUT/half")" = $((1200 * (4 + 2 * 40))) ]
    [ "$(last error_norm "$OUT/whole")" = 0 ]
    awk -v a="$(last suboptimality "$OUT/whole")" -v b="$(last suboptimality "$OUT/half")" -v e="$(last error_norm "$OUT/half")" \
        'BEGIN { exit !(e > 0 && e < 1e-6 && (a - b) ^ 2 < 1e-6 * a ^ 2) }'
    recipe 's/name: SGD, /name: SGD, message: {values: fp16}, /'
    grep -q 'message: {values' "$OUT/r.yaml"
    sparsetrain -q "$OUT/r.yaml" --method SGD --set 'record.series=[suboptimality, error-norm, bytes-sent]' -o "$OUT/own"
    same_series "$OUT/half" "$OUT/own"
}

@test "dry run resolves and stops" {
    run -0 --separate-stderr sparsetrain "$SMOKE" --method SGD --set workers=7 --dry-run
    [[ $output == *'"workers":'?'7,'* && $output != *'"record":"'* ]]
}

@test "a recipe from stdin" {
    run -0 --separate-stderr bash -c "cat $SMOKE | sparsetrain -q - --method SGD"
    [[ ${lines[-1]} == *'"status":"ok"'* ]]
}

@test "a diverging run keeps its series, and exits 1" {
    run -1 --separate-stderr sparsetrain -q "$SMOKE" --method SGD --set optimizer.learning-rate=1e30 -o "$OUT/d.ndjson"
    run -0 tail -n 1 "$OUT/d.ndjson"
    [[ $output == *'"status":"diverged"'*"step"* ]]
}

@test "full disk, closed pipe, unwritable folder" {
    run -1 --separate-stderr bash -c "sparsetrain -q $SMOKE --method SGD > /dev/full"
    [[ $stderr == *"No space left"* ]]
    run -1 --separate-stderr bash -c "sparsetrain -q $SMOKE --method SGD --json > /dev/full"
    [[ $stderr == *"No space left"* || $stderr == *"cannot write"* ]]
    run --separate-stderr bash -c "sparsetrain -q $SMOKE --method SGD --set epochs=2000 --set record.every=1 | head -n 1"
    [ -z "$stderr" ]
    run -1 --separate-stderr sparsetrain -q "$SMOKE" --method SGD -o "$OUT/none/r.ndjson"
    [[ $stderr == *"$OUT/none/r.ndjson"* ]]
}

@test "SIGTERM checkpoints; --resume ends with the same bytes" {
    sparsetrain -q "$SMOKE" --method "Top-k k=4" --set epochs=3000 -o "$OUT/whole.ndjson"
    sparsetrain -q "$SMOKE" --method "Top-k k=4" --set epochs=3000 -o "$OUT/cut.ndjson" 3>&- &
    pid=$!
    sleep 0.15
    kill -TERM $pid
    code=0
    wait $pid || code=$?
    [ "$code" = 143 ] || [ "$code" = 0 ]
    sparsetrain -q "$SMOKE" --method "Top-k k=4" --set epochs=3000 -o "$OUT/cut.ndjson" --resume
    same_series "$OUT/whole.ndjson" "$OUT/cut.ndjson"
    [ ! -e "$OUT/cut.ndjson.ckpt" ]
}

@test "a checkpoint of another recipe, a damaged one, a foreign file" {
    run sparsetrain -q "$SMOKE" --method SGD --set epochs=100 -o "$OUT/x.ndjson" --checkpoint-every 500
    cp "$SMOKE" "$OUT/r.yaml"
    # keep a checkpoint by stopping at once
    sparsetrain -q "$SMOKE" --method SGD --set epochs=100000 -o "$OUT/y.ndjson" --checkpoint-every 100 3>&- &
    pid=$!
    patiently [ -e "$OUT/y.ndjson.ckpt" ]
    kill -KILL $pid
    wait $pid || true
    run -1 --separate-stderr sparsetrain -q "$SMOKE" --method SGD --set epochs=50 -o "$OUT/y.ndjson" --resume
    [[ $stderr == *"another recipe"* ]]
    cp "$OUT/y.ndjson.ckpt" "$OUT/good"
    printf 'X' | dd of="$OUT/y.ndjson.ckpt" bs=1 seek=400 conv=notrunc 2>/dev/null
    run -1 --separate-stderr sparsetrain -q "$SMOKE" --method SGD --set epochs=100000 -o "$OUT/y.ndjson" --resume
    [[ $stderr == *"damaged"* ]]
    echo nonsense >"$OUT/y.ndjson.ckpt"
    run -1 --separate-stderr sparsetrain -q "$SMOKE" --method SGD --set epochs=100000 -o "$OUT/y.ndjson" --resume
    [[ $stderr == *"not a checkpoint"* ]]
}

@test "-o - and -o /dev/stdout go to standard output, whole, without files beside" {
    sparsetrain -q "$SMOKE" --method SGD -o "$OUT/file"
    cd "$OUT"
    for name in - /dev/stdout; do
        sparsetrain -q "$ROOT/$SMOKE" --method SGD -o $name | cat >"$OUT/out"
        same_series "$OUT/file" "$OUT/out"
        sparsetrain -q "$ROOT/$SMOKE" --method SGD -o $name --json | head -c 1 | grep -q '{'
    done
    [ ! -e ./- ] && [ ! -e ./-.part ]
    run -1 --separate-stderr sparsetrain -q "$ROOT/$SMOKE" --method SGD -o /dev/full
    [[ $stderr == *"No space left"* ]]
    run -2 --separate-stderr sparsetrain -q "$ROOT/$SMOKE" --method SGD -o /dev/stdout --resume
    [[ $stderr == *"resumed"* ]]
    run -1 --separate-stderr sparsetrain -q "$ROOT/$SMOKE" --method SGD -o "$OUT"
    [[ $stderr == *"is a folder"* ]]
}

@test "a closed stdout is an error when there is something to say" {
    run -1 --separate-stderr bash -c "sparsetrain --version >&-"
    [[ $stderr == *"cannot write the result"* ]]
    sparsetrain -q "$SMOKE" --method SGD -o "$OUT/r.ndjson" >&-
}

@test "--resume of what is finished does nothing, and another run's file is kept" {
    for file in r.ndjson r.json; do
        sparsetrain -q "$SMOKE" --method SGD -o "$OUT/$file"
        before=$(stat -c %i:%Y "$OUT/$file")
        run -0 --separate-stderr sparsetrain "$SMOKE" --method SGD -o "$OUT/$file" --resume
        [ "$(stat -c %i:%Y "$OUT/$file")" = "$before" ]
        run -2 --separate-stderr sparsetrain "$SMOKE" --method "Top-k k=4" -o "$OUT/$file" --resume
        [ "$(stat -c %i:%Y "$OUT/$file")" = "$before" ]
        sparsetrain -q "$SMOKE" --method "Top-k k=4" -o "$OUT/$file" --resume --force
        grep -q '"Top-k k=4"' "$OUT/$file"
    done
    echo "my notes" >"$OUT/notes"
    run -2 --separate-stderr sparsetrain "$SMOKE" --method SGD -o "$OUT/notes" --resume
    [ "$(cat "$OUT/notes")" = "my notes" ]
}

@test "a checkpoint of another version: starts afresh, nothing of the old series stays" {
    args=(--method SGD --set epochs=2000)
    sparsetrain -q "$SMOKE" "${args[@]}" -o "$OUT/whole"
    cp "$OUT/whole" "$OUT/cut.part"
    cat "$OUT/whole" >>"$OUT/cut.part" # longer than what the new run writes
    sparsetrain -q "$SMOKE" --method SGD --set epochs=100000 -o "$OUT/y" --checkpoint-every 100 3>&- &
    pid=$!
    patiently [ -e "$OUT/y.ckpt" ]
    kill -KILL $pid
    wait $pid || true
    # the same cell, another program: its identity stands after 16 bytes of magic and 72 of key
    key=$(sed -n '1s/.*"cell_key":"\([0-9a-f]*\)".*/\1/p' "$OUT/whole")
    {
        head -c 16 "$OUT/y.ckpt"
        printf '%s' "$key"
        printf '\0\0\0\0\0\0\0\0older'
        tail -c +94 "$OUT/y.ckpt" | head -c -64
    } >"$OUT/body"
    { cat "$OUT/body"; sha256sum "$OUT/body" | cut -c 1-64 | tr -d '\n'; } >"$OUT/cut.ckpt"
    run -0 --separate-stderr sparsetrain "$SMOKE" "${args[@]}" -o "$OUT/cut" --resume
    [[ $stderr == *"another version of the program: starting afresh"* ]]
    same_series "$OUT/whole" "$OUT/cut"
}

@test "a stop that comes during the last step is too late to matter" {
    # the checkpoint falls on the last step too: nothing is left behind
    sparsetrain -q "$SMOKE" --method SGD --set epochs=null --set steps=100 -o "$OUT/r" --checkpoint-every 100
    [ ! -e "$OUT/r.ckpt" ] && [ ! -e "$OUT/r.part" ]
    tail -n 1 "$OUT/r" | grep -q '"status":"ok".*"steps":100'
}

@test "--record-inputs: what its header says, whole or not at all, and kept unless forced" {
    local run=(-q "$SMOKE" --method "Top-k k=4" --set epochs=3)
    sparsetrain "${run[@]}" -o "$OUT/a.ndjson" --record-inputs "$OUT/a.inputs"
    # a line of JSON, then T (8 + n (8 + 4 d)) bytes and a checksum
    header=$(head -n 1 "$OUT/a.inputs")
    [[ $header == '{"schema":"sparsetrain-inputs/2","method":"Top-k k=4","seed":"1"'*'"layers":[40]}' ]]
    steps=$(jq .steps <<<"$header") workers=$(jq .workers <<<"$header")
    [ "$(stat -c %s "$OUT/a.inputs")" = $((${#header} + 1 + steps * (8 + workers * (8 + 4 * 40)) + 64)) ]
    sparsetrain "${run[@]}" --record-inputs "$OUT/b.inputs" --threads 1 >/dev/null
    cmp "$OUT/a.inputs" "$OUT/b.inputs"
    run -2 --separate-stderr sparsetrain "${run[@]}" --record-inputs "$OUT/a.inputs"
    [ ! -e "$OUT/a.inputs.part" ]
}

@test "a recording, a result and a checkpoint of one name are refused before the run" {
    mkdir -p "$OUT/names/folder"
    cd "$OUT/names"
    for names in "-o x --record-inputs x" "-o x --record-inputs folder/../x" "-o x --record-inputs x.ckpt" \
        "-o x.part --record-inputs x" "-o x --checkpoint x.part" "-o x --record-inputs k --checkpoint ./k"; do
        run -2 --separate-stderr sparsetrain -q "$ROOT/$SMOKE" --method SGD --force $names
        [[ $stderr == *"would be both the "*": choose another name" ]] || { echo "$names: $stderr"; false; }
        [ "$(ls)" = folder ]
    done
    sparsetrain -q "$ROOT/$SMOKE" --method SGD --set epochs=1 -o x --record-inputs folder/x
}

stop_at_checkpoint() { # ARGUMENTS...: of a run to $OUT/cut
    env --default-signal=INT sparsetrain -q "$@" --checkpoint-every 500 3>&- &
    pid=$!
    patiently [ -e "$OUT/cut.ckpt" ]
    kill -INT $pid
    wait $pid || true
    [ -e "$OUT/cut.ckpt" ]
}

@test "each signal that asks to stop leaves a checkpoint and a word; one that was ignored at the start stays ignored" {
    local args=("$SMOKE" --method SGD --set epochs=9999999 --set record.every=100000 --checkpoint-every 500 --force)
    for signal in TERM:143 INT:130 HUP:129 USR1:138 USR2:140 XCPU:152; do
        # Whoever runs the tests under nohup ignores HUP, and so would the run.
        env --default-signal="${signal%:*}" sparsetrain -q "${args[@]}" -o "$OUT/signal" 2>"$OUT/word" 3>&- &
        pid=$!
        patiently [ -e "$OUT/signal.part" ]
        kill -"${signal%:*}" $pid
        code=0
        wait $pid || code=$?
        [ $code = "${signal#*:}" ]
        [ -e "$OUT/signal.ckpt" ]
        grep -q "stopped by signal $((code - 128)) after step" "$OUT/word"
        rm "$OUT"/signal*
    done
    for signal in HUP INT; do # as under nohup, and behind & in a script
        (trap '' $signal && exec sparsetrain -q "${args[@]}" -o "$OUT/signal" 2>"$OUT/word" 3>&-) &
        pid=$!
        patiently [ -e "$OUT/signal.ckpt" ]
        kill -$signal $pid
        sleep 0.5
        kill -0 $pid
        kill -TERM $pid
        code=0
        wait $pid || code=$?
        [ $code = 143 ]
        rm "$OUT"/signal*
    done
}

@test "--record-gradients: every gradient of the run, stopped or not" {
    local args=("$SMOKE" --method SGD --set epochs=200 --set error-feedback=gradient)
    stop_at_checkpoint "${args[@]}" -o "$OUT/cut" --record-gradients "$OUT/cut.g"
    sparsetrain -q "${args[@]}" -o "$OUT/cut" --record-gradients "$OUT/cut.g" --resume
    sparsetrain -q "${args[@]}" --record-gradients "$OUT/whole.g" >/dev/null
    cmp "$OUT/cut.g" "$OUT/whole.g"
    header=$(head -n 1 "$OUT/whole.g")
    [[ $header == '{"schema":"sparsetrain-gradients/2"'*'"layers":[40],"rows":[1]}' ]]
    # Without compression and learning rate, what the compressor is given is the gradient.
    sparsetrain -q "${args[@]}" --record-inputs "$OUT/inputs" >/dev/null
    cmp <(tail -n +2 "$OUT/whole.g" | head -c -64) <(tail -n +2 "$OUT/inputs" | head -c -64)
}

@test "--record-inputs from the middle of a run: refused with the remedy; no longer recorded: said" {
    local args=("$SMOKE" --method SGD --set epochs=1000 -o "$OUT/cut")
    stop_at_checkpoint "${args[@]}"
    run -1 --separate-stderr sparsetrain -q "${args[@]}" --resume --record-inputs "$OUT/k.in"
    [[ $stderr == *"k.in.part does not hold the "*"start again with --force instead of --resume, or go on without recording it" ]]
    [ -e "$OUT/cut.ckpt" ] && [ ! -e "$OUT/k.in.part" ]
    # another run's file there is no help
    sparsetrain -q "$SMOKE" --method SGD --set epochs=1 --record-inputs "$OUT/k.in" >/dev/null
    run -1 --separate-stderr sparsetrain -q "${args[@]}" --resume --record-inputs "$OUT/k.in"
    [[ $stderr == *"k.in.part does not hold the "* ]]
    sparsetrain -q "${args[@]}" --resume
    rm "$OUT/cut"
    stop_at_checkpoint "${args[@]}" --record-inputs "$OUT/k.in" --force
    run -0 --separate-stderr sparsetrain "${args[@]}" --resume
    [[ $stderr == *"no longer recorded: FILE.part of its recording can be deleted"* ]]
}

@test "a budget that is met is no warning" {
    local args=(-q "$SMOKE" --method H --set "methods=[{name: H, compressor: hard-threshold, budget: 1}]")
    run -0 --separate-stderr sparsetrain "${args[@]}" --set methods.H.budget=0.05
    [ -z "$stderr" ]
}

@test "--help-compressors has a row for every compressor, with the bits of an example" {
    run -0 --separate-stderr sparsetrain --help-compressors
    rows=$(grep -v '^#' <<<"$output" | awk '{ print $1 }')
    [ "$rows" = "$(table compressor)" ]
    [ "$(sort <<<"$rows" | uniq -d)" = "" ]
    for row in "none selector exact no - 32 yes" "topk selector relative no wanted 0.625 yes" \
        "ef-signsgd code relative no wanted 1.01 yes" "signsgd rounds - no - 1 yes" "natural code unbiased yes - 9 yes" \
        "wangni coder unbiased yes - 0.173 -" "signtopk coder relative no wanted 0.135 yes" "powersgd rounds - no wanted 4 yes" "# fp32 fp16 levels bf16 signs" "# update gradient none dgc-momentum ef21"; do
        grep -q "^$row" <(tr -s ' ' <<<"$output") || { echo "$row"; false; }
    done
}

@test "--help-compressors --json: the same rows, with ranges and defaults of the parameters; --version --json" {
    sparsetrain --help-compressors --json >"$OUT/all.json"
    diff <(sparsetrain --help-compressors | awk '!/^#/ { print $1, $2, $6 }') \
        <(jq -r '.compressors[] | [.compressor, .kind, .bits_per_element] | join(" ")' "$OUT/all.json" | awk '{ print $1, $2, $3 == "" ? "-" : sprintf("%.3g", $3) }')
    [ "$(jq -c '.compressors[] | select(.compressor == "topk").parameters[0] | [.name, .integer, .min, .default]' "$OUT/all.json")" = '["k",true,1,null]' ]
    [ "$(jq -r '[.schema, .values_on_gpu[0], .error_feedback_on_gpu[0]] | join(" ")' "$OUT/all.json")" = "sparsegrad-compressors/1 fp32 update" ]
    for program in sparsetrain sparsebench sparsetune sparseplot-export; do
        [ "$("$program" --version --json | jq -r '.name, .version, (.features | keys | join("+")), .libraries.libyaml' | xargs)" = \
            "$program $(sparsetrain --version | sed -n '1s/^sparsetrain \([0-9.]*\) .*/\1/p') cuda+mpi+torch $(sparsetrain --version | sed -n 's/.*libyaml //p')" ]
    done
}

@test "full-gradient-norm: as Python has it along gradient descent, whatever the threads; no other task has it" {
    awk 'BEGIN { for (i = 0; i < 37; i++) { printf i % 3 ? "-1" : "+1"; for (j = 1; j < 6; j++) printf " %d:%g", j, sin(7 * i + j * j); print "" } }' >"$OUT/own.libsvm"
    cat >"$OUT/r.yaml" <<END
schema: 1
name: descent
task: {kind: logreg, dataset: $OUT/own.libsvm, l2: 0.25, oracle: full, solve-optimum: false}
workers: 1
steps: 30
optimizer: {learning-rate: 0.5}
record: {every: 3, series: [full-gradient-norm, loss]}
methods:
  - {name: SGD, compressor: none}
END
    sparsetrain -q "$OUT/r.yaml" --threads 1 --set workers=3 >"$OUT/one.ndjson"
    sparsetrain -q "$OUT/r.yaml" --threads 2 --set workers=3 >"$OUT/two.ndjson"
    cmp <(grep '"step"' "$OUT/one.ndjson") <(grep '"step"' "$OUT/two.ndjson")
    sparsetrain -q "$OUT/r.yaml" | python3 -c '
import json, math, sys
rows = [line.split() for line in open(sys.argv[1])]
rows = [(float(row[0]), [float(v.split(":")[1]) for v in row[1:]]) for row in rows]
seen = {r["step"]: r["full_gradient_norm"] for r in map(json.loads, sys.stdin) if r["record"] == "step"}
assert sorted(seen) == list(range(0, 31, 3))
x = [0] * 5
for t in range(31):
    g = [0.25 * u for u in x]
    for y, a in rows:
        slope = -y / (1 + math.exp(y * sum(u * v for u, v in zip(a, x)))) / len(rows)
        g = [u + slope * v for u, v in zip(g, a)]
    square = sum(u * u for u in g)
    assert t not in seen or abs(seen[t] / square - 1) < 1e-5, (t, seen[t], square) # a step rounds g to floats
    x = [u - 0.5 * v for u, v in zip(x, g)]
' "$OUT/own.libsvm"
    run -2 --separate-stderr sparsetrain "$OUT/r.yaml" --dry-run \
        --set 'task={kind: cnn, model: resnet8, dataset: cifar-10, stand-in: cifar-like}'
    [[ $stderr == *"record.series: task 'cnn' cannot record 'full-gradient-norm'"* ]]
}

