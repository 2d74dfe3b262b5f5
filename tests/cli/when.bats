#!/usr/bin/env bats
# sparsetune --when: when compression is worth it, from finished runs and the model of networks.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    cat >r.yaml <<'YAML'
schema: 1
name: worth
title: "When it is worth it"
task: {kind: logreg, dataset: two-clouds, stand-in: two-clouds, l2: L/100}
workers: 4
epochs: 20
optimizer: {kind: sgd, learning-rate: 0.02/(L+l2)}
error-feedback: gradient
seeds: [1, 2]
record: {every: 10, series: [suboptimality, bytes-sent]}
network: {link: 1gbe, latency: 0, compute: 1e-4}
methods:
  - {name: SGD, compressor: none, baseline: true}
  - {name: Top-k, compressor: topk, k: [1, 4]}
  - {name: QSGD, compressor: qsgd, levels: 4}
YAML
    export SPARSE_DATA=$CACHE
}

when() {
    sparsetune r.yaml --when --folder cells -o when.json --force --quiet "$@"
}

@test "--when: the fastest method, its speed-up, the bound and where it gains, for every bandwidth and cluster" {
    run -0 when --bandwidths 0.001,0.1,10 --clusters 2,16,64
    # In a pipe the JSON comes out, which is also in the file.
    cmp <(echo "$output") when.json
    jq -e '.schema == "sparsebench/1" and .kind == "when" and .status == "ok" and .network.modelled
        and .network.model == "1gbe, auto, overlap fused in 25 MiB, coding of v100, compute 0.0001 s"' when.json
    jq -e '.tune | .action == "when" and .modelled and .metric == "suboptimality" and .better == "lower"
        and .baseline == "SGD" and (.target - 1.25 * .baseline_value | fabs) < 1e-12 and (.network_assumed | not)' when.json
    jq -e '.tune.points | length == 9 and ([.[] | [.workers, .bandwidth_gbit_per_s]] | .[0:4]) == [[2,0.001],[2,0.1],[2,10],[16,0.001]]
        and all(.[]; .speedup >= 1 and .speedup_least <= .speedup and .speedup <= .speedup_most and .speedup_free > 1)' when.json
    # The curves are those of the points, and no compression is the line at 1.
    jq -e '. as $d | all(.tune.points[]; . as $p | ($d.results[] | select(.label == $p.fastest)).series
        | .["speedup_with_\($p.workers)_workers"][.bandwidth | index($p.bandwidth_gbit_per_s)] == $p.speedup)' when.json
    jq -e '.results[] | select(.label == "SGD") | .baseline and all(.series | to_entries[] | select(.key != "bandwidth") | .value[]; . == 1)' when.json
    # Where a method gains is where its curve is above 1.
    jq -e '. as $d | all(.tune.gains[]; . as $g | ($d.results[] | select(.label == $g.label)).series
        | . as $s | all(range(3); ($s["speedup_with_\($g.workers)_workers"][.] > 1) ==
            ($g.gains == "always" or ($g.gains == "below" and $s.bandwidth[.] < $g.to_gbit_per_s)
             or ($g.gains == "above" and $s.bandwidth[.] > $g.from_gbit_per_s)
             or ($g.gains == "between" and $s.bandwidth[.] > $g.from_gbit_per_s and $s.bandwidth[.] < $g.to_gbit_per_s))))' when.json
    # In as many steps nothing is above free compression.
    jq -e '(.results | map({(.label): .series}) | add) as $s | [.tune.methods[] | {(.label): (.seeds | map(.step))}] | add as $steps
        | all($steps | keys[]; . as $m | ($steps[$m] == $steps.SGD | not)
            or all(range(3); $s[$m].speedup_with_16_workers[.] <= $s["free compression, at most"].speedup_with_16_workers[.] + 1e-12))' when.json
}

@test "--when reuses finished cells, and its times are those of sparsebench --network" {
    run -0 --separate-stderr sparsebench r.yaml --folder cells --json --quiet --points 0 --network "workers=16,bandwidth=0.1"
    echo "$output" >bench.json
    before=$(cd cells && sha256sum -- *.ndjson)
    run -0 --separate-stderr when --bandwidths 0.1 --clusters 16
    [ "$before" = "$(cd cells && sha256sum -- *.ndjson)" ]
    sed 's/seeds: .*/seeds: [2]/' r.yaml >one.yaml
    run -0 --separate-stderr sparsetune one.yaml --when --folder cells --quiet --json --bandwidths 0.1 --clusters 16
    echo "$output" >one.json
    run -0 --separate-stderr sparsebench one.yaml --folder cells --json --quiet --points 0 --network "workers=16,bandwidth=0.1"
    jq -e --slurpfile one one.json '($one[0].tune.methods[0].seeds[0].step) as $step
        | .results[0].series | .time.mean[.step | index($step)] == $one[0].tune.points[0].baseline_s' <<<"$output"
}

@test "--when: a table for readers, which ends in sentences" {
    run -0 when --bandwidths 0.001,0.1,10 --clusters 2,64 --table
    # A sentence for each cluster, about the bandwidth nearest to that of its link.
    [[ ${lines[-2]} == "For a model of "*" numbers ("*" a step): with 2 workers at "*" Gbit/s, "* ]]
    [[ ${lines[-1]} == "With 64 workers at "*" Gbit/s, "*"."* ]]
    [ "$(printf '%s\n' "${lines[@]: -2}")" = "$(jq -r '.tune.answer[]' when.json)" ]
}

@test "--when: its figure and its table in every format, which say that times are modelled" {
    run -0 when --clusters 4,16,64
    for format in csv tsv svg png pdf pgfplots markdown latex table; do
        sparseplot-export when.json --format "$format" >"when.$format"
        [ -s "when.$format" ]
        case $format in png | pdf) continue ;; esac
        grep -qi modelled "when.$format"
        case $format in markdown | latex | table) grep -q "gains" "when.$format" ;; *) grep -q "speedup with 16" "when.$format" || { echo "$format"; false; } ;; esac
    done
    grep -q "1gbe, auto, overlap fused in 25 MiB, coding of v100" when.svg
    [ "$(grep -c 'data-panel=' when.svg)" = 3 ]
    run -0 sparseplot-export when.json --format table --panel 2
    [[ $output != *"4 workers"*"64"*"(Gbit/s"* ]] && [[ $output == *"reaches suboptimality"* ]]
}

@test "--when without a network assumes one; without compute time there is no bound" {
    sed -i '/^network:/d' r.yaml
    run -0 when --table
    jq -e '.tune.network_assumed and all(.tune.points[]; .speedup_free == null)
        and ([.results[].label] | index("free compression, at most") == null)' when.json
    [ "$(jq '.tune.points | length' when.json)" = 28 ]
    run -0 when --set network.compute=0.5
    jq -e '(.tune.network_assumed | not) and .network.compute_s == 0.5 and all(.tune.points[]; .speedup_free >= 1)' when.json
}

@test "--when: a method that does not reach the target at every seed is left out" {
    sed -i 's/levels: 4}/levels: 4, learning-rate: 1e-9}/' r.yaml
    echo '  - {name: Wild, compressor: topk, k: 1, learning-rate: 1e30}' >>r.yaml
    run -0 when --table
    jq -e '[.tune.methods[] | select(.reaches | not) | .label] == ["QSGD", "Wild"]
        and ([.results[].label] | index("QSGD") == null) and all(.tune.gains[]; .label != "QSGD")' when.json
}

@test "--when: another target, metric and tolerance" {
    run -0 when --target 0.05
    jq -e '.tune | .target == 0.05 and .target_given' when.json
    run -0 when
    jq -e '.tune | (.target / .baseline_value / 1.25 - 1 | fabs) < 1e-12 and .tolerance == null and .margin == "1.25 times"' when.json
    run -0 when --tolerance 0.5
    jq -e '.tune | (.target - 1.5 * .baseline_value | fabs) < 1e-12 and .tolerance == 0.5' when.json
}
