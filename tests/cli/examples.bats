#!/usr/bin/env bats
# The examples of lib/examples do what they say: each is compiled as its head says, and run.
# SPDX-License-Identifier: MIT
load common

EXAMPLES=$ROOT/lib/examples

setup_file() {
    export INSTALLED=$BATS_FILE_TMPDIR/root
    make -s -C "$ROOT" install PREFIX=/usr DESTDIR="$INSTALLED" >/dev/null
    diff -r "$ROOT/lib/examples" "$INSTALLED/usr/share/sparsegrad/examples"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export PKG_CONFIG_PATH=$INSTALLED/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$INSTALLED
    export LD_LIBRARY_PATH=$INSTALLED/usr/lib
    cp "$INSTALLED"/usr/share/sparsegrad/examples/* .
}

compile() { # FILE: by the command at its head, with all warnings
    local command
    command=$(sed -n 's/^ \*     cc /cc -std=c11 -Wall -Wextra -Werror -Wno-missing-field-initializers /p' "$1")
    [[ $command == *"$1"*"pkg-config"* ]]
    eval "$command"
}

@test "every example is named in lib/README.md, and tried here or as a plug-in" {
    local file
    for file in *; do
        grep -qF "(examples/$file)" "$ROOT/lib/README.md" || { echo "lib/README.md does not name $file"; false; }
        grep -q "${file%.*}" "$BATS_TEST_FILENAME" "$ROOT/tests/cli/plugin.bats" # which tries coder.c and largest.py
    done
}

@test "selector.c keeps what a compressor promises, sends what its threshold says, and can be matched to a volume" {
    compile selector.c
    run -0 --separate-stderr sparsebench --plugin running-rms.so --verify-compressors --table running-rms
    [[ ${lines[0]} == "# running-rms "*"all that applies holds"* ]]
    for property in form bits conserves same-bits resume nonfinite damage; do
        grep -qE "^$property +holds +[1-9]" <<<"$output" || { echo "$property is not tried"; false; }
    done
    sed -e '/^claims:/,$d' -e 's/compressor: topk, k: .1, 4./compressor: running-rms, factor: [0, 2, 1000]/' "$ROOT/recipes/smoke.yaml" >mine.yaml
    sparsebench -q --plugin running-rms.so mine.yaml --method Top-k --json >mine.json
    # A factor of 0 sends everything, one of 1000 nothing, and 2 some elements.
    jq -e '[.results[] | select(.compressor == "running-rms").final.density.mean] | .[0] == 1 and .[1] > 0 and .[1] < 0.5 and .[2] == 0' mine.json
}

@test "selector.c in Python: a text names it after load_plugin, with the bits of the program; what is none is refused" {
    need_numpy
    compile selector.c
    cut -c 1-100 running-rms.so >no.so
    cc -shared -fPIC -o other.so -xc - <<<'int other = 1;'
    cat >use.py <<'PY'
import sys
import numpy as np
import libsparsegrad as sg
rng = np.random.default_rng(3)
g = [rng.standard_normal(300).astype("f4") for _ in range(3)]
for file in ("no.so", "other.so"):
    try:
        sg.load_plugin(file)
        sys.exit(f"{file} was loaded")
    except sg.Error as error:
        assert "is no plug-in" in str(error), error
try:
    sg.Method("running-rms", [200, 100])
    sys.exit("it was known before")
except sg.Error:
    pass
for _ in range(2):
    sg.load_plugin("running-rms.so")
assert sg.compressors()["running-rms"].parameters["factor"].preset == 2
assert list(sg.plugins().values())[0] == sys.argv[1]
method = sg.Method("running-rms factor=1.5", [200, 100])
e = method.residual()
mean, waiting = np.zeros(2), np.zeros(300, "f4")
for t in range(3):
    total = method.step(t, [g[t]], [e])
    squares = [np.sum(np.square(part, dtype="f8")) / part.size for part in (g[t][:200], g[t][200:])]
    mean = 0.9 * mean + 0.1 * np.array(squares)
    threshold = np.repeat(1.5 * np.sqrt(mean / (1 - 0.9 ** (t + 1))), [200, 100])
    waiting += g[t]
    sent = np.where(np.abs(waiting) > threshold, waiting, 0)
    waiting = (waiting - sent).astype("f4")
    assert np.array_equal(total, sent.astype("f4")) and np.array_equal(e, waiting), t
assert method.sent.entries == np.count_nonzero(sent) > 0
PY
    LD_LIBRARY_PATH='' PYTHONPATH=$ROOT/lib/method run -0 "$PYTHON" use.py "$(sha256sum running-rms.so | cut -d ' ' -f 1)"
}

@test "number_code.c writes the values of a selector in 16 bits" {
    compile number_code.c
    sparsetrain -q --plugin fixed.so "$ROOT/recipes/smoke.yaml" --method "Top-k k=4" --set methods.Top-k.values=fixed \
        --set 'record.series=[bytes-sent]' -o fixed.ndjson
    sparsetrain -q "$ROOT/recipes/smoke.yaml" --method "Top-k k=4" --set 'record.series=[bytes-sent]' -o floats.ndjson
    # 2 bytes a value in the place of 4.
    [ "$(for f in floats fixed; do column bytes_sent $f.ndjson | tail -n 1; done | xargs | awk '{ print ($2 < 0.9 * $1) }')" = 1 ]
}

@test "feedback_rule.c: at the first step half the gradient is compressed, so the residual has a fourth of the square" {
    compile feedback_rule.c
    for rule in last-two gradient; do
        sparsetrain -q --plugin last-two.so "$ROOT/recipes/smoke.yaml" --method "Top-k k=4" --set error-feedback=$rule \
            --set record.every=1 --set epochs=null --set steps=2 -o $rule.ndjson
    done
    [ "$(for rule in last-two gradient; do column error_norm $rule.ndjson | sed -n 2p; done | xargs | awk '{ print $1 / $2, ($2 > 0) }')" = "0.25 1" ]
}

@test "own_loop.c trains: as near as without compression, with a fraction of the bytes" {
    local nearest
    compile own_loop.c
    nearest=$(./own_loop none | sed -n 's/^distance at the end \([0-9.e+-]*\),.*/\1/p')
    for method in "topk density=0.05" "topk density=0.05 | natural; error-feedback=ef21"; do
        run -0 ./own_loop "$method"
        awk -v nearest="$nearest" '/end/ { sub(",", "", $5); found = 1; exit !($5 < 1.5 * nearest + 0.05 && $6 < 0.11) } END { exit !found }' <<<"$output"
    done
    run -1 ./own_loop "topk densty=0.05"
    [[ $output == *"did you mean 'density'?"* ]]
}

@test "quadratic_task.c with the rows that its head shows, controller.c and pull.yaml: the programs run them" {
    local command objects=()
    # The rows of the head, where it says.
    sed -n '/^ \*     extern /,/^ \*     static const struct sg_constant_kind/s/^ \*     //p' quadratic_task.c >rows
    sed -n 's/^ \*     \({"quadratic", .*\)/\1/p' quadratic_task.c >row
    sed -e '/^#include "task_data.h"/r rows' -e '/sg_task_kind task_kind\[\]/r row' "$ROOT/lib/task/task_table.c" >task_table.c
    [ "$(grep -c quadratic task_table.c)" = 6 ]
    compile controller.c
    for file in quadratic_task task_table; do
        # shellcheck disable=SC2046
        gcc -std=c11 -D_GNU_SOURCE -DSPARSEGRAD_UNSTABLE -Wall -Wextra -Werror -Wno-missing-field-initializers -fPIC -I. \
            $(cd "$ROOT" && find lib kernels -type d | sed "s|^|-I$ROOT/|") -I"$ROOT/build/release" -c $file.c
        objects+=($file.o)
    done
    # The programs' own link commands: what is given first takes the place of what the libraries have of the same name.
    mkdir bin
    for program in sparsetrain sparsebench; do
        command=$(make -n --no-print-directory -C "$ROOT" V=1 -W build/release/libengine.a "build/bin/$program" | sed -e ':a' -e '/\\$/N; s/\\\n//; ta' |
            sed -n "s|^\(.*\) -o build/bin/$program |\1 -Wl,--allow-multiple-definition -o $PWD/bin/$program ${objects[*]/#/$PWD/} |p")
        (cd "$ROOT" && eval "$command")
    done
    bin/sparsebench --plugin late.so -q pull.yaml --json >pull.json
    jq -e '.status == "ok" and .claims[0].verdict == "holds at these seeds" or .claims[0].verdict == "holds"' pull.json
    # In the second half of a run `late` sends 4 of 20 elements in the place of 2.
    [ "$(jq -c '[.results[].final.density.mean]' pull.json)" = '[1,0.1,0.2]' ]
}

@test "ddp_hook.py: two processes of DistributedDataParallel end with the same, smaller loss" {
    find_python torch numpy || skip "no Python has PyTorch: SPARSE_TORCH_PYTHON=/path/to/python"
    PYTHONPATH=$INSTALLED/usr/share/sparsegrad/python run -0 --separate-stderr timeout 300 "$PYTHON" -m torch.distributed.run --standalone \
        --nproc-per-node=2 ddp_hook.py "topk density=0.05" 3>&-
    grep '^loss ' <<<"$output" >said # newer versions of gloo say on standard output whom they met
    [ "$(wc -l <said) $(sort -u said | wc -l)" = "2 1" ]
    awk '{ exit !($6 < 0.5 * $2) }' said
}
