#!/usr/bin/env bats
# Figures as a reader sees them: in the published ones nothing lies over anything else, at any width, and they are what
# sparseplot-export draws today of their results (figures.py reads the SVG); and what curves and bands show.
# SPDX-License-Identifier: MIT
load common

setup() {
    command -v python3 >/dev/null || skip "python3 is not installed"
    OUT=$BATS_TEST_TMPDIR
    FIXTURES=$ROOT/tests/golden/plot
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
    sed 's/<text x="[0-9.]*"/<text x="100"/' fig1.svg >"$OUT/moved.svg"
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
    sed 's/#0072B2/#0172B2/' fig1.svg >"$OUT/recoloured.svg"
    run -1 figures same fig1.svg "$OUT/recoloured.svg"
    [[ $output == *"colours differ"* ]]
}

@test "a method has one hue in all panels, also where a panel shows parameters and another the method" {
    sparseplot-export -q mini-fig2a.json --format=svg >"$OUT/fig.svg"
    # The colours of all names that start with Top-k: blue is the largest part of all of them.
    run -0 bash -c "sed -n 's/.*data-legend=\"Top-k.* stroke=\"\(#[0-9A-F]*\)\".*/\1/p' '$OUT/fig.svg' | sort -u"
    [ "${#lines[@]}" = 4 ]
    for color in "${lines[@]}"; do
        ((16#${color:5:2} > 16#${color:3:2} && 16#${color:5:2} > 16#${color:1:2}))
    done
}

@test "a logarithmic axis shows median and quartiles where the result has them, and says so" {
    jq '.results[].series.suboptimality |= (. + {median: .mean | map(. * 2), q1: .mean, q3: .mean | map(. * 4)})' "$FIXTURES/fig1.json" >"$OUT/q.json"
    sparseplot-export "$OUT/q.json" --format=pgfplots >"$OUT/q"
    grep -qx "(0,16.3)" "$OUT/q" && grep -qx "(0,8.15)" "$OUT/q" && grep -qx "(0,32.6)" "$OUT/q"
    grep -q "mean over 2 seeds; bands: ±1 standard deviation; median and quartiles in (a) and (b)" "$OUT/q"
    # Data stay as recorded, and the plot can ask for something else.
    cmp <(sparseplot-export "$OUT/q.json" --format=csv) <(sparseplot-export "$FIXTURES/fig1.json" --format=csv)
    jq '.plots[].band = "std"' "$OUT/q.json" | sparseplot-export --format=pgfplots >"$OUT/std"
    cmp "$OUT/std" <(sparseplot-export "$FIXTURES/fig1.json" --format=pgfplots)
    jq '.plots[].band = "none"' "$OUT/q.json" | sparseplot-export --format=pgfplots >"$OUT/none"
    run -1 grep -E "fill opacity|deviation|quartiles" "$OUT/none"
    jq '.plots[2].band = "quartiles"' "$FIXTURES/fig1.json" | sparseplot-export --format=pgfplots >"$OUT/without"
    cmp "$OUT/without" <(sparseplot-export "$FIXTURES/fig1.json" --format=pgfplots)
}

@test "smooth: the mean of the records around each, geometric on a logarithmic axis, and the figure says so" {
    jq '.plots[0].smooth = 3 | .plots[2].smooth = 3' "$FIXTURES/fig1.json" >"$OUT/s.json"
    sparseplot-export "$OUT/s.json" --format=pgfplots >"$OUT/s"
    grep -q "; mean of 3 records around each in (a) and (c)" "$OUT/s"
    # The first of SGD's: the geometric mean of 8.3 and the second; elsewhere those of the document.
    first=$(jq '.results[1].series.suboptimality.mean as $m | $m[0] * $m[1] | sqrt' "$FIXTURES/fig1.json")
    sed -n '/^.addplot.line 2/,/^}/p' "$OUT/s" | awk -F '[,()]' -v right="$first" 'NR == 2 { found = $3 - right < 1e-9 && right - $3 < 1e-9 } END { exit !found }'
    cmp <(sparseplot-export "$OUT/s.json" --format=csv) <(sparseplot-export "$FIXTURES/fig1.json" --format=csv)
}

@test "points over a constant of the runs: one line of a method's variants, baselines too" {
    jq '(.results[] | select(.baseline)).label = "SGD, one" | (.results[1].label) = "Top-k, one" | (.results[2].label) = "Top-k, two"
        | .results[1].method = "Top-k, one" | .results[2].method = "Top-k, two" | .results += [.results[0] | .label = "SGD, two"]
        | .results[].constants = {"skew": 0} | .results[2].constants.skew = 0.5 | .results[3].constants.skew = 0.5
        | .plots = [{"x": "skew", "y": "suboptimality", "kind": "points", "log": "none",
            "points": [.results[] | {"label": .label, "x": {"mean": .constants.skew}, "y": {"mean": 1, "std": 0.1}}]}]' "$FIXTURES/fig1.json" >"$OUT/v.json"
    sparseplot-export -q "$OUT/v.json" --format=svg >"$OUT/v"
    [ "$(sed -n 's/.*data-point="\([^"]*\)".*/\1/p' "$OUT/v" | paste -sd';')" = "SGD, one;SGD, two;Top-k, one;Top-k, two" ]
    # The baselines of a panel over what is recorded are level lines, from end to end.
    sparseplot-export -q "$FIXTURES/points.json" --format=svg >"$OUT/level"
    run -1 grep 'data-point="SGD"' "$OUT/level"
    grep 'data-method="SGD"' "$OUT/level" | grep -q 'data-y="94.15" .*data-level=""'
}

@test "a curve of one record is a marker" {
    jq '.results[0].series |= map_values(if type == "array" then .[:1] else map_values(.[:1]) end)' "$FIXTURES/fig1.json" >"$OUT/one.json"
    sparseplot-export -q "$OUT/one.json" --panel=1 --format=svg | grep 'data-method="SGD"' -A 1 | grep -q data-point
    run -1 bash -c "sparseplot-export -q '$FIXTURES/fig1.json' --panel=1 --format=svg | grep data-point"
}

@test "a ranking: what is within its range, the best first, the seeds, and a line at the baseline" {
    ranked() { # DIRECTION-OF-METRIC RANGE
        jq --arg y "$1" --argjson range "$2" 'walk(if type == "object" and has("accuracy") then .[$y] = .accuracy | del(.accuracy) else . end)
            | .plots[0] += {"y": $y, "kind": "ranking", "log": "none", "x_range": $range}
            | .plots[0].points[].y |= (.values = [.mean - .std, .mean, .mean + .std, .mean - .std, .mean, .mean + .std])' "$FIXTURES/points.json"
    }
    ranked test_accuracy '[0.002, 0.01]' >"$OUT/r.json"
    labels() { sed -n 's/^a,\([^,]*\),.*/\1/p' | paste -sd,; }
    run -0 bash -c "$(declare -f labels); sparseplot-export -q '$OUT/r.json' --format=csv | labels"
    [ "$output" = "SGD,Hard-threshold density=0.0075,Hard-threshold density=0.0025,Top-k density=0.0075,Top-k density=0.0025" ]
    ranked loss '[0.002, 0.01]' | sparseplot-export -q --format=csv | labels | grep -q "^SGD,Top-k density=0.0025,"
    sparseplot-export -q "$OUT/r.json" --format=svg >"$OUT/r"
    # The best of four rows, and its bar.
    grep -q 'data-point="Hard-threshold density=0.0075" data-x="94.2" data-y="4" data-low="94.05' "$OUT/r"
    grep -q ">Hard-threshold k/d=0.0075 (1–2)<" "$OUT/r"
    sparseplot-export -q "$OUT/r.json" --format=pgfplots >"$OUT/r.tex"
    grep -q "rings: the seeds; dashed: no compression" "$OUT/r.tex"
    # A method with one row goes by its name. What is shown of the methods is said.
    ranked test_accuracy '[0.0074, 0.0076]' | jq '.results |= map(select(.label != "Top-k density=0.0075"))' >"$OUT/one.json"
    sparseplot-export -q "$OUT/one.json" --format=svg >"$OUT/one"
    grep -q ">Hard-threshold (1–2)<" "$OUT/one"
    grep -q "2 of 3 methods" "$OUT/one"
    run -1 grep -q "methods; mean" "$OUT/r.tex"
    jq '.plots[0].x_range = [5, 6] | .results |= map(select(.baseline | not))' "$OUT/r.json" >"$OUT/none.json"
    says 1 "nothing to rank" -- sparseplot-export -q "$OUT/none.json" --format=svg
    # What lies beyond the view says where.
    jq '.plots[0].y_range = [93, 95]' "$OUT/r.json" | sparseplot-export -q --format=svg >"$OUT/r.svg"
    grep -q "← 92.4" "$OUT/r.svg"
    figures overlaps "$OUT/r.svg"
    grep -qF "yticklabels={{Hard-threshold k/d=0.0075 (1–2)},{Hard" "$OUT/r.tex"
    cmp <(sparseplot-export -q "$OUT/r.json" --x=step --format=csv 2>&1) <(jq '.plots[0].kind = "points"' "$OUT/r.json" | sparseplot-export -q --x=step --format=csv 2>&1)
}

@test "the places of a ranking in figure and table are those of a sign-flip test written once more" {
    jq '.results |= map(select(.baseline or .times_less > 15)) | .plots = [.plots[1]]' tournament.json >"$OUT/t.json"
    sparseplot-export -q "$OUT/t.json" --format=markdown >"$OUT/table"
    python3 - "$OUT/t.json" "$OUT/table" >"$OUT/places" <<'PY'
import itertools, json, math, re, statistics, sys

points = {p["label"]: [math.log(v) for v in p["y"]["values"]] for p in json.load(open(sys.argv[1]))["plots"][0]["points"]}
shown = re.findall(r"^\| (.*?) \| (\d+)[snrt][tdh](?: to (\d+)[snrt][tdh])? \|", open(sys.argv[2]).read(), re.M)
assert len(shown) == 15, shown

def flips(one, other):
    d = [b - a for a, b in zip(one, other)]
    sums = [abs(sum(s * x for s, x in zip(sign, d))) for sign in itertools.product((1, -1), repeat=len(d))]
    return sum(x >= sums[0] * (1 - 1e-9) for x in sums) / len(sums)

rows = sorted((row[0] for row in shown), key=lambda label: statistics.median(points[label]))
assert rows == [row[0] for row in shown], rows
place = []  # of each row, the first row of its place
for i, row in enumerate(rows):
    apart = i > 0 and min(flips(points[rows[i - 1]], points[row]), flips(points[rows[place[-1]]], points[row])) <= 0.05
    place.append(i if i == 0 or apart else place[-1])
assert 1 < len(set(place)) < len(place), place
for (label, first, last), start in zip(shown, place):
    end = max(i for i, other in enumerate(place) if other == start)
    assert (int(first), int(last or first)) == (start + 1, end + 1), (label, first, last, start, end)
    if label != "SGD":  # the baseline is a line
        print(re.sub(" [a-z]+=.*", "", label), first, last or first)
PY
    sparseplot-export -q "$OUT/t.json" --format=markdown | grep -qF '| p | relative suboptimality, median of the last 20 %, median over seeds ('
    jq '.plots[0].y_at = {final: true}' "$OUT/t.json" | sparseplot-export -q --format=markdown |
        grep -qF '| p | relative suboptimality, median over seeds ('
    sparseplot-export -q "$OUT/t.json" --format=svg | grep -o ">[^<>]* ([0-9–]*)<" |
        sed -E "s/>(.*) \\(([0-9]+)\\)</\1 \2 \2/; s/>(.*) \\((.*)–(.*)\\)</\1 \2 \3/" | sort >"$OUT/rows"
    diff <(sort "$OUT/places") "$OUT/rows"
    # Five seeds are too few, and the tasks of a profile are none.
    jq '(.plots[].points[].y.values, .results[].final[].values) |= .[:5]' "$OUT/t.json" >"$OUT/five.json"
    for result in "$OUT/five.json" profile.json; do
        run -1 bash -c "sparseplot-export -q '$result' --format=markdown | grep 'Places by'"
        run -1 bash -c "sparseplot-export -q '$result' --format=pgfplots | grep 'in brackets'"
    done
}

@test "a legend keeps the parameters of a method in one row, and names them" {
    # In a panel of its own and beside others: all labels of the group are at one height.
    sparseplot-export -q archive/qsgd-madelon.json --format=svg >"$OUT/q"
    run -0 sed -n 's#.*<g data-legend="QSGD levels=[0-9]*">.*<text x="[0-9.]*" y="\([0-9.]*\)" [^>]*>\(QSGD levels=1\|levels=7\|levels=63\)<.*#\2 \1#p' "$OUT/q" # of QSGD, then of others
    row=${lines[0]#QSGD levels=1 }
    [ "${lines[1]}" = "levels=7 $row" ]
    [ "${lines[2]}" = "levels=63 $row" ]
}

@test "a figure of quality says that no run is without compression, a panel without title what it shows" {
    sparseplot-export -q night-table1.json --format=csv | grep -q "no run without compression"
    run -1 bash -c "sparseplot-export -q night-fig3.json --format=csv | grep 'no run without'"
    jq 'del(.plots[].title)' night-fig3.json | sparseplot-export -q --format=pgfplots >"$OUT/untitled"
    grep -q "title={(a) test accuracy over epoch}" "$OUT/untitled"
}
