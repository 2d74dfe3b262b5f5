#!/usr/bin/env bats
# The published figures, as a reader sees them: nothing lies over anything else, at any width, and they are what
# sparseplot-export draws today of their results. figures.py reads the SVG.
load common

setup() {
    command -v gnuplot >/dev/null || skip "gnuplot is not installed (apt-get install gnuplot-nox)"
    command -v python3 >/dev/null || skip "python3 is not installed"
    OUT=$BATS_TEST_TMPDIR
    cd "$ROOT/results" || exit 1
}

figures() {
    python3 "$ROOT/tests/cli/figures.py" "$@"
}

# Those with a result; own.svg is the README's example, whose test runs it.
published() {
    ls -- *.svg | grep -vxF own.svg
}

draw_all() { # OPTION...: every published figure into $OUT
    for figure in $(published); do
        sparseplot-export -q "${figure%.svg}.json" --format=svg "$@" >"$OUT/$figure"
    done
}

@test "no text of a published figure lies over another, a tick or a frame, or leaves the sheet" {
    figures overlaps *.svg
}

@test "nor at the width of one column of a paper" {
    draw_all --width=3.3
    figures overlaps "$OUT"/*.svg
}

@test "nor across both columns" {
    draw_all --width=6.75
    figures overlaps "$OUT"/*.svg
}

@test "the published figures are what is drawn of their results: texts, places, colours" {
    draw_all
    for figure in $(published); do
        figures same "$figure" "$OUT/$figure" || { echo "$figure: draw it again with sparseplot-export"; false; }
    done
}

@test "overlaps and differences are found" {
    sed 's/translate(\([0-9.]*\),\([0-9.]*\))/translate(100,\2)/' fig1.svg >"$OUT/moved.svg"
    run -1 figures overlaps "$OUT/moved.svg"
    [[ $output == *"'Top-k' touches 'SGD'"* && $output == *"touches a tick or frame"* ]]
    run -1 figures same fig1.svg "$OUT/moved.svg"
    [[ $output == *"is at"* ]]
    sed 's/font-size="1[0-9.]*"/font-size="40"/' fig1.svg >"$OUT/large.svg"
    run -1 figures overlaps "$OUT/large.svg"
    [[ $output == *"leaves the sheet"* ]]
    sed 's/>Top-k</>Top-l</' fig1.svg >"$OUT/renamed.svg"
    run -1 figures same fig1.svg "$OUT/renamed.svg"
    [[ $output == *"Top-l"* ]]
    sed 's/rgb(  0, 114, 178)/rgb(  1, 114, 178)/' fig1.svg >"$OUT/recoloured.svg"
    run -1 figures same fig1.svg "$OUT/recoloured.svg"
    [[ $output == *"colours differ"* ]]
}

@test "a method has one hue in all panels, also where a panel shows parameters and another the method" {
    sparseplot-export -q mini-fig2a.json --format=vegalite >"$OUT/fig.json"
    # From each panel: the first colour of every name that starts with Top-k; blue is the largest part of all of them.
    run -0 jq -r '[.concat[].layer[].encoding.color.scale | [.domain, .range] | transpose[] | select(.[0] | startswith("Top-k"))[1]] | unique[]' "$OUT/fig.json"
    [ "${#lines[@]}" = 4 ]
    for color in "${lines[@]}"; do
        ((16#${color:5:2} > 16#${color:3:2} && 16#${color:5:2} > 16#${color:1:2}))
    done
}
