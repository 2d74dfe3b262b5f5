#!/usr/bin/env bats
# sparsebench --bundle and --audit, with the real sparsetrain: no bit changes unseen, and what does not come back is named.
# SPDX-License-Identifier: MIT
load common

setup_file() {
    export SPARSE_DATA=$CACHE
    cd "$BATS_FILE_TMPDIR" || exit 1
    mkdir recipes
    cp "$ROOT/recipes/smoke.yaml" recipes
    sparsebench -q recipes/smoke.yaml --set record.layers=true --folder cells -o smoke.json
    sparsebench -q --bundle smoke smoke.json
}

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$CACHE XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
    ln -s "$BATS_FILE_TMPDIR"/{smoke.json,cells} .
    cp -r "$BATS_FILE_TMPDIR/smoke" .
    mkdir -p recipes
    cp "$ROOT/recipes/smoke.yaml" recipes
}

audit() {
    sparsebench -q --audit "$@"
}

# Changes the text of files of a bundle, each OLD to NEW, and then every checksum that has to fit it.
forge() { # BUNDLE OUT FILE OLD NEW [FILE OLD NEW]...
    python3 - "$@" <<'PY'
import hashlib, pathlib, re, shutil, sys
source, out, edits = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
shutil.copytree(source, out)
files = {str(f.relative_to(out)): f for f in out.rglob("*") if f.is_file() and "SHA256SUMS" not in f.name}
for pattern, old, new in zip(edits[0::3], edits[1::3], edits[2::3]):
    file = next(f for name, f in files.items() if re.search(pattern, name))
    text = file.read_bytes()
    assert text.count(old.encode()) >= 1, (file, old)
    text = text.replace(old.encode(), new.encode(), 1)
    if file.suffix == ".ndjson":
        sealed = re.search(rb',"sha256":"([0-9a-f]{64})"}\n\{"record":"end"', text)
        body = text[:sealed.start()] + text[sealed.end(1) + 1:]
        text = text[:sealed.start(1)] + hashlib.sha256(body).hexdigest().encode() + text[sealed.end(1):]
    file.write_bytes(text)
sums = "".join(f"{hashlib.sha256(files[n].read_bytes()).hexdigest()}  {n}\n" for n in sorted(files)).encode()
(out / "SHA256SUMS").write_bytes(sums)
(out / "SHA256SUMS.sha256").write_text(f"{hashlib.sha256(sums).hexdigest()}  SHA256SUMS\n")
PY
}

@test "a bundle is the same bytes again, and sha256sum reads it" {
    sparsebench -q --bundle again --folder cells smoke.json
    diff -r smoke again
    (cd again && sha256sum --quiet --strict -c SHA256SUMS.sha256 SHA256SUMS)
    cmp again/recipe.yaml "$ROOT/recipes/smoke.yaml"
    cmp again/result.json smoke.json
    [ "$(find again/cells -type f | wc -l)" = 8 ]
    run -2 sparsebench -q --bundle again smoke.json # not without --force
    rm again/bundle.json # half of it, as after a kill
    run -3 audit again
    sparsebench -q --bundle again --force smoke.json
    diff -r smoke again
    echo >again/mine
    run -2 sparsebench -q --bundle again --force smoke.json # would remove a file that is no bundle's
    [ -e again/mine ]
    run -1 sparsebench -q --bundle other --folder recipes smoke.json # has no cells
    [ ! -e other ]
}

@test "the draw is decided by share and seed; what was run is not run again" {
    audit smoke --share 0.3 --seed 5 >one.json
    [ "$(jq -r '.status, (.audits[0] | .cells, .recipe_cells, .drawn, .same_bits, .run_now, .earlier, (.differences | length))' one.json | xargs)" = "ok 8 8 3 3 3 0 0" ]
    audit smoke --share 0.3 --seed 5 >two.json
    cmp <(jq -c '.audits[0].results' one.json) <(jq -c '.audits[0].results' two.json)
    [ "$(jq -c '.audits[0] | [.run_now, .earlier]' two.json)" = '[0,3]' ]
    for seed in 1 2 3 4; do audit smoke --share 0 --seed $seed | jq -c '[.audits[0].results[] | .label, .seed]'; done >draws
    [ "$(sort -u draws | wc -l)" -gt 1 ]
    [ "$(jq length draws | sort -u)" = 2 ] # one cell, at least and at most
    run -0 audit smoke smoke.json --share 1 --table
    [[ $output == *"smoke "*"smoke.json "*"all "* ]]
    run -2 audit smoke --folder cells # it has its own
}

@test "a bit that is flipped anywhere in a bundle is seen, and so is a file more or less, or a link" {
    run -0 python3 - <<'PY'
import pathlib, random, shutil, subprocess
random.seed(9)
files = [f.relative_to("smoke") for f in sorted(pathlib.Path("smoke").rglob("*")) if f.is_file()]
assert len(files) == 13, files
unseen = []

def change(name, how):
    bundle = pathlib.Path("changed")
    shutil.rmtree(bundle, ignore_errors=True)
    shutil.copytree("smoke", bundle)
    how(bundle / name)
    assert subprocess.run(["diff", "-rq", "--no-dereference", "smoke", bundle], capture_output=True).returncode == 1
    end = subprocess.run(["sparsebench", "-q", "--audit", "changed"], capture_output=True, text=True)
    if end.returncode != 3 or "changed" not in end.stderr:
        unseen.append((name, how, end.returncode, end.stderr))

def flip(file):
    data = bytearray(file.read_bytes())
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    file.write_bytes(data)

def link(file):
    file.rename("aside")
    file.symlink_to(pathlib.Path("aside").absolute())

for file in files:
    for _ in range(4):
        change(file, flip)
    change(file, lambda f: f.unlink())
    change(file, link)
for other in "evil.sh", "cells/x.sh", "cells/.x.ndjson", "cells/x.ndjson":
    change(other, lambda f: f.write_text("{}\n"))
change("cells/folder", lambda f: f.mkdir())
assert not unseen, unseen
PY
    [ ! -e results ] # nothing was run
}

@test "numbers that were changed with all checksums: the result does not follow, or a new run differs, and it says where" {
    cell=SGD-seed1 step='"step":310,"epoch":5.166666666666667,"suboptimality":0.'
    value=$(sed -n "s/.*$step\([0-9]*\),.*/\1/p" cells/$cell-*)
    other=$((${value:0:1} % 9 + 1))${value:1}
    forge smoke series $cell "$step$value" "$step$other"
    run -3 --separate-stderr audit series --method SGD --share 1
    [ "$(jq -r '.status, (.audits[0].differences[0] | .path, .step)' <<<"$output" | xargs)" = "differs results[0].series.suboptimality.mean[31] 310" ]
    [ "$(jq -r '.audits[0].results[0] | .verdict, .path, .step' <<<"$output" | xargs)" = "differs suboptimality 310" ]
    # A verdict, and a value of a claim.
    forge smoke claim result.json '"verdict":	"holds"' '"verdict":	"fails"'
    run -3 --separate-stderr audit claim
    [ "$(jq -c '[.audits[0].differences[].path]' <<<"$output")" = '["claims[0].verdict"]' ]
    # Of a layer, which no result shows: only the new run tells.
    layer=$(sed -n 's/.*"step":310,.*"layers":{"entries":\[1\],"error_norm":\[\([0-9.e-]*\)\].*/\1/p' cells/Top-k_k=1-seed2-*)
    [ -n "$layer" ]
    forge smoke layer Top-k_k=1-seed2 "\"layers\":{\"entries\":[1],\"error_norm\":[$layer]" \
        "\"layers\":{\"entries\":[1],\"error_norm\":[${layer//[1-8]/9}]"
    run -3 --separate-stderr audit layer --method 'Top-k k=1' --share 1 --table
    [[ $(xargs <<<"$output") == *"Top-k k=1, seed 2: differs, first error_norm at step 310, layer 1: "* ]]
    ! grep -q "does not follow" <<<"$output"
}

@test "a result without series: a final value and a mean that were changed are named" {
    jq '(.results[1].final.error_norm.values[1]) += 1e-9' smoke.json >final.json
    run -3 --separate-stderr audit final.json --share 1
    [ "$(jq -c '[.audits[0].results[] | select(.verdict == "differs") | .label, .seed, .path, .step]' <<<"$output")" = \
        '["Top-k k=1","2","results[1].final.error_norm.values[1]",null]' ]
    [ "$(jq -c '[.audits[0].differences[].path]' <<<"$output")" = '["results[1].final.error_norm.mean","results[1].final.error_norm.std"]' ]
    jq '.libraries.libtorch = "1.13.0"' final.json >torch.json # what a result says of libraries gives no tolerance
    run -3 --separate-stderr audit torch.json --share 1
    [ "$(jq -c '.audits[0] | [.tolerance, .differs]' <<<"$output")" = '[null,1]' ]
    jq '(.results[3].series.bits.mean[7]) += 1' smoke.json >mean.json
    run -3 --separate-stderr audit mean.json --share 1
    [ "$(jq -c '[.audits[0].results[] | select(.verdict == "differs") | .label, .seed, .path, .step]' <<<"$output")" = \
        '["Hard-threshold","1","results[3].series.bits.mean[7]",70,"Hard-threshold","2","results[3].series.bits.mean[7]",70]' ]
}

@test "a cell is not the same while another of its label was not run, for they share statistics" {
    printf '#!/bin/sh\ncase "$*" in *"--seed 2"*) exit 1 ;; esac\nexec sparsetrain "$@"\n' >first-seed
    chmod +x first-seed
    run -1 --separate-stderr audit smoke.json --method SGD --share 1 --program ./first-seed
    [ "$(jq -c '.audits[0] | [.drawn, .same_bits, .not_run]' <<<"$output")" = '[2,0,2]' ]
    [[ $(jq -r '.audits[0].results[0].message' <<<"$output") == "another run of its label"* ]]
}

@test "trials are cells of their label, each with the value by which it was judged" {
    sed -e '/^claims/,$d' -e 's/^seeds.*/&\ntune: {trials: 3, by: suboptimality}/' \
        -e 's/learning-rate: [^}]*/&, scale: log 0.1..1/' recipes/smoke.yaml >recipes/tuned.yaml
    sparsebench -q recipes/tuned.yaml --folder trials -o tuned.json
    sparsebench -q --bundle tuned tuned.json
    audit tuned.json tuned --method 'Top-k k=1' --share 1 >out.json
    [ "$(jq -c '[.audits[] | .cells, .drawn, .same_bits, (.differences | length)]' out.json)" = '[32,8,8,0,32,8,8,0]' ]
    audit tuned --method 'Top-k k=1 trial=2' --share 1 >out.json
    [ "$(jq -c '[.audits[0].results[] | .label, .seed]' out.json)" = '["Top-k k=1 trial=2","1001","Top-k k=1 trial=2","1002"]' ]
    jq '(.results[1].cells[] | select(.trial == 2 and .seed == "1001").value) *= 2' tuned.json >value.json
    run -3 --separate-stderr audit value.json --method 'Top-k k=1' --share 1
    [ "$(jq -c '[.audits[0].results[] | select(.verdict == "differs") | .label, .seed, .path]' <<<"$output")" = \
        '["Top-k k=1 trial=2","1001","results[1].cells[2].value"]' ]
    jq '(.results[1].tuned.winner.trial) += 1' tuned.json >winner.json
    run -3 audit winner.json --method 'Top-k k=1' --share 1
    run -1 sparsebench -q --bundle winner winner.json
    [[ $output == *"first results[1].tuned.winner.trial"* ]]
}

@test "a recipe that has changed since: what its runs still are is audited, the rest is open" {
    sed -i 's/^title: .*/title: another/' recipes/smoke.yaml
    run -1 audit smoke.json --share 1 -o out.json
    [ "$(jq -c '.audits[0] | [.recipe_edited, .cells, .changed, .same_bits]' out.json)" = '[true,8,0,8]' ]
    sed -i 's/k: \[1, 4\]/k: [1, 5]/' recipes/smoke.yaml
    sed -i '/^claims/,$d' recipes/smoke.yaml # they name Top-k k=4
    run -1 audit smoke.json --share 1 -fo out.json
    [ "$(jq -c '.audits[0] | [.recipe_edited, .cells, .changed, .same_bits]' out.json)" = '[true,8,2,6]' ]
    sed -i 's/workers: 4/workers: 2/' recipes/smoke.yaml
    run -1 --separate-stderr audit smoke.json --share 1
    [[ $(jq -r '.audits[0].problem' <<<"$output") == *"no cell was drawn"* ]]
    rm recipes/smoke.yaml
    run -1 audit smoke.json
    run -0 audit smoke # has its own
}

@test "--time-limit takes the results that took least, and names those that it leaves out" {
    jq '(.results[].cells[].elapsed_s) = 1000' smoke.json >long.json
    audit long.json smoke --share 0.5 --time-limit 100 >out.json
    [ "$(jq -r '.audits[1].same_bits' out.json)" = 4 ]
    [[ $(jq -r '.audits[0].problem' out.json) == "left out: "*"67 minutes"* ]]
}

@test "options that an audit or a bundle would ignore are refused by name" {
    for option in --part=1/2 --network=workers=2 --set=workers=2 --points=3 --html=page.html --sort --strict --dry-run; do
        says 2 "${option%%=*}" "--audit" -- sparsebench --audit "$option" smoke
    done
    for option in --share=0.5 --method=SGD --seed=1 --json --output=x.json; do
        says 2 "${option%%=*}" -- sparsebench --bundle x "$option" smoke.json
    done
    says 2 "--share" -- sparsebench recipes/smoke.yaml --share 0.5
    says 2 "--bundle and --audit" -- sparsebench --audit --bundle x smoke
    [[ $(ls) != *x.* && ! -e page.html ]]
    run -0 audit smoke --no-strict --share 0.1
}

@test "an audit that is stopped goes on with the same command" {
    jq '(.results[].cells[].elapsed_s) = 0' smoke.json >short.json
    run -124 --separate-stderr audit short.json --share 1 --time-limit 0
    [ "$(jq -c '.audits[0] | [.drawn, .not_run]' <<<"$output")" = '[8,8]' ]
    audit short.json --share 0.5 --seed 3 >out.json
    audit short.json --share 1 >out.json
    [ "$(jq -c '.audits[0] | [.same_bits, .earlier]' out.json)" = '[8,4]' ]
}

@test "forged: whatever is changed in a result or a bundle is seen" {
    sparsebench -q recipes/smoke.yaml --set epochs=2 --folder few -o few.json
    sparsebench -q --bundle honest few.json
    audit honest few.json --share 1 >out.json # the honest ones are not
    [ "$(jq -c '.audits[0].set' out.json)" = '["epochs=2"]' ]
    run -0 python3 "$BATS_TEST_DIRNAME/forge.py" honest
    [[ $output == *" bundles and "*" results, all seen" ]]
}

@test "a bundle of a network that is a tenth of the truth, and its own tolerance" {
    seq 500 >text.txt
    cat >net.yaml <<'YAML'
schema: 1
name: net
task: {kind: gpt, dataset: ./text.txt, tokens: bytes, layers: 1, heads: 1, width: 4, context: 4}
steps: 3
optimizer: {kind: sgd, learning-rate: 0.1}
record: {every: 1, series: [train-loss, bits]}
methods:
  - {name: SGD, compressor: none, baseline: true}
YAML
    sparsebench -q net.yaml --folder net -o net.json
    sparsebench -q --bundle net-bundle net.json
    audit net-bundle net.json --share 1 >out.json
    [ "$(jq -c '[.audits[] | .same_bits, .tolerance.train_loss]' out.json)" = '[1,0.17,1,0.17]' ]
    forge net-bundle wide bundle.json '"other":	0.25' '"other":	9.25'
    forge net-bundle narrow bundle.json '"train_loss":	0.17' '"train_loss":	0.01'
    run -3 --separate-stderr audit wide --share 1
    [ "$(jq -c '.audits[0] | [.differences[0].path, .tolerance.other]' <<<"$output")" = '["bundle.json.tolerance.other",0.25]' ]
    [ "$(audit narrow --share 1 | jq '.audits[0].tolerance.train_loss')" = 0.01 ] # the smaller counts
    loss=$(sed -n 's/.*"step":3,.*"train_loss":\([0-9.]*\),.*/\1/p' net/SGD-*)
    forge net-bundle tenth cells/ "\"train_loss\":$loss" '"train_loss":0.5' bundle.json '"other":	0.25' '"other":	9e99'
    run -3 --separate-stderr audit tenth --share 1
    [ "$(jq -c '.audits[0].results[0] | [.verdict, .path, .step]' <<<"$output")" = '["differs","train_loss",3]' ]
}

@test "cells that come with the evidence are not believed: an audit runs in the user's own cache" {
    mkdir -p results/local/smoke cache
    for folder in results/local/smoke/audit results/local/smoke/cells; do
        cp -rL cells $folder
        for cell in $folder/Top*; do sed -i 's/"suboptimality":0\.[0-9]*/"suboptimality":1e-9/; s/,"sha256":"[0-9a-f]*"}$/}/' "$cell"; done
    done
    grep -q '"suboptimality":1e-9' results/local/smoke/audit/Top*
    audit smoke --share 1 >out.json
    [ "$(jq -c '.audits[0] | [.run_now, .earlier, .same_bits]' out.json)" = '[8,0,8]' ]
    [ "$(find cache/sparsegrad/audit -name '*.ndjson' | wc -l)" = 8 ]
    run -1 env -u HOME XDG_CACHE_HOME=/dev/null sparsebench -q --audit smoke
    [[ $output == *"neither can be made"* ]]
}

@test "evidence names no file outside of its folders, and what is no recipe is not quoted" {
    mkdir -p "$BATS_TEST_TMPDIR/outside" home/data
    printf 'root:*:20228\n' >outside/shadow
    mv outside "$BATS_RUN_TMPDIR/outside-$BATS_TEST_NUMBER"
    out=$BATS_RUN_TMPDIR/outside-$BATS_TEST_NUMBER
    jq --arg p "$out/shadow" '.recipe.path = $p' smoke.json >named.json
    run -2 audit named.json
    [[ $output == *"lies outside of"*"--allow"* && $output != *root* ]]
    run -2 audit named.json --allow "$out"
    [[ $output == *"is no recipe"* && $output != *root* ]]
    ln -s "$out/shadow" recipes/link.yaml # a link leads out, too
    jq '.recipe.path = "recipes/link.yaml"' smoke.json >linked.json
    run -2 audit linked.json
    [[ $output == *"lies outside of"* && $output != *root* ]]
    # A data set by its path, in the recipe or by its --set.
    jq --arg p "task.dataset=$out/shadow" '.recipe.set = [$p]' smoke.json >data.json
    run -2 audit data.json
    [[ $output == *"lies outside of"* && $output != *root:* ]]
    jq --arg p "network.processor=$out/times.json" '.recipe.set = ["network.link=10gbe-tcp", "network.compute=0.1", $p]' smoke.json >processor.json
    run -2 audit processor.json
    [[ $output == *"lies outside of"* ]]
    SPARSE_DATA=$out run ! audit data.json # the data folder is none of the outside
    [[ $output != *"lies outside of"* ]]
}

@test "published results come back: the quickest ones, at a share" {
    need_real madelon
    cd "$ROOT" || exit 1
    run -0 sparsebench -q --audit --share 0.06 --seed 1 results/dryden.json results/federated.json
    [ "$(jq -r '[.audits[] | .drawn - .same_bits] | add' <<<"$output")" = 0 ]
    [ "$(jq -r '[.audits[].drawn] | add' <<<"$output")" -ge 6 ]
}

@test "every published result follows from its own values, unless its recipe has changed since" {
    cd "$ROOT" || exit 1
    # shellcheck disable=SC2207 # names without spaces
    files=($(make -n audit DEPS=skip | grep -o 'results/[a-z0-9-]*\.json' | sort -u))
    run -1 --separate-stderr sparsebench -q --audit --share 0 --time-limit 0.001 --json "${files[@]}" # nothing is run
    [ "$(jq '.audits | length' <<<"$output")" -gt 40 ]
    [ "$(jq -c '[.audits[] | select((.differences | length) > 0) | .file]' <<<"$output")" = '[]' ]
}

@test "results/SHA256SUMS has every published number, and CITATION.cff the version" {
    cd "$ROOT/results" || exit 1
    sha256sum --quiet --strict -c SHA256SUMS
    diff <(cut -c67- SHA256SUMS) <(LC_ALL=C ls -- *.json)
    (cd archive && sha256sum --quiet --strict -c SHA256SUMS && diff <(cut -c67- SHA256SUMS) <(LC_ALL=C ls -- *.json))
    grep -qx "version: $(sparsetrain --version | sed -n '1s/^sparsetrain \([0-9.]*\).*/\1/p')" ../CITATION.cff
}
