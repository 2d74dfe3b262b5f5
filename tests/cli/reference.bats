#!/usr/bin/env bats
# The key reference says what is true: its example runs, and tasks have the series and constants that it lists.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$CACHE
}

@test "the reference begins with a recipe that runs as it stands" {
    sparsetrain --help-recipe | sed -n '/^```yaml/,/^```/p' | sed '/^```/d' >example.yaml
    [ "$(head -n 1 example.yaml)" = "schema: 1" ]
    run -0 sparsebench example.yaml --dry-run
    [ "$(grep -c '^run' <<<"$output")" = 12 ]
    run -0 --separate-stderr sparsebench -q example.yaml --folder cells
    [ "$(jq -r '.status, (.claims | map(.verdict) | join(" "))' <<<"$output" | xargs)" = "ok holds" ]
    sparseplot-export --format svg >example.svg <<<"$output"
}

# The part of the reference about a task.
about() { # KIND
    sparsetrain --help-recipe | sed -n "/^### task \`$1\`/,/^### [^\`]*\`[a-z]*\`\$/p" |
        awk -v kind="### task \`$1\`" '/^### / && $0 != kind && !/task\./ { exit } { print }'
}

# The names of "* `NAME`…" and "* `NAME`, `NAME`: as in…" after the line WHAT, one a line.
listed() { # WHAT
    awk -v what="$1" '$0 == what { on = 1; next } on && !/^[* ]/ && NF { exit } on && /^\*/ { print }' |
        sed -E 's/^\* ((`[^`]*`, )*`[^`]*`).*/\1/; s/[`,]//g' | tr ' ' '\n'
}

# A run of r.yaml, one method with every constant there can be, has the constants and takes the series of the reference.
as_listed() { # KIND
    local series constants
    constants=$(about "$1" | listed "Its constants:")
    series=$(sparsetrain --help-recipe | sed -n '/^### Series of every task/,/^### Constants/p' | sed -n 's/^\* `\([^`]*\)`.*/\1/p')
    [ "$1" != logreg ] || series=$(grep -vx train-loss <<<"$series")
    series="$series"$'\n'$(about "$1" | listed "Its series:")
    [ "$(wc -l <<<"$constants")" -ge 4 ] && [ "$(wc -l <<<"$series")" -ge 14 ]
    sparsetrain -q r.yaml --set "record.series=[$(paste -sd, <<<"$series")]" -o out --force
    diff <(printf '%s\n' "$constants" gamma error_bound) <(head -n 1 out | jq -r '.constants | keys_unsorted[]')
    diff <(printf '%s\n' step epoch "$series" | tr - _) <(head -n 1 out | jq -r '.columns[]')
}

recipe() { # TASK
    cat >r.yaml <<YAML
schema: 1
name: tiny
task: {$1}
workers: 2
steps: 1
optimizer: {learning-rate: 0.1}
record: {series: [bits]}
methods:
  - {name: Hard-threshold, compressor: hard-threshold, lambda: 0.01}
YAML
}

@test "logreg has the series and constants of the reference" {
    recipe "kind: logreg, dataset: two-clouds, stand-in: two-clouds"
    as_listed logreg
}

@test "networks have the series and constants of the reference" {
    need_torch
    recipe "kind: cnn, model: resnet8, dataset: cifar-10, stand-in: cifar-like, train-images: 64, test-images: 16"
    as_listed cnn
    recipe "kind: lm, dataset: wikitext-2, stand-in: text-like, embedding: 4, layers: 1, train-tokens: 2000, test-tokens: 500"
    as_listed lm
    recipe "kind: gpt, dataset: wikitext-2, stand-in: text-like, layers: 1, width: 4, context: 8, train-tokens: 2000, test-tokens: 500"
    as_listed gpt
    recipe "kind: ncf, dataset: ml-100k, stand-in: ratings-like, users: 40, factors: 4, mlp: 8-4"
    as_listed ncf
}

@test "results/DEFINITIONS.md has a row for every series, with its unit" {
    local name unit count=0
    while read -r name unit; do
        grep -qE "^\* (\`[a-z_]*\`, )*\`${name//-/_}\`(, \`[a-z_]*\`)*${unit:+ \($unit\)}:" "$ROOT/results/DEFINITIONS.md" || { echo "$name [$unit]"; false; }
        count=$((count + 1))
    done < <(sparsetrain --help-recipe | sed -n '/^### Series of every task/,/^### Constants/p; /^Its series:/,/^Its constants/p' |
        sed -n 's/^\* `\([^`]*\)`, in \([^:]*\):.*/\1 \2/p; s/^\* `\([^`]*\)`:.*/\1/p')
    [ "$count" -ge 25 ]
}

@test "results/DEFINITIONS.md has every constant, optimizer, rule, controller, code and compressor" {
    local kind name missing="" count=0
    for kind in optimizer "error-feedback form" controller code compressor constant; do
        if [ "$kind" = constant ]; then
            set -- $(sparsetrain --help-recipe |
                sed -n '/^### Constants/,/^### task/p; /^Its constants:/,/^###/p' | sed -n 's/^\* `\([^`]*\)`:.*/\1/p')
        else
            set -- $(table "$kind")
        fi
        [ $# -ge 4 ]
        for name in "$@"; do
            grep -qF "\`$name\`" "$ROOT/results/DEFINITIONS.md" || missing="$missing $kind:$name"
            count=$((count + 1))
        done
    done
    [ -z "$missing" ] || { echo "missing:$missing"; false; }
    [ "$count" -ge 60 ]
}

@test "the times of network.processor cpu are those of results/bench-compressors.json" {
    python3 "$ROOT/tests/bench/coding_rows.py" "$ROOT/results/bench-compressors.json" | diff - "$ROOT/lib/net/net_coding_cpu.c"
}

@test "results/SCHEMA.md is what the headers say, and a result has the keys that it lists" {
    awk -f "$ROOT/lib/result/schema.awk" "$ROOT/lib/result/sg_frame.h" "$ROOT/lib/result/sg_document.h" |
        diff "$ROOT/results/SCHEMA.md" -
    { cat "$ROOT/recipes/smoke.yaml" && echo '  - {kind: points, x: bits, y: error-norm}'; } >smoke.yaml
    sparsebench -q smoke.yaml --folder cells >smoke.json 2>/dev/null
    local part path optional count=0
    while read -r part path optional; do
        sed -n "/^## $part$/,/^## /s/^\* \`\([^\`]*\)\` .*/\1/p" "$ROOT/results/SCHEMA.md" | grep -vxE "${optional:--}" | sort >listed
        jq -r "[$path | keys_unsorted[]] | unique[]" smoke.json | sort >written
        [ -s listed ] && diff listed written || { echo "$part"; false; }
        count=$((count + $(wc -l <listed)))
    done <<'PARTS'
result . tuning|kind|name|title|method|over|table
label .results[] swept|tuned
cell .results[].cells[] trial|drawn|value|won|fresh
claim .claims[] cases
bound .claims[].bound
margin .claims[].margin
seed .claims[].seeds[]
plot .plots[]
point .plots[].points[]?
spread .plots[].points[]?.x
traffic .traffic
summary .summary
method .summary.methods[]
PARTS
    [ "$count" -ge 100 ]
}

@test "recipes/recipe.schema.json is what the programs print, and the first line of every recipe names it" {
    local recipe count=0
    sparsebench --help-recipe=json-schema | diff "$ROOT/recipes/recipe.schema.json" - || { echo "run make reference"; false; }
    for recipe in "$ROOT"/recipes/*.yaml "$ROOT"/recipes/*/*.yaml; do
        [ "$(sed -n '1s/^# yaml-language-server: $schema=//p' "$recipe")" = "$(realpath --relative-to="$(dirname "$recipe")" "$ROOT/recipes/recipe.schema.json")" ]
        count=$((count + 1))
    done
    [ $count -ge 100 ]
}

@test "the JSON Schema accepts all recipes, and refuses no change of one that sparsebench accepts" {
    find_python jsonschema yaml || skip "no Python has jsonschema and yaml: apt-get install python3-jsonschema python3-yaml"
    local schema=$ROOT/recipes/recipe.schema.json stride=7
    [ "$SPARSE_TEST_LEVEL" != nightly ] || stride=1
    "$PYTHON" "$ROOT/tests/cli/recipe_schema.py" "$schema" "$ROOT"/recipes/*.yaml "$ROOT"/recipes/*/*.yaml >said
    [ "$(grep -c ' ok$' said)" = "$(wc -l <said)" ] && [ "$(wc -l <said)" -ge 100 ] || { grep -v ' ok$' said; false; }
    "$PYTHON" "$ROOT/tests/cli/recipe_schema.py" "$schema" --changed $stride "$(command -v sparsebench)" "$ROOT"/recipes/{smoke,kernels}.yaml >said
    run ! grep 'schema refuses' said
    # What is left to the programs are names of methods and constants, and rules between keys.
    [ "$(grep -c 'both refuse' said)" -gt $((8 * $(grep -c 'program refuses' said))) ] && [ "$(grep -c 'both accept' said)" -gt 20 ]
    run ! grep 'program refuses.*: rename' said
}

@test "the JSON Schema refuses the wrong recipes of the transcript whose keys, names or numbers are wrong" {
    find_python jsonschema yaml || skip "no Python has jsonschema and yaml"
    local count=0 place
    edit() { # SED...
        count=$((count + 1))
        sed "$@" "$ROOT/recipes/smoke.yaml" >"wrong-$count.yaml"
    }
    eval "$(sed -n "s/^\$ \(edit '[^']*'\);.*/\1/p" "$ROOT/tests/golden/cli/recipes.txt")"
    "$PYTHON" "$ROOT/tests/cli/recipe_schema.py" "$ROOT/recipes/recipe.schema.json" wrong-*.yaml >said
    [ $count -ge 30 ]
    for place in claims.0.metric plots.1.y record.series claims.1.at-most methods.0 workers methods.1.controller error-feedback; do
        grep -q "^wrong-[0-9]*.yaml refused: $place: " said || { echo "$place"; cat said; false; }
    done
}

@test "a plug-in's compressor is in the JSON Schema of the programs that load it" {
    need_numpy
    export SPARSEGRAD_PYTHON=$PYTHON
    find_python jsonschema yaml || skip "no Python has jsonschema and yaml"
    sed 's/compressor: topk, k: .1, 4./compressor: my-largest, k: 1/; /^claims:/,$d' "$ROOT/recipes/smoke.yaml" >mine.yaml
    sparsebench --help-recipe=json-schema --plugin "$ROOT/lib/examples/largest.py" >schema.json
    "$PYTHON" "$ROOT/tests/cli/recipe_schema.py" schema.json mine.yaml | grep -x 'mine.yaml ok'
    "$PYTHON" "$ROOT/tests/cli/recipe_schema.py" "$ROOT/recipes/recipe.schema.json" mine.yaml | grep '^mine.yaml refused: methods.1.compressor: '
}
