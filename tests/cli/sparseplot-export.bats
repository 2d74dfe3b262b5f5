#!/usr/bin/env bats
# sparseplot-export: every format, its choices, its errors. Golden outputs: `tests/golden/plot/update` rewrites them.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$ROOT/tests/golden/plot" || exit 1
    OUT=$BATS_TEST_TMPDIR
}

need_rsvg() {
    command -v rsvg-convert >/dev/null || skip "rsvg-convert is not installed (apt-get install librsvg2-bin)"
}

@test "help and version on stdout, exit 0" {
    for option in -h --help --version --list-formats; do
        run -0 --separate-stderr sparseplot-export "$option"
        [ -n "$output" ] && [ -z "$stderr" ]
    done
    for format in csv tsv svg png pdf pgfplots table markdown latex html; do
        [[ $output == *"$format "* ]]
    done
}

@test "text formats match their golden files" {
    ls golden/* >/dev/null
    for golden in golden/*; do
        name=${golden##*/}
        sparseplot-export -q "${name%.*}.json" --format="${name##*.}" >"$OUT/$name"
        cmp "$OUT/$name" "$golden" || diff "$OUT/$name" "$golden"
    done
}

@test "figures of every fixture, in the right format" {
    need_rsvg
    for fixture in fig1 points awkward; do
        for format in svg png pdf; do
            sparseplot-export -q "$fixture.json" -o "$OUT/$fixture.$format"
        done
        [ "$(head -c 5 "$OUT/$fixture.pdf")" = %PDF- ]
        [ "$(head -c 8 "$OUT/$fixture.png" | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ]
        grep -qx "</svg>" "$OUT/$fixture.svg"
    done
}

@test "a label whose values are all null draws without a word" {
    sed 's/0.30000000000000004/null/; s/123456789.123/null/; s/-3,/null,/' awkward.json >"$OUT/null.json"
    run -0 --separate-stderr sparseplot-export -q "$OUT/null.json" --log=none --format=svg
    [[ -z $stderr && $output == *"</svg>"* ]]
}

@test "svg: titles, labels, curves with their values; the same bytes twice" {
    sparseplot-export fig1.json --format=svg >"$OUT/a.svg"
    sparseplot-export <fig1.json --format=svg >"$OUT/b.svg"
    cmp "$OUT/a.svg" "$OUT/b.svg"
    for text in "20 workers — generated data (gisette-like)" "suboptimality f(x) − f\*" "bits per worker (×10⁶)" \
        "error norm ‖e‖²" "Hard-threshold" "Top-k" "(a)" "(b)" "(c)" "mean over 2 seeds" "standard deviation"; do
        grep -q "$text" "$OUT/a.svg" || { echo "lacks $text"; false; }
    done
    grep -q "<desc>recipe fig1 " "$OUT/a.svg"
    # Okabe-Ito colours and the baseline's black, dashed
    grep -q 'data-method="Top-k"' "$OUT/a.svg"
    grep -q '"#0072B2"' "$OUT/a.svg"
    grep -q '"#D55E00"' "$OUT/a.svg"
    # All values of a curve stand in it.
    python3 - "$OUT/a.svg" <<'PY'
import json, sys
import xml.etree.ElementTree as tree
group = next(g for g in tree.parse(sys.argv[1]).getroot().iter("{http://www.w3.org/2000/svg}g") if g.get("data-method"))
series = next(r["series"] for r in json.load(open("fig1.json"))["results"] if r["label"] == group.get("data-method"))
for name, values in ("data-x", series["epoch"]), ("data-y", series["suboptimality"]["mean"]):
    drawn = [float(v) for v in group.get(name).split()]
    assert len(drawn) == len(values) and all(abs(a - b) <= 1e-6 * abs(b) for a, b in zip(drawn, values)), (name, drawn)
PY
    grep -q "stroke-dasharray" "$OUT/a.svg"
    grep -qi "fill-opacity" "$OUT/a.svg"
}

@test "png: the same bytes twice" {
    need_rsvg
    sparseplot-export points.json -o "$OUT/a.png"
    sparseplot-export points.json -o "$OUT/b.png"
    cmp "$OUT/a.png" "$OUT/b.png"
}

@test "a hostile title or label cannot become SVG or TeX" {
    sed "s|\"title\": \"100[^,]*|\"title\": \"'; system('touch $OUT/owned') # <script>\\\\\\\\input{x}|" awkward.json >"$OUT/evil.json"
    grep -q owned "$OUT/evil.json"
    sparseplot-export -q "$OUT/evil.json" --format=svg >"$OUT/evil.svg"
    sparseplot-export -q "$OUT/evil.json" --format=pgfplots >"$OUT/evil.tex"
    [ ! -e "$OUT/owned" ]
    grep -qF "&lt;script&gt;" "$OUT/evil.svg"
    run -1 grep "<script>" "$OUT/evil.svg"
    run -1 bash -c "grep -v '^%' '$OUT/evil.tex' | grep -F '\\input{x}'"
}

@test "without rsvg-convert: png and pdf say what to install, other formats work" {
    mkdir "$OUT/bin"
    ln -s "$(command -v sparseplot-export)" "$OUT/bin/"
    run -1 --separate-stderr env PATH="$OUT/bin" sparseplot-export fig1.json --format=pdf
    [[ -z $output && $stderr == *"apt-get install librsvg2-bin"* ]]
    run -1 --separate-stderr env PATH="$OUT/bin" sparseplot-export fig1.json -o "$OUT/fig.png"
    [ ! -e "$OUT/fig.png" ]
    run -0 env PATH="$OUT/bin" sparseplot-export fig1.json --format=svg
    run -0 env PATH="$OUT/bin" sparseplot-export fig1.json --format=pgfplots
}

@test "csv and tsv: a label that is a formula to a spreadsheet has an apostrophe in front" {
    for label in "=cmd|1" "+1" "-1" "@A1" '=a,"b"'; do
        jq --arg named "$label" '.results[0].label = $named' fig1.json >"$OUT/formula.json"
        sparseplot-export "$OUT/formula.json" --y=suboptimality --format=tsv >"$OUT/formula.tsv"
        grep -q "^a"$'\t'"'" "$OUT/formula.tsv" && ! grep -q "^a"$'\t'"[=+@-]" "$OUT/formula.tsv"
        sparseplot-export "$OUT/formula.json" --y=suboptimality --format=csv | grep -v '^#' >"$OUT/formula.csv"
        LABEL=$label python3 -c 'import csv, os, sys; assert "\x27" + os.environ["LABEL"] in {r[1] for r in csv.reader(sys.stdin)}' <"$OUT/formula.csv"
    done
}

@test "default format: csv in a pipe, table on a terminal, by extension with -o" {
    sparseplot-export fig1.json | grep -q '^panel,label,x,y,y_std$'
    NO_COLOR=1 script -qec "$BIN/sparseplot-export fig1.json" /dev/null </dev/null | grep -q '^holds  *Hard-threshold converges'
    sparseplot-export fig1.json -o "$OUT/t.md"
    cmp "$OUT/t.md" golden/fig1.markdown
    sparseplot-export fig1.json -o "$OUT/t.tex" && grep -q "begin{groupplot}" "$OUT/t.tex"
}

@test "binary formats refuse a terminal" {
    run script -qec "$BIN/sparseplot-export $PWD/fig1.json --format=png; echo code \$?" /dev/null
    [[ $output == *"-o FILE"* && $output == *"code 2"* ]]
}

@test "-o refuses to overwrite without --force, and leaves nothing behind on failure" {
    mkdir "$OUT/dir"
    OUT=$OUT/dir
    echo precious >"$OUT/t.csv"
    run -2 --separate-stderr sparseplot-export fig1.json -o "$OUT/t.csv"
    [[ $stderr == *"--force"* && $(cat "$OUT/t.csv") = precious ]]
    run -2 sparseplot-export fig1.json --y=nothing -o "$OUT/t.csv" --force
    [ "$(cat "$OUT/t.csv")" = precious ]
    run -0 sparseplot-export fig1.json -o "$OUT/t.csv" --force
    cmp "$OUT/t.csv" golden/fig1.csv
    [ "$(ls "$OUT")" = t.csv ]
}

@test "a run: folded or series, from a file or stdin, gives the same" {
    sparseplot-export run.json --y=bits >"$OUT/folded"
    sparseplot-export - --y=bits <run.ndjson >"$OUT/series"
    cmp "$OUT/folded" "$OUT/series"
    [ "$(tail -n 1 "$OUT/series")" = "a,Top-k,0.3,7680," ]
    run -0 sparseplot-export run.ndjson --x=step --y=suboptimality --log=y --format=pgfplots
    [[ $output == *"ymode=log"* && $output == *"xmode=normal"* ]]
}

@test "a truncated series is shown, and said to be truncated" {
    head -n 3 run.ndjson >"$OUT/part.ndjson"
    printf '{"record":"step","st' >>"$OUT/part.ndjson"
    run -0 --separate-stderr sparseplot-export "$OUT/part.ndjson" --y=bits
    [[ ${lines[-1]} == "a,Top-k,0.2,5120," && $stderr == *"truncated"* ]]
    run -0 --separate-stderr sparseplot-export -q "$OUT/part.ndjson" --y=bits
    [ -z "$stderr" ]
}

@test "--x, --y, --panel and --log choose what is shown" {
    run -0 --separate-stderr sparseplot-export fig1.json --y=error-norm --format=tsv
    [[ $output == *$'b\tTop-k\t96000\t4.83\t0.31'* && $output != *"# panel c"* ]]
    run -0 --separate-stderr sparseplot-export fig1.json --panel=2
    [[ $output == *"# panel a: x = bits"* && $output != *SGD* ]]
    run -0 --separate-stderr sparseplot-export fig1.json --panel=1 --log=xy --format=pgfplots
    [[ $output == *"xmode=log"* ]]
    run -0 --separate-stderr sparseplot-export fig1.json --y=bits --format=table
    [[ $output == *"bits per"* && $output != *"error norm"* ]]
}

@test "every format names what was changed of the recipe, in the title and in the source" {
    jq '.recipe.set = ["workers=8", "seeds=[1,2]"]' fig1.json >"$OUT/set.json"
    for format in csv tsv pgfplots table markdown latex; do
        sparseplot-export -q "$OUT/set.json" --format=$format | sed 's/\\//g' >"$OUT/set"
        grep -q "Figure 1: logistic regression, 20 workers — workers=8, seeds=[[]1,2]" "$OUT/set" || { echo "$format: title"; false; }
        tr -d '\n' <"$OUT/set" | grep -q "recipe fig1, workers=8, seeds=[[]1,2][ #]*(sha256" || { echo "$format: source"; false; }
    done
    run -0 --separate-stderr sparseplot-export "$OUT/set.json" --title=Mine --format=csv
    [[ ${lines[0]} = "# Mine — generated data (gisette-like)" ]]
}

@test "over other columns a panel has neither the recipe's title nor its kind" {
    jq '.plots[0].title = "suboptimality vs. epochs" | .plots[1] |= (.kind = "points" | .title = "at the end")' fig1.json >"$OUT/t.json"
    run -0 --separate-stderr sparseplot-export "$OUT/t.json" --format=svg
    [[ $output == *"suboptimality vs. epochs"* && $output == *"at the end"* && $output == *'data-panel="points"'* ]]
    run -0 --separate-stderr sparseplot-export "$OUT/t.json" --x=step --y=error-norm --format=svg
    [[ $output != *"vs. epochs"* && $output != *"at the end"* && $output != *'data-panel="points"'* ]]
    [ "$(grep -o 'data-panel="[a-z]*" .* data-xlabel="[^"]*" data-ylabel="[^"]*"' <<<"$output" | sed 's/data-box="[^"]*" //')" = 'data-panel="curves" data-xlabel="step" data-ylabel="error norm ‖e‖²"' ]
    # The panel whose axes were chosen as they are keeps both.
    run -0 --separate-stderr sparseplot-export "$OUT/t.json" --panel=1 --y=suboptimality --format=pgfplots
    [[ $output == *"suboptimality vs. epochs"* ]]
}

@test "a table fits 80 columns, its columns have one power of ten and no deviation of nothing" {
    run -0 --separate-stderr sparseplot-export fig1.json --format=table
    [ "$(sed '/^claims/,$d' <<<"$output" | LC_ALL=C.UTF-8 awk 'length > 80' | wc -l)" = 0 ]
    for format in table markdown latex; do
        run -1 bash -c "sparseplot-export -q fig1.json --format=$format | grep -E '(±|pm) *0(\.0*)?( |\\$|\$)'"
    done
    run -0 --separate-stderr sparseplot-export fig1.json --format=table
    [[ $output == *$'\nSGD             1.20 ± 0.70    480.00             0\n'* && $output == *"(×10⁶)"* ]]
    # Numbers too far apart for one power have one each.
    jq '.results[0].final.suboptimality.mean = 1e-12 | .results[0].final.suboptimality.std = 3e-13' fig1.json >"$OUT/far.json"
    run -0 --separate-stderr sparseplot-export "$OUT/far.json" --y=suboptimality --format=table
    [[ $output == *"(1.00 ± 0.30)e-12"* && $output == *"(4.10 ± 0.60)e-3"* ]]
}

@test "every published table fits 80 columns, says what it leaves out, and shows it where there is room" {
    local left_out=0
    for result in "$ROOT"/results/*.json; do
        jq -e '(.schema // "sparsebench/1") == "sparsebench/1"' "$result" >/dev/null || continue
        run -0 --separate-stderr sparseplot-export -q "$result" --format=table
        [ "$(sed '/^claims/,$d' <<<"$output" | LC_ALL=C.UTF-8 wc -L)" -le 80 ] || { echo "$result"; false; }
        [[ $output =~ "(COLUMNS="([0-9]+)" shows" ]] || continue
        left_out=$((left_out + 1))
        run -0 --separate-stderr env COLUMNS="${BASH_REMATCH[1]}" sparseplot-export -q "$result" --format=table
        [[ $output != *"# no room for"* ]] || { echo "$result: $output"; false; }
    done
    [ "$left_out" -ge 5 ]
    run -0 --separate-stderr sparseplot-export -q "$ROOT/results/archive/bursts.json" --format=table
    [[ $output == *"# modelled: 20 workers, 10gbe-tcp"* && $output == *"# no room for: "*"burst hidden (modelled); "* ]]
}

# The methods of a table in its order.
methods() { # ARGUMENT...
    sparseplot-export -q fig1.json --format=markdown "$@" | sed -n 's/^| \([^|]*\) |.*/\1/p' | sed '1d; /^verdict/,$d' | paste -sd,
}

@test "--sort: the methods by quality or a column, best first, those without a value last" {
    [ "$(methods)" = "SGD,Top-k,Hard-threshold" ]
    jq '.summary = {"metric": "suboptimality", "better": "lower"} | .traffic = {"column": "bits", "baseline": "SGD"} |
        .results[1].times_less = 20 | .results[2].times_less = 30' fig1.json >"$OUT/fig1.json"
    cd "$OUT"
    [ "$(methods --sort)" = "SGD,Hard-threshold,Top-k" ]
    [ "$(methods --sort=times-less)" = "Hard-threshold,Top-k,SGD" ]
    jq '.results[0].final.suboptimality.mean = null' fig1.json >null.json && mv null.json fig1.json
    [ "$(methods --sort)" = "Hard-threshold,Top-k,SGD" ]
}

@test "a table in LaTeX has a caption, fits a column, and has the claims on request" {
    sparseplot-export -q fig1.json --format=latex >"$OUT/without.tex"
    sparseplot-export -q fig1.json --format=latex --claims >"$OUT/with.tex"
    [ "$(grep -c '^.caption{' "$OUT/without.tex")" = 1 ] && [ "$(grep -c '^.caption{' "$OUT/with.tex")" = 2 ]
    run -1 grep "converges as fast" "$OUT/without.tex"
    [ "$(grep -o '20 workers' "$OUT/with.tex" | wc -l)" = 1 ]
    command -v pdflatex >/dev/null || skip "pdflatex is not installed"
    cd "$OUT"
    printf '%s\n' '\documentclass[twocolumn]{article}' '\usepackage[utf8]{inputenc}' \
        '\usepackage{booktabs,graphicx,textcomp}' '\begin{document}' '\input{with.tex}' '\end{document}' >paper.tex
    run -0 pdflatex -interaction=nonstopmode paper.tex
    [[ $output != *Overfull* && $output == *"Output written"* ]]
}

@test "a table says how much less the methods sent, and ends with what was found" {
    jq '.traffic = {"column": "bits", "baseline": "SGD"} | .results[0].times_less = null | .results[1].times_less = 250
        | .results[2].times_less = 252.63 | .summary.text = "Hard-threshold reaches it"' fig1.json >"$OUT/less.json"
    for format in markdown latex; do
        sparseplot-export -q "$OUT/less.json" --format=$format >"$OUT/less"
        grep -q "times less" "$OUT/less" && [ "$(tail -n 1 "$OUT/less")" = "Hard-threshold reaches it." ]
    done
}

@test "what the last sentence compares has a column, unless one of a plot shows the same" {
    jq '.summary = {text: "it does", baseline: "SGD", metric: "suboptimality", at: {tail_median: 0.2}, value: 0.5, std: 0.01,
        methods: [{label: "Hard-threshold", value: 0.25, std: 0.02}]}' fig1.json >"$OUT/found.json"
    jq '.plots[0] |= (.kind = "points" | .y_at = {"tail_median": 0.2} | .points = [
        {"label": "SGD", "x": {"mean": 10}, "y": {"mean": 0.75}}])' "$OUT/found.json" >"$OUT/drawn.json"
    run -0 --separate-stderr sparseplot-export "$OUT/drawn.json" --format=markdown
    [ "$(grep -o "median of the last 20 %" <<<"${lines[1]}" | wc -l)" = 1 ]
    jq '.summary.at = {final: true}' "$OUT/found.json" | sparseplot-export - --format=markdown >"$OUT/final"
    run -1 grep 0.500 "$OUT/final"
}

@test "a claim that was written after its result is marked, and its note stands behind its numbers" {
    jq '.claims[0].descriptive = true | .claims[1].note = "wide from the start"' fig1.json >"$OUT/c.json"
    for format in table markdown latex html; do
        sparseplot-export -q --claims "$OUT/c.json" --format=$format >"$OUT/c"
        grep "converges as fast" "$OUT/c" | grep -q "2 seeds; descriptive"
        grep "peaks at 20 times" "$OUT/c" | grep -q "seeds; wide from the start"
    done
}

@test "one row for a claim, with -v its seeds; what is not judged only there" {
    jq '.claims += [{"text": "a secret", "verdict": "not judged", "reason": "SGD was not asked for", "seeds": []}]' fig1.json >"$OUT/c.json"
    for format in table markdown latex; do
        sparseplot-export -q --claims "$OUT/c.json" --format=$format >"$OUT/c"
        [ "$(grep -c "converges as fast" "$OUT/c")" = 1 ]
        grep -q "ratio 0.67 … 0.74, 2 seeds" "$OUT/c"
        run -1 grep -E "seed 1|a secret" "$OUT/c"
        sparseplot-export -v "$OUT/c.json" --format=$format >"$OUT/c" 2>/dev/null
        grep -q "seed 1: 1.200e-3 .* 1.800e-3 (ratio 0.6667)" "$OUT/c"
        grep -q "not judged.*a secret" "$OUT/c"
    done
    run -0 sparseplot-export -q fig1.json --format=table --color=always
    [[ $output == *$'\e[32mholds\e[0m      Hard'* && $output == *$'\e[31mfails\e[0m      Top'* && $output == *$'\e[33mundecided\e[0m  The'* ]]
    run -0 sparseplot-export -q fig1.json -o "$OUT/t.txt" --color=always
    run -1 grep $'\e' "$OUT/t.txt"
}

@test "times of kernels are shown as their table" {
    run -0 --separate-stderr sparseplot-export "$ROOT/results/kernels.json"
    [[ ${lines[0]} == "# operation "* && ${#lines[@]} -gt 20 && -z $stderr ]]
    says 2 "--format=table" -- sparseplot-export "$ROOT/results/kernels.json" --format=svg
}

@test "log axis: values without a place are left out with one note; data formats keep them" {
    run -0 --separate-stderr sparseplot-export awkward.json --format=pgfplots
    [ "$(grep -c 'log axis' <<<"$stderr")" = 1 ]
    run -0 --separate-stderr sparseplot-export awkward.json
    [[ $output == *",3,-3,"* && $stderr != *"log axis"* ]]
}

@test "nothing positive for a log axis is an error with a remedy" {
    sed 's/"bits":[0-9][0-9]*/"bits":0/' run.ndjson >"$OUT/zero.ndjson"
    run -1 --separate-stderr sparseplot-export "$OUT/zero.ndjson" --y=bits --log=y --format=pgfplots
    [[ -z $output && $stderr == *"no positive values of 'bits'"*"--log=none"* ]]
    run -0 sparseplot-export "$OUT/zero.ndjson" --y=bits --format=pgfplots
}

@test "long curves: csv keeps all points, drawings at most 2000 with first and last" {
    {
        head -n 1 run.ndjson
        seq 1 5001 | sed 's|.*|{"record":"step","step":&,"epoch":&,"suboptimality":1,"bits":&}|'
        tail -n 2 run.ndjson
    } >"$OUT/long.ndjson"
    [ "$(sparseplot-export "$OUT/long.ndjson" --y=bits | grep -c '^a,')" = 5001 ]
    sparseplot-export "$OUT/long.ndjson" --y=bits --format=svg | sed -n 's/.*data-x="\([^"]*\)".*/\1/p' | tr ' ' '\n' >"$OUT/drawn"
    n=$(wc -l <"$OUT/drawn")
    [ "$n" -le 2000 ] && [ "$n" -gt 1000 ]
    [ "$(head -n 1 "$OUT/drawn")" = 1 ] && [ "$(tail -n 1 "$OUT/drawn")" = 5001 ]
}

@test "output that cannot be written: full disk loud, closed pipe quiet" {
    for format in csv svg table html; do
        says 1 "cannot write" -- bash -c "sparseplot-export fig1.json --format=$format >/dev/full"
        says 1 "cannot write /dev/full: No space left" -- sparseplot-export fig1.json --format=$format --force -o /dev/full
    done
    says 1 "cannot write" -- sparseplot-export fig1.json -o "$OUT/no/such/folder.csv"
    seq 1 200000 | sed 's|.*|{"record":"step","step":&,"epoch":&,"suboptimality":1,"bits":&}|' >"$OUT/steps"
    { head -n 1 run.ndjson; cat "$OUT/steps"; tail -n 2 run.ndjson; } >"$OUT/long.ndjson"
    run -0 --separate-stderr bash -c "sparseplot-export '$OUT/long.ndjson' --y=bits | head -n 1"
    [[ -z $stderr && $output == "# Smoke"* ]]
}

@test "in a pipe from sparsetrain" {
    [ -x "$BIN/sparsetrain" ] || skip "sparsetrain is not built"
    export SPARSE_DATA=$CACHE
    sparsetrain -q "$ROOT/recipes/smoke.yaml" --method SGD --json | sparseplot-export --y=suboptimality --format=csv >"$OUT/a.csv"
    grep -q "generated data" "$OUT/a.csv"
    [ "$(grep -c '^a,SGD,' "$OUT/a.csv")" -gt 10 ]
}

@test "seeds that agree have no spread, though their mean is rounded" {
    run -0 bash -c "echo '{\"schema\":\"sparsebench/1\",\"status\":\"ok\",\"results\":[{\"label\":\"A\",\"seeds\":[\"1\",\"2\",\"3\"],
        \"final\":{\"density\":{\"mean\":0.1,\"std\":1.7e-17,\"n\":3}}}],\"plots\":[{\"x\":\"epoch\",\"y\":\"density\"}]}' |
        sparseplot-export -q --format table"
    [[ $output == *$'\nA       0.1\n'* ]]
}

@test "a run that diverged over 290 decades is drawn" {
    run -0 timeout 20 bash -c "echo '{\"schema\":\"sparsebench/1\",\"status\":\"diverged\",\"results\":[{\"label\":\"A\",\"seeds\":[\"1\"],
        \"series\":{\"epoch\":[0,1,2],\"loss\":[1e-5,1e65,1e285]}}],\"plots\":[{\"x\":\"epoch\",\"y\":\"loss\",\"log\":\"y\"}]}' |
        sparseplot-export -q --format svg"
    [[ $output == *"</svg>"* ]]
}

@test "points may be over a constant of the runs, which the table leaves out" {
    jq '.results[].constants = {"label_skew": 0.5} | .plots[0] |= (.kind = "points" | .x = "label_skew" | .points = null)' fig1.json >"$OUT/c.json"
    run -0 --separate-stderr sparseplot-export "$OUT/c.json" --panel=1 --format=table
    [[ $output != *skew* && $output == *suboptimality* ]]
    run -0 --separate-stderr sparseplot-export "$OUT/c.json" --panel=1 --format=csv
    says 2 "no column 'label_skewed'" -- sparseplot-export "$OUT/c.json" --x=label_skewed
}

@test "ticks of a log axis are at powers of ten, wherever it begins" {
    sparseplot-export fig1.json --format=svg >"$OUT/ticks.svg"
    # The numbers of the first y axis are powers of ten, and between two of them is the same way.
    python3 - "$OUT/ticks.svg" <<'PY'
import re, sys
texts = re.findall(r'<text x="[\d.]+" y="([\d.]+)"[^>]*>10<tspan[^>]*>(−?\d+)</tspan>', open(sys.argv[1]).read())
places = {int(power.replace("−", "-")): float(y) for y, power in texts[:3]}
powers = sorted(places)
assert powers[1:] == [p + 1 for p in powers[:-1]], places
assert abs((places[powers[0]] - places[powers[1]]) - (places[powers[1]] - places[powers[2]])) < 0.1, places
PY
}

@test "several results lie in the panels of the first, by the names of their files" {
    cp fig1.json "$OUT/a.json"
    jq '.recipe.title = "Another" | .results[].label |= sub("^Top-k"; "Top-K")
        | .plots[].points[]?.label |= sub("^Top-k"; "Top-K")' fig1.json >"$OUT/b.json"
    sparseplot-export fig1.json --format=csv | sed '/^#/d' >"$OUT/one"
    sparseplot-export "$OUT/a.json" "$OUT/b.json" --format=csv | sed '/^#/d' >"$OUT/two"
    # What the first has is there as it was, and so is what the second has.
    [ "$(grep -c ' (b)' "$OUT/two")" = "$(grep -c ' (a)' "$OUT/two")" ]
    cmp <(sed 's/ (a)//' "$OUT/two" | grep -v ' (b)') "$OUT/one"
    cmp <(grep ' (b)' "$OUT/two" | sed 's/ (b)//; s/Top-K/Top-k/') <(sed 1d "$OUT/one")
    sparseplot-export "$OUT/a.json" "$OUT/b.json" --format=table >"$OUT/table"
    grep -q 'Another' "$OUT/table" && run ! grep -E '^(holds|fails)' "$OUT/table"
    # Two files of one name go by their paths.
    mkdir "$OUT/other" && cp fig1.json "$OUT/other/a.json"
    sparseplot-export "$OUT/a.json" "$OUT/other/a.json" --format=csv | grep -q "other/a.json"
    jq '.kind = "kernels"' fig1.json >"$OUT/kernels.json"
    says 2 "times of kernels" -- sparseplot-export "$OUT/a.json" "$OUT/kernels.json" --format=csv
}

@test "points of several results lie in one panel" {
    cp points.json "$OUT/a.json"
    cp points.json "$OUT/b.json"
    sparseplot-export "$OUT/a.json" "$OUT/b.json" --format=csv | sed '/^#/d' >"$OUT/two"
    [ "$(grep -c ' (b)' "$OUT/two")" -gt 2 ] && [ "$(grep -c ' (b)' "$OUT/two")" = "$(grep -c ' (a)' "$OUT/two")" ]
}
