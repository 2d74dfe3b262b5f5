#!/usr/bin/env bats
# Text of a result stays text in every format that sparseplot-export writes, whatever it holds.
# SPDX-License-Identifier: MIT
load common

FORMATS="csv tsv svg png pdf pgfplots pgfplots-axis table markdown latex html"
FIELDS="title label x y panel name sha256 version commit dataset source claim verdict reason unit"

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    command -v jq >/dev/null || skip "jq is not installed (apt-get install jq)"
}

# Payload number N of 24, with %s where the file is named that no command may ever make.
payload() {
    local all=($'\nsystem(\'touch %s\')\n' '`touch %s`' "'.system('touch %s').'" $'"; !touch %s\n' $'\n!touch %s\n'
        $'\\\n!touch %s\n' $'\'\nset output \'%s\'\n' '@touch%s' '$(touch %s)' $'\r!touch %s\r'
        $'\u2028!touch %s\u2028' $'\nEOD\n!touch %s\n' '\write18{touch %s}' '\immediate\write18{touch %s}'
        '^^5cimmediate^^5cwrite18{touch %s}' '\input{/etc/passwd}' $'%\n\\input{/etc/passwd}'
        '</title><script>alert(1)</script>' $'\x01\x02\x7f\x1b[31m' $'\u202e evil \u009b31m' ']]>' '&bogus; &#1;'
        $'a,b"c\nd' $'[x](javascript:alert(1))\t![y](http://example.org)')
    [ "$1" = count ] && { echo "${#all[@]}"; return; }
    printf '%s.' "${all[$1]//%s/$PWD/pwned}"
}

# A result with PAYLOAD in every one of the fields. Each field has its own name beside it, so that none hides another.
hostile() { # PAYLOAD
    jq -n --arg p "${1%.}" '{schema: "sparsebench/1", status: "ok",
        recipe: {name: "name\($p)", title: "title\($p)", sha256: "sha256\($p)"},
        program: {version: "version\($p)", commit: "commit\($p)"},
        dataset: {name: "dataset\($p)", source: "source\($p)"},
        units: {"y\($p)": "unit\($p)"},
        results: [{label: "label\($p)", method: "label\($p)", baseline: false, seeds: ["1"],
            series: {"x\($p)": [1, 2, 3], "y\($p)": [1, 4, 9]}, final: {"x\($p)": 3, "y\($p)": 9}}],
        plots: [{x: "x\($p)", y: "y\($p)", title: "panel\($p)"}],
        claims: [{text: "claim\($p)", verdict: "verdict\($p)", reason: "reason\($p)",
            seeds: [{seed: "1", value: 1, bound: 2, ratio: 0.5}]}]}'
}

export_all() { # FILE
    local format
    for format in $FORMATS; do
        case $format in png | pdf) command -v rsvg-convert >/dev/null || continue ;; esac
        sparseplot-export -q "$1" --format="$format" -v >"out.$format" 2>"err.$format" ||
            { echo "$format: $(cat "err.$format")"; return 1; }
        [ -s "out.$format" ]
    done
}

@test "24 payloads in every field and format: nothing runs, nothing leaves its string" {
    [ "$(payload count)" = 24 ]
    for i in $(seq 0 23); do
        text=$(payload "$i")
        hostile "$text" >evil.json
        # The payload is in the input, in each of the fields.
        for field in $FIELDS; do
            jq -e --arg t "$field${text%.}" '[.. | strings, (objects | keys[])] | index($t) != null' evil.json >/dev/null ||
                { echo "payload $i is not in $field"; false; }
        done
        export_all evil.json || { echo "payload $i"; false; }
        ! command -v xmllint >/dev/null || xmllint --noout out.svg || { echo "payload $i: no XML"; false; }
        [ ! -e pwned ] || { echo "payload $i ran"; false; }
        # No line of it stands by itself, and no control character is handed to a terminal.
        run -1 grep -nE '^ *(!|system|set output|EOD.)' out.csv out.tsv
        run -1 grep -nE '^(!|system|set output|EOD.)' out.table out.markdown out.latex out.pgfplots out.pgfplots-axis
        run -1 grep -nP '[\x00-\x08\x0b-\x1f\x7f]' out.csv out.table out.markdown out.pgfplots out.latex out.html
        for tex in out.pgfplots out.pgfplots-axis out.latex; do
            run -1 grep -nE '^[^%]*(\\write18|\\immediate|\\input\{/|\^\^5c)' "$tex"
        done
        run -1 grep -nE '(^|[^\\])(<script|\]\()' out.markdown
        run -1 grep -F '<script' out.svg
    done
    ls out.* | wc -l | grep -qx 10 || command -v rsvg-convert >/dev/null || skip "rsvg-convert is not installed: eight formats tried"
}

@test "text that is not UTF-8 and characters that XML cannot hold give valid XML" {
    command -v xmllint >/dev/null || skip "xmllint is not installed (apt-get install libxml2-utils)"
    printf '%s\n' '{"schema":"sparsebench/1","results":[{"label":"BAD","seeds":["1"],"series":{"x":[1,2],"y":[1,2]}}],
        "plots":[{"x":"x","y":"y","title":"BAD"}],"recipe":{"title":"BAD"}}' >plain.json
    for bad in '\xff' '\xc3' '\xed\xa0\x80' '\xef\xbf\xbe' '\xc0\xaf' '\xf4\x90\x80\x80' ']]>' '\x01'; do
        LC_ALL=C sed "s/BAD/a${bad}b/g" plain.json >bad.json
        LC_ALL=C grep -qP "a$bad" bad.json
        sparseplot-export -q bad.json --format=svg >bad.svg
        xmllint --noout bad.svg || { echo "$bad"; false; }
    done
    grep -q 'a\\x01b' bad.svg
    sparseplot-export -q plain.json --format=svg --title="$(printf 't\xff]]>')" >title.svg
    xmllint --noout title.svg
}

@test "a figure is the same in locales with and without an encoding" {
    for locale in C POSIX C.UTF-8; do
        run -0 --separate-stderr env -i PATH="$PATH" LC_ALL=$locale sparseplot-export -q "$ROOT/tests/golden/plot/fig1.json" --format=svg
        [ -z "$stderr" ]
        printf '%s\n' "$output" >$locale.svg
        cmp $locale.svg C.svg
    done
    grep -q "λ\|‖e‖²" C.svg
}

@test "a series of many columns is read in seconds" {
    awk 'BEGIN {
        printf "{\"record\":\"header\",\"schema\":\"sparsetrain/1\",\"name\":\"n\",\"method\":\"M\",\"seed\":\"1\",\"columns\":[\"step\""
        for (i = 1; i < 20000; i++) printf ",\"c%d\"", i
        print "],\"units\":{}}"
        for (s = 1; s <= 20000; s++) printf "{\"record\":\"step\",\"step\":%d}\n", s }' >short.ndjson
    says 1 "short.ndjson: line 2 has 1 of the header's 20000 columns" -- timeout 20 "$BIN/sparseplot-export" short.ndjson --y=c7
    awk 'BEGIN {
        printf "{\"record\":\"header\",\"schema\":\"sparsetrain/1\",\"name\":\"n\",\"method\":\"M\",\"seed\":\"1\",\"columns\":[\"step\""
        for (i = 1; i < 20000; i++) printf ",\"c%d\"", i
        print "],\"units\":{}}"
        for (s = 1; s <= 60; s++) {
            printf "{\"record\":\"step\""
            for (i = 19999; i > 0; i--) printf ",\"c%d\":%d", i, s
            printf ",\"step\":%d}\n", s
        } }' >wide.ndjson
    run -0 --separate-stderr timeout 20 "$BIN/sparseplot-export" wide.ndjson --x=step --y=c7
    [ "${lines[-1]}" = "a,M,60,60," ]
}
