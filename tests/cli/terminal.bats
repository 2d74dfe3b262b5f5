#!/usr/bin/env bats
# What programs write to a terminal, a launcher's pipe, a full disk and closed descriptors.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$ROOT" || exit 1
    export SPARSE_DATA=$CACHE
    OUT=$BATS_TEST_TMPDIR
    SMOKE=recipes/smoke.yaml
}

@test "closed descriptors: no message gets into a result, for any program and any of the three" {
    sparsetrain "$SMOKE" --method SGD -o "$OUT/whole"
    for closed in '2>&-' '>&-' '<&-' '<&- >&-' '<&- >&- 2>&-' '>&- 2>&-' '<&- 2>&-'; do
        eval "sparsetrain $SMOKE --method SGD -o '$OUT/r' --force $closed"
        same_series "$OUT/whole" "$OUT/r" || { echo "sparsetrain $closed"; false; }
        eval "sparsetrain $SMOKE --method SGD -o '$OUT/r.json' --force $closed"
        jq -e '.end.status == "ok"' "$OUT/r.json"
        eval "sparsebench $SMOKE --set steps=20 --method SGD --folder '$OUT/cells' -o '$OUT/b.json' --force $closed"
        jq -e '.status == "ok"' "$OUT/b.json"
        eval "sparseplot-export -v '$OUT/b.json' --y=suboptimality --format=csv -o '$OUT/e.csv' --force $closed"
        [ -s "$OUT/e.csv" ] && [ "$(grep -c "^sparseplot" "$OUT/e.csv")" = 0 ]
    done
    sparsetrain -q "$SMOKE" --method "Top-k k=4" --set epochs=3 --record-inputs "$OUT/k" >/dev/null
    sparsetune "$SMOKE" --set epochs=3 --oracle "$OUT/k" --json -o "$OUT/t.json" --force 2>&-
    jq -e . "$OUT/t.json" >/dev/null
}

@test "closed descriptors: reading stdin and writing stdout are errors" {
    for program in sparsetrain sparsebench; do
        run ! --separate-stderr bash -c "$program -q - <&-"
        [[ $stderr == *"Bad file descriptor"* ]]
    done
    for program in sparsetrain sparsebench sparsetune sparseplot-export; do
        run -1 --separate-stderr bash -c "$program --version >&-"
        [ "$stderr" = "$program: cannot write the result: Bad file descriptor" ]
    done
}

@test "a full disk is said once, by its name" {
    for format in --ndjson --json --table; do
        run -1 --separate-stderr bash -c "sparsetrain -q $SMOKE --method SGD $format >/dev/full"
        [[ $stderr == "sparsetrain: cannot write the "*": No space left on device" ]]
        [ "$(grep -c . <<<"$stderr")" = 1 ]
    done
    for command in "sparsetrain -q $SMOKE --method SGD -o /dev/full" "sparsetrain --help >/dev/full" \
        "sparsebench -q $SMOKE --method SGD --set steps=20 --folder $OUT/cells --force >/dev/full" \
        "sparsetune --help >/dev/full" "sparseplot-export --help >/dev/full"; do
        run -1 --separate-stderr bash -c "$command"
        stderr=$(grep -v "the data are generated" <<<"$stderr")
        [[ $stderr == *": No space left on device" && $stderr != *"Input/output"* ]] || { echo "$command: $stderr"; false; }
        [ "$(grep -c . <<<"$stderr")" = 1 ]
    done
}

@test "help of every program fits 80 columns" {
    for program in sparsetrain sparsebench sparsetune sparseplot-export; do
        for option in -h --help; do
            run -0 --separate-stderr "$program" $option
            [ -z "$(awk 'length > 80' <<<"$output")" ] || { awk 'length > 80' <<<"$output"; false; }
        done
    done
}

@test "a terminal's lines hold claims, the last sentence, the answer and the list of compressors" {
    on_terminal() { # COLUMNS COMMAND
        script -qec "stty cols $1; NO_COLOR=1 $2" /dev/null | tr -d '\r' >"$OUT/shown"
        [ "$(LC_ALL=C.UTF-8 wc -L <"$OUT/shown")" -le "$1" ] || { cat "$OUT/shown"; false; }
    }
    for columns in 60 80; do
        on_terminal $columns "sparseplot-export -q results/mini-fig2b.json"
        [ "$(sed -n '/^claims/,$p' "$OUT/shown" | grep -c '^ \{11,\}[^ ]')" -ge 5 ] # behind the verdict
        [[ $(tr -s '\n ' ' ' <"$OUT/shown") == *"$(jq -r .summary.text results/mini-fig2b.json)"* ]]
        on_terminal $columns "sparsebench -q $SMOKE --folder '$OUT/cells' --set steps=20 --network workers=16,link=10gbe-tcp 2>&-"
        grep -q '^# modelled: 16 workers, 10gbe-tcp' "$OUT/shown"
    done
    on_terminal 80 "sparsetrain --help-compressors"
    [[ $(tr -s '\n ' ' ' <"$OUT/shown") == *" Strom, Interspeech 2015; Dutta et al., AAAI 2020 "* ]]
    # A pipe has each of them in one line, unless COLUMNS says how long lines may be.
    run -0 sparseplot-export -q results/mini-fig2b.json --format=table
    [[ $output == *$'\n'"$(jq -r .summary.text results/mini-fig2b.json)"* ]]
    [ "$(COLUMNS=50 sparseplot-export -q results/mini-fig2b.json --format=table | sed -n '/^claims/,$p' | LC_ALL=C.UTF-8 wc -L)" -le 50 ]
}

@test "progress and messages are cut between words on a narrow terminal, and the time left stays" {
    sed 's/Top-k/Top-k of a long name/g' "$SMOKE" >"$OUT/long.yaml"
    script -qec "stty cols 40; sparsebench '$OUT/long.yaml' --folder '$OUT/long' -j 4 --time-limit 3 \
        --set steps=1000000" /dev/null >"$OUT/raw" </dev/null || true
    tr '\r' '\n' <"$OUT/raw" | sed 's/\x1b\[[0-9]*[A-Z]//g' >"$OUT/shown"
    [ "$(LC_ALL=C.UTF-8 wc -L <"$OUT/shown")" -le 40 ] || { cat "$OUT/shown"; false; }
    grep -qE '^  \[#*\.+\] +[0-9]+ %  Top-k of a, seed 1$' "$OUT/shown"
    grep -qE '^0 of [0-9]+ cells done, about [0-9.]+ (s|min|h) left$' "$OUT/shown"
    script -qec "stty cols 40; sparsetrain '$SMOKE' --method SGD --seed 1 --time-limit 1 -o '$OUT/r' --set epochs=null \
        --set steps=1000000" /dev/null >"$OUT/raw" </dev/null || true
    tr '\r' '\n' <"$OUT/raw" | sed 's/\x1b\[[0-9]*[A-Z]//g' >"$OUT/shown"
    [ "$(LC_ALL=C.UTF-8 wc -L <"$OUT/shown")" -le 40 ] || { cat "$OUT/shown"; false; }
    grep -qE '^SGD,? .*\[#*\.+\] +[0-9]+ % .*left$' "$OUT/shown"
}

@test "a long run is some twenty aligned rows on a terminal, first and last among them" {
    run -0 script -qec "sparsetrain -q $SMOKE --method SGD --set epochs=null --set steps=3000 --set record.every=1" /dev/null
    text=$(tr -d '\r' <<<"$output")
    rows=$(grep -v '^#' <<<"$text")
    [ "$(wc -l <<<"$rows")" = 20 ]
    [ "$(head -n 1 <<<"$rows" | awk '{print $1}')" = 0 ]
    [ "$(tail -n 1 <<<"$rows" | awk '{print $1}')" = 3000 ]
    # evenly spread, and all lines but the first and the last as long as each other
    awk 'NR > 1 && ($1 - last < 157 || $1 - last > 159) { exit 1 } { last = $1 }' <<<"$rows"
    [ "$(sed '1d;$d' <<<"$text" | awk '{ print length }' | sort -u | wc -l)" = 1 ]
    [ -z "$(awk 'length > 80' <<<"$text")" ]
    # six digits at most
    [ "$(grep -cE '[0-9]\.[0-9]{9}' <<<"$rows")" = 0 ]
    [ "$(tail -n 1 <<<"$text")" = "# 20 of 3001 points, 6 digits; all of it: -o FILE or --ndjson" ]
    [ "$(sed -n 2p <<<"$text" | wc -w)" = 7 ]
}

@test "--table in a pipe; a short run is all there; columns that do not fit are named" {
    run -0 --separate-stderr sparsetrain -q "$SMOKE" --method SGD --table --set epochs=null --set steps=5 --set record.every=1 \
        --set 'record.series=[loss, suboptimality, error-norm, error-max, total-error, bits, bytes-sent, average-density]'
    [ "$(grep -vc '^#' <<<"$output")" = 6 ]
    [ -z "$(awk 'length > 80' <<<"$output")" ]
    [[ ${lines[-1]} == "# 6 of 6 points, "* ]]
    [[ $output == *"# no room for: "*"(COLUMNS="*" shows all)"* ]]
    run -2 --separate-stderr sparsetrain "$SMOKE" --method SGD --table --json
    [[ $stderr == *"exclude each other"* ]]
    run -2 --separate-stderr sparsetrain "$SMOKE" --method SGD --table -o "$OUT/r"
    [[ $stderr == *"--table is for standard output"* ]]
}

@test "under a launcher standard output is a series, on a terminal too, unless a table is asked for" {
    have_mpi || skip "built without MPI, or mpirun is not installed"
    sparsetrain -q "$SMOKE" --method SGD -o "$OUT/one"
    for n in 1 2; do
        $MPI -n $n "$BIN/sparsetrain" -q "$SMOKE" --method SGD >"$OUT/run.ndjson" 3>&-
        same_series "$OUT/one" "$OUT/run.ndjson"
        run -0 script -qec "$MPI -n $n $BIN/sparsetrain -q $SMOKE --method SGD" /dev/null
        [[ $output == *'{"record":"end","status":"ok"'* ]]
        run -0 script -qec "$MPI -n $n $BIN/sparsetrain -q $SMOKE --method SGD --table" /dev/null
        [[ $output == *"# smoke, SGD, seed 1: ok"* && $output != *'"record"'* ]]
    done
}

@test "a running program is called by its name" {
    env -u GOMP_SPINCOUNT "$BIN/sparsetrain" -q "$SMOKE" --method SGD --set epochs=100000 -o "$OUT/r" 3>&- &
    pid=$!
    patiently [ -s "$OUT/r.part" ]
    [ "$(cat /proc/$pid/comm)" = sparsetrain ]
    kill -KILL $pid
    wait $pid || true
}

@test "a stack that is too small is made larger; where that is forbidden, that is said" {
    local program
    sparsetrain -q "$SMOKE" --method SGD -o "$OUT/one"
    (ulimit -S -s 64 && sparsetrain -q "$SMOKE" --method SGD --threads 2 -o "$OUT/soft")
    same_series "$OUT/one" "$OUT/soft"
    for program in "sparsetrain --method SGD $SMOKE" "sparsebench --dry-run $SMOKE" "sparsetune --theory $SMOKE" \
        "sparseplot-export --format=csv --x=step --y=density $OUT/one"; do
        code=0
        # shellcheck disable=SC2086
        (ulimit -s 64 && "$BIN"/$program) >"$OUT/out" 2>"$OUT/err" || code=$?
        [ $code = 0 ] || { [ $code = 1 ] && grep -q "stack is limited to 64 KB.*ulimit -s" "$OUT/err"; }
    done
}

@test "text of a stranger's file steers no terminal: each text and key of a result, a word of data, a name of a tensor" {
    find_python json || skip "no Python"
    cd "$OUT"
    sparsebench -q "$ROOT/$SMOKE" --set seeds=1 --folder cells -o r.json
    printf '\x1b]0;title\x07\x1b[31m 1:1\n' >evil.libsvm
    run ! --separate-stderr sparsetrain -q "$ROOT/$SMOKE" --method SGD --set task.dataset=./evil.libsvm --set task.stand-in=null
    [[ $stderr == *"malformed number '\x1b]0;title\x07\x1b[31m'"* ]]
    "$PYTHON" - "$ROOT" <<'PY'
import copy, json, os, re, subprocess, sys
EVIL = "E\x1b[31m\x9b2J\u202e\u2028\x07\x7f\nV"
BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]")
result = json.load(open("r.json"))
def leaves(x, path=()):
    if isinstance(x, (dict, list)):
        for k, v in list(x.items() if isinstance(x, dict) else enumerate(x[:2])):
            if isinstance(x, dict) and path[-1:] in (("series",), ("final",), ("units",)):
                yield path + (("key", k),)
            yield from leaves(v, path + (k,))
    elif isinstance(x, str):
        yield path
def spoilt(path):
    document = copy.deepcopy(result)
    x = document
    for p in path[:-1]:
        x = x[p]
    if isinstance(path[-1], tuple):
        x[EVIL] = x.pop(path[-1][1])
    else:
        x[path[-1]] = EVIL
    return document
paths = [p for p in leaves(result) if p[0] not in ("host", "libraries", "program") and p[:2] != ("recipe", "resolved")]
assert len(paths) > 40, len(paths)
for path in paths[::5 if os.environ.get("SPARSE_TEST_LEVEL") == "all" else 1]: # a push tries each fifth
    json.dump(spoilt(path), open("e.json", "w"))
    for command in (["sparseplot-export", "e.json", "--format=table", "-v"], ["sparsebench", "--compare", "e.json", "r.json", "--table", "-v"], ["sparsebench", "--audit", "e.json", "--table"],
                    *([sys.executable, f"{sys.argv[1]}/results/analysis/{script}.py", "e.json", *more] for script, more in (("explain", ()), ("profile", ("r.json",))))):
        p = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
        for said in (p.stdout, p.stderr):
            assert said[:1] == b"{" or not BAD.search(said.decode()), (path, command, said)
print(len(paths))
PY
}
