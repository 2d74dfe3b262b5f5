#!/usr/bin/env bats
# sparsetune: matched densities, what comes out, resumption, bad input.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    cat >r.yaml <<'YAML'
schema: 1
name: tuned
title: Three densities
task: {kind: logreg, dataset: two-clouds, stand-in: two-clouds, l2: L/100, start: {offset-from-optimum: 0.1}}
workers: 4
epochs: 20
optimizer: {kind: sgd, learning-rate: 1/(L+l2), decay-at: [10, 15]}
error-feedback: gradient
seeds: [1, 2]
record: {every: 10, series: [suboptimality, bits, average-density]}
methods:
  - {name: SGD, compressor: none, baseline: true}
  - {name: Top-k, compressor: topk, k: [1, 2, 4]}
  - {name: Hard-threshold, compressor: hard-threshold, lambda: match}
plots:
  - {x: bits, y: suboptimality, log: y}
YAML
    export SPARSE_DATA=$CACHE
}

tune() {
    sparsetune r.yaml --match-density --folder cells -o evidence.json --force "$@"
}

trials() { # run by the last command
    ls cells/*.ndjson | wc -l
}

@test "every Top-k density is matched within 5 %, after one pilot where the law of a random walk holds" {
    run -0 --separate-stderr tune
    [[ $stderr == *"sparsetune: "[0-9]*" cells, "[0-9]*" at once, into cells"* ]] || { echo "$stderr"; false; }
    echo "$output" >matched.yaml
    run -0 --separate-stderr sparsebench matched.yaml --folder cells --json
    echo "$output" >result.json
    for i in 0 1 2; do
        run -0 jq -e --argjson i $i '([.results[] | select(.method == "Top-k")][$i].final.average_density.mean) as $k
            | ([.results[] | select(.method == "Hard-threshold")][$i].final.average_density.mean) as $h
            | ($h / $k - 1) | fabs <= 0.05' result.json
    done
    run -0 jq -e '.tune.methods[0] | .pilot_share <= 0.0168 and .gradient_norm > 0 and ([.trials[] | select(.whole | not)] | length) == 1 and (.targets | length) == 3
        and all(.targets[]; (.difference | fabs) <= 0.05) and (.trials | length) > 10' evidence.json
    # Without error feedback, or if the residual fades, it does not hold: four pilots for each, of a tenth of the steps.
    for feedback in none '{form: update, decay: 0.5}'; do
        run -0 --separate-stderr sparsetune r.yaml --match-density --set "error-feedback=$feedback" --folder cells -o none.json --force
        run -0 jq -e '.tune.methods[0] | .pilot_share > 0.09 and .pilot_share <= 0.1001 and .gradient_norm == null and (.targets | length) == 3
            and all(.targets[]; (.difference | fabs) <= 0.05)' none.json
    done
    # What was verified is not run again.
    run -0 jq -e 'all(.results[] | select(.method == "Hard-threshold") | .cells[]; .reused)' result.json
}

@test "the recipe that comes out is the one that went in but for lambda and comments" {
    run -0 --separate-stderr tune
    diff <(grep -v '^  # sparsetune --match-density: lambda ' <<<"$output" | sed 's/lambda: \[.*\]/lambda: match/') r.yaml
    [ "$(grep -c '^  # sparsetune --match-density: lambda .* Top-k k=.* (2 seeds)$' <<<"$output")" = 3 ]
}

@test "in a pipe: recipe, result, plot" {
    tune 2>/dev/null | sparsebench - --folder cells 2>/dev/null | sparseplot-export --format csv >out.csv
    grep -q 'Hard-threshold lambda=' out.csv
    run -0 bash -c "sparsetune - --match-density --folder cells -o evidence.json --force <r.yaml | grep -c 'lambda: \[[0-9., ]*\]'"
    sparseplot-export evidence.json --format csv >evidence.csv
    grep -q 'Hard-threshold lambda=' evidence.csv
}

@test "a list of lambdas is replaced one by one, and the labels that claims and plots name" {
    sed -i 's/lambda: match/lambda: [3, 2e-1, 0.1]/' r.yaml
    cat >>r.yaml <<'YAML'
  - {x: epoch, y: suboptimality, methods: [Top-k k=1, Hard-threshold lambda=3]}
claims:
  - {text: "less", metric: bits, of: Hard-threshold lambda=2e-1, at-most: {times: 2, of: Top-k k=2}}
YAML
    run -0 --separate-stderr tune
    echo "$output" >out.yaml
    lambda=$(sed -n 's/.*lambda: \[\([^,]*\), \([^,]*\), .*/\1 \2/p' out.yaml)
    grep -q "methods: \[Top-k k=1, Hard-threshold lambda=${lambda% *}\]" out.yaml
    grep -q "of: Hard-threshold lambda=${lambda#* }, at-most: {times: 2, of: Top-k k=2}" out.yaml
    sparsebench out.yaml --folder cells --json 2>/dev/null | jq -e '.claims[0].verdict == "holds"'
}

@test "killed at any moment, the same command goes on and ends with the same bytes" {
    tune --quiet >whole.yaml
    all=$(trials)
    cp evidence.json whole.json
    rm -r cells
    for pause in 0.05 0.15 0.3; do
        sparsetune r.yaml --match-density --folder cells -o evidence.json --force --quiet >killed.yaml &
        sleep $pause
        kill -9 $! 2>/dev/null || true
        wait $! 2>/dev/null || true
        sleep 0.3 # a cell that outlives it holds the folder for a moment
    done
    tune --quiet >again.yaml
    cmp whole.yaml again.yaml
    [ "$(trials)" = "$all" ]
    [ "$(jq -S .tune evidence.json)" = "$(jq -S .tune whole.json)" ]
    before=$(stat -c %Y.%i cells/*.ndjson)
    tune --quiet >again.yaml
    [ "$(stat -c %Y.%i cells/*.ndjson)" = "$before" ]
}

@test "jobs change nothing but the time, and --fresh nothing but that" {
    tune --quiet --jobs 1 >one.yaml
    rm -r cells
    tune --quiet --jobs 3 >three.yaml
    cmp one.yaml three.yaml
    cp evidence.json three.json
    tune --quiet --fresh >fresh.yaml
    cmp one.yaml fresh.yaml
    [ "$(jq -S '[.tune, .results[].final]' evidence.json)" = "$(jq -S '[.tune, .results[].final]' three.json)" ]
}

@test "a stopped search says how to go on" {
    FAKE_LOG=$BATS_TEST_TMPDIR/log
    export FAKE_LOG FAKE_HANG="Top-k k=1:1"
    sparsetune r.yaml --match-density --folder cells -o evidence.json --device cuda --program "$ROOT/tests/cli/fake_sparsetrain" 2>err &
    pid=$!
    patiently grep -qs '^hang' "$FAKE_LOG"
    grep -q '^check .* --device cuda ' "$FAKE_LOG"
    kill -TERM $pid
    code=0
    wait $pid || code=$?
    [ $code = 143 ]
    grep -q 'give the same command again to resume' err
    [ ! -e evidence.json ]
}

@test "a cell that fails ends the search with its words" {
    export FAKE_FAIL="Top-k k=1:1"
    run -1 --separate-stderr tune --program "$ROOT/tests/cli/fake_sparsetrain"
    [[ $stderr == *"Top-k k=1, seed 1 failed: exit status 1"*"no such data set"* ]]
    [ -z "$output" ]
}

@test "trials do without the recipe's network and the entries of each worker, and find the same" {
    tune -q >plain.yaml
    sed -e 's/^record: {/&layers: true, workers: true, /' -e '/^methods:/i network: {link: 1gbe, compute: 1e-4}' -i r.yaml
    grep -q '^network' r.yaml
    tune -q >found.yaml
    diff <(grep 'lambda: \[' plain.yaml) <(grep 'lambda: \[' found.yaml)
    sparsetune r.yaml --rule=estimated --repeats 0 -q --folder cells -o rule.json --force >/dev/null
}

@test "--padded: the largest messages are matched, which takes a larger lambda where workers differ" {
    sed -i 's/average-density]/average-density, average-density-padded]/; s/l2: L.100/&, shards: {kind: sorted}/' r.yaml
    run -0 --separate-stderr tune
    cp evidence.json mean.json
    run -0 --separate-stderr tune --padded
    echo "$output" >matched.yaml
    [ "$(grep -c '^  # sparsetune --match-density --padded: lambda .* Top-k k=.* (2 seeds)$' matched.yaml)" = 3 ]
    run -0 --separate-stderr sparsebench matched.yaml --folder cells --json
    echo "$output" >result.json
    run -0 jq -e '[.results[].final] | .[1:4] as $k | .[4:7] as $h | all(range(3);
        ($h[.].average_density_padded.mean / $k[.].average_density_padded.mean - 1 | fabs) <= 0.05
        and $h[.].average_density.mean < $k[.].average_density.mean
        and $k[.].average_density_padded.mean == $k[.].average_density.mean)' result.json
    run -0 jq -e '.tune | .padded and all(.methods[].targets[]; (.difference | fabs) <= 0.05)' evidence.json
    run -0 jq -en 'input.tune as $mean | input.tune as $padded | ($mean.padded | not) and all(range(3);
        $padded.methods[0].targets[.].lambda > 1.1 * $mean.methods[0].targets[.].lambda)' mean.json evidence.json
}

@test "bits do not tell the entries of values in a code: a column that does is asked for" {
    sed 's/bits, average-density\]/bits]/; s/lambda: match/&, values: {code: levels, levels: 4}/' r.yaml >levels.yaml
    for action in match-density reach-baseline; do
        run -2 sparsetune levels.yaml --$action --folder cells -o e.json
        [[ $output == *"levels.yaml: record.series has bits, which do not tell how many entries Hard-threshold sends (add average-density)"* ]]
        [ ! -e cells ] && [ ! -e e.json ]
    done
    sed -i 's/bits]/bits, average-density]/' levels.yaml
    run -0 sparsetune -q levels.yaml --match-density --folder cells -o e.json
    run -0 jq -e 'all(.results[].final; .bits.mean < 0.9 * 64 * 40 * 1200 * .average_density.mean)
        and all(.tune.methods[0].targets[]; (.difference | fabs) <= 0.05)' e.json
}

@test "a density that no lambda sends: what is reachable is said" {
    run -2 --separate-stderr tune --tolerance 1e-9
    [[ $stderr == *"no lambda sends Top-k k="*"within 1e-07 %: lambda "*" sends "*" %, lambda "*" sends "*" % (allow more with --tolerance)"* ]]
    [ -z "$output" ]
}

@test "--reach-baseline: the least volume that comes within the tolerance, with every trial" {
    run -0 --separate-stderr sparsetune r.yaml --reach-baseline --tolerance 0.1 --folder cells -o front.json --jobs 2
    echo "$output" >reached.yaml
    diff <(grep -v '^  # sparsetune --reach-baseline: lambda ' reached.yaml | sed 's/lambda: [0-9.e+-]*/lambda: match/') r.yaml
    run -0 jq -e '.tune | .metric == "suboptimality" and .better == "lower" and .baseline == "SGD"
        and .value <= 1.1 * .baseline_value
        and ([.trials[] | select(.steps == 1200 and .reaches) | .lambda] | max) == .lambda
        and ([.trials[] | select(.steps == 1200 and (.reaches | not)) | .lambda] | min) / .lambda <= 1.26
        and ([.trials[] | select(.steps == 133)] | length) == 9 and ([.trials[] | select(.steps == 400)] | length) == 5
        and .topk.value <= 1.1 * .baseline_value and (.times_less_volume - .topk.density / .density | fabs) < 1e-9' front.json
    # On the front: nobody has less of both.
    run -0 jq -e '.tune.points as $p | all($p[]; . as $a | .front == all($p[]; . as $b | ($b.value > $a.value or $b.density > $a.density)
        or ($b.value == $a.value and $b.density == $a.density)))' front.json
    run -0 --separate-stderr sparseplot-export front.json --format csv
    [[ $output == *"Top-k k=1"* ]]
    # What comes out is what sparsebench finds: nothing but what is there.
    run -0 --separate-stderr sparsebench reached.yaml --folder cells --json
    run -0 jq -e 'all(.results[].cells[]; .reused)' <<<"$output"
}

@test "--reach-baseline: a list of lambdas stays, is among the evidence and gets one more" {
    for list in ' [3, 5e-1]' $'\n      - 3\n      -  5e-1'; do
        sed '/Hard-threshold/,$d' r.yaml >list.yaml
        printf '  - name: Hard-threshold\n    compressor: hard-threshold\n    lambda:%s\n' "$list" >>list.yaml
        echo 'claims: [{text: "less", metric: bits, of: Hard-threshold lambda=3, at-most: {of: Top-k k=4}}]' >>list.yaml
        run -0 --separate-stderr sparsetune list.yaml --reach-baseline --tolerance 0.1 --folder cells -o front.json --force
        echo "$output" >reached.yaml
        found=$(jq .tune.lambda front.json)
        grep -q "lambda: \[3, 5e-1, $found\]}" reached.yaml
        run -0 --separate-stderr sparsebench reached.yaml --folder cells --json
        run -0 jq -er '[.results[].label] | map(select(startswith("Hard"))) | join("; ")' <<<"$output"
        [ "$output" = "Hard-threshold lambda=3; Hard-threshold lambda=5e-1; Hard-threshold lambda=$found" ]
        run -0 jq -e '[.tune.points[].label] | index("Hard-threshold lambda=5e-1") != null and index("Hard-threshold lambda=3") != null' front.json
    done
}

@test "--reach-baseline: what is better is the metric's to say, not that of a run that got worse" {
    for seeds in '[10]' '[8, 10, 3]'; do
        run -0 sparsetune -q r.yaml --reach-baseline --set "seeds=$seeds" --folder cells -o front.json --force
        run -0 jq -e '.tune | .better == "lower" and .tolerance == null and .margin == "1.25 times"
            and .value <= 1.25 * .baseline_value and .density > 0.005' front.json
    done
}

@test "--reach-baseline: volume is that of a run as long as it is, and lengths that differ are said" {
    sed -i 's/compressor: none/epochs: 40, &/; s/k: \[1, 2, 4\]/k: [1, 2, 4], epochs: 10/' r.yaml
    run -0 --separate-stderr sparsetune r.yaml --reach-baseline --tolerance 40 --folder cells -o front.json
    [[ $stderr == *"Hard-threshold: its runs have 1200 steps, those of the baseline SGD 2400"* ]]
    run -0 jq -e '.tune | .topk.volume == .topk.density * 40 * 600 and (.volume / (.density * 40 * 1200) - 1 | fabs) < 1e-9
        and (.times_less_volume - .topk.volume / .volume | fabs) < 1e-9 and .baseline_steps == 2400 and .steps == 1200' front.json
}

@test "--reach-baseline: a Top-k that diverges does not end the search" {
    sed -i '/name: Top-k/a\  - {name: Wild, compressor: topk, k: 3, learning-rate: 1e30}' r.yaml
    run -0 sparsetune -q r.yaml --reach-baseline --tolerance 0.1 --folder cells -o front.json
    run -0 jq -e '[.tune.points[] | select(.label == "Wild") | [.value, .front]] == [[null, false]]' front.json
}

@test "--reach-baseline says where it stopped without an end" {
    run -0 --separate-stderr sparsetune r.yaml --reach-baseline --tolerance 1000 --folder cells -o front.json
    [[ $stderr == *"Hard-threshold: no lambda was found that fails, up to 195: the tolerance is wide"* ]]
    run -0 jq -e '.tune | .lambda_that_fails == null and .density == 0 and .times_less_volume == null' front.json
    run -2 sparsetune -q r.yaml --reach-baseline --tolerance 0 --set 'seeds=[1]' --folder cells -o front.json --force
    [[ $output == *"no lambda down to 0.000"*" reaches SGD's suboptimality of 0.00838"* ]]
}

@test "--reach-baseline --fresh runs every cell again, Top-k's too" {
    sparsetune -q r.yaml --reach-baseline --tolerance 0.1 --folder cells -o front.json
    find cells -name '*.ndjson' -printf '%T@ %p\n' | sort >before
    sparsetune -q r.yaml --reach-baseline --tolerance 0.1 --folder cells -o front.json --force --fresh
    find cells -name '*.ndjson' -printf '%T@ %p\n' | sort >after
    [ "$(wc -l <before)" = "$(wc -l <after)" ]
    [ "$(comm -12 before after)" = "" ]
}

@test "a length from --set is that of whole runs, not of pilots" {
    run -0 --separate-stderr tune --set epochs=5
    run -0 jq -ec '[.tune.methods[].trials[].steps] | unique' evidence.json
    [ "$output" = "[15,300]" ]
    run -0 --separate-stderr tune --set methods.Hard-threshold.steps=300 --folder more
    run -0 jq -ec '[.tune.methods[].trials[].steps] | unique' evidence.json
    [ "$output" = "[15,300]" ]
}

@test "a recipe that is valid with --set alone is refused before the search" {
    sed -i '/^epochs:/d' r.yaml
    run -2 tune --set epochs=20
    [ "${lines[-1]}" = "sparsetune: without --set: r.yaml:1:1: missing key 'epochs' or 'steps' (length of a run)" ]
    [ "$(trials)" = 3 ]
}

@test "seeds that differ: the mean is matched, whatever the first of them sends" {
    sed -i 's/k: \[1, 2, 4\]/k: 2/' r.yaml
    for steps in 10 30 50; do
        run -0 --separate-stderr tune --set steps=$steps
        run -0 jq -e '.tune.methods[0].targets[0].difference | fabs <= 0.05' evidence.json
    done
}

@test "a method's name may have an = in it" {
    sed -i 's/name: Hard-threshold/name: "lambda=best"/' r.yaml
    run -0 --separate-stderr tune
    run -0 jq -er '.tune.methods[0].method' evidence.json
    [ "$output" = "lambda=best" ]
    sparsetune -q r.yaml --reach-baseline --tolerance 0.1 --folder cells -o front.json
}

@test "--dry-run runs nothing; --json is the evidence; --set is named in the recipe" {
    run -0 --separate-stderr sparsetune r.yaml --match-density --dry-run
    [[ $stderr == *"Hard-threshold: one lambda for each Top-k density"* ]]
    [ ! -e results ] && [ ! -e cells ]
    run -0 --separate-stderr sparsetune r.yaml --match-density --folder cells --json --quiet
    [ "$(jq -r '.schema, .tune.action, .program.name' <<<"$output" | tr '\n' ' ')" = "sparsebench/1 match-density sparsetune " ]
    run -0 --separate-stderr tune --set workers=2 --quiet
    [[ $output == *"# found with --set 'workers=2', which is not in this file"* ]]
}

@test "without -o the evidence lies beside the cells" {
    sparsetune r.yaml --match-density --quiet >/dev/null
    jq -e '.tune.methods[0].method == "Hard-threshold"' results/local/tuned/match-density.json
}

@test "--match-bytes: any compressor's knob is found, whole numbers come as near as they can, and cells are reused" {
    sed -e 's/average-density/bytes-sent/' -e '/Top-k/,$d' r.yaml >bytes.yaml
    cat >>bytes.yaml <<'YAML'
  - {name: Top-k, compressor: topk, density: 0.2}
  - {name: Hard-threshold, compressor: hard-threshold, lambda: 0.3}
  - {name: QSGD, compressor: qsgd, levels: 15}
  - {name: Coarse, compressor: topk, k: 3, values: {code: levels, levels: 7}}
YAML
    run -0 --separate-stderr sparsetune bytes.yaml --match-bytes=0.9,0.5 --folder cells -o e.json
    echo "$output" >found.yaml
    [[ "$stderr" == *"QSGD: no levels comes within 5 % of the budget"* ]]
    jq -e '[.tune.methods[] | .method + " " + .key] == ["Top-k density", "Hard-threshold lambda", "QSGD levels", "Coarse k"]' e.json
    jq -e '.tune.methods[1].targets | all(.[]; .within and (.difference | fabs) <= 0.05)' e.json
    jq -e 'all(.tune.methods[].targets[]; .within == ((.difference | fabs) <= 0.05))' e.json
    grep -q '^  # sparsetune --match-bytes: lambda .* of the budget 0.5 (2 seeds)$' found.yaml
    run -0 --separate-stderr sparsebench found.yaml --folder cells --json
    jq -e 'all(.results[] | select(.method != "SGD") | .cells[]; .reused)' <<<"$output"
    # What the evidence says of the bytes is what the cells sent.
    jq -e --slurpfile e e.json '[.results[] | select(.method == "Hard-threshold") | .final.bytes_sent.mean] as $sent
        | [$e[0].tune.methods[1].targets[].bytes] as $said | ($sent | length) == 2
        and all(range(2); ($sent[.] / $said[.] - 1 | fabs) < 1e-9)' <<<"$output"
}

@test "the evidence of a recipe with a network has its modelled times" {
    sed -i 's/^plots:/network: {link: 1gbe}\nplots:/; s/k: \[1, 2, 4\]/k: 4/; s/seeds: \[1, 2\]/seeds: [1]/' r.yaml
    for action in match-density reach-baseline; do
        run -0 --separate-stderr sparsetune r.yaml "--$action" --folder cells -o evidence.json --force --quiet
        jq -e '.network.modelled and all(.results[]; .final.exposed_time.mean > 0)' evidence.json
    done
}

@test "--match-bytes writes a value once that is the nearest of two budgets" {
    sed -e 's/average-density/bytes-sent/' -e '/Top-k/,$d' r.yaml >bytes.yaml
    echo '  - {name: QSGD, compressor: qsgd, levels: 15, error-feedback: none}' >>bytes.yaml
    run -0 --separate-stderr sparsetune bytes.yaml --match-bytes=0.02,0.01 --folder cells -o e.json
    [[ "$output" == *"levels: 1, error-feedback: none}"* ]]
    [ "$(grep -c 'comes within 5 % of the budget' <<<"$stderr")" = 2 ]
    jq -e '[.tune.methods[0].targets[] | .value, .within] == [1, false, 1, false]' e.json
    sed -i 's/levels: 15/levels: [5, 7, 9]/' bytes.yaml
    cat >>bytes.yaml <<'YAML'
claims:
  - {text: "less", metric: bytes-sent, of: QSGD levels=7, at-most: {times: 2, of: QSGD levels=9}}
YAML
    run -0 --separate-stderr sparsetune bytes.yaml --match-bytes=0.02,0.01,0.4 --folder cells -o e.json --force
    third=$(jq '.tune.methods[0].targets[2].value' e.json)
    [[ "$output" == *"levels: [1, $third], "*"of: QSGD levels=1, at-most: {times: 2, of: QSGD levels=$third}"* ]]
}

@test "--match-bytes takes a method of the recipe as the measure, --method limits what is tuned" {
    sed -e 's/average-density/bytes-sent/' -e '/Top-k/,$d' r.yaml >bytes.yaml
    cat >>bytes.yaml <<'YAML'
  - {name: Top-k, compressor: topk, k: [2, 4]}
  - {name: Random-k, compressor: randomk, density: 0.2}
  - {name: Hard-threshold, compressor: hard-threshold, lambda: 0.3}
YAML
    run -0 --separate-stderr sparsetune bytes.yaml --match-bytes=of:Top-k --method Random-k --folder cells -o e.json
    echo "$output" >found.yaml
    jq -e '[.tune.methods[] | .method, (.targets | length)] == ["Random-k", 2]' e.json
    jq -e '[.tune.methods[0].targets[] | .of] == ["Top-k k=2", "Top-k k=4"]' e.json
    grep -q 'name: Top-k, compressor: topk, k: \[2, 4\]}' found.yaml
    grep -q 'lambda: 0.3}' found.yaml
    grep -q '# sparsetune --match-bytes: density .* of what Top-k k=4 sends (2 seeds)' found.yaml
    run -0 --separate-stderr sparsebench found.yaml --folder cells --json
    # What the cells of the measure sent is what those of the other method send, and neither is run again.
    jq -e 'def sent(m): [.results[] | select(.method == m) | .final.bytes_sent.mean];
        (sent("Top-k") | length) == 2 and ([sent("Top-k"), sent("Random-k")] | transpose | all(.[]; (.[1] / .[0] - 1 | fabs) <= 0.05))
        and all(.results[] | select(.method == "Top-k" or .method == "Random-k") | .cells[]; .reused)' <<<"$output"
    # The label of one cell is one target, here for all other methods.
    run -0 --separate-stderr sparsetune bytes.yaml --match-bytes=of:"Top-k k=4" --folder cells -o e.json --force
    jq -e '[.tune.methods[] | .method, (.targets | map(.of))] == ["Random-k", ["Top-k k=4"], "Hard-threshold", ["Top-k k=4"]]' e.json
}

@test "--method chooses one of several hard-thresholds for --reach-baseline, and among those of --match-density and --rule" {
    sed -i '/Hard-threshold/a\  - {name: Second, compressor: hard-threshold, lambda: match}' r.yaml
    says 2 "needs a method" -- sparsetune r.yaml --reach-baseline --dry-run
    says 0 "Second: the largest lambda" -- sparsetune r.yaml --reach-baseline --method Second --dry-run
    for action in --match-density --rule=noise; do
        run -0 --separate-stderr sparsetune r.yaml $action --method Second --dry-run
        [[ $stderr == *"Second: one lambda for each Top-k density"* && $stderr != *Hard* ]]
    done
}

@test "--match-bytes: a method that diverges is named, and the others are found; match is a start" {
    sed -e 's/average-density/bytes-sent/' -e '/Top-k/,$d' r.yaml >bytes.yaml
    cat >>bytes.yaml <<'YAML'
  - {name: QSGD, compressor: qsgd, levels: 1, learning-rate: 1000/(L+l2)}
  - {name: Top-k, compressor: topk, density: match}
  - {name: Levels, compressor: qsgd, levels: match, error-feedback: none}
YAML
    run -1 --separate-stderr sparsetune bytes.yaml --match-bytes=0.5 --folder cells -o e.json --quiet
    [[ $stderr == *"QSGD: no levels was found: QSGD levels="*", seed 1 diverged: "*"(the other 2 methods are in the recipe)"* ]]
    [[ $output == *"# sparsetune --match-bytes: no levels was found: "*"levels: 1, learning-rate"*"density: 0."*"levels: "[1-9]* ]]
    jq -e '.tune.methods | (.[0] | .targets == [] and (.failed | contains("diverged"))) and all(.[1:][]; .failed == null and (.targets | length) == 1)' e.json
    sed -i '/QSGD/!b; s/levels: 1/levels: match/' bytes.yaml # its start takes the place of match, so that the recipe runs
    run -1 --separate-stderr sparsetune bytes.yaml --match-bytes=0.5 --folder cells -o e.json --force --quiet
    [[ $output == *"levels: 4, learning-rate"* ]]
    sed -i '/Top-k/d; /Levels/d' bytes.yaml # nothing at all
    run -1 --separate-stderr sparsetune bytes.yaml --match-bytes=0.5 --folder cells -o e.json --force --quiet
    [ -z "$output" ] && [[ $stderr == *"diverged"* ]]
}

