#!/usr/bin/env bats
# sparsebench --bundle and --audit, with the real sparsetrain: no bit changes unseen, and what does not come back is named.
load common

setup_file() {
    export SPARSE_DATA=$CACHE
    cd "$BATS_FILE_TMPDIR" || exit 1
    mkdir recipes
    cp "$ROOT/recipes/smoke.yaml" recipes
    sparsebench -q recipes/smoke.yaml --set record.layers=true --folder cells -o smoke.json
    sparsebench -q --bundle smoke.tar smoke.json
}

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$CACHE
    ln -s "$BATS_FILE_TMPDIR"/smoke.{json,tar} "$BATS_FILE_TMPDIR/cells" .
    mkdir -p recipes
    cp "$ROOT/recipes/smoke.yaml" recipes
}

audit() {
    sparsebench -q --audit --folder again "$@"
}

# Changes the text of members in place, OLD NEW of one length for each, and then every checksum that has to fit it.
forge() { # BUNDLE OUT MEMBER OLD NEW [MEMBER OLD NEW]...
    python3 - "$@" <<'PY'
import hashlib, re, sys, tarfile
source, out, edits = sys.argv[1], sys.argv[2], sys.argv[3:]
data = bytearray(open(source, "rb").read())
at = {m.name: (m.offset_data, m.offset_data + m.size) for m in tarfile.open(source)}
def put(name, text):
    start, stop = at[name]
    assert len(text) == stop - start
    data[start:stop] = text
for pattern, old, new in zip(edits[0::3], edits[1::3], edits[2::3]):
    name = next(n for n in at if re.search(pattern, n))
    text = bytes(data[slice(*at[name])])
    assert text.count(old.encode()) >= 1 and len(old) == len(new), (name, old)
    text = text.replace(old.encode(), new.encode(), 1)
    if name.endswith(".ndjson"):
        sealed = re.search(rb',"sha256":"([0-9a-f]{64})"}\n\{"record":"end"', text)
        body = text[:sealed.start()] + text[sealed.end(1) + 1:]
        text = text[:sealed.start(1)] + hashlib.sha256(body).hexdigest().encode() + text[sealed.end(1):]
    put(name, text)
names = [n for n in sorted(at) if not n.startswith("SHA256SUMS")]
sums = "".join(f"{hashlib.sha256(data[slice(*at[n])]).hexdigest()}  {n}\n" for n in names).encode()
put("SHA256SUMS", sums)
put("SHA256SUMS.sha256", f"{hashlib.sha256(sums).hexdigest()}  SHA256SUMS\n".encode())
open(out, "wb").write(data)
PY
}

@test "a bundle is the same bytes again, and tar and sha256sum read it" {
    sparsebench -q --bundle again.tar --folder cells smoke.json
    cmp smoke.tar again.tar
    mkdir x
    tar xf again.tar -C x
    (cd x && sha256sum --quiet --strict -c SHA256SUMS.sha256 SHA256SUMS)
    cmp x/recipe.yaml "$ROOT/recipes/smoke.yaml"
    cmp x/result.json smoke.json
    [ "$(find x/cells -type f | wc -l)" = 8 ]
    run -2 sparsebench -q --bundle again.tar smoke.json # not without --force
    run -1 sparsebench -q --bundle other.tar --folder x smoke.json # x has no cells
    [ ! -e other.tar ]
}

@test "the draw is decided by share and seed; what was run is not run again" {
    audit smoke.tar --share 0.3 --seed 5 >one.json
    [ "$(jq -r '.status, (.audits[0] | .cells, .drawn, .same_bits, .earlier, (.follows | length))' one.json | xargs)" = "ok 8 3 3 0 0" ]
    audit smoke.tar --share 0.3 --seed 5 >two.json
    cmp <(jq -c '.audits[0].results' one.json) <(jq -c '.audits[0].results' two.json)
    [ "$(jq .audits[0].earlier two.json)" = 3 ]
    for seed in 1 2 3 4; do audit smoke.tar --share 0 --seed $seed | jq -c '[.audits[0].results[] | .label, .seed]'; done >draws
    [ "$(sort -u draws | wc -l)" -gt 1 ]
    [ "$(jq length draws | sort -u)" = 2 ] # one cell, at least and at most
    run -0 audit smoke.tar smoke.json --share 1 --table
    [[ $output == *"smoke.tar "*"smoke.json "*"all "* ]]
    run -2 audit smoke.tar --folder cells --set workers=2
    run -2 audit smoke.tar --folder "$BATS_FILE_TMPDIR/cells" # those of the result itself
}

@test "a bit that is flipped anywhere in a bundle is seen" {
    run -0 python3 - <<'PY'
import random, subprocess
data = open("smoke.tar", "rb").read()
random.seed(9)
places = list(range(0, 512, 37)) + [len(data) - 1, len(data) - 600] + [random.randrange(len(data)) for _ in range(60)]
unseen = []
for place in places:
    flipped = bytearray(data)
    flipped[place] ^= 1 << random.randrange(8)
    assert flipped != data
    open("flipped.tar", "wb").write(flipped)
    end = subprocess.run(["sparsebench", "-q", "--audit", "flipped.tar", "--folder", "none"], capture_output=True, text=True)
    if end.returncode != 3 or "flipped.tar" not in end.stderr:
        unseen.append((place, end.returncode, end.stderr))
assert not unseen, unseen
PY
    [ ! -e none ] # nothing was run
}

@test "numbers that were changed with all checksums: the result does not follow, or a new run differs, and it says where" {
    cell=SGD-seed1 step='"step":310,"epoch":5.166666666666667,"suboptimality":0.'
    value=$(sed -n "s/.*$step\([0-9]*\),.*/\1/p" cells/$cell-*)
    other=$((${value:0:1} % 9 + 1))${value:1}
    forge smoke.tar series.tar $cell "$step$value" "$step$other"
    run -3 --separate-stderr audit series.tar --method SGD --share 1
    [ "$(jq -r '.status, .audits[0].follows[0].label, .audits[0].follows[0].step' <<<"$output" | xargs)" = "differs SGD 310" ]
    [ "$(jq -r '.audits[0].results[0] | .verdict, .column, .step' <<<"$output" | xargs)" = "differs suboptimality 310" ]
    # A verdict, and a value of a claim.
    forge smoke.tar claim.tar result.json '"verdict":	"holds"' '"verdict":	"fails"'
    run -3 --separate-stderr audit claim.tar
    [ "$(jq -c '[.audits[0].follows[].column]' <<<"$output")" = '["verdict"]' ]
    # Of a layer, which no result shows: only the new run tells.
    layer=$(sed -n 's/.*"step":310,.*"layers":{"entries":\[1\],"error_norm":\[\([0-9.e-]*\)\].*/\1/p' cells/Top-k_k=1-seed2-*)
    [ -n "$layer" ]
    forge smoke.tar layer.tar Top-k_k=1-seed2 "\"layers\":{\"entries\":[1],\"error_norm\":[$layer]" \
        "\"layers\":{\"entries\":[1],\"error_norm\":[${layer//[1-8]/9}]"
    run -3 --separate-stderr audit layer.tar --method 'Top-k k=1' --share 1 --table
    [[ $(xargs <<<"$output") == *"Top-k k=1, seed 2: differs, first at step 310, layer 1, error_norm: "* ]]
    ! grep -q "does not follow" <<<"$output"
}

@test "a result without series: a final value and a mean that were changed are named" {
    jq '(.results[1].final.error_norm.values[1]) += 1e-9' smoke.json >final.json
    run -3 --separate-stderr audit final.json --share 1
    [ "$(jq -c '[.audits[0].results[] | select(.verdict == "differs") | .label, .seed, .column, .step]' <<<"$output")" = '["Top-k k=1","2","error_norm",null]' ]
    jq '.libraries.libtorch = "1.13.0"' final.json >torch.json # what a result says of libraries gives no tolerance
    run -3 --separate-stderr audit torch.json --share 1
    [ "$(jq -c '.audits[0] | [.tolerance, .differs]' <<<"$output")" = '[null,1]' ]
    jq '(.results[3].series.bits.mean[7]) += 1' smoke.json >mean.json
    run -3 --separate-stderr audit mean.json --share 1
    [ "$(jq -c '[.audits[0].results[] | select(.verdict == "differs") | .label, .seed, .column, .statistic, .step]' <<<"$output")" = \
        '["Hard-threshold","1","bits","mean",70,"Hard-threshold","2","bits","mean",70]' ]
}

@test "a cell is not the same while another of its label was not run, for they share statistics" {
    printf '#!/bin/sh\ncase "$*" in *"--seed 2"*) exit 1 ;; esac\nexec sparsetrain "$@"\n' >first-seed
    chmod +x first-seed
    jq '(.results[0].final.suboptimality.values[0]) += 1' smoke.json >final.json
    run -1 --separate-stderr audit final.json --method SGD --share 1 --program ./first-seed
    [ "$(jq -c '.audits[0] | [.drawn, .same_bits, .not_run]' <<<"$output")" = '[2,0,2]' ]
    [[ $(jq -r '.audits[0].results[0].message' <<<"$output") == "another run of its label"* ]]
}

@test "trials are cells of their label, each with the value by which it was judged" {
    sed -e '/^claims/,$d' -e 's/^seeds.*/&\ntune: {trials: 3, by: suboptimality}/' \
        -e 's/learning-rate: [^}]*/&, scale: log 0.1..1/' recipes/smoke.yaml >recipes/tuned.yaml
    sparsebench -q recipes/tuned.yaml --folder trials -o tuned.json
    sparsebench -q --bundle tuned.tar tuned.json
    audit tuned.json tuned.tar --method 'Top-k k=1' --share 1 >out.json
    [ "$(jq -c '[.audits[] | .cells, .drawn, .same_bits, (.follows | length)]' out.json)" = '[24,6,6,0,24,6,6,0]' ]
    audit tuned.tar --method 'Top-k k=1 trial=2' --share 1 >out.json
    [ "$(jq -c '[.audits[0].results[] | .label, .seed]' out.json)" = '["Top-k k=1 trial=2","1","Top-k k=1 trial=2","2"]' ]
    jq '(.results[1].cells[] | select(.trial == 2 and .seed == "1").value) *= 2' tuned.json >value.json
    run -3 --separate-stderr audit value.json --method 'Top-k k=1' --share 1
    [ "$(jq -c '[.audits[0].results[] | select(.verdict == "differs") | .label, .seed, .column]' <<<"$output")" = \
        '["Top-k k=1 trial=2","1","suboptimality"]' ]
    jq '(.results[1].tuned.winner.trial) += 1' tuned.json >winner.json
    run -3 audit winner.json --method 'Top-k k=1' --share 1
    run -1 sparsebench -q --bundle winner.tar winner.json
    [[ $output == *"first tuned of 'Top-k k=1'"* ]]
}

@test "a recipe that has changed since: what its runs still are is audited, the rest is said" {
    sed -i 's/^title: .*/title: another/' recipes/smoke.yaml
    audit smoke.json --share 1 >out.json
    [ "$(jq -c '.audits[0] | [.recipe_edited, .cells, .changed, .same_bits]' out.json)" = '[true,8,0,8]' ]
    sed -i 's/k: \[1, 4\]/k: [1, 5]/' recipes/smoke.yaml
    sed -i '/^claims/,$d' recipes/smoke.yaml # they name Top-k k=4
    audit smoke.json --share 1 >out.json
    [ "$(jq -c '.audits[0] | [.recipe_edited, .cells, .changed, .same_bits]' out.json)" = '[true,8,2,6]' ]
    sed -i 's/workers: 4/workers: 2/' recipes/smoke.yaml
    run -1 --separate-stderr audit smoke.json --share 1
    [[ $(jq -r '.audits[0].problem' <<<"$output") == *"no cell was drawn"* ]]
    rm recipes/smoke.yaml
    run -1 audit smoke.json
    run -0 audit smoke.tar # has its own
}

@test "--time-limit takes the results that took least, and names those that it leaves out" {
    jq '(.results[].cells[].elapsed_s) = 1000' smoke.json >long.json
    audit long.json smoke.tar --share 0.5 --time-limit 100 >out.json
    [ "$(jq -r '.audits[1].same_bits' out.json)" = 4 ]
    [[ $(jq -r '.audits[0].problem' out.json) == "left out: "*"67 minutes"* ]]
}

@test "options that an audit or a bundle would ignore are refused by name" {
    for option in --part=1/2 --network=workers=2 --set=workers=2 --points=3 --html=page.html --sort --strict --dry-run; do
        says 2 "${option%%=*}" "--audit" -- sparsebench --audit "$option" smoke.tar
    done
    for option in --share=0.5 --method=SGD --seed=1 --json --output=x.json; do
        says 2 "${option%%=*}" -- sparsebench --bundle x.tar "$option" smoke.json
    done
    says 2 "--share" -- sparsebench recipes/smoke.yaml --share 0.5
    says 2 "--bundle and --audit" -- sparsebench --audit --bundle x.tar smoke.tar
    [[ $(ls) != *x.* && ! -e page.html ]]
    run -0 audit smoke.tar --no-strict --share 0.1
}

@test "an audit that is stopped goes on with the same command" {
    jq '(.results[].cells[].elapsed_s) = 0' smoke.json >short.json
    run -124 --separate-stderr audit short.json --share 1 --time-limit 0
    [ "$(jq -c '.audits[0] | [.drawn, .not_run]' <<<"$output")" = '[8,8]' ]
    audit short.json --share 0.5 --seed 3 >out.json
    audit short.json --share 1 >out.json
    [ "$(jq -c '.audits[0] | [.same_bits, .earlier]' out.json)" = '[8,4]' ]
}

@test "published results come back: the quickest ones, at a share" {
    need_real madelon
    cd "$ROOT" || exit 1
    run -0 sparsebench -q --audit --folder "$BATS_TEST_TMPDIR/again" --share 0.06 --seed 1 results/dryden.json results/federated.json
    [ "$(jq -r '[.audits[] | .drawn - .same_bits] | add' <<<"$output")" = 0 ]
    [ "$(jq -r '[.audits[].drawn] | add' <<<"$output")" -ge 6 ]
}

@test "results/SHA256SUMS has every published number, and CITATION.cff the version" {
    cd "$ROOT/results" || exit 1
    sha256sum --quiet --strict -c SHA256SUMS
    diff <(cut -c67- SHA256SUMS) <(LC_ALL=C ls -- *.json)
    grep -qx "version: $(sparsetrain --version | sed -n '1s/^sparsetrain \([0-9.]*\).*/\1/p')" ../CITATION.cff
}
