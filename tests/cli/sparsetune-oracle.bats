#!/usr/bin/env bats
# sparsetune --oracle and --rule.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$CACHE SPARSE_DATASETS=$ROOT/datasets
    SMOKE=$ROOT/recipes/smoke.yaml
}

record() { # METHOD
    sparsetrain -q "$SMOKE" --method "$1" --seed 2 --record-inputs run.inputs -f >/dev/null
}

@test "oracle: the budget is what the run sent, a constant threshold has no regret, nothing is below the optimum" {
    record "Top-k k=4"
    sparsetune -q "$SMOKE" --oracle run.inputs >oracle.json
    cmp oracle.json results/local/smoke/oracle.json
    jq -e '.schema == "sparsetune/1" and .tune.action == "oracle" and .tune.method == "Top-k k=4" and .tune.seed == "2"' oracle.json
    jq -e '.tune | .budget == 4 * .steps * .workers and .lambda > .lambda_above' oracle.json
    jq -e '.tune.methods | map(.label) == ["SGD", "Top-k k=1", "Top-k k=4", "Hard-threshold"]' oracle.json
    jq -e '.tune.methods[] | select(.label == "Hard-threshold") | .regret <= 1e-12 * .error and .error > 0' oracle.json
    jq -e '.tune.methods[] | select(.label == "Top-k k=4") | .regret > 0 and .ratio > 1' oracle.json
    jq -e '.tune | .optimal_error as $best | .methods[] | select(.label == "Top-k k=4") | .optimal_error == $best' oracle.json
}

@test "oracle: a threshold that is steered to a budget has little regret, and sends its budget" {
    sed '/^claims:/,$d' "$SMOKE" >budget.yaml
    echo '  - {name: Budget, compressor: hard-threshold, budget: 0.1}' >>budget.yaml
    SMOKE=budget.yaml
    record "Top-k k=4"
    sparsetune -q "$SMOKE" --oracle run.inputs >oracle.json
    jq -e '.tune.methods | map(select(.label == "Budget" or .label == "Top-k k=4")) |
        (.[1].density - 0.1 | fabs) < 0.005 and .[1].ratio >= 1 and .[1].ratio < .[0].ratio' oracle.json
}

@test "oracle: the same for any number of threads; a table on a terminal" {
    record Hard-threshold
    sparsetune -q "$SMOKE" --oracle run.inputs --threads 1 >one.json
    sparsetune -q "$SMOKE" --oracle run.inputs --threads 2 >two.json
    cmp <(jq .tune one.json) <(jq .tune two.json)
    run -0 script -qec "sparsetune -q $SMOKE --oracle run.inputs" /dev/null
    [[ $output == *"what 'Hard-threshold', seed 2, compressed"*"Top-k k=1"* && $output != *'"schema"'* && $output != *nan* ]]
    [[ $output =~ SGD\ +100\ +0\ +0\ +0\ +1.0000 ]]
}

@test "oracle: a recording that does not belong to the recipe" {
    record "Top-k k=4"
    run -1 --separate-stderr sparsetune -q "$SMOKE" --oracle run.inputs --set workers=2
    [[ $stderr == *"does not belong to this recipe: it is of method 'Top-k k=4', seed 2"*"which has 'SGD', 'Top-k k=1'"* ]]
    run -0 sparsetune -q "$SMOKE" --oracle run.inputs --set title=Other
    truncate -s -3 run.inputs
    says 1 "run.inputs: " "it is damaged" -- sparsetune -q "$SMOKE" --oracle run.inputs
    says 1 "is not a recording of a run (sparsetrain --record-inputs" -- sparsetune -q "$SMOKE" --oracle "$SMOKE"
    says 1 "cannot read none" -- sparsetune -q "$SMOKE" --oracle none
}

@test "oracle: a header that no run writes, and what is no plain file" {
    record "Top-k k=4"
    damaged() { # JQ-FILTER MESSAGE
        head -n 1 run.inputs | jq -c "$1" >bad.inputs
        tail -n +2 run.inputs >>bad.inputs
        run -1 --separate-stderr sparsetune -q "$SMOKE" --oracle bad.inputs
        [[ $stderr == *"bad.inputs: "*"$2" ]] || { echo "$1: $stderr"; false; }
    }
    damaged '.constants = [1, 2]' "its header makes no sense"
    damaged 'del(.constants)' "its header makes no sense"
    damaged '.workers = 4294967294 | .layers = [2147483647]' "its header makes no sense"
    damaged '.layers = {"a": 40}' "its header makes no sense"
    damaged '.steps = 9007199254740992' "its header makes no sense"
    damaged '.steps += 1' "it is damaged"
    says 2 "is not a plain file: a recording is read twice" -- sparsetune -q "$SMOKE" --oracle <(cat run.inputs)
}

@test "rule: the recipe with lambda filled in, and both rules in the evidence" {
    sed '/^claims:/,$d' "$SMOKE" >rule.yaml # claims name Hard-threshold, which becomes two
    SMOKE=rule.yaml
    sparsetune -q "$SMOKE" --rule=simple >simple.yaml
    grep -q 'Hard-threshold, compressor: hard-threshold, lambda: \[0.5, 0.25\]' simple.yaml
    grep -q '# sparsetune --rule simple: lambda 0.25 for Top-k k=4, k = 4' simple.yaml
    sparsetrain --dry-run simple.yaml --method "Hard-threshold lambda=0.25" >/dev/null
    sparsetune -q "$SMOKE" --rule=estimated --repeats 0 >exact.yaml
    evidence=results/local/smoke/rule.json
    # lambda = (2/sqrt k) sqrt((2 d/k + M) zeta^2 + sigma^2), d = 40
    jq -e '.tune.pilots[0] as $t | $t.rules[] | (.lambda_estimated - 2/(.k|sqrt) *
        (((80/.k + $t.M.value) * $t.zeta_squared.value + $t.sigma_squared.value)|sqrt)) / .lambda_estimated | fabs < 1e-12' $evidence
    jq -e '.tune.pilots[0].points | length == 8 and (map(.step) == (map(.step) | sort))' $evidence
    # lambda = sqrt(mean |g_i|^2 / k), and |e|^2 = d lambda^2 / 6
    jq -e '.tune.pilots[0] as $t | ([$t.points[] | [.gradient, .noise | add / length] | add] | add / length) as $g
        | ($t.gradient_norm - $g | fabs < 1e-9 * $g) and ([$t.rules[] | (.lambda_noise * .lambda_noise * .k / $g - 1 | fabs < 1e-9)
        and (.error_norm / (.lambda_noise * .lambda_noise) * 6 - 40 | fabs < 1e-9)] | all)' $evidence
    sparsetune -q "$SMOKE" --rule=noise --repeats 0 | grep -q '# sparsetune --rule noise: lambda .* for Top-k k=4, k = 4'
    exact=$(jq '.tune.pilots[0].rules[0].lambda_estimated' $evidence)
    sparsetune -q "$SMOKE" --rule=estimated --repeats 200 >drawn.yaml
    jq -e --argjson x "$exact" '.tune.pilots[0].rules[0] | (.lambda_estimated - $x | fabs) < 4 * .standard_error + 0.02 * $x' $evidence
}

@test "rule: a pilot for each way that data are dealt; Top-k methods that send as much count once" {
    sed '/^methods:/,$d' "$SMOKE" >shards.yaml
    cat >>shards.yaml <<'END'
methods:
  - {name: "Top-k, iid", compressor: topk, k: [1, 4]}
  - {name: "Top-k, sorted", compressor: topk, k: 4, shards: sorted}
  - {name: "HT, iid", compressor: hard-threshold, lambda: 1}
  - {name: "HT, sorted", compressor: hard-threshold, lambda: 1, shards: sorted}
  - {name: "HT, again", compressor: hard-threshold, lambda: 1}
END
    run -0 --separate-stderr sparsetune -q shards.yaml --rule=estimated --repeats 0
    [ "$(grep -c 'lambda: \[' <<<"$output")" = 3 ]
    [ "$(sed -n 's/.*HT, iid.*\(lambda.*\)}/\1/p' <<<"$output")" = "$(sed -n 's/.*HT, again.*\(lambda.*\)}/\1/p' <<<"$output")" ]
    jq -e '.tune.pilots | map(.methods) == [["HT, iid", "HT, again"], ["HT, sorted"]] and map(.pilot.method) == ["Top-k, iid k=1", "Top-k, sorted"]
        and all(.rules | map(.k) == [1, 4]) and .[0].zeta_squared.value != .[1].zeta_squared.value' results/local/smoke/rule.json
}

@test "rule: no GPU" {
    sed '/^claims:/,$d' "$SMOKE" >plain.yaml
    says 1 "use --device cpu" -- sparsetune -q plain.yaml --rule=simple --device cuda
}

@test "rule: a short run has as many points as were asked for" {
    sed '/^claims:/,$d' "$SMOKE" >plain.yaml
    sparsetune -q plain.yaml --rule=simple --set epochs=0.1 --json >short.json
    jq -e '.tune.pilots[0] | (.points | length) == 8' short.json
}

@test "theory: both sides of every result that is about a method, and none above its bound" {
    local set=(--set steps=300 --set 'optimizer.learning-rate=1/(200*row_max)' --set 'seeds=[1]')
    sparsetune -q "$SMOKE" --theory "${set[@]}" >theory.json
    jq -e '.tune.methods | map(.label) == ["SGD", "Top-k k=1", "Top-k k=4", "Hard-threshold"]' theory.json
    jq -e '.tune.methods[] | .statements | length == 4 and all(.measured <= .bound and .measured > 0)' theory.json
    jq -e '.tune.methods[-1].statements | map(.statement) == ["theorem 4", "theorem 5", "theorem 6", "theorem 1"]' theory.json
    jq -e '.tune.methods[1] | .delta == 0.025 and .nu_squared == null and .constants.T == 300' theory.json
    jq -e '.tune.methods | all(.corollary_1.rate > 0) and .[0].mean_error == 0 and all(.[1:][]; .mean_error > 0)' theory.json
    total=$(sparsetrain -q "$SMOKE" --method Hard-threshold --seed 1 "${set[@]}" --set 'record.series=[total-error]' --set 'claims=[]' \
        --set 'plots=[]' | tail -n 3 | jq -s '.[0].total_error')
    jq -e --argjson total "$total" '.tune.methods[-1].mean_error / ($total / 300) - 1 | fabs < 1e-12' theory.json
    run -0 sparsetune -q "$SMOKE" --theory "${set[@]}" --table
    [[ $output == *"# method "*"statement "*"measured"*"theorem 7"* ]]
}

@test "theory: a method that is not Algorithm 1 is left out, the others stay" {
    run -0 sparsetune -q "$SMOKE" --theory --set steps=50 --set 'seeds=[1]' --set 'methods.Top-k.error-feedback=none' --table
    [[ $output == *"# Top-k k=1 is left out: error-feedback.form: none"*$'\nHard-threshold '* && $output != *$'\nTop-k'* ]]
}

@test "theory: SG_CPU names kernels of this machine" {
    says 1 "SG_CPU=mmx: this machine has no such kernels" -- env SG_CPU=mmx sparsetune -q "$SMOKE" --theory
}

@test "theory: of a network the three results that need no convexity, L and f(x0) measured, whatever the threads" {
    need_torch
    cat >network.yaml <<'END'
schema: 1
name: network
task: {kind: cnn, model: resnet8, width: 0.1, dataset: cifar-10, stand-in: cifar-like, train-images: 16, test-images: 4, augment: none}
workers: 2
batch: 4
steps: 6
optimizer: {learning-rate: 0.0005}
record: {every: 3, evaluate: 0, series: [train-loss]}
methods:
  - {name: Top-k, compressor: topk, k: 1}
  - {name: Whole, compressor: topk, k: 1, scope: model}
  - {name: Hard-threshold, compressor: hard-threshold, lambda: 0.5}
END
    for threads in 1 2; do sparsetune -q network.yaml --theory --threads $threads | jq -S .tune >$threads.json; done
    cmp 1.json 2.json
    d=$(sparsetrain -q network.yaml --method Whole --json | jq .constants.d)
    jq -e '.methods | map(.statements | map(.statement)) ==
        [["theorem 7", "theorem 1"], ["theorem 7", "theorem 1"], ["theorem 6", "theorem 1"]]' 1.json
    jq -e --argjson d "$d" '.methods | (1 / .[1].delta - $d | fabs) < 1e-6 and .[0].delta > 2 * .[1].delta and
        (.[2].nu_squared / (0.25 * $d) - 1 | fabs) < 1e-9' 1.json
    jq -e '.methods[] | all(.statements[]; .measured > 0 and .measured < .bound) and .mean_error > 0 and
        (.constants | .mu == null and .L > 0 and .gap > 1.5 and .gap < 4)' 1.json
}

@test "theory: logistic regression and convolutional networks only" {
    says 2 "the constants are known for logreg, and measured for cnn" -- sparsetune -q "$ROOT/recipes/mini/fig2b.yaml" --theory
    says 2 "a constant learning rate" -- sparsetune -q "$ROOT/recipes/mini/fig3.yaml" --theory
}
