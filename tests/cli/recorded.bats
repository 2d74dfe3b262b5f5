#!/usr/bin/env bats
# The task recorded: gradients from files of NumPy, of PyTorch, and of our own runs.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$BATS_TEST_TMPDIR/data SPARSE_DATASETS=$ROOT/datasets
    mkdir data
}

recipe() { # TASK [WORKERS]: to replay.yaml, of methods of all kinds
    cat >replay.yaml <<YAML
schema: 1
name: replay
task: {kind: recorded, $1}
workers: ${2:-4}
epochs: 1
optimizer: {kind: sgd, learning-rate: 0.5}
error-feedback: gradient
record: {every: 1, layers: true, series: [error-norm, total-error, density, bits, bytes-sent, compression-error, compression-bias]}
methods:
  - {name: SGD, compressor: none, baseline: true}
  - {name: Top-k, compressor: topk, density: [0.01, 0.05]}
  - {name: Hard-threshold, compressor: hard-threshold, lambda: 3}
  - {name: QSGD, compressor: qsgd, levels: 4}
  - {name: PowerSGD, compressor: powersgd, rank: 2}
YAML
}

steps_of() { # ARGUMENTS...: the recorded steps of a run
    sparsetrain -q "$@" -f -o series.ndjson && grep '"record":"step"' series.ndjson
}

write() { # EXPRESSION...: NumPy statements, which have the gradients g [steps 12][workers 4][1000] and np
    "$PYTHON" - "$@" <<'PY'
import json, os, struct, sys
import numpy as np
r = np.random.default_rng(1)
g = (r.standard_normal((12, 4, 1000)) * np.exp(r.standard_normal(1000))).astype("<f4")
def safetensors(path, kind, **tensors):
    head, data = {"__metadata__": {"format": "pt"}}, b""
    for name, a in tensors.items():
        head[name] = {"dtype": kind, "shape": list(a.shape), "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.tobytes()
    text = json.dumps(head).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)
for statement in sys.argv[1:]:
    exec(statement)
PY
}

@test "error-by-layer and error-weighed are what the layers' own columns say" {
    need_numpy
    write 'np.save("g.npy", g)'
    recipe 'files: g.npy, layers: "100,300,600"'
    steps_of replay.yaml --method Hard-threshold --set 'record.series=[gradient-norm, error-norm, error-by-layer, error-weighed]' --set record.every=3 >steps
    jq -se 'def total(f): reduce .[] as $s ([0, 0, 0]; [., ($s | f)] | transpose | map(add));
        [.[] | select(.layers)] | total(.layers.error_norm) as $e | total(.layers.gradient_norm) as $g
        | ([range(3) as $l | [100, 300, 600][$l] / 1000 * $e[$l] / $g[$l]] | add) as $want
        | .[-1].error_by_layer / $want - 1 | . < 1e-12 and . > -1e-12' steps
    jq -se '.[-1] | .layers as $of # the learning rate is 1/2
        | ([range(3) as $l | pow($of.gradient_norm[$l] / [100, 300, 600][$l]; 2) * $of.error_norm[$l] / 4] | add) as $want
        | .error_weighed / $want - 1 | . < 1e-12 and . > -1e-12' steps
    sparsetrain -q replay.yaml --method Hard-threshold --set 'record={every: 3, series: [error-by-layer, error-weighed]}' -o alone
    [ "$(column error_by_layer alone | tail -n 1)" = "$(jq -s '.[-1].error_by_layer' steps)" ] # without record.layers too
    [ "$(column error_weighed alone | tail -n 1)" = "$(jq -s '.[-1].error_weighed' steps)" ]
}

@test "a replay of our own recording gives the bytes of the run's own columns" {
    recipe "files: run.g"
    sed 's/{kind: recorded.*/{kind: logreg, dataset: two-clouds, stand-in: two-clouds, l2: L\/100}/; s/^epochs: .*/epochs: 2/' replay.yaml >run.yaml
    for how in "Top-k density=0.05" Hard-threshold QSGD "Hard-threshold --set error-feedback=update" \
        "Hard-threshold --set error-feedback=ef21" "Top-k density=0.05 --set optimizer.warm-up-epochs=1 --set optimizer.scale=4 --set error-feedback=update"; do
        local args=(--method "${how%% --set*}")
        [[ $how != *--set* ]] || args+=(${how#"${args[1]}"})
        steps_of run.yaml "${args[@]}" --record-gradients run.g >run.steps
        steps_of replay.yaml --set epochs=2 "${args[@]}" >replay.steps
        [ "$(wc -l <run.steps)" = 121 ] && cmp run.steps replay.steps
    done
    # Threads and ranks change nothing.
    steps_of replay.yaml --set epochs=2 "${args[@]}" --threads 1 | cmp - replay.steps
    ! have_mpi || { mpirun --oversubscribe --allow-run-as-root -n 2 "$BIN/sparsetrain" -q replay.yaml --set epochs=2 "${args[@]}" -f -o two.ndjson &&
        grep '"record":"step"' two.ndjson | cmp - replay.steps; }
    # What compressors were given replays what they sent.
    steps_of run.yaml --method Hard-threshold --record-inputs run.g -f | sed 's/.*\("density"[^}]*"bytes_sent":[0-9.]*\).*/\1/' >run.sent
    steps_of replay.yaml --set epochs=2 --method Hard-threshold --set error-feedback=none |
        sed 's/.*\("density"[^}]*"bytes_sent":[0-9.]*\).*/\1/' | cmp - run.sent
}

@test "npy: one array, a file for each worker, each step or both say the same; and what NumPy says" {
    need_numpy
    write 'np.save("g.npy", g)' '[np.save("w%d.npy" % w, g[:, w]) for w in range(4)]' \
        '[np.save("s%04d.npy" % t, g[t]) for t in range(12)]' \
        '[np.save("s%d-%d.npy" % (t, w), g[t, w]) for t in range(12) for w in range(4)]'
    recipe "files: g.npy"
    steps_of replay.yaml --method "Top-k density=0.01" >whole
    [ "$(wc -l <whole)" = 13 ]
    for files in 'w{worker}.npy' 's{step:4}.npy' 's{step}-{worker}.npy' './s{step}-{worker:1}.npy'; do
        steps_of replay.yaml --set task.files="$files" --method "Top-k density=0.01" | cmp - whole
    done
    # With feedback, k = 10: NumPy's own residuals.
    for type in float32 float16 bfloat16; do
        case $type in
        float32) write 'np.save("h.npy", g)' 'x = g' ;;
        float16) write 'h = g.astype("<f2"); h[0, 0, :3] = [6e-8, -1e-5, 65504]; np.save("h.npy", h)' ;;
        bfloat16) write 'h = ((g.view("<u4") + 0x8000) >> 16).astype("<u2"); np.save("h.npy", h)' ;;
        esac
        "$PYTHON" - >wanted <<'PY'
import numpy as np
h = np.load("h.npy")
g = (h.astype("<u4") << 16).view("<f4") if h.dtype == np.uint16 else h.astype("<f4")
e = np.zeros(g.shape[1:], "f4")
for t in range(len(g)):
    e += g[t]
    for w in range(4):
        e[w, np.argsort(-abs(e[w]), kind="stable")[:10]] = 0
    print("%.9g" % np.mean(np.sum(e.astype("f8") ** 2, axis=1)))
PY
        steps_of replay.yaml --set task.files=h.npy --method "Top-k density=0.01" | tail -n +2 |
            jq -r .error_norm | paste - wanted | awk '{ d = $1 / $2 - 1; if (d > 1e-6 || d < -1e-6) exit 1 } END { exit NR != 12 }'
    done
    # Fewer workers than there are; a single one may lack its dimension.
    write 'np.save("one.npy", g[:, 0])' '[np.save("o%d.npy" % t, g[t, 0]) for t in range(12)]'
    steps_of replay.yaml --set workers=1 --method QSGD >one
    steps_of replay.yaml --set workers=1 --method QSGD --set task.files=one.npy | cmp - one
    steps_of replay.yaml --set workers=1 --method QSGD --set 'task.files=o{step}.npy' | cmp - one
    steps_of replay.yaml --set epochs=null --set steps=5 --method "Top-k density=0.01" | diff - <(head -n 6 whole) | grep -c '"epoch"' | grep -x 0
}

@test "safetensors: layers with names and matrices, as npy has them by task.layers" {
    need_numpy
    write '[safetensors("s%d-%d.safetensors" % (t, w), "F32", conv=g[t, w, :540].reshape(20, 3, 3, 3), fc=g[t, w, 540:].reshape(46, 10)) for t in range(12) for w in range(4)]' \
        'np.save("g.npy", g)' '[safetensors("h%d.safetensors" % t, "F16", a=g[t, 0].astype("<f2")) for t in range(12)]' 'np.save("h.npy", g[:, 0].astype("<f2"))'
    recipe 'files: "s{step}-{worker}.safetensors"'
    steps_of replay.yaml --method PowerSGD >named
    head -n 1 series.ndjson | jq -e '.layers == [{"name": "conv", "elements": 540}, {"name": "fc", "elements": 460}]'
    head -n 1 series.ndjson | jq -e '.dataset | .format == "safetensors float32" and .steps == 12 and .workers == 4'
    steps_of replay.yaml --method PowerSGD --set task.files=g.npy --set 'task.layers="20x3x3x3,46x10"' | cmp - named
    ! steps_of replay.yaml --method PowerSGD --set task.files=g.npy | cmp -s - named
    steps_of replay.yaml --method QSGD --set workers=1 --set 'task.files=h{step}.safetensors' >half
    steps_of replay.yaml --method QSGD --set workers=1 --set task.files=h.npy | sed 's/"layers".*//' | cmp - <(sed 's/"layers".*//' half)
}

resnet50_layers() { # torchvision's ResNet-50: the names and shapes of its 161 parameters, a line each
    "$PYTHON" - <<'PY'
def norm(name, n): print(f"{name}.weight {n}\n{name}.bias {n}")
print("# ResNet-50\n\nconv1.weight 64x3x7x7")
norm("bn1", 64)
channels = 64
for stage, blocks in enumerate((3, 4, 6, 3), 1):
    width = 32 << stage
    for block in range(blocks):
        at = f"layer{stage}.{block}"
        for i, (out, inputs, side) in enumerate(((width, channels, 1), (width, width, 3), (4 * width, width, 1)), 1):
            print(f"{at}.conv{i}.weight {out}x{inputs}x{side}x{side}")
            norm(f"{at}.bn{i}", out)
        if block == 0:
            print(f"{at}.downsample.0.weight {4 * width}x{channels}x1x1")
            norm(f"{at}.downsample.1", 4 * width)
        channels = 4 * width
print("fc.weight 1000x2048\nfc.bias 1000  # the last")
PY
}

@test "layers-file: ResNet-50's 161 layers by name, as the key layers has them by shape" {
    need_numpy
    resnet50_layers >resnet50.txt
    write 'g = np.zeros((1, 25557032), "<f2"); g[0, ::99991] = 3; g[0, -1] = 5; np.save("r.npy", g)'
    recipe 'files: r.npy' 1
    sed -i '/Top-k\|Hard\|PowerSGD\|QSGD/d; s/, compression-error, compression-bias//' replay.yaml
    sed -i 's/^methods:/&\n  - {name: Top-k, compressor: topk, k: 1}/' replay.yaml
    steps_of replay.yaml --method Top-k --set task.layers-file=resnet50.txt >by-file
    head -n 1 series.ndjson | jq -e '(.layers | length) == 161 and ([.layers[].elements] | add) == 25557032
        and .layers[0] == {"name": "conv1.weight", "elements": 9408} and .layers[160].name == "fc.bias"'
    head -n 1 series.ndjson | jq -r .dataset.sha256 >identity
    printf '%s  gradients\n%s  layers\n' "$(sha256sum <r.npy | cut -c 1-64)" "$(sha256sum <resnet50.txt | cut -c 1-64)" |
        sha256sum | cut -c 1-64 | cmp - identity
    local shapes
    shapes=$(sed 's/ *#.*//; s/.* //; /^$/d' resnet50.txt | paste -sd,)
    [ ${#shapes} -gt 1000 ]
    steps_of replay.yaml --method Top-k --set "task.layers=\"$shapes\"" >by-key
    cmp <(sed 's/"layers".*//' by-file) <(sed 's/"layers".*//' by-key)
    sed 's/ *#.*//; s/.* //' resnet50.txt >shapes.txt
    steps_of replay.yaml --method Top-k --set task.layers-file=shapes.txt | cmp - by-key
    refused() { # MESSAGE LINES ARGUMENTS...
        printf '%b' "$2" >bad.txt
        run --separate-stderr sparsetrain -q replay.yaml --method Top-k --set task.layers-file=bad.txt "${@:3}"
        # shellcheck disable=SC2053
        [[ $status != 0 && $stderr == *"$1"* ]] || { echo "$2: $stderr"; false; }
    }
    refused "task.layers-file: bad.txt:2: a line is the shape of a layer" 'a 10\n20\n'
    refused "task.layers-file: bad.txt:1: a line is" 'a 10 b\n'
    refused "task.layers-file: bad.txt:1: a line is" 'a\n'
    { printf '\xef\xbb\xbf'; tr x X <shapes.txt; } >marked.txt
    steps_of replay.yaml --method Top-k --set task.layers-file=marked.txt | cmp - by-key
    refused "task.layers-file: bad.txt:3: a line is" '\n\na\x01 3\n'
    refused "task.layers-file: bad.txt: it has no layers" '# none\n'
    refused "task.layers-file: they have 12 elements, and a gradient has 25557032" '10\n2'
    rm bad.txt
    run --separate-stderr sparsetrain -q replay.yaml --method Top-k --set task.layers-file=bad.txt
    [[ $stderr == *"cannot read bad.txt"* ]]
    refused "task.layers: they are given twice" '10\n2' --set 'task.layers="12"'
}

@test "what cannot be replayed is refused before the run, with the place and the reason" {
    need_numpy
    write 'np.save("g.npy", g)' 'np.save("f8.npy", g.astype("<f8"))' 'np.save("fortran.npy", np.asfortranarray(g))' \
        'np.save("flat.npy", g[0, 0])' 'open("cut.npy", "wb").write(open("g.npy", "rb").read()[:-1])' \
        '[np.save("u%d.npy" % t, g[t, :, : 1000 - t // 6]) for t in range(12)]' 'safetensors("i.safetensors", "I64", a=g[0, 0])' \
        'safetensors("s0-0.safetensors", "F32", a=g[0, 0])' 'open("c.safetensors", "wb").write(open("s0-0.safetensors", "rb").read()[:-1])' \
        'h = g.astype("<f2"); h[1, 0, 3] = np.inf; np.save("inf.npy", h)' 'g[3, 2, 7] = np.nan; np.save("nan.npy", g)'
    recipe "files: g.npy"
    refused() { # CODE MESSAGE ARGUMENTS...
        local code=$1 message=$2
        shift 2
        run -"$code" --separate-stderr sparsetrain -q replay.yaml --method SGD "$@" -f -o refused.ndjson
        # shellcheck disable=SC2053
        [[ $stderr == *$message* ]] || { echo "$*: $stderr"; false; }
    }
    refused 2 "steps: 13 steps are more than the 12 that task 'recorded' has gradients of" --set epochs=null --set steps=13
    refused 2 "5 workers, and task.files hold the gradients of 4" --set workers=5
    refused 2 "batch: task 'recorded' replays gradients" --set batch=4
    refused 2 "record.evaluate: task 'recorded' replays gradients" --set record.evaluate=1
    refused 2 "cannot record 'loss'" --set 'record.series=[loss]'
    refused 2 "cannot record 'train-loss'" --set 'record.series=[train-loss]'
    refused 2 "error-feedback 'local-steps' takes gradients at each worker's own parameters" --set error-feedback=local-steps
    refused 2 "task.layers: '999,' is not a list of shapes" --set 'task.layers="999,"'
    refused 2 "task.layers: they have 999 elements, and a gradient has 1000" --set 'task.layers="9x111"'
    refused 2 "braces stand around 'step' or 'worker' only" --set 'task.files="g{s}.npy"'
    refused 1 "task.files: cannot read none.npy" --set task.files=none.npy
    refused 1 "type '<f8'; float32 ('<f4'), float16" --set task.files=f8.npy
    refused 1 "Fortran order" --set task.files=fortran.npy
    refused 1 "its array must be (steps, workers, d) or (steps, d)" --set task.files=flat.npy
    refused 1 "cut.npy: 192127 bytes, and its header makes 192128: it was cut or is damaged" --set task.files=cut.npy
    refused 1 "u6.npy: the shape of its array is not that of the first file" --set 'task.files="u{step}.npy"'
    refused 1 "tensor 'a' is of type 'I64'; F32, F16 and BF16 are read: integers are no gradient, leave it out" --set task.files=i.safetensors --set workers=1
    refused 1 "its header makes 4000: it was cut or is damaged" --set task.files=c.safetensors --set workers=1
    refused 2 "has layers of its own" --set task.files=s0-0.safetensors --set workers=1 --set 'task.layers="1000"'
    refused 1 "is not a recording of a run" --set task.files=replay.yaml
    refused 1 "worker 0, step 1" --set task.files=inf.npy
    refused 1 "worker 2, step 3" --set task.files=nan.npy
    tail -n 1 refused.ndjson | jq -e '.status == "diverged"'
}

@test "a gap in the numbers of files is refused with the first name that is missing; a stride is a key" {
    need_numpy
    write '[np.save("ten%d.npy" % (10 * t), g[t, 0]) for t in range(12)]' '[np.save("hole%d.npy" % t, g[t, 0]) for t in range(12) if t != 3]' \
        '[np.save("one%d.npy" % (t + 1), g[t, 0]) for t in range(12)]' '[np.save("pad%03d.npy" % t, g[t, 0]) for t in range(12)]' \
        '[np.save("w%d-%d.npy" % (t, w), g[t, w]) for t in range(12) for w in (0, 1, 3)]' 'np.save("g.npy", g[:, 0])' \
        '[np.save("last%d-%d.npy" % (t, w), g[t, w]) for t in range(12) for w in range(2) if t + w < 12]' \
        '[(os.makedirs("rank%d" % w, exist_ok=True), np.save("rank%d/%d%d.npy" % (w, w, t), g[t, w])) for t in range(12) for w in range(2)]' \
        '[np.save("two-%d-%d.npy" % (t, w), g[t, w]) for t in range(12) for w in range(2)]'
    recipe "files: g.npy" 1
    gap() { # MESSAGE FILES ARGUMENTS...
        run -1 --separate-stderr sparsetrain -q replay.yaml --method SGD --set task.files="'$2'" "${@:3}"
        [[ $stderr == "sparsetrain: task.files: $1" ]] || { echo "$2: $stderr"; false; }
    }
    gap "hole3.npy is missing, and 8 files with larger numbers are there (numbers count from 0 without gaps)" 'hole{step}.npy'
    gap "ten1.npy is missing, and 11 files with larger numbers are there (their steps are task.steps-at: {first: 0, every: 10})" 'ten{step}.npy'
    gap "one0.npy is missing, and 12 files with larger numbers are there (their steps are task.steps-at: {first: 1, every: 1})" 'one{step}.npy'
    gap "w0-2.npy is missing, and 34 files with larger numbers are there (numbers count from 0 without gaps)" 'w{step}-{worker}.npy'
    gap "last11-1.npy is missing, which the other steps have" 'last{step}-{worker}.npy'
    gap "cannot read pad0.npy: no such file, but some with zeros in front of the number ({step:6} stands for six digits)" 'pad{step}.npy'
    gap "cannot read none0.npy: no such file" 'none{step}.npy'
    run -2 --separate-stderr sparsetrain -q replay.yaml --method SGD --set task.steps-at.every=2
    [[ $stderr == *"steps-at counts the numbers of {step}"* ]]
    # With the key the same numbers as of one array; what is read, and what is left out, is said.
    steps_of replay.yaml --method "Top-k density=0.01" >whole
    steps_of replay.yaml --method "Top-k density=0.01" --set 'task.files="ten{step}.npy"' --set 'task.steps-at={every: 10}' | cmp - whole
    steps_of replay.yaml --method "Top-k density=0.01" --set 'task.files="one{step}.npy"' --set 'task.steps-at={first: 1}' | cmp - whole
    steps_of replay.yaml --method "Top-k density=0.01" --set workers=2 --set 'task.files="two-{step}-{worker}.npy"' >two
    steps_of replay.yaml --method "Top-k density=0.01" --set workers=2 --set 'task.files="rank{worker}/{worker}{step}.npy"' | cmp - two
    run -0 --separate-stderr sparsetrain replay.yaml --method SGD --set 'task.files="one{step}.npy"' --set 'task.steps-at={first: 3, every: 4}' -f -o series.ndjson
    [[ ${stderr_lines[0]} == "sparsetrain: task.files: 3 steps of 1 worker, d = 1000, 9 files of other steps left out" ]]
    head -n 1 series.ndjson | jq -e '.dataset.steps == 3'
    write 'np.save("h.npy", (g.view("<u4") & 0x3fff).astype("<u2"))' 'np.save("i.npy", g.astype("<i2"))'
    run -0 --separate-stderr sparsetrain replay.yaml --method SGD --set task.files=h.npy --set steps=1 --set epochs=null -f -o series.ndjson
    [[ ${stderr_lines[0]} == "sparsetrain: task.files: 12 steps of 4 workers, d = 1000, integers read as bfloat16: the first has |g| = "* ]]
    gap "i.npy: its numbers are integers of 16 bits ('<i2'); if they are bfloat16, save array.view('<u2')" i.npy
}

@test "tensors are found by their names in any order; a head of Python 2 is read" {
    need_numpy
    write '[safetensors("a%d.safetensors" % t, "F32", x=g[t, 0, :400], y=g[t, 0, 400:]) for t in range(12)]' \
        '[safetensors("b%d.safetensors" % t, "F32", **dict([("x", g[t, 0, :400]), ("y", g[t, 0, 400:])][:: 1 - t % 2 * 2])) for t in range(12)]' \
        '[safetensors("c%d.safetensors" % t, "F32", x=g[t, 0, :400], **{"yz"[t // 6]: g[t, 0, 400:]}) for t in range(12)]' \
        '[safetensors("d%d.safetensors" % t, "F32", x=g[t, 0, :400], **dict([("y", g[t, 0, 400:])][: t < 6])) for t in range(12)]' \
        'text = "{\x27descr\x27: \x27<f4\x27, \x27fortran_order\x27: False, \x27shape\x27: (12L, 1000L), }".ljust(117) + "\n"' \
        'open("long.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + text.encode() + g[:, 0].tobytes())' 'np.save("g.npy", g[:, 0])'
    recipe 'files: "a{step}.safetensors"' 1
    steps_of replay.yaml --method "Top-k density=0.01" >named
    steps_of replay.yaml --method "Top-k density=0.01" --set 'task.files="b{step}.safetensors"' | cmp - named
    run -1 --separate-stderr sparsetrain -q replay.yaml --method SGD --set 'task.files="c{step}.safetensors"' -f -o series.ndjson
    [[ $stderr == *"c6.safetensors: it has no tensor 'y', which the first file has"* ]]
    run -1 --separate-stderr sparsetrain -q replay.yaml --method SGD --set 'task.files="d{step}.safetensors"' -f -o series.ndjson
    [[ $stderr == *"d6.safetensors: it has no tensor 'y', which the first file has"* ]]
    steps_of replay.yaml --method "Top-k density=0.01" --set task.files=g.npy >array
    steps_of replay.yaml --method "Top-k density=0.01" --set task.files=long.npy | cmp - array
}

@test "sparsetune, sparsebench, the network model and the oracle work on recorded gradients" {
    need_numpy
    write 'np.save("g.npy", g)'
    recipe "files: g.npy"
    sed -i '/PowerSGD\|QSGD/d; s/, layers: true//; s/lambda: 3/lambda: match/; s/series: \[/series: [average-density, /' replay.yaml
    sparsetune -q replay.yaml --match-density >matched.yaml
    sparsebench -q matched.yaml --json >matched.json
    jq -e '[.results[] | select(.method == "Hard-threshold") | .final.average_density.mean] | length == 2' matched.json ||
        jq '.results[0] | keys' matched.json
    sparsetune -q replay.yaml --rule=estimated --repeats 4 --points 4 >rule.yaml
    grep -q 'sparsetune --rule estimated: lambda' rule.yaml
    says 2 "task.files hold 12 steps, and step 12 is asked for" -- sparsetune -q replay.yaml --rule=estimated --repeats 30 --points 4
    run ! --separate-stderr sparsetune -q replay.yaml --rule=estimated --repeats 0 --points 4
    [[ $stderr == *"task 'recorded' has no exact expectations"* ]]
    sed -i 's/lambda: match/lambda: 3/' replay.yaml
    sed -i "s/density: \[.*\]/density: 0.01/" replay.yaml
    sparsetune -q replay.yaml --match-bytes=0.1 -o bytes.json >bytes.yaml
    jq -e . bytes.json >/dev/null
    sparsetrain -q replay.yaml --method Hard-threshold --record-inputs ht.inputs -o ht.ndjson
    sparsetune -q replay.yaml --oracle ht.inputs --json | jq -e '.tune | .steps == 12 and .workers == 4'
    sed -i 's/^methods:/network: {link: 10gbe-tcp, workers: 16}\nmethods:/' replay.yaml
    sparsebench -q replay.yaml --table | grep -q 'modelled network: 16 workers, 10gbe-tcp'
    run ! --separate-stderr sparsetune -q replay.yaml --theory
    [[ $stderr == *"known for logreg, and measured for cnn"* ]]
    # Kernel and coding times.
    cat >kernels.yaml <<YAML
schema: 1
name: kernels
kind: kernels
operations: []
sizes: [1]
compressors: {names: [topk], sizes: [recording], densities: [0.05], recording: g.npy}
threads: [1]
samples: 20
YAML
    COLUMNS=200 sparsebench -q kernels.yaml --table | grep -q '^topk .* recording .* 1000 .* right$'
}

@test "a file larger than the memory that a run may have is replayed" {
    need_numpy
    "$PYTHON" - <<'PY'
import numpy as np
steps, d = 400, 1000000
with open("zeros.npy", "wb") as f:
    np.lib.format.write_array_header_1_0(f, {"descr": "<f4", "fortran_order": False, "shape": (steps, 2, d)})
    f.truncate(f.tell() + steps * 2 * d * 4)
PY
    [ "$(stat -c %s zeros.npy)" -gt 3200000000 ]
    recipe "files: zeros.npy" 2
    # The data of the process, in KiB: writable memory that no file backs.
    (ulimit -d 800000 && sparsetrain -q replay.yaml --method Hard-threshold --threads 1 --set epochs=null --set steps=10 -o run.ndjson)
    tail -n 1 run.ndjson | jq -e '.status == "ok" and .steps == 10'
}

@test "the lines of recipes/OWN-GRADIENTS.md write what the task reads" {
    awk '/^```/ { on = $0 == "```python"; next } on' "$ROOT/recipes/OWN-GRADIENTS.md" >lines.py
    [ "$(grep -c . lines.py)" -ge 10 ]
    if find_python numpy torch; then
        cat >train.py <<'PY'
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.Flatten(), torch.nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    for worker in range(2):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(torch.randn(8, 1, 4, 4)), torch.randint(3, (8,)))
        loss.backward()
        write_gradients(model, "grads", step, worker)
    optimizer.step()
PY
    else # an imitation of the few functions that the lines use
        need_numpy
        cat >torch.py <<'PY'
import numpy
class Tensor:
    def __init__(self, array): self.array, self.shape, self.requires_grad, self.grad = array, array.shape, True, None
    def detach(self): return self
    def reshape(self, n): return Tensor(self.array.reshape(n))
    def float(self): return Tensor(self.array.astype("float32"))
    def cpu(self): return self
    def numpy(self): return self.array
def zeros_like(t): return Tensor(numpy.zeros_like(t.array))
def cat(tensors): return Tensor(numpy.concatenate([t.array for t in tensors]))
PY
        cat >train.py <<'PY'
class Model:
    shapes = [(4, 1, 3, 3), (4,), (3, 16), (3,)]
    tensors = [torch.Tensor(numpy.zeros(s)) for s in shapes]
    def parameters(self): return self.tensors
    def named_parameters(self): return zip(("0.weight", "0.bias", "2.weight", "2.bias"), self.tensors)
model, draw = Model(), numpy.random.default_rng(1)
for step in range(5):
    for worker in range(2):
        for p in model.tensors[1:]:
            p.grad = torch.Tensor(draw.standard_normal(p.shape))
        write_gradients(model, "grads", step, worker)
PY
    fi
    echo 'print(layers(model)); write_layers(model, "layers.txt")' >>train.py
    cat train.py >>lines.py
    layers=$("$PYTHON" lines.py)
    [ "$layers" = 4x1x3x3,4,3x16,3 ]
    # The page's recipe, with these layers.
    awk '/^```/ { on = $0 == "```yaml"; next } on' "$ROOT/recipes/OWN-GRADIENTS.md" >own.yaml
    for method in Top-k PowerSGD; do
        sparsetrain -q own.yaml --set "task.layers=\"$layers\"" --set workers=2 --set record.layers=true --method $method -f -o run.ndjson
        head -n 1 run.ndjson | jq -e '[.layers[].elements] == [36, 4, 48, 3] and .dataset.steps == 5'
        tail -n 1 run.ndjson | jq -e '.status == "ok" and .steps == 5'
    done
    sparsetrain -q own.yaml --set task.layers=null --set task.layers-file=layers.txt --set workers=2 --set record.layers=true \
        --method Top-k -f -o run.ndjson
    head -n 1 run.ndjson | jq -e '[.layers[] | .name, .elements] == ["0.weight", 36, "0.bias", 4, "2.weight", 48, "2.bias", 3]'
    "$PYTHON" -c 'import numpy; g = [numpy.load("grads/0-%d.npy" % w).astype("f8") for w in range(2)]
print(sum((x ** 2).sum() - sum(max(abs(x[a:b])) ** 2 for a, b in ((0, 36), (36, 40), (40, 88), (88, 91))) for x in g) / 2)' >wanted
    sparsetrain -q own.yaml --set "task.layers=\"$layers\"" --set workers=2 --method Top-k -f -o run.ndjson
    sed -n 3p run.ndjson | jq -r .error_norm | paste - wanted | awk '{ d = $1 / $2 - 1; exit d > 1e-5 || d < -1e-5 }'
}

@test "a grid says what its recorded gradients are, and how many cells run at once; a target leads to its recipe" {
    need_numpy
    write 'np.save("g.npy", g)'
    recipe 'files: g.npy'
    run -0 --separate-stderr sparsebench replay.yaml -j 1 --method SGD --folder cells -o out.json
    [[ $stderr == *"task.files: 12 steps of 4 workers, d = 1000"*"1 cell, 1 at once, into cells"* ]] || { echo "$stderr"; false; }
    cd "$ROOT"
    run -2 --separate-stderr sparsebench mini-fig2a
    [[ $stderr == *"did you mean recipes/mini/fig2a.yaml?"* ]]
    run -2 --separate-stderr sparsetrain recipes/mini-fig3.yaml
    [[ $stderr == *"did you mean recipes/mini/fig3.yaml?"* ]]
}
