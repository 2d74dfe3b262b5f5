#!/usr/bin/env bats
# What the README shows is what happens: its commands, its C, its YAML, its links, the published results.
# SPDX-License-Identifier: MIT
load common

# A copy of the tree as a user has it, built: its commands write where they please.
setup_file() {
    export TREE=$BATS_FILE_TMPDIR/tree
    mkdir -p "$TREE/build"
    cd "$ROOT" || exit 1
    sources | tar -cf - -T - | tar -xf - -C "$TREE"
    cp -a build/release build/bin "$TREE/build/"
}

setup() {
    unset SPARSE_DATA SPARSE_DATASETS MAKEFLAGS MAKELEVEL MODE
    cd "$TREE" || exit 1
}

# The lines of the README's code blocks in language $1.
blocks() {
    awk -v fence="\`\`\`$1" '/^```/ { inside = $0 == fence; next } inside' README.md
}

# The README's YAML block.
yaml() {
    blocks yaml
}

# What README tells one to type: the lines of its sh blocks, and the commands in the table of what one wants.
commands() {
    blocks sh
    sed -n '/^## What do you want?/,/^## W/s/^| [^|]* | `\([^`]*\)` |.*/\1/p' README.md
}

@test "every command of the README: programs run word for word, targets of make are parsed" {
    local ran=0
    export PATH=$TREE/build/bin:$PATH PKG_CONFIG_PATH=$BATS_TEST_TMPDIR/installed/usr/lib/pkgconfig
    export PKG_CONFIG_SYSROOT_DIR=$BATS_TEST_TMPDIR/installed
    make -s install PREFIX=/usr DESTDIR="$BATS_TEST_TMPDIR/installed" >/dev/null
    yaml >own.yaml
    # The plug-in of the table is an example, made as its head says.
    (cd lib/examples && eval "$(sed -n 's/^ \* *\(cc .*selector.c.*\)$/\1/p' selector.c)" && mv running-rms.so "$TREE")
    while read -r line; do
        case $line in
        make | "make "*) run -0 bash -c "make -n DEPS=skip ${line#make}" </dev/null ;;
        "export PATH="*) continue ;;
        *--match-bytes=*) run -0 bash -c "${line%%|*} --dry-run" </dev/null ;; # the slow test runs the search
        sparse*) run -0 --separate-stderr bash -o pipefail -c "$line" </dev/null ;;
        *) echo "no test for this command of the README: $line"; false ;;
        esac
        [ "$output" != "" ]
        ran=$((ran + 1))
    done < <(commands)
    [ "$ran" -ge 9 ]
}

# bats test_tags=slow
@test "every fenced command of the README that a fenced output follows prints what is shown" {
    export PATH=$TREE/build/bin:$PATH
    yaml >own.yaml
    rm -f own.json
    run -0 --separate-stderr python3 tests/cli/fenced.py README.md
    [ "$output" = "2 commands, 0 differ" ]
    sed 's/9\.462/9.463/' README.md >other.md # a number that is not printed
    rm own.json
    run -1 --separate-stderr python3 tests/cli/fenced.py other.md
    [ "${lines[-1]}" = "2 commands, 1 differ" ]
}

@test "the jq of cmd/README.md: the best at a volume, verdicts, curves, and the comparison of two runs" {
    run -0 bash -c "$(awk '/^The result is JSON/ { on = 1 } /^```/ { n += on; next } n == 1' cmd/README.md)"
    [ "$(head -n 3 <<<"$output")" = "$(awk '/^```/ { inside = $0 == "```text"; next } inside' cmd/README.md)" ]
    [ "$(grep -cE '^(holds|fails|undecided)( at these seeds)?	' <<<"$output")" = "$(jq '.claims | length' results/mini-compressors.json)" ]
    [ "$(grep -cE '^DeMo without signs k=239	[0-9.]+	[0-9.e-]+	[0-9.e-]+$' <<<"$output")" -gt 3 ]
    for run in a b; do sparsetrain -q recipes/smoke.yaml --method SGD -o $run.ndjson; done
    run -0 bash -c "$(grep '^  diff <(jq' cmd/README.md)"
    [ "$(grep -c '```.*```' cmd/README.md)" = 0 ]
}

@test "make smoke, whole" {
    run -0 --separate-stderr make smoke DEPS=skip
    [[ $output == *"Top-k k=4"*"plot: results/local/smoke.svg"* ]]
    [ "$(jq -r '[.status, .schema, (.results | length)] | join(" ")' results/local/smoke.json)" = "ok sparsebench/1 4" ]
    grep -q "<svg" results/local/smoke.svg
}

@test "make FIGURE BIN=folder runs carried programs, and installs and builds nothing" {
    run -0 make -C "$ROOT" --no-print-directory -n smoke BIN=/elsewhere/bin
    [[ $output == *"sh recipes/run smoke /elsewhere/bin "* && $output != *"ci/need"* && $output != *" all"* ]]
    run -0 env BIN=/elsewhere/bin make -C "$ROOT" --no-print-directory -n DEPS=skip smoke # not by the environment
    [[ $output != *"/elsewhere/bin"* ]]
}

@test "make carry packs a folder that runs figures without the tree, by its own libyaml and libcjson" {
    run -0 --separate-stderr make carry
    [[ $output == *"packed build/carry, "* ]]
    rm -rf "$BATS_TEST_TMPDIR/far"
    cp -r build/carry "$BATS_TEST_TMPDIR/far"
    cd "$BATS_TEST_TMPDIR/far"
    diff <(cd lib/sparsegrad && ls -- rivals*.so) <(cd "$TREE/build/lib/sparsegrad" && ls -- rivals*.so)
    ldd bin/sparsebench >linked
    [ "$(grep -cE 'lib(yaml|cjson).* => /.*far/bin/../lib/sparsegrad/' linked)" = 2 ]
    [ -s LICENSE ] && { ! command -v dpkg >/dev/null || [ "$(cat LICENSE.lib* | grep -c '^Copyright\|^Files:')" -ge 2 ]; } # of what it takes along
    run -0 --separate-stderr env SPARSE_DATA="$CACHE" sh recipes/run smoke bin 1
    [ "$(jq -r .status results/local/smoke.json)" = ok ]
}

@test "DEPS=skip goes on with what is there, and names in one line what is not" {
    run -0 --separate-stderr sh "$ROOT/.ci/need" skip bash no-such-package nor-this
    [ "${stderr%%:*}" = "not installed, as DEPS=skip says" ]
    [[ $stderr == *": no-such-package nor-this"* || $stderr == *" no-such-package nor-this" ]]
    [ "$(wc -l <<<"$stderr")" = 1 ]
}

@test "every make target that README.md and results/FIGURES.md name exists; every figure's recipe resolves" {
    local targets
    targets=$(grep -oh '`make [a-z0-9-]*' README.md results/FIGURES.md | cut -d' ' -f2 | sort -u)
    [ "$(wc -l <<<"$targets")" -ge 60 ]
    # shellcheck disable=SC2086
    make -n DEPS=skip $targets >commands
    local count=0
    for target in $targets; do
        [ -f "recipes/$target.yaml" ] || continue
        grep -qF "recipes/run $target " commands
        count=$((count + 1)) # each looks at all of its data, so a push tries every fourth
        [ "${SPARSE_TEST_LEVEL:-}" = all ] && [ $((count % 4)) != 0 ] && continue
        run -0 build/bin/sparsebench "recipes/$target.yaml" --dry-run
    done
}

@test "the README's C compiles as it stands, with the command that it shows, and does what it says" {
    local command
    make -s install PREFIX=/usr DESTDIR="$BATS_TEST_TMPDIR/installed" >/dev/null
    mkdir -p own
    blocks c >own/first.c
    command=$(sed -n '1s|^/\* first.c: \(.*\) \*/$|\1|p' own/first.c)
    [[ $command == "cc first.c "* ]]
    export PKG_CONFIG_PATH=$BATS_TEST_TMPDIR/installed/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$BATS_TEST_TMPDIR/installed
    export LD_LIBRARY_PATH=$BATS_TEST_TMPDIR/installed/usr/lib
    run -0 bash -c "cd own && $command"
    [[ $output == *$'sent -5, kept 0\nsent 0, kept 2\nsent 4, kept 0'* ]] # k = 2 of {1, -5, 2, 4, -3, 0}
    # shellcheck disable=SC2046
    gcc -std=c11 -Wall -Wextra -Werror -fsyntax-only own/first.c $(pkg-config --cflags sparsegrad)
}

@test "the README's recipe is complete: its command prints what is shown and draws a figure" {
    mkdir -p own && yaml >own/own.yaml
    blocks text >own/shown
    [ "$(sed -n 1p own/shown)" = '$ sparsebench own.yaml -o own.json --table' ]
    (cd own && "$TREE/build/bin/sparsebench" own.yaml -o own.json --table -q >printed)
    diff <(sed 1d own/shown) <(sed '/^#/d; / reaches SGD.s relative/,$d' own/printed | sed '${/^$/d}')
    build/bin/sparseplot-export -q own/own.json --format=svg >own/own.svg
    python3 tests/cli/figures.py same results/own.svg own/own.svg
}

@test "the claim of recipes/README.md is accepted in a recipe" {
    { sed '/^claims:/,$d' recipes/smoke.yaml; awk '/^```/ { on = $0 == "```yaml"; next } on' recipes/README.md; } >claim.yaml
    [ "$(grep -c '  - text' claim.yaml)" = 1 ]
    run -0 build/bin/sparsebench claim.yaml --set 'record.series=[loss, bits]' --dry-run
    rm claim.yaml
}

# The names of a document's headings, as links to them are written.
anchors() { # DOCUMENT
    grep '^#' "$1" | sed 's/^#* *//' | python3 -c 'import re, sys
for line in sys.stdin: print(re.sub(r"[^\w\- ]", "", line.strip().lower()).replace(" ", "-"))'
}

@test "every place in a document that another one links is there" {
    local missing="" count=0 path
    local -A known
    for document in README.md C*.md recipes/*.md recipes/clusters/README.md cmd/README.md kernels/*.md lib/*.md results/*.md results/archive/README.md tests/README.md; do
        while IFS='#' read -r file place; do
            count=$((count + 1))
            path=$document
            [ -z "$file" ] || path=$(dirname "$document")/$file
            [ -n "${known[$path]-}" ] || known[$path]=" $(anchors "$path" | tr '\n' ' ') "
            [[ ${known[$path]} == *" $place "* ]] || missing="$missing $document:$file#$place"
        done < <(grep -o '](\([^):]*#[^)]*\))' "$document" | sed 's/^](//; s/)$//' | sort -u)
    done
    [ "$count" -ge 10 ]
    [ -z "$missing" ] || { echo "missing:$missing"; false; }
}

@test "the verdicts in the documents are those of the published results, and no other page counts them" {
    local count=0 fronts=0 said short tables front prose drawn page
    tables=$(tr -d '*' <results/FIGURES.md)
    front=$(grep '^|' README.md | tr -d '*')
    prose=$(tr '\n' ' ' <results/README.md)
    for result in results/*.json; do
        name=$(basename "$result" .json)
        said=$(jq -r '[.claims[]?.verdict | select(. != "not judged")] | . as $all
            | def some($word; $one; $many):
                $all | map(select(. == $word)) | length | if . == 0 then "" else ", \(.) \(if . == 1 then $one else $many end)" end;
            if length == 0 then "" else "\(map(select(. == "holds")) | length) of \(length) hold"
                + some("holds at these seeds"; "at these seeds"; "at these seeds") + some("fails"; "fails"; "fail")
                + some("fails at these seeds"; "fails at these seeds"; "fail at these seeds")
                + some("undecided"; "undecided"; "undecided") end' "$result")
        [ -n "$said" ] || continue
        drawn=$name.svg
        [ -e "results/$drawn" ] || drawn=$name.json # times of kernels are no figure
        short=$(sed -E 's/ hold//; s/, [0-9]+ (at these seeds|fails? at these seeds|undecided)//g' <<<"$said")
        grep -qF "[$short]($drawn)" <<<"$tables" || { echo "no table says: $name, $short"; false; }
        grep -qE "\`$name\`: $said[;.]" <<<"$prose" || { echo "results/README.md does not say: $name, $said"; false; }
        if grep -qF "](results/$drawn)" <<<"$front"; then
            grep -qF "[$short](results/$drawn)" <<<"$front" || { echo "README.md does not say: $name, $short"; false; }
            fronts=$((fronts + 1))
        fi
        count=$((count + 1))
    done
    [ "$count" -ge 20 ]
    # Each of them once in a table and once in prose, so no other result is counted, and none twice.
    [ "$(grep -oE '\[[0-9]+ of [0-9]+' <<<"$tables" | wc -l)" = "$count" ]
    [ "$(grep -oE '[0-9]+ of [0-9]+ (claims )?hold' <<<"$prose" | wc -l)" = "$count" ]
    [ "$fronts" -ge 10 ] && [ "$fronts" = "$(grep -oE '\[[0-9]+ of [0-9]+' <<<"$front" | wc -l)" ]
    for page in $(ls results/*.md cmd/*.md kernels/*.md recipes/*.md | grep -vE '^results/(README|FIGURES).md$'); do
        if tr '\n' ' ' <"$page" | grep -oE '[0-9]+ (claims )?holds?[ ,;.)]'; then echo "$page counts verdicts"; false; fi
    done
}

@test "the generated parts of documents are what the published results give" {
    python3 -B results/analysis/pages.py --check
    cp results/mini-fig3.json "$BATS_TEST_TMPDIR"
    jq '.claims[0].verdict = "fails" | (.results[] | select(.label == "Hard-threshold").final.test_accuracy.mean) = 0.4321' \
        "$BATS_TEST_TMPDIR/mini-fig3.json" >results/mini-fig3.json
    run -1 python3 -B results/analysis/pages.py --check README.md results/FIGURES.md results/README.md
    cp "$BATS_TEST_TMPDIR/mini-fig3.json" results
    [[ $output == *"+++ README.md"*"43.2, Top-k"*"+++ results/FIGURES.md"*"43.2, Top-k"*"1 fails"*"+++ results/README.md"*"1 fails"* ]]
}

@test "the archive has the commit and the verdicts of each of its results, and make audit leaves them out and says so" {
    local count=0 name row
    for result in results/archive/*.json; do
        name=$(basename "$result" .json)
        row=$(grep -F "* [\`$name\`]($name.svg): " results/archive/README.md)
        [[ $row == *"; \`$(jq -r .program.commit "$result")\`; ["* ]] || { echo "$name: another commit"; false; }
        [ "$(grep -oE '[0-9]+ of [0-9]+ hold' <<<"$row")" = "$(jq -r '[.claims[].verdict | select(. != "not judged")] |
            "\(map(select(. == "holds")) | length) of \(length) hold"' "$result")" ] || { echo "$name: other verdicts"; false; }
        [ -e "results/archive/$name.svg" ] && [ ! -e "results/$name.json" ]
        count=$((count + 1))
    done
    [ "$count" -ge 9 ]
    run -0 --separate-stderr make -n audit DEPS=skip
    [[ $output != *" results/archive/"*.json* && $output == *"left out: $count results of results/archive"* ]]
}

@test "the numbers in the README's prose are those of the published results" {
    run -0 python3 tests/cli/readme_numbers.py
    echo "$output"
    grep -q ", 0 wrong$" <<<"$output"
    cp README.md "$BATS_TEST_TMPDIR"
    sed -i 's/has 8\.9$/has 8.8, once 7,/' README.md # a number that nothing has, and one without a row
    run -1 python3 tests/cli/readme_numbers.py
    cp "$BATS_TEST_TMPDIR/README.md" README.md
    grep -q "no row for 8.8 in" <<<"$output"
    grep -q "no row for 7 in" <<<"$output"
    sed -i 's/has {8\.9}/has {8.8}/' tests/cli/readme-numbers.tsv
    sed -i 's/has 8\.9$/has 8.8/' README.md
    run -1 python3 tests/cli/readme_numbers.py
    cp "$BATS_TEST_TMPDIR/README.md" README.md
    grep -q "8.8 where mini-why-freedom has 8.8" <<<"$output"
}

@test "published results take of a metric the value that results/DEFINITIONS.md names, but those that it lists" {
    local count=0 result name kind wanted others
    others=$(sed -n '/^The last column is what published/,/^$/p' results/DEFINITIONS.md)
    for result in results/*.json; do
        name=$(basename "$result" .json)
        case $(jq -r '.summary.metric? // ""' "$result") in
        *accuracy*) kind=accuracy ;;
        hit_rate | ndcg) kind="hit rate, NDCG" ;;
        *loss* | *perplexity*) kind="loss, perplexity" ;;
        *suboptimality) kind=suboptimality ;;
        *) continue ;;
        esac
        wanted=$(sed -n "s/^| $kind | .* | \`\(.*\)\` |\$/\1/p" results/DEFINITIONS.md)
        [ -n "$wanted" ]
        if [ "$(jq -r '.summary.at | to_entries[0] | (.key | gsub("_"; "-")) + if .value == true then "" else ": \(.value)" end' "$result")" = "$wanted" ]; then
            [[ $others != *"\`$name\`"* ]] || { echo "$name is listed as an exception"; false; }
        else
            [[ $others == *"\`$name\`"* ]] || { echo "$name takes another value of $kind than $wanted"; false; }
        fi
        count=$((count + 1))
    done
    [ "$count" -ge 20 ]
}

@test "the verdicts of the published results follow from the numbers beside them" {
    local bounds=0 n
    for result in results/*.json; do
        n=$(jq 'def near($a; $b): ($a - $b | fabs) <= 1e-9 * ($b | fabs);
            def is_true($sense; $x; $bound): if $sense == "at-least" then $x >= $bound else $x <= $bound end;
            def word: if all then "holds" elif any then "undecided" else "fails" end;
            # Cases: true and false where both quartiles say so; a false one refutes the claim.
            def word_of_cases: if any(. == [false, false]) then "fails" elif all(. == [true, true]) then "holds" else "undecided" end;
            [.claims[]? | select(.bound and .verdict != "not judged") | . as $claim
            | (.bound | if .of then "at" else "number" end) as $kind
            | [(.seeds // .cases)[]
                | if $kind == "at" and .other == null and .bound == null then $claim.sense == "at-most" # never reached
                elif near(.bound; if $kind == "at" then $claim.bound.times * .other + $claim.bound.plus else $claim.bound.plus end)
                then if .case and .ratio_q1 == null then [] elif .case then [.ratio_q1, .ratio_q3 | is_true($claim.sense; .; 1)] else is_true($claim.sense; .value; .bound) end
                else error("bound of \($claim.text), \(.seed // .case)") end]
            | if (if $claim.cases then word_of_cases else word end) == ($claim.verdict | sub(" at these seeds"; "")) then length
                else error("verdict of \($claim.text)") end] | add // 0' "$result") || { echo "$result: $n"; false; }
        bounds=$((bounds + n))
        [ "$n" = 0 ] || sparsebench -q --rejudge "$result" --json | cmp - "$result" || { echo "$result: --rejudge changes it"; false; }
    done
    [ "$bounds" -ge 100 ]
}

@test "prose of the documents wraps at 100 columns" {
    run -0 python3 - README.md C*.md cmd/README.md datasets/README.md kernels/GPU.md lib/BUILD.md recipes/*/README.md $(ls recipes/*.md results/*.md | grep -v "DEVIATIONS\|REFERENCE\|SCHEMA") <<'END'
import sys
long = []
for path in sys.argv[1:]:
    code = False
    for number, line in enumerate(open(path), 1):
        code ^= line.startswith("```")
        if len(line) > 101 and not code and not line.lstrip().startswith("|") and " " in line.strip()[:100]:
            long.append(f"{path}:{number}")
print(*long, sep="\n")
END
    [ "$output" = "" ]
}

@test "README has at most 1,200 words, and all documents together 55,000" {
    [ "$(wc -w <README.md)" -le 1200 ]
    documents=$(sources | grep '\.md$')
    [ "$(wc -l <<<"$documents")" -ge 25 ]
    # shellcheck disable=SC2086
    words=$(cat $documents | wc -w)
    [ "$words" -le 55000 ] || { echo "$words words"; false; }
}

@test "every file that a document links is there" {
    local missing="" absent=""
    for document in README.md C*.md recipes/*.md recipes/clusters/README.md cmd/README.md datasets/README.md kernels/*.md lib/*.md results/*.md results/archive/README.md tests/README.md; do
        for link in $(grep -o '](\([^)]*\))' $document | sed 's/^](//; s/)$//; s/#.*//' | grep -v '^https\?:' | sort -u); do
            [ -e "$(dirname $document)/$link" ] && continue
            case $document:$link in README.md:results/*.svg) absent="$absent $link" ;; *) missing="$missing $document:$link" ;; esac
        done
    done
    [ -z "$missing" ] || { echo "missing:$missing"; false; }
    [ -z "$absent" ] || ! compgen -G "results/*.json" || { echo "published without a figure:$absent"; false; }
    [ -z "$absent" ] || skip "no results are published yet:$absent"
}

@test "results/DEVIATIONS.md is what the deviations of released code measure" {
    diff results/DEVIATIONS.md <(build/release/deviations) || { echo "run make deviations"; false; }
}

@test "recipes/REFERENCE.md is what the programs print" {
    diff recipes/REFERENCE.md <(build/bin/sparsetrain --help-recipe) || { echo "run make reference"; false; }
}

# The resolved recipe of a result on stdin, a value a line; only the values that file $1 has too: keys that came later
# have presets that change nothing.
leaves() {
    jq --slurpfile known "${1:-/dev/null}" -c '.recipe.resolved as $now | ($known[0].recipe.resolved // $now) |
        paths(type != "array" and type != "object") | [., (. as $at | $now | getpath($at))]'
}

@test "published results: right schema, ended well, of the recipe of their name, drawn" {
    compgen -G "results/*.json" || skip "no results are published yet"
    for result in results/*.json; do
        name=$(basename "$result" .json)
        if [ "$name" = links ]; then # measured by make links, without a recipe of a figure
            jq -e '.schema == "links/2" and (.steps | length > 0) and (.program.version != null)' "$result"
            continue
        fi
        if [ "$name" = ddp-hooks ] || [ "$name" = buckets ]; then # measured by make bench-hooks and bench-buckets
            jq -e --arg name "$name" '.schema == "\($name)/1" and (.results | length > 0) and (.program.version != null)' "$result"
            continue
        fi
        if [ "$name" = correlation ] || [ "$name" = delay ]; then # of make steps; analysis.bats makes a part again
            jq -e --arg name "$name" '.schema == "\($name)/1" and (.results | length > 0)' "$result"
            continue
        fi
        if [ "$name" = advise-check ]; then # what make advise-check trained
            jq -e '.schema == "sparsetune-check/1"' "$result"
            # What methods reached is what their results say now. Else: make advise-check ARGS=again
            cp "$result" "$BATS_TEST_TMPDIR/again.json"
            python3 -B tests/bench/advise_check.py none "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/again.json" again >/dev/null
            cmp "$result" "$BATS_TEST_TMPDIR/again.json"
            continue
        fi
        if [[ $name == profile* ]]; then # what make profiles found of other results; profile.bats repeats it
            jq -e '.tune.action == "profile" and (.tune.results | length > 1)' "$result"
            continue
        fi
        if [ "$name" = bench-compressors ]; then # a part of what recipes/kernels.yaml times
            jq -e '.kind == "kernels" and .recipe.name == "kernels" and all(.results[]; .verified != false)' "$result"
            continue
        fi
        of=${name%-h100} # NAME-h100: the recipe NAME on another machine
        recipe=recipes/$of.yaml
        [[ $of != mini-* ]] || recipe=recipes/mini/${of#mini-}.yaml
        [[ $of != night-* ]] || recipe=recipes/night/${of#night-}.yaml
        [ "$(jq -r '[.schema, .recipe.name] | join(" ")' "$result")" = "sparsebench/1 $of" ]
        # One that was stopped judges nothing that is not finished.
        jq -e '.status == "ok" or (.status == "interrupted" and all(.claims[]; .verdict == "not judged"))' "$result"
        jq -e '(.results | length > 1) and (.program.version != null)' "$result"
        ! grep -q '^claims:' "$recipe" || jq -e '.claims | length > 0' "$result"
        grep -q "^kind: kernels" "$recipe" && continue
        build/bin/sparseplot-export "$result" --format=csv >"$name.csv"
        grep -q "<svg" "results/$name.svg"
        if [ "$(jq -r .recipe.sha256 "$result")" = "$(sed '1{/^# yaml-language-server:/d}' "$recipe" | sha256sum | cut -d' ' -f1)" ]; then
            diff <(leaves <"$result") <(build/bin/sparsebench "$recipe" --dry-run --json | leaves "$result")
        else
            echo "# results/$name.json: its recipe has changed since it was published" >&3
        fi
    done
}
