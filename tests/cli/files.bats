#!/usr/bin/env bats
# The files of a run: who may write them, what a stop or a kill leaves, what is resumed and what is refused.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$ROOT" || exit 1
    export SPARSE_DATA=$CACHE
    OUT=$BATS_TEST_TMPDIR/out # bats keeps files of its own beside
    mkdir "$OUT"
    SMOKE=recipes/smoke.yaml
    LONG=("$SMOKE" --method "Top-k k=4" --set epochs=null --set steps=60000 --threads 1)
    SHORT=(-q "$SMOKE" --method "Top-k k=4" --set epochs=null --set steps=10000 --threads 1)
}

wait_for() { # FILE
    patiently [ -s "$1" ]
}

# A run to $OUT/cut that is killed once it has a checkpoint.
kill_at_checkpoint() { # ARGUMENTS...
    sparsetrain "$@" -o "$OUT/cut" --checkpoint-every 500 3>&- &
    local pid=$! code=0
    wait_for "$OUT/cut.ckpt"
    kill -KILL $pid
    wait $pid || code=$?
    [ "$code" = 137 ] && [ -s "$OUT/cut.part" ]
}

flip() { # BYTE FILE: its lowest bit
    local was
    was=$(od -An -tu1 -j "$1" -N 1 "$2")
    printf "\\x$(printf %x $((was ^ 1)))" | dd of="$2" bs=1 seek="$1" conv=notrunc status=none
    [ "$(od -An -tu1 -j "$1" -N 1 "$2")" -eq $((was ^ 1)) ]
}

@test "two runs with one -o: the second is refused at once, the first is whole" {
    sparsetrain -q "${LONG[@]}" -o "$OUT/whole"
    sparsetrain -q "${LONG[@]}" -o "$OUT/both" 3>&- &
    pid=$!
    wait_for "$OUT/both.part"
    for options in --force --resume "--resume --force" ""; do
        # shellcheck disable=SC2086
        says 1 "another sparsetrain writes $OUT/both.part" -- sparsetrain -q "$SMOKE" --method Hard-threshold -o "$OUT/both" $options
    done
    kill -0 $pid
    wait $pid
    same_series "$OUT/whole" "$OUT/both"
    [ "$(ls "$OUT")" = "$(printf 'both\nwhole')" ]
}

@test "two runs with one recording: the second is refused" {
    sparsetrain -q "${LONG[@]}" --record-inputs "$OUT/k" >"$OUT/first" 3>&- &
    pid=$!
    wait_for "$OUT/k.part"
    says 1 "another sparsetrain writes $OUT/k.part" -- sparsetrain "${SHORT[@]}" --record-inputs "$OUT/k"
    kill -0 $pid
    wait $pid
    grep -q '"steps":60000,' <(head -n 1 "$OUT/k")
}

@test "a part that is another file when the run ends gets no name" {
    sparsetrain -q "${LONG[@]}" -o "$OUT/r" 2>"$OUT/err" 3>&- &
    pid=$!
    wait_for "$OUT/r.part"
    mv "$OUT/r.part" "$OUT/away"
    echo "somebody else's" >"$OUT/r.part"
    kill -0 $pid
    code=0
    wait $pid || code=$?
    [ "$code" = 1 ] && [ ! -e "$OUT/r" ]
    grep -q "r.part is no longer the file" "$OUT/err"
    [ "$(cat "$OUT/r.part")" = "somebody else's" ]
}

@test "a stopped run is not dropped unasked: --resume goes on, --force starts again" {
    sparsetrain -q "${LONG[@]}" -o "$OUT/whole"
    kill_at_checkpoint -q "${LONG[@]}"
    cp "$OUT/cut.ckpt" "$OUT/ckpt"
    cp "$OUT/cut.part" "$OUT/part"
    run -2 --separate-stderr sparsetrain -q "${LONG[@]}" -o "$OUT/cut"
    [[ $stderr == *"cut.part and $OUT/cut.ckpt are of a run that was stopped: go on with --resume, or start again with --force" ]]
    run -0 sparsetrain "${LONG[@]}" -o "$OUT/cut" --dry-run
    cmp "$OUT/cut.ckpt" "$OUT/ckpt"
    cmp "$OUT/cut.part" "$OUT/part"
    for options in "--resume" "--resume --force" "--force" "--force --no-resume"; do
        cp "$OUT/ckpt" "$OUT/cut.ckpt"
        cp "$OUT/part" "$OUT/cut.part"
        # shellcheck disable=SC2086
        sparsetrain -q "${LONG[@]}" -o "$OUT/cut" $options
        same_series "$OUT/whole" "$OUT/cut" || { echo "$options"; false; }
        [ ! -e "$OUT/cut.ckpt" ] && [ ! -e "$OUT/cut.part" ]
        rm "$OUT/cut"
    done
}

@test "what a stopped run promises is true: the same command with --resume goes on" {
    local args=("${LONG[@]}" --set steps=2000000 -o "$OUT/r" --force)
    env --default-signal=INT sparsetrain "${args[@]}" 2>"$OUT/err" 3>&- &
    pid=$!
    wait_for "$OUT/r.part"
    kill -INT $pid
    code=0
    wait $pid || code=$?
    [ "$code" = 130 ]
    grep -q "run the same command with --resume to go on" "$OUT/err"
    env --default-signal=INT sparsetrain "${args[@]}" --resume 2>"$OUT/err" 3>&- &
    pid=$!
    sleep 0.3
    kill -INT $pid
    wait $pid || true
    stopped=$(sed -n 's/.*after step \([0-9]*\) of.*/\1/p' "$OUT/err")
    [ "$stopped" -gt "$(grep -c . "$OUT/r.part")" ]
}

@test "a bit that flips in the series before the checkpoint is noticed" {
    kill_at_checkpoint -q "${LONG[@]}"
    cp "$OUT/cut.part" "$OUT/good"
    # the checkpoint of step 500 at least: 51 records and the header
    bytes=$(head -n 52 "$OUT/good" | wc -c)
    for i in $(seq 0 19); do
        cp "$OUT/good" "$OUT/cut.part"
        flip $((i * bytes / 20)) "$OUT/cut.part"
        run -1 --separate-stderr sparsetrain -q "${LONG[@]}" -o "$OUT/cut" --resume
        [[ $stderr == *"the partial series was changed since $OUT/cut.ckpt was written, or is damaged: start again with --force instead of --resume" ]]
    done
    head -c $((bytes / 2)) "$OUT/good" >"$OUT/cut.part"
    says 1 "the partial series is shorter than " -- sparsetrain -q "${LONG[@]}" -o "$OUT/cut" --resume
    cp "$OUT/good" "$OUT/cut.part"
    sparsetrain -q "${LONG[@]}" -o "$OUT/cut" --resume
}

@test "a bit that flips in a recording before the checkpoint is noticed" {
    local args=(-q "${LONG[@]}" --record-inputs "$OUT/k")
    kill_at_checkpoint "${args[@]}"
    cp "$OUT/k.part" "$OUT/good"
    header=$(head -n 1 "$OUT/good" | wc -c)
    bytes=$((header + 500 * (8 + 4 * (8 + 4 * 40))))
    [ "$(stat -c %s "$OUT/good")" -ge $bytes ]
    for i in $(seq 0 19); do
        cp "$OUT/good" "$OUT/k.part"
        flip $((header + i * (bytes - header) / 20)) "$OUT/k.part"
        run -1 --separate-stderr sparsetrain "${args[@]}" -o "$OUT/cut" --resume
        [[ $stderr == *"k.part was changed since the checkpoint or is damaged: start again with --force instead of --resume"* ]]
    done
}

@test "a bit that flips in a finished recording is noticed; one of schema 1 has no checksum" {
    local args=(-q "$SMOKE" --method "Top-k k=4" --set epochs=null --set steps=20 -o "$OUT/r" --record-inputs "$OUT/k")
    sparsetrain "${args[@]}"
    cp "$OUT/k" "$OUT/good"
    bytes=$(stat -c %s "$OUT/good")
    for i in $(seq 0 19); do
        cp "$OUT/good" "$OUT/k"
        flip $((i * bytes / 20)) "$OUT/k"
        run -2 --separate-stderr sparsetrain "${args[@]}" --resume
        [[ $stderr == *"$OUT/k is not whole"*"remove the former to run again" ]]
        run ! sparsetune -q "$SMOKE" --oracle "$OUT/k"
    done
    head -c -64 "$OUT/good" | sed '1s|inputs/2|inputs/1|' >"$OUT/k"
    sparsetrain "${args[@]}" --resume
    cp "$OUT/k" "$OUT/old"
    sparsetune -q "$SMOKE" --set steps=20 --oracle "$OUT/old" >"$OUT/old.json"
    sparsetune -q "$SMOKE" --set steps=20 --oracle "$OUT/good" >"$OUT/good.json"
    cmp <(jq -c 'del(.run) | .tune | del(.recording)' "$OUT/old.json") <(jq -c 'del(.run) | .tune | del(.recording)' "$OUT/good.json")
}

@test "a checkpoint in an older format starts afresh and says so" {
    sparsetrain "${SHORT[@]}" -o "$OUT/whole"
    kill_at_checkpoint -q "$SMOKE" --method "Top-k k=4" --set epochs=100000
    key=$(sed -n '1s/.*"cell_key":"\([0-9a-f]*\)".*/\1/p' "$OUT/whole")
    identity=$(jq -r '.program.identity' <(head -n 1 "$OUT/whole"))
    {
        printf 'sg-checkpoint/1\0%s\0\0\0\0\0\0\0\0%s' "$key" "$identity"
        tail -c +$((16 + 72 + ${#identity} + 1)) "$OUT/cut.ckpt" | head -c -64
    } >"$OUT/body"
    { cat "$OUT/body"; sha256sum "$OUT/body" | cut -c 1-64 | tr -d '\n'; } >"$OUT/cut.ckpt"
    says 0 "another version of the program: starting afresh" -- sparsetrain "${SHORT[@]:1}" -o "$OUT/cut" --resume
    same_series "$OUT/whole" "$OUT/cut"
}

@test "killed after the recording has its name and before the result: --resume goes on in it" {
    local args=("${SHORT[@]}" --record-inputs "$OUT/k")
    sparsetrain "${args[@]}" -o "$OUT/whole"
    cp "$OUT/k" "$OUT/good"
    rm "$OUT/k"
    kill_at_checkpoint "${args[@]}"
    mv "$OUT/good" "$OUT/k"
    rm "$OUT/k.part"
    cp "$OUT/k" "$OUT/good"
    sparsetrain "${args[@]}" -o "$OUT/cut" --resume
    same_series "$OUT/whole" "$OUT/cut"
    cmp "$OUT/good" "$OUT/k"
    [ ! -e "$OUT/k.part" ]
}

@test "killed at each rename, unlink and sync of a recorded run to JSON: --resume ends with the same bytes, nothing is left" {
    command -v strace >/dev/null || skip "strace is not installed"
    strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"
    local args=("${SHORT[@]}" --set steps=120 --checkpoint-every 40 --json) killed=0 code n call
    sparsetrain "${args[@]}" -o "$OUT/whole" --record-inputs "$OUT/whole.k"
    for call in rename unlink fsync; do
        for n in 1 2 3 4 5 6 7 8 9; do
            rm -f "$OUT"/cut*
            code=0
            strace -f -qq -o /dev/null -e trace=$call -e inject=$call:signal=SIGKILL:when=$n \
                sparsetrain "${args[@]}" -o "$OUT/cut" --record-inputs "$OUT/cut.k" || code=$?
            [ $code = 0 ] && break
            killed=$((killed + 1))
            sparsetrain "${args[@]}" -o "$OUT/cut" --record-inputs "$OUT/cut.k" --resume
            cmp <(jq 'del(.run)' "$OUT/whole") <(jq 'del(.run)' "$OUT/cut")
            cmp "$OUT/whole.k" "$OUT/cut.k"
            [ "$(cd "$OUT" && echo cut*)" = "cut cut.k" ] || { ls "$OUT"; echo "$call $n"; false; }
        done
    done 2>"$OUT/err"
    [ $killed -ge 10 ]
}

@test "killed between a JSON result and its end: --resume clears up, another seed is not in the way" {
    local args=("${SHORT[@]}")
    sparsetrain "${args[@]}" -o "$OUT/series"
    kill_at_checkpoint "${args[@]}"
    mkdir "$OUT/state"
    sparsetrain "${args[@]}" -o "$OUT/state/r.json"
    cp "$OUT/cut.ckpt" "$OUT/state/r.json.ckpt"
    cp "$OUT/series" "$OUT/state/r.json.part"
    cp -r "$OUT/state" "$OUT/again"
    says 0 "r.json is finished: nothing to resume" -- sparsetrain "${args[@]:1}" -o "$OUT/state/r.json" --resume
    [ "$(ls "$OUT/state")" = r.json ]
    sparsetrain "${args[@]}" -o "$OUT/again/r.json" --seed 2 --resume --force
    [ "$(jq -r .seed "$OUT/again/r.json")" = 2 ]
    [ "$(ls "$OUT/again")" = r.json ]
}

@test "a stopped run of another cell beside a finished one is kept" {
    kill_at_checkpoint "${SHORT[@]}"
    cp "$OUT/cut.part" "$OUT/part"
    sparsetrain "${SHORT[@]}" --seed 2 -o "$OUT/two"
    mv "$OUT/two" "$OUT/cut"
    says 0 "nothing to resume" -- sparsetrain "${SHORT[@]:1}" --seed 2 -o "$OUT/cut" --resume
    cmp "$OUT/cut.part" "$OUT/part"
    [ -e "$OUT/cut.ckpt" ]
}

@test "temporary files of killed runs are removed by the next, those of running ones and other names stay" {
    touch "$OUT/r.ckpt.123.tmp" "$OUT/r.json.ckpt.9999999.tmp" "$OUT/r.456.tmp" "$OUT/r.json.456.tmp" \
        "$OUT/rr.ckpt.123.tmp" "$OUT/r.ckpt.12a.tmp" "$OUT/r.ckpt.7.tmp"
    exec 8<"$OUT/r.ckpt.7.tmp"
    flock -n 8
    sparsetrain "${SHORT[@]}" -o "$OUT/r"
    [ "$(cd "$OUT" && echo r*)" = "r r.ckpt.12a.tmp r.ckpt.7.tmp r.json.456.tmp r.json.ckpt.9999999.tmp rr.ckpt.123.tmp" ]
    exec 8<&-
    sparsetrain "${SHORT[@]}" -o "$OUT/r" --resume --force
    sparsetrain "${SHORT[@]}" -o "$OUT/r.json"
    touch "$OUT/r.ckpt.7.tmp"
    sparsetrain "${SHORT[@]}" -o "$OUT/r" --resume
    [ "$(cd "$OUT" && echo r*)" = "r r.ckpt.12a.tmp r.json rr.ckpt.123.tmp" ]
}

@test "names that cannot be written fail before training and leave nothing" {
    mkdir "$OUT/names"
    cd "$OUT/names"
    long=$(printf 'a%.0s' $(seq 246))
    for names in "-o=" "-o$long" "-ob --checkpoint=" "-ob --checkpoint=$long" "--record-inputs=" "--record-inputs=$long" \
        "-o$(printf 'a%.0s' $(seq 238))"; do
        run -2 --separate-stderr sparsetrain "$ROOT/$SMOKE" --method SGD ${names/-o=/--output=}
        [[ $stderr == *"is empty"* || $stderr == *"the name is too long"* ]] || { echo "$names: $stderr"; false; }
        [ -z "$(ls)" ]
    done
    sparsetrain "${SHORT[@]/recipes/$ROOT/recipes}" -o "${long:0:230}" --checkpoint-every 1000
}

@test "a named pipe as output: waits for a reader, and a signal ends that; as a part or a checkpoint it is refused" {
    mkfifo "$OUT/pipe" "$OUT/a.part" "$OUT/b.ckpt"
    run --separate-stderr timeout -k 5 2 sparsetrain "${SHORT[@]}" -o "$OUT/pipe"
    [ "$status" = 124 ]
    [[ $stderr == *"stopped by a signal while nobody read the pipe"* ]]
    (sleep 0.2; cat "$OUT/pipe" >"$OUT/got") 3>&- &
    sparsetrain "${SHORT[@]}" -o "$OUT/pipe"
    wait $!
    sparsetrain "${SHORT[@]}" -o "$OUT/whole"
    same_series "$OUT/whole" "$OUT/got"
    for name in a b; do
        says 2 "is not a plain file" -- timeout -k 5 5 sparsetrain "${SHORT[@]}" -o "$OUT/$name"
    done
}

@test "a link given to -o is followed; where it leads to an open file, that is written through as the shell left it" {
    local links=("$OUT/folder/../latest" "$OUT/export") real=$OUT/folder/real
    mkdir "$OUT/folder"
    ln -s folder/real "$OUT/latest"
    ln -s latest "$OUT/export"
    sparsetrain "${SHORT[@]}" -o "${links[0]}" # to a file that is not there yet
    sparsetrain "${SHORT[@]}" >"$OUT/whole"
    same_series "$OUT/whole" "$real"
    says 2 "--force" -- sparsetrain "${SHORT[@]}" -o "${links[0]}"
    cp "$real" "$OUT/folder/series"
    sparseplot-export "$OUT/folder/series" --format=csv --x=step --y=density -o "$OUT/export" --force
    [ -L "$OUT/latest" ] && [ -L "$OUT/export" ] && [ "$(ls "$OUT/folder")" = "$(printf 'real\nseries')" ]
    cmp "$real" <(sparseplot-export "$OUT/folder/series" --format=csv --x=step --y=density)
    ln -s loop "$OUT/loop"
    run -1 --separate-stderr sparsetrain "${SHORT[@]}" -o "$OUT/loop" --force

    ln -s /proc/self/fd/1 "$OUT/stdout" # what /dev/stdout is
    ln -s /proc/self/fd "$OUT/fd"
    local code=0
    sparsetrain "${SHORT[@]}" -o "$OUT/stdout" >&- 2>"$OUT/err" || code=$?
    [ $code = 1 ]
    echo precious >"$OUT/in"
    run -1 --separate-stderr sparsetrain "${SHORT[@]}" -o "$OUT/fd/0" --force <"$OUT/in"
    [ "$(cat "$OUT/in")" = precious ]
    for force in "" --force; do
        for name in stdout fd/1; do
            { echo first; sparsetrain "${SHORT[@]}" -o "$OUT/$name" $force; } >"$OUT/got"
            same_series <(echo first; cat "$OUT/whole") "$OUT/got"
            { echo first; } >"$OUT/got"
            sparsetrain "${SHORT[@]}" -o "$OUT/$name" $force >>"$OUT/got"
            same_series <(echo first; cat "$OUT/whole") "$OUT/got"
        done
        sparsetrain "${SHORT[@]}" --json -o "$OUT/stdout" $force >"$OUT/got"
        jq -e . "$OUT/got" >/dev/null
        sparseplot-export "$OUT/whole" --format=csv --x=step --y=density -o "$OUT/stdout" $force >"$OUT/got"
        cmp "$OUT/got" <(sparseplot-export "$OUT/whole" --format=csv --x=step --y=density)
        [ -L "$OUT/stdout" ]
    done
}

@test "a link in the place of a part is refused, in that of a checkpoint removed: what it leads to stays as it is" {
    echo precious >"$OUT/victim"
    ln -s victim "$OUT/r.part"
    ln -s victim "$OUT/k.part"
    says 2 "r.part is a symbolic link" -- sparsetrain "${SHORT[@]}" -o "$OUT/r" --force
    says 2 "k.part is a symbolic link" -- sparsetrain "${SHORT[@]}" --record-inputs "$OUT/k"
    rm "$OUT/r.part"
    ln -s victim "$OUT/r.ckpt"
    sparsetrain "${SHORT[@]}" -o "$OUT/r" --checkpoint-every 5000
    [ ! -L "$OUT/r" ] && [ ! -e "$OUT/r.ckpt" ] && [ "$(cat "$OUT/victim")" = precious ]
}

@test "more steps than can be counted are refused" {
    for epochs in 1e18 4e17 1e300; do
        says 2 "epochs: " " are more than the 2^53 that can be counted" -- sparsetrain -q "$SMOKE" --method SGD --set epochs=$epochs -o "$OUT/r"
    done
    [ -z "$(ls "$OUT")" ]
}
