#!/usr/bin/env bats
# sparsetune --advise: which compressor to use, from recorded gradients and the model of networks.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$CACHE
    # coding: a fixed time of compression, so that nothing of the list depends on this machine
    cat >r.yaml <<'YAML'
# The network is slow.
schema: 1
name: advice
title: Which one
task: {kind: logreg, dataset: two-clouds, stand-in: two-clouds, l2: L/100}
workers: 4
epochs: 20
optimizer: {kind: sgd, learning-rate: 0.02/(L+l2)}
error-feedback: gradient
seeds: [1, 2]
record: {every: 10, series: [suboptimality, error-norm, bytes-sent]}
network: {link: 1gbe, bandwidth: 0.001, latency: 0, coding: 10}
methods:
  - {name: Plain, compressor: none, baseline: true}
  - {name: Top-k, compressor: topk, k: [1, 4]}
  - {name: QSGD, compressor: qsgd, levels: 4, error-feedback: none}
claims:
  - text: Top-k is as good
    metric: suboptimality
    of: Top-k k=4
    at-most: {times: 2, of: Plain}
plots:
  - {x: epoch, y: suboptimality}
YAML
}

advise() {
    sparsetune --advise --folder cells -o advice.json --force --quiet "$@"
}

recorded() { # of 30 steps, 4 workers and two layers, a matrix and a vector: replay.yaml
    "$PYTHON" - <<'PY'
import numpy as np
r = np.random.default_rng(1)
np.save("g.npy", (r.standard_normal((30, 4, 2000)) * np.exp(r.standard_normal(2000))).astype("<f4"))
PY
    sed -e 's/^task: .*/task: {kind: recorded, files: g.npy, layers: "40x45,200"}/' -e 's/^epochs: .*/epochs: 1/' \
        -e 's/learning-rate: .*/learning-rate: 1}/' -e '/^claims:/,$d' -e 's/suboptimality, //' r.yaml >replay.yaml
}

shape='.schema == "sparsetune/1" and .status == "ok" and (.tune | .action == "advise" and (.answer | endswith("."))
    and (.pays | type) == "boolean" and .tolerance > 0 and (.candidates_from == "built-in" or .candidates_from == "recipe")
    and ([.gradients | keys[]] == ["d", "files", "recorded_here", "share_of_run", "square", "steps", "workers"])
    and .network.modelled and (.network_assumed | type) == "boolean" and (.coding_measured | type) == "boolean" and .threads >= 1
    and all(.left_out[]; [keys[]] == ["method", "reason"]) and (.assumptions | length) > 3
    and (.ranked_by == "relative" or .ranked_by == "mean" or .ranked_by == "lag" or .ranked_by == "drift")
    and all(.candidates[]; [keys[]] == ["add_s", "baseline", "bytes", "cautions", "coding_s", "encode_s", "error",
        "error_drift", "error_lag", "error_mean", "error_over_least", "exposed_s", "hook", "label", "left_out", "method", "rank", "recipe", "share", "speedup", "step_s", "within"]
        and all(.cautions[]; [keys[]] == ["caution", "text"]))
    and ([.candidates[] | select(.baseline)] | length == 1 and .[0].error == 0 and .[0].error_mean == 0 and .[0].error_lag == 0 and .[0].error_drift < 1e-9 and .[0].speedup == 1 and .[0].rank == null))'

# The list by its rule: every one is at most 5 % slower than the fastest behind it, and of those it has the smallest error.
ranked_by() { # ERROR
    echo "${ranked//.error/.error_$1}" | sed 's/error_relative/error/g'
}
ranked='[.tune.candidates[] | select(.rank)] | sort_by(.rank) | length > 3 and . as $l
    | all(range(length); . as $i | $l[$i:] | (map(.step_s) | min) as $least | .[0].step_s <= 1.05 * $least
        and all(.[] | select(.step_s <= 1.05 * $least); .error >= $l[$i].error))'

@test "--advise on recorded gradients: what it says of every method, and the ranked list" {
    need_numpy
    recorded
    run -0 advise replay.yaml
    # In a pipe the JSON comes out, which is also in the file.
    cmp <(echo "$output") advice.json
    jq -e "$shape" advice.json
    jq -e "$(ranked_by relative)" advice.json
    jq -e '.tune | .gradients == (.gradients + {files: "g.npy", recorded_here: false, share_of_run: null, steps: 30, workers: 4, d: 2000})
        and .candidates_from == "built-in" and (.network_assumed | not) and (.coding_measured | not) and .tolerance == 0.5' advice.json
    # Within means within; the list has these, each method once, with their ranks.
    jq -e '.tune | .tolerance as $x | all(.candidates[]; .within == (.error <= $x))
        and ([.candidates[] | select(.rank)] | sort_by(.rank) | map(.label)) == .list
        and ([.candidates[] | select(.rank) | .method] | length == (unique | length))
        and all(.candidates[]; (.within and .baseline == false) or .rank == null)' advice.json
    jq -e '.tune | .pays and (.list[0] as $first | .answer
        | startswith("For a model of 2,000 numbers (8 kB a step), use \($first): its steps are "))' advice.json
    # With a fixed time of compression the list is the same again, with any number of threads.
    run -0 advise replay.yaml --threads 2 --fresh -o again.json
    diff <(jq -S '.tune | del(.threads, .candidates[].encode_s, .candidates[].add_s)' advice.json) \
        <(jq -S '.tune | del(.threads, .candidates[].encode_s, .candidates[].add_s)' again.json)
}

@test "--advise: errors, the least error and bytes are those that NumPy finds" {
    need_numpy
    recorded
    run -0 advise replay.yaml
    "$PYTHON" - <<'PY'
import json
import numpy as np
g = np.load("g.npy").astype("f4")
tune = json.load(open("advice.json"))["tune"]
square = np.sum(g.astype("f8") ** 2) / 4
assert abs(tune["gradients"]["square"] / square - 1) < 1e-6
e, p, lost, late, along = np.zeros((4, 2000), "f4"), [], 0, 0, 0
mean = g.astype("f8").mean(1)
for t in range(30):
    along += e.astype("f8").mean(0) @ mean[t]
    e = e + g[t]
    p.append(e.copy())
    for w in range(4):
        e[w, np.argsort(-abs(e[w]), kind="stable")[:20]] = 0
    lost += np.sum(e.astype("f8") ** 2)
    late += np.sum(e.astype("f8").mean(0) ** 2)
c = next(c for c in tune["candidates"] if c["label"] == "Top-k of the model density=0.01")
assert abs(c["error"] / (lost / 4 / square) - 1) < 1e-5, (c["error"], lost / 4 / square)
assert abs(c["error_mean"] / (late / np.sum(mean**2)) - 1) < 1e-5, (c["error_mean"], late / np.sum(mean**2))
assert abs(c["error_drift"] / c["error_mean"] - 1) < 1e-5, c  # with feedback the residual is all that is missing
assert abs(c["error_lag"] / abs(along / np.sum(mean**2)) - 1) < 1e-4, (c["error_lag"], along / np.sum(mean**2))
all_p = np.sort(abs(np.concatenate(p).ravel()).astype("f8"))[: 30 * 4 * 1980]
assert abs(c["error_over_least"] / (lost / np.sum(all_p**2)) - 1) < 1e-5
assert 160 <= c["bytes"] <= 180 and abs(c["share"] - c["bytes"] / 8000) < 1e-12
fp16 = next(c for c in tune["candidates"] if c["label"] == "fp16")
assert fp16["error"] < 1e-5 and 0.5 <= fp16["share"] < 0.51
# Without feedback nothing accumulates: QSGD of 127 levels loses little at each step.
assert 0 < next(c for c in tune["candidates"] if c["label"] == "QSGD levels=127")["error"] < 0.01
PY
}

@test "--advise --error: the error that is named ranks, and the tolerance is for the relative one" {
    need_numpy
    recorded
    for error in mean lag drift relative; do
        run -0 advise replay.yaml --error "$error" --table
        jq -e --arg by "$error" '.tune | .ranked_by == $by and all(.candidates[]; .within == (.error <= 0.5))' advice.json
        jq -e "$(ranked_by "$error")" advice.json
    done
    # Noise of an unbiased code does not lie along the next gradient; what it loses adds up.
    jq -e '.tune.candidates[] | select(.label == "QSGD levels=7") | .error_lag < 0.01 * .error and .error_mean > 0
        and .error_drift > 3 * .error_mean' advice.json
    # Where all steps are equally fast, nothing but the error ranks.
    run -0 advise replay.yaml --error lag --set network.compute=1e4
    jq -e '[.tune.candidates[] | select(.rank)] | sort_by(.rank) | length > 3 and (map(.error_lag) | . == sort)' advice.json
}

@test "--advise: what it warns of is what the recording shows" {
    need_numpy
    recorded
    run -0 advise replay.yaml
    cautions() { jq -r --arg name "$1" '.tune.candidates[] | select(.label == $name) | [.cautions[].caution] | join(" ")' advice.json; }
    [[ " $(cautions "QSGD levels=7") " == *" noise "* ]] && [[ " $(cautions "QSGD levels=7") " != *" gathered "* ]]
    [[ " $(cautions "Top-k of the model density=0.01") " == *" gathered "* ]]
    [[ " $(cautions "Top-k of the model density=0.01") " != *" noise "* ]]
    [[ " $(cautions "PowerSGD rank=1") " != *" gathered "* ]]
    lambda=$(jq -r '[.tune.candidates[] | select(.method == "Hard-threshold")][0].label' advice.json)
    [[ $(cautions "$lambda") == *constant* ]]
    [ -z "$(cautions Plain)" ]
    run -0 advise replay.yaml --table --set network.gather=all-gather
    [[ $output == *"# gathered, as "*": not added up on the way: gathered volume grows with the workers."* ]]
    # Two elements a step leave one of two layers without any for long, but not for ever.
    sed 's/k: \[1, 4\]/k: 1, scope: model/; s/- {name: QSGD.*/- {name: Biased, compressor: topk, k: 4, error-feedback: none}/' replay.yaml >own.yaml
    "$PYTHON" -c 'import numpy as np; g = np.load("g.npy"); g[:, :, 1800:] = 0; g[15:, :, :] *= 10; np.save("g.npy", g)'
    run -0 advise own.yaml --candidates recipe
    [[ $(cautions Top-k) == *grows* ]] && [[ $(cautions Top-k) == *starved* ]]
    [[ $(cautions Biased) == *biased* ]]
    jq -e '.tune.candidates[] | select(.label == "Top-k") | .cautions[] | select(.caution == "starved") | .text == "1 of 2 layers sent nothing"' advice.json
}

@test "--advise: a method that these gradients are not for is left out, with the reason" {
    need_numpy
    recorded
    run -0 advise replay.yaml
    jq -e '(.tune.left_out == []) and ([.tune.candidates[].method] | index("PowerSGD") and index("Top-k"))' advice.json
    run -0 advise replay.yaml --set 'task={kind: recorded, files: g.npy}' --table
    jq -e '[.tune.left_out[] | {(.method): .reason}] | add == {"Top-k": "there is one layer, so it is the same as over the whole model", "PowerSGD": "no layer is a matrix"}' advice.json
    [[ $output == *"# PowerSGD is left out: no layer is a matrix."* ]]
    "$PYTHON" -c 'import numpy as np; np.save("g.npy", np.load("g.npy")[:, :, :50])'
    run -0 advise replay.yaml --set 'task={kind: recorded, files: g.npy}'
    jq -e '.tune.left_out[] | select(.method == "DGC selection") | .reason == "0.01 of 50 elements is less than one"' advice.json
}

@test "--advise: the tolerance decides, and where nothing pays it says so" {
    need_numpy
    recorded
    run -0 advise replay.yaml --tolerance 0.001 --table
    jq -e '.tune | .tolerance == 0.001 and all(.candidates[]; .within == (.error <= 0.001)) and (.list | index("fp16"))' advice.json
    run -0 advise replay.yaml --tolerance 0 --table
    [[ ${lines[0]} == *", compression does not pay here: no method has an error within the tolerance, 0 of |g|^2; the nearest is "* ]]
    jq -e '.tune | (.pays | not) and .list == []' advice.json
    # Another run without compression is not the nearest method.
    sed 's/^  - {name: QSGD/  - {name: Again, compressor: none}\n&/' replay.yaml >again.yaml
    run -0 advise again.yaml --candidates recipe --tolerance 0 --table
    [[ ${lines[0]} == *"the nearest is QSGD with "* ]]
    # The fastest is the fastest within the tolerance, listed or not, and it has a row. What is outside is counted.
    run -0 advise replay.yaml --set network.compute=0.1 --set network.bandwidth=0.5 --set network.coding=100 --table
    fastest=$(jq -r '[.tune.candidates[] | select(.within and (.baseline | not))] | min_by(.step_s).label' advice.json)
    [ "$fastest" != "$(jq -r '.tune.list[0]' advice.json)" ]
    [[ ${lines[0]} == *", compression does not pay here: "*"; the fastest is $fastest, "* ]]
    grep -q "^ .* $fastest  " <<<"$output"
    outside=$(jq -r '[.tune.candidates[] | select(.within or .baseline | not)] | length' advice.json)
    [[ $output == *"# $outside of 31 methods and settings are outside the tolerance; the fastest of them, "*"(--tolerance="* ]]
    # An error above 1 is explained.
    [[ $output != *"are late at any time"* ]]
    run -0 advise replay.yaml --tolerance 9 --table
    [[ ${lines[0]} == *", use Top-k of the model density=0.001: "*" the gradients of about 8 steps are late at any time."* ]]
    # Compression that takes longer than all bytes.
    run -0 advise replay.yaml --set network.coding=1e6 --table
    [[ ${lines[0]} == *", compression does not pay here: with 4 workers at 0.001 Gbit/s no method within the tolerance has faster steps"* ]]
    jq -e '.tune | (.pays | not) and (.list | length) > 3 and all(.candidates[] | select(.rank); .speedup < 1 and ([.cautions[].caution] | index("slow")))' advice.json
    # Times of another processor, or of this machine's CPU, which is said beside the passes of what may be a GPU.
    sed 's/, coding: 10}/, compute: 0.1}/' replay.yaml >timed.yaml
    run -0 advise timed.yaml --table
    [[ ${lines[0]}${lines[1]}${lines[2]}${lines[3]} == *"timed on this machine's CPU"*"give network.processor."* ]]
    run -0 advise timed.yaml --set network.processor=v100 --table
    [[ $output != *"this machine's CPU"* ]] && [[ $output == *"# Encoding and decoding take the times of an NVIDIA V100"* ]]
    jq -e '.tune | (.coding_measured | not) and .network.processor == "v100"
        and all(.candidates[]; .encode_s == null and .add_s == null) and (.candidates[0] | .baseline and .coding_s == 0)' advice.json
    # Without a network one is assumed; without coding it is measured.
    sed '/^network:/d' replay.yaml >bare.yaml
    run -0 advise bare.yaml --table
    [[ $output == *"# The recipe has no section network, so the link 10gbe-tcp is assumed."* && $output != *v100* ]]
    jq -e '.tune.network | .processor == null and (.model | endswith("coding of this machine")) and (.coding | contains("timed on this machine"))' advice.json
    jq -e '.tune | .network_assumed and .coding_measured and all(.candidates[] | select(.baseline | not); .encode_s > 0 and .coding_s >= .encode_s)' advice.json
    # QSGD goes in two rounds: of the sum each of the 4 workers encodes its part.
    jq -e '[.tune.candidates[] | select(.method == "QSGD") | .coding_s / (1.25 * .encode_s + 2 * .add_s) - 1 | fabs] | length > 0 and max < 1e-6' advice.json
}

@test "network.elements: a model of a thousand times as many numbers is a link a thousand times slower" {
    need_numpy
    recorded
    exact() { # an exchange that takes no time but for its bytes, beside a pass that hides some of them
        run -0 advise replay.yaml --set network.latency=0 --set network.coding=0 --set network.compute=0.02 \
            --set network.overlap=layer --set record.layers=true "$@"
        jq -S '.tune | [.pays, .list, [.candidates[] | [.label, .share] + [.step_s, .exposed_s, .speedup]]]' advice.json
    }
    exact --set network.bandwidth=10 >recorded.json
    exact --set network.bandwidth=0.01 >slower.json
    exact --set network.bandwidth=10 --set network.elements=2000000 >larger.json
    alike='(map(flatten) | transpose | all(.[]; .[0] == .[1] or (.[0] - .[1] | fabs) <= 1e-9 * (.[0] | fabs)))'
    jq -e -s "$alike" slower.json larger.json
    run ! jq -e -s "$alike" recorded.json larger.json
    jq -e '.tune | .gradients.d == 2000 and .network.elements == 2000000 and (.network.model | endswith("a model of 2000000 numbers"))
        and (.answer | startswith("For a model of 2,000,000 numbers (8 MB a step; 2,000 were recorded), "))
        and ([.candidates[] | select(.baseline)][0].bytes / 8e6 - 1 | fabs) < 1e-3' advice.json
    # What compression takes grows with the model, too.
    run -0 advise replay.yaml --set network.coding=10 --set network.elements=2000000
    jq -e 'all(.tune.candidates[] | select(.baseline | not); .coding_s - 0.02 | fabs < 1e-12)' advice.json
    # The same for --when and for a result's modelled times, from runs that train.
    for change in network.bandwidth=0.001 network.elements=$((1000 * $(sparsebench --folder cells r.yaml --set epochs=1 --json --quiet | jq '.results[0].constants.d'))); do
        set -- --set network.latency=0 --set network.coding=0 --set network.link=1gbe --set network.bandwidth=1 --set "$change"
        bandwidth=1
        [[ $change == *bandwidth* ]] && bandwidth=0.001
        run -0 --separate-stderr sparsetune r.yaml --when --folder cells --quiet --json --bandwidths "$bandwidth" --clusters 4 "$@"
        jq '.tune | [.points[] | .baseline_s, .fastest, .fastest_s, .speedup] | map(if type == "number" then (. * 1e6 | round) else . end)' <<<"$output" >>when.json
        jq -r '.tune.answer[0]' <<<"$output" >>answers
        run -0 --separate-stderr sparsebench r.yaml --folder cells --quiet --json "$@"
        jq -c '[.results[].final.time.mean | . * 1e6 | round]' <<<"$output" >>times.json
    done
    [ "$(sort -u times.json | wc -l)" = 1 ]
    jq -e -s '.[0] == .[1]' when.json
    grep -q '^For a model of .* numbers (.* a step; .* were recorded): with 4 workers' answers
}

@test "--advise: what a step could hide, how often first places trained best, and the lines for PyTorch" {
    need_numpy
    recorded
    run -0 advise replay.yaml --table --set network.compute=10
    [[ $output == *"# The passes of a step could hide 1.25 MB, and the model has 8 kB: give network.elements "* ]]
    run -0 advise replay.yaml --table --set network.compute=10 --set network.elements=1000000
    [[ $output != *"could hide"* ]]
    # The counts are those of the published file.
    for error in relative mean lag drift; do
        run -0 advise replay.yaml --error "$error"
        [[ $(jq -r '.tune.assumptions[]' advice.json) == *"$(jq -r --arg of "$error" '.summary.all | "Of \(.[$of].settings) published comparisons of equal bytes the method with the smallest such error trained best in \(.[$of].best), and hard-threshold in \(.["hard-threshold"].best) "' "$ROOT/results/advise-check.json")"* ]]
    done
    # The text is one that the library takes, and says what the recipe says.
    run -0 advise replay.yaml --table
    [[ $output == *$'\n'"register(model, \"$(jq -r '.tune | .list[0] as $l | .candidates[] | select(.label == $l).hook' advice.json)\")"* ]]
    jq -e '[.tune.candidates[] | {(.label): .hook}] | add | .["Top-k natural density=0.1"] == "topk density=0.1 | natural" and .fp16 == "fp16"
        and .["EDEN bits=2"] == "eden bits=2; error-feedback=none" and .Plain == "none"' advice.json
    sed -i '/name: QSGD/c\  - {name: Decays, compressor: topk, k: 1, error-feedback: {form: gradient, decay: 0.5}}' r.yaml
    run -0 advise r.yaml --candidates recipe
    jq -e '[.tune.candidates[] | {(.label): .hook}] | add | .Decays == "topk k=1; error-feedback=gradient decay=0.5"' advice.json
}

@test "--advise on a recipe that trains: it records the first tenth, and gives a recipe that runs" {
    run -0 advise r.yaml --emit-recipe best.yaml --table
    [[ ${lines[0]} == *", use "* ]] && [[ $output == *"# The gradients are those of the first 120 steps of a run without compression, 10 % of it."* ]]
    jq -e "$shape" advice.json
    jq -e '.tune.gradients | .recorded_here and .steps == 120 and .share_of_run == 0.1' advice.json
    # Again: nothing is recorded or replayed twice.
    before=$(cd cells && sha256sum -- *)
    run -0 --separate-stderr advise r.yaml --emit-recipe again.yaml
    [ "$before" = "$(cd cells && sha256sum -- *)" ]
    cmp best.yaml again.yaml
    before=$(sha256sum cells/first-*.gradients)
    rm cells/first-*.gradients
    run -0 advise r.yaml
    [ "$before" = "$(sha256sum cells/first-*.gradients)" ]
    printf '\001' | dd of="$(echo cells/first-*.gradients)" bs=1 seek=5000 conv=notrunc status=none
    [ "$before" != "$(sha256sum cells/first-*.gradients)" ]
    run -0 advise r.yaml
    [ "$before" = "$(sha256sum cells/first-*.gradients)" ]
    # All but methods, claims and plots stays, with the comments at the beginning.
    diff <(sed '/^methods:/,$d' r.yaml) <(sed '/^methods:/,$d' best.yaml)
    run -0 --separate-stderr sparsebench best.yaml --folder cells --quiet --json --set "seeds=[1]" --set epochs=1
    jq -e '[.results[].label] | .[0] == "Plain" and length > 3 and length <= 9' <<<"$output"
    [ "$(jq -c '[.results[].label][1:]' <<<"$output")" = "$(jq -c '.tune.list[:8]' advice.json)" ]
    jq -e '[.claims, .plots] == [[], []]' <<<"$output"
    # What it is told to write it does not replace unasked.
    run -2 sparsetune --advise --folder cells --quiet r.yaml --emit-recipe best.yaml -o other.json
    [[ $output == *"best.yaml"* ]]
}

@test "--advise and --rule: a cosine falls along the run, not along its first tenth" {
    sed -i '/name: QSGD/c\  - {name: Hard, compressor: hard-threshold, lambda: match}' r.yaml
    for decay in steps cosine; do
        run -0 advise r.yaml --candidates recipe --set "optimizer.decay=$decay" --set methods.Hard.lambda=1
        jq .tune.gradients.square advice.json >"$decay.json"
        run -0 sparsetune r.yaml --rule=estimated --set "optimizer.decay=$decay" --folder cells -o rule.json --force --quiet
        jq '.tune.pilots[].rules' rule.json >>"$decay.json"
    done
    cmp steps.json cosine.json
    # The same where a method has an optimizer of its own.
    run -0 sparsetune r.yaml --rule=estimated --set 'methods.Hard.optimizer={kind: sgd, learning-rate: 0.02/(L+l2), decay: cosine}' \
        --folder cells -o rule.json --force --quiet
    jq '.tune.pilots[].rules' rule.json | cmp - <(sed 1d steps.json)
}

@test "--advise --candidates recipe: the recipe's own methods" {
    run -0 advise r.yaml --candidates recipe --emit-recipe best.yaml
    jq -e "$shape" advice.json
    jq -e '.tune | .candidates_from == "recipe" and [.candidates[].label] == ["Plain", "Top-k k=1", "Top-k k=4", "QSGD"] and .left_out == []' advice.json
    run -0 --separate-stderr sparsetrain best.yaml --method QSGD --dry-run
    jq -e '[.. | .error_feedback? | objects | .form] | index("none") != null' <<<"$output"
    # A recipe without a method without compression gets one.
    sed '/name: Plain/d; /^claims:/,$d' r.yaml >none.yaml
    run -0 advise none.yaml --candidates recipe
    jq -e '.tune.candidates[0] | .label == "no compression" and .baseline' advice.json
}

@test "--advise refuses what it cannot do" {
    # What is wrong with a method of the recipe is said of its place there, although only its replay shows it.
    sed 's/k: \[1, 4\]/k: [1, 4, 400]/' r.yaml >large.yaml
    run -2 advise large.yaml --candidates recipe
    [[ $output == *"large.yaml:13:"*"Top-k k=400"* ]] && [[ $output != *"--set"* ]] && [[ $output != *"cells/"* ]]
    rm -r cells
    need_numpy
    recorded
    "$PYTHON" -c 'import numpy as np; np.save("z.npy", np.zeros((12, 4, 50), "f4")); g = np.ones((12, 4, 50), "f4"); g[3, 2, 1] = np.nan; np.save("n.npy", g)'
    run -2 advise replay.yaml --set 'task={kind: recorded, files: z.npy}'
    [[ $output == *"z.npy: all gradients are zero, which tells nothing about compressors"* ]]
    run -1 advise replay.yaml --set 'task={kind: recorded, files: n.npy}'
    [[ $output == *"n.npy: not all gradients are finite"* ]]
}

@test "workers that share a total batch" {
    sed -i -e 's/^workers: .*/workers: 4\ntotal-batch: 16/' r.yaml
    advise r.yaml
    jq -e '.status == "ok"' advice.json
}

@test "--advise on the published gradients of a GPT, whose layers it names" {
    cp "$ROOT/recipes/gpt-gradients.yaml" . && mkdir results && cp "$ROOT/results/gpt.gradients" results
    run -0 advise gpt-gradients.yaml
    jq -e "$shape" advice.json
    jq -e '.tune | .gradients.d == 3936 and .gradients.steps == 16 and .left_out == [] and (.list | length > 3)' advice.json
    run -0 --separate-stderr sparsebench gpt-gradients.yaml --folder cells --json --quiet
    jq -e '[.results[].label] | length == 8' <<<"$output"
    grep -lq transformer.h.1.mlp.c_fc.weight cells/PowerSGD-*.ndjson
}
