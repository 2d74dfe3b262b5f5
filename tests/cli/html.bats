#!/usr/bin/env bats
# Pages in HTML: what they hold, that no text of a result becomes markup, and what they do in a browser.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    page() { timeout -k 5 120 python3 "$BATS_TEST_DIRNAME/html_page.py" "$@"; }
}

need_chromium() {
    command -v chromium >/dev/null || skip "chromium is not installed (apt-get install chromium)"
}

# A result whose texts all try to leave the place where they stand.
hostile_result() {
    jq -c --arg t "</script><script>stolen=1</script><!--<script></title></style></textarea>\"'><img src=x onerror=stolen=1><b>&lt;&amp;" '
        .recipe.title = $t | .recipe.path = $t | .recipe.name = $t | .program.version = $t | .dataset = {name: $t, source: $t} |
        .host = {($t): $t} | .recipe.resolved = {($t): $t, list: [$t]} | .summary = {text: $t} |
        .run.argv = [$t] | .plots[].title = $t |
        .results[0].label = $t | .results[0].method = $t | .results[0].parameters = {($t): $t} |
        .results[0].cells = [{seed: $t, status: $t, message: $t, file: $t}] |
        .claims = [{text: $t, verdict: $t, reason: $t, seeds: [{seed: $t, value: 1, bound: 2, ratio: 0.5}]}]' \
        "$ROOT/tests/golden/plot/fig1.json"
}

@test "a page is one file with the whole result, and small without its numbers" {
    for result in results/fig1 results/compressors tests/golden/plot/awkward results/kernels; do
        sparseplot-export -q "$ROOT/$result.json" -f -o page.html
        run -0 page static page.html "$ROOT/$result.json"
    done
    sparseplot-export -q "$ROOT/results/fig1.json" -f -o page.html
    run -0 page static page.html "$ROOT/results/fig1.json"
    [ "${output%% *}" -lt 64000 ]
    # What the tables of other formats say, the page says too.
    for words in "1 undecided" "ratio 0.90 … 0.93, 3 seeds" "generated data (gisette-like)" f071b3122e81fbc729ae702bcb71ace5c7b4868e0cf4269f75827081503e905c "compressor: hard-threshold"; do
        grep -qF "$words" page.html || { echo "$words"; false; }
    done
}

@test "several results are sections of one page with contents, also more than can lie over each other" {
    set -- fig1 fig1-madelon archive/bursts kernels mini-fig2a mini-fig3 mini-table1 archive/mini-powersgd archive/signs-madelon
    sparseplot-export -q "${@/#/$ROOT/results/}" -o page.html 2>/dev/null && false
    set -- "${@/#/$ROOT/results/}"
    set -- "${@/%/.json}"
    sparseplot-export -q "$@" -o page.html
    run -0 page static page.html "$@"
    [ "$(grep -c '^<article' page.html)" = 9 ]
    [ "$(grep -o '<li><a href="#r[0-9]*">' page.html | wc -l)" = 9 ]
    # Each says what was found, and shows its first figure, if it has one.
    [ "$(grep -c '<li>.*<svg class="thumb"' page.html)" = 8 ]
    grep -q '<li>.*QSGD 4 bits reaches SGD.*7.81 times less' page.html
    grep -q '<li>.*<p>Holds: Hard-threshold is more accurate' page.html
    grep -qF '8 hold</span> <span class="verdict undecided"><span class="sign" aria-hidden="true">✓</span> 1 holds at these seeds</span>' page.html
    run -2 --separate-stderr sparseplot-export "$@" -o figure.svg
    [[ $stderr == *"at most 8 results lie over each other"* && ! -e figure.svg ]]
}

@test "in a browser the columns and scales of a panel are changed, and put back" {
    need_chromium
    sparseplot-export -q "$ROOT/results/fig1.json" -o page.html
    page axes page.html
}

@test "in a browser many results stand in groups with an index, folded until one goes there" {
    need_chromium
    for name in fig1 fig1-madelon kernels mini-fig2a mini-fig2b mini-fig3 mini-table1 mini-gpt bit-budget; do
        set -- "$@" "$ROOT/results/$name.json"
    done
    sparseplot-export -q "$@" -o page.html
    page groups page.html
}

@test "numbers of the provenance are rounded, and say what was reused" {
    sparseplot-export -q "$ROOT/results/when-to-communicate.json" -o page.html
    grep -q '<dt>elapsed s</dt><dd>0.5351</dd>' page.html
    grep -q '<dt>cells</dt><dd>66, 66 of them reused; [0-9.]* s when they ran</dd>' page.html
    sed -n '/id="r1-provenance"/,/<\/section>/p' page.html | grep -v code | run -1 grep -E '[0-9]\.[0-9]{6}|<dd>[0-9]{10}'
}

@test "what the command line chooses, a page shows" {
    sparseplot-export -q "$ROOT/results/fig1.json" --panel=2 --title="My own" --format=html >page.html
    grep -qF "<title>My own" page.html
    [ "$(grep -c '<g data-panel=' page.html)" = 1 ]
    sparseplot-export -q "$ROOT/results/fig1.json" --x=bits --log=none --format=html >page.html
    [ "$(grep -c '<g data-panel=' page.html)" = 2 ] # of three panels, two have the same axes now
    says 2 "did you mean 'suboptimality'" -- sparseplot-export "$ROOT/results/fig1.json" --y=sub-optimality --format=html
    # A run of sparsetrain has no plots: a figure for each column.
    sparseplot-export -q "$ROOT/tests/golden/plot/run.ndjson" --format=html >page.html
    [ "$(grep -c '<figure ' page.html)" -gt 1 ]
}

@test "a page shows the very drawing of the other formats; plots that cannot be drawn are left out, with a note" {
    drawing() { sed -n '/<svg xmlns/,/<\/svg>/p' "$1" | sed 's/r1f1//g'; }
    for result in archive/qsgd-madelon compressors; do
        sparseplot-export -q "$ROOT/results/$result.json" --format=html >page.html
        sparseplot-export -q "$ROOT/results/$result.json" --format=svg >figure.svg
        [ "$(drawing page.html | wc -l)" -gt 20 ]
        cmp <(drawing page.html) <(drawing figure.svg)
    done
    jq '.plots[1].y = "nowhere"' "$ROOT/tests/golden/plot/fig1.json" >part.json
    sparseplot-export -q part.json --format=html >page.html
    [ "$(grep -c '<g data-panel=' page.html)" = 2 ]
    grep -q "<li>plot 2 is left out: .*nowhere" page.html
}

@test "no text of a result is markup" {
    hostile_result >evil.json
    sparseplot-export -q evil.json -o evil.html
    page hostile evil.html evil.json
}

@test "no text of a result is script in a browser" {
    need_chromium
    hostile_result >evil.json
    sparseplot-export -q evil.json -o evil.html
    page harmless evil.html evil.json
}

@test "in a browser: switches, values by pointer and keys, sorting; narrow, dark and printed; no message" {
    need_chromium
    sparseplot-export -q "$ROOT/results/fig1.json" -o page.html
    page browser page.html
}

@test "in a browser the eye meets a whole panel, a baseline on any ground, and a tooltip within its box" {
    need_chromium
    sparseplot-export -q "$ROOT/results/fig1.json" "$ROOT/results/mini-fig3.json" -o page.html
    page picture page.html
}

@test "the recipe on a page runs as it is" {
    sparseplot-export -q "$ROOT/results/fig1-madelon.json" -o page.html
    python3 -c 'import html, re, sys; print(html.unescape(re.search("<pre.*?>(.*?)</pre>", sys.stdin.read(), re.S)[1]))' <page.html >recipe.yaml
    diff <(sparsebench recipe.yaml --dry-run -q 2>/dev/null | awk '{ print $2, $3 }') <(sparsebench "$ROOT/recipes/fig1-madelon.yaml" --dry-run -q 2>/dev/null | awk '{ print $2, $3 }')
}

@test "make report has every published result" {
    make -s -C "$ROOT" report >/dev/null
    run -0 grep -c '^<article' "$ROOT/build/report.html"
    [ "$output" = "$(grep -lE '"schema":\s*"sparsebench/1"' "$ROOT"/results/*.json | wc -l)" ]
}
