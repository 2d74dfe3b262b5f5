#!/usr/bin/env bats
# Recipes of kind: kernels, end to end.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    cat >r.yaml <<'YAML'
schema: 1
name: tiny
kind: kernels
operations: [ef-threshold, ef-topk-warm, ef-topk-cold, randomk, scatter-add, sum-squares, quickselect]
sizes: [1000]
densities: [0.01]
back-ends: [c]
samples: 20
YAML
}

@test "every operation has a time, a ratio and right output" {
    run -0 --separate-stderr sparsebench r.yaml
    for key in '"kind":\s*"kernels"' '"schema":\s*"sparsebench/1"' '"status":\s*"ok"' '"n":\s*1000' '"k":\s*10' '"cache":\s*"warm"'; do
        grep -Eq "$key" <<<"$output"
    done
    [ "$(grep -c '"median"' <<<"$output")" = 8 ] # and the reference
    [ "$(grep -Ec '"verified":\s*true' <<<"$output")" = 8 ]
    [ "$(grep -Ec '"ratio_to_add":\s*[0-9.e-]+' <<<"$output")" = 8 ]
    [[ $stderr == *"1 of 1: flat of 1000, gaussian, density 0.01, 1 thread"* ]]
}

@test "distributions and layer sets of every back-end are right" {
    run -0 env COLUMNS=300 sparsebench r.yaml -q --table --set 'operations=[ef-threshold, ef-topk-warm, ef-topk-cold, quickselect]' \
        --set 'sizes=[10000, 3]' --set 'distributions=[gaussian, laplace, heavy-tailed, one-hot-layer, all-equal]' \
        --set 'back-ends=[c, avx2, avx512]' --set 'threads=[3]'
    [[ $output != *WRONG* ]]
    [ "$(grep -c 'quickselect .* right$' <<<"$output")" = 10 ]
    [ "$(grep -c '^ef-threshold .*all-equal .* 10000  ' <<<"$output")" -ge 1 ] # a threshold sends ties
}

@test "a message survives every encoding, and its size is that of the formula" {
    run -0 --separate-stderr sparsebench r.yaml --json --set 'operations=[encode, decode]' --set 'sizes=[100000]' --set 'densities=[0.01, 1]' \
        --set 'encodings=[raw, bitmap, delta-varint, rice, elias-fano, auto]'
    [ "$(jq '[.results[] | select(.encoding != null)] | length' <<<"$output")" = 48 ]
    [ "$(jq '[.results[] | select(.verified and .time_s != null)] | length' <<<"$output")" = 50 ]
    [ "$(jq -c '[.results[] | select(.encoding == "raw" and .density == 0.01) | .message_bytes]' <<<"$output")" = '[8010,6010,8010,6010]' ]
    [ "$(jq '[.results[] | select(.encoding == "auto" and .density == 0.01) | .bits_per_index < 8.3] | all' <<<"$output")" = true ]
    run -3 --separate-stderr sparsebench r.yaml --json --corrupt --set 'operations=[encode, decode]' --set 'encodings=[rice]'
    [ "$(jq '[.results[] | select(.encoding == "rice") | .verified or .time_s != null] | any' <<<"$output")" = false ]
}

@test "rivals are right, or say what they need" {
    run -0 --separate-stderr sparsebench r.yaml --json --set 'operations=[nth-element, torch-topk, torch-threshold]' --set 'sizes=[1000, resnet18]' \
        --set 'distributions=[gaussian, all-equal]'
    [ "$(jq '[.results[] | select(.back_end == "c++")] | length' <<<"$output")" = 12 ]
    [ "$(jq '[.results[] | select(.back_end == "c++") | if .reason then .time_s == null and .verified == null else .time_s.median > 0 and .verified end] | all' \
        <<<"$output")" = true ]
    [ -z "$(ldd "$(command -v sparsebench)" | grep -E 'libtorch|libc10|libstdc')" ]
}

@test "shared objects of rivals show their function or table, and one that does not load says why" {
    local file made=0
    for file in "$BIN"/../lib/sparsegrad/rivals*.so; do
        [ ! -e "$file" ] || made=$((made + 1))
        [ ! -e "$file" ] || nm -D --defined-only "$file" | grep -qE ' (T sg_rival_run|D sg_gpu_times)$' || { echo "$file"; false; }
    done
    mkdir -p far/bin far/lib/sparsegrad
    cp "$BIN/sparsebench" far/bin
    echo "no shared object" >far/lib/sparsegrad/rivals.so
    run -0 --separate-stderr far/bin/sparsebench r.yaml -q --json --set 'operations=[nth-element]'
    [[ $(jq -r '.results[] | select(.operation == "nth-element") | .reason' <<<"$output") == *"rivals.so: "* ]]
    [ "$made" -gt 0 ] || skip "no rivals were built: make rivals"
}

@test "an operation that the back-ends leave out is named" {
    run -0 --separate-stderr sparsebench r.yaml -q --json --set 'operations=[ef-threshold, torch-topk, quickselect]' --set 'back-ends=[avx2]'
    [[ $stderr == *"torch-topk is timed beside the back-end c alone: left out"*"quickselect is timed "* ]]
    run -0 --separate-stderr sparsebench r.yaml -q --json --set 'operations=[ef-threshold, quickselect]'
    [[ $stderr != *"left out"* ]]
}

@test "every compressor of the table is timed, and gives the bytes of plain C" {
    sparsetrain --help-compressors | grep -v '^#' | cut -d' ' -f1 >names
    run -0 --separate-stderr sparsebench r.yaml --json --set 'operations=[]' --set 'compressors.sizes=[4096]' --set 'back-ends=[c, avx2]'
    jq -r '.results[].compressor' <<<"$output" | diff - names
    [ "$(jq '[.results[] | .verified and .time_s.median > 0 and .decode_s >= 0 and .bits_per_element >= 0 and .times_add > 0] | all' <<<"$output")" = true ]
    [ "$(jq '.results[] | select(.compressor == "topk") | [.k, .of_target, .times_topk, .workers] == [40, 40/40, 1, 1]' <<<"$output")" = true ]
    [ "$(jq '.results[] | select(.compressor == "powersgd") | .workers' <<<"$output")" = 4 ]
    [ "$(jq '[.results[] | keys] | unique | length' <<<"$output")" = 1 ]
}

@test "a compressor that refuses the layers says why, and wrong output of one exits 3" {
    run -0 --separate-stderr sparsebench r.yaml --json --set 'operations=[ef-threshold]' --set 'compressors.sizes=[1009]' \
        --set 'compressors.names=[powersgd, topk]'
    [ "$(jq -c '[.results[] | [.compressor, .verified, .time_s != null]]' <<<"$output")" = '[[null,true,true],[null,true,true],["topk",true,true],["powersgd",null,false]]' ]
    [[ $(jq -r '.results[3].reason' <<<"$output") == *"no layer is a matrix"* ]]
    [ "$(jq '[.results[] | keys] | unique | length' <<<"$output")" = 1 ]
    run -3 --separate-stderr sparsebench r.yaml --json --corrupt --set 'operations=[]' --set 'compressors.sizes=[4096]' --set 'compressors.names=[qsgd]'
    [ "$(jq -c '[.results[0].verified, .results[0].time_s]' <<<"$output")" = '[false,null]' ]
    run -2 sparsebench r.yaml --set 'compressors.sizes=[recording]'
    [[ $output == *"needs compressors.recording"* ]]
}

@test "compressors are given a recording step by step, with error feedback" {
    sparsetrain "$ROOT/recipes/smoke.yaml" --method SGD --seed 1 --set steps=9 --set workers=2 --quiet --record-inputs g.inputs -o /dev/null --force
    run -0 --separate-stderr sparsebench r.yaml --json --set 'operations=[]' --set compressors.recording=g.inputs \
        --set 'compressors.sizes=[recording, recording-flat]' --set 'compressors.names=[topk, topk-reuse]'
    [ "$(jq '[.results[] | .verified and .distribution == "recorded" and .workers == 2 and (.time_s.samples | length) == 6] | all' <<<"$output")" = true ]
    [ "$(jq '[.results[] | select(.compressor == "topk") | .of_target == 1 and .times_topk == 1] | all' <<<"$output")" = true ]
    [ "$(jq '.results | length' <<<"$output")" = 4 ]
}

@test "low-rank products are right, and libtorch's are beside them" {
    run -0 --separate-stderr sparsebench r.yaml --json --set 'operations=[lowrank-products, torch-products, ef-powersgd]' --set 'sizes=[4096]' \
        --set 'back-ends=[c, avx2, avx512]' --set 'threads=[3]'
    [ "$(jq '[.results[] | .verified != false] | all' <<<"$output")" = true ]
    [ "$(jq '(.results[] | select(.back_end == "c++") | .reason) as $missing |
        [.results[] | select(.operation == "lowrank-products" or .operation == "ef-powersgd") | (.times_torch == null) == ($missing != null)] | all' <<<"$output")" = true ]
}

@test "Muon's steps are right, and libtorch's are beside them" {
    run -0 --separate-stderr sparsebench r.yaml --json --set 'operations=[newton-schulz, torch-newton-schulz]' \
        --set 'sizes=[1000]' --set 'back-ends=[c, avx2, avx512]' --set 'threads=[3]'
    [ "$(jq '[.results[] | .verified != false] | all' <<<"$output")" = true ]
    [ "$(jq '(.results[] | select(.back_end == "c++") | .reason) as $missing |
        [.results[] | select(.operation == "newton-schulz") | (.times_torch == null) == ($missing != null)] | all' <<<"$output")" = true ]
}

@test "wrong output is not timed and exits 3" {
    says 3 "differs from plain C" -- sparsebench r.yaml --corrupt -o r.json
    [ "$(grep -c '"median"' r.json)" = 1 ]
    [ "$(grep -Ec '"verified":\s*false' r.json)" = 7 ]
    grep -Eq '"status":\s*"failed"' r.json
}

@test "the CUDA recipe parses, and without a device says what is missing" {
    run -0 sparsebench "$ROOT/recipes/kernels-cuda.yaml" --dry-run
    ! nvidia-smi -L >/dev/null 2>&1 || skip "there is a device"
    run -1 sparsebench "$ROOT/recipes/kernels-cuda.yaml"
    [[ $output =~ "back-end cuda: ".*("needs an NVIDIA GPU"|"rebuild with WITH_CUDA=1"|"make rivals, where nvcc is") ]]
}

@test "claims about times are judged in every case, in the result, the table and the page" {
    cat >>r.yaml <<'YAML'
claims:
  - {text: Hard-threshold takes up to a million times as long as quickselect, metric: time, of: ef-threshold, at-most: {times: 1e6, of: quickselect}}
  - {text: A threshold takes an hour, metric: time, of: ef-threshold, at-least: 3600, note: "no, it does not"}
  - {text: Top-k is as fast as Top-k, metric: time, of: ef-topk-warm, at-most: {times: 1}}
YAML
    run -0 --separate-stderr sparsebench r.yaml --set 'sizes=[100000, 300000]' --set 'back-ends=[c, avx2]' -o r.json --table
    jq -e '[.claims[].verdict] == ["holds", "fails", "holds"] and all(.claims[]; .cases | length == 2)
        and all(.claims[].cases[]; .ratio_q1 <= .ratio and .ratio <= .ratio_q3)' r.json
    [[ $output == *"claims (ratio = value / bound)"*"holds      Hard-threshold takes up to a million times as long as quickselect (ratio "*", 2 cases)"* ]]
    [[ $output == *"fails      A threshold takes an hour (ratio "*"2 cases; false in 2 of 2 cases, first flat of 100000, gaussian, density 0.01, 1 thread; no, it does not)"* ]]
    run -0 sparseplot-export r.json --format=table -v
    [[ $output == *"flat of 300000, gaussian, density 0.01, 1 thread: "*" < 3600 s (ratio "*", quartiles "* ]]
    sparseplot-export -q r.json -o r.html
    grep -q 'id="r1-claims">' r.html
    run -3 --separate-stderr sparsebench r.yaml -q --json --strict
    run -0 --separate-stderr sparsebench r.yaml -q --json --strict --no-judge
    jq -e 'all(.claims[]; .verdict == "not judged" and .reason == "--no-judge was given")' <<<"$output"
}

@test "a claim about an operation that the back-ends leave out is undecided" {
    printf 'claims: [{text: t, metric: time, of: ef-threshold, at-most: {of: torch-topk}}]\n' >>r.yaml
    run -0 --separate-stderr sparsebench r.yaml -q --json --set 'operations=[ef-threshold, torch-topk]' --set 'back-ends=[avx2]'
    jq -e '.claims[0] | .verdict == "undecided" and (.reason | endswith("torch-topk was not timed: the back-ends leave it out"))' <<<"$output"
}

@test "a dry run prints the resolved recipe" {
    run -0 sparsebench r.yaml --dry-run
    grep -Eq '"distributions":\s*\["gaussian"\]' <<<"$output"
}
