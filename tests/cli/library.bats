#!/usr/bin/env bats
# The installed library as others use it: from C, C++ and Python, shared and static, and from PyTorch.
# SPDX-License-Identifier: MIT
load common

setup_file() {
    export INSTALLED=$BATS_FILE_TMPDIR/root
    make -s -C "$ROOT" install PREFIX=/usr DESTDIR="$INSTALLED" >/dev/null
}

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export PKG_CONFIG_PATH=$INSTALLED/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$INSTALLED
    export LD_LIBRARY_PATH=$INSTALLED/usr/lib PYTHONPATH=$INSTALLED/usr/share/sparsegrad/python PYTHONDONTWRITEBYTECODE=1
}

reference() { # builds ./reference
    # shellcheck disable=SC2046
    gcc -std=c11 -Wall -Wextra -Werror -o reference "$ROOT/tests/cli/library_reference.c" $(pkg-config --cflags --libs sparsegrad) -lm
}

@test "what is stable needs no macro, what is not needs one, and a config of another version is refused" {
    local include=$INSTALLED/usr/include/sparsegrad flags
    flags=$(pkg-config --cflags sparsegrad)
    [ "$(grep -ohE '^SG_API ' "$include"/*.h | wc -l)" -le 30 ] # about 25: who adds one promises it for years
    for header in "$include"/*.h; do
        case ${header##*/} in
        sg_api.h | sg_status.h | sg_flat.h | sparsegrad.h | sg_compressor_plugin.h) # this one defines it, for each plug-in is built for one version
            # shellcheck disable=SC2086
            gcc -std=c11 -Wall -Wextra -Werror -fsyntax-only -x c $flags "$header"
            ! grep -q '^SG_UNSTABLE ' "$header" || [[ $header == *_plugin.h ]]
            ;;
        *)
            # shellcheck disable=SC2086
            run -1 gcc -std=c11 -fsyntax-only -x c $flags "$header"
            [[ $output == *"may change with any version of sparsegrad: #define SPARSEGRAD_UNSTABLE before it, or use sg_flat.h"* ]]
            ! grep -q '^SG_API ' "$header"
            ;;
        esac
    done
    cat >older.c <<'C'
#define SPARSEGRAD_UNSTABLE
#include <sparsegrad.h>
#include <stdio.h>
int main(void) {
    sg_method *m;
    struct sg_error err;
    struct sg_method_config config = {.size = sizeof config - 8};
    return sg_method_open(&m, &config, &err) == SG_OK ? 0 : (puts(err.msg), 1);
}
C
    # shellcheck disable=SC2046
    gcc -std=c11 older.c -o older $(pkg-config --cflags --libs sparsegrad)
    run -1 ./older
    [[ $output == *"compile with this version's headers"* ]]
}

@test "the man page's example, as C and as C++, prints what the page says" {
    sed -n '/^\.EX/,/^\.EE/{/^\.E/d;s/\\-/-/g;p}' "$INSTALLED/usr/share/man/man3/sparsegrad.3" >example.c
    [ "$(wc -l <example.c)" -gt 20 ]
    # shellcheck disable=SC2046
    gcc -std=c11 -Wall -Wextra -Werror example.c -o example $(pkg-config --cflags --libs sparsegrad)
    run -0 ./example
    [ "$output" = "3 -5 -7 4 " ]
    grep -q '^prints \\(lq3 \\-5 \\-7 4\\(rq' "$ROOT/lib/method/sparsegrad.3"
    command -v g++ >/dev/null || skip "no C++ compiler"
    # shellcheck disable=SC2046
    g++ -Wall -Wextra -Werror -x c++ example.c -x none -o example++ $(pkg-config --cflags --libs sparsegrad)
    run -0 ./example++
    [ "$output" = "3 -5 -7 4 " ]
}

@test "every function of the man page is declared as it says there" {
    sed -n '/^\.SH SYNOPSIS/,/^\.SH DESCRIPTION/p' "$ROOT/lib/method/sparsegrad.3" | grep '^\.BI' | sed 's/^\.BI //; s/"//g' | tr -d '\n' |
        sed 's/);/);\n/g' | tr -d ' ' | sort >page
    [ "$(wc -l <page)" -ge 8 ]
    cat "$INSTALLED"/usr/include/sparsegrad/sg_{flat,method}.h | tr '\n' ' ' | tr ';' '\n' | tr -d ' ' | sed 's/$/;/; s/^.*SG_CHECKED//' >declared
    while read -r line; do
        grep -qF -- "$line" declared || { echo "not in a header: $line"; false; }
    done <page
}

@test "the man page formats without a warning" {
    command -v man >/dev/null || skip "no man"
    run -0 --separate-stderr env MANWIDTH=100 man --warnings -l "$ROOT/lib/method/sparsegrad.3"
    [ -z "$stderr" ] || { echo "$stderr"; false; }
}

@test "pkg-config: shared needs the library alone, static what it needs too, and both run" {
    [ "$(pkg-config --modversion sparsegrad)" = "$(sparsetrain --version | sed -n '1s/.* \([0-9.]*\) .*/\1/p')" ]
    [[ $(pkg-config --libs sparsegrad) != *gomp* ]]
    sed -n '/^\.EX/,/^\.EE/{/^\.E/d;s/\\-/-/g;p}' "$ROOT/lib/method/sparsegrad.3" >example.c
    # shellcheck disable=SC2046
    gcc -std=c11 -static example.c -o example $(pkg-config --static --cflags --libs sparsegrad)
    run -0 env -u LD_LIBRARY_PATH ./example
    [ "$output" = "3 -5 -7 4 " ]
}

@test "in a prefix of one's own programs find the library without a word about it, and so does Python there and in the tree" {
    local own=$BATS_TEST_TMPDIR/own python
    unset LD_LIBRARY_PATH PKG_CONFIG_SYSROOT_DIR
    make -s -C "$ROOT" install PREFIX="$own" >/dev/null
    [ -e "$own/share/sparsegrad/recipes/night/fig3.yaml" ]
    sed -n '/^```c$/,/^```$/{/^```/d;p}' "$ROOT/README.md" >first.c
    # shellcheck disable=SC2046
    gcc first.c -o first $(PKG_CONFIG_PATH=$own/lib/pkgconfig pkg-config --cflags --libs sparsegrad)
    run -0 ./first
    [ "${#lines[@]}" = 6 ]
    need_numpy
    for python in "$own/share/sparsegrad/python" "$ROOT/lib/method"; do
        PYTHONPATH=$python run -0 "$PYTHON" -c 'import numpy, libsparsegrad; print(libsparsegrad.topk(numpy.arange(9, dtype="f4"), None, 2)[0])'
        [ "$output" = "[7 8]" ]
    done
}

@test "the wheel installs into a fresh environment without a network, whole, and compresses a vector there" {
    SPARSE_TORCH_PYTHON='' find_python numpy ensurepip || skip "no Python has NumPy and venv: apt-get install python3-numpy python3-venv"
    unset LD_LIBRARY_PATH PYTHONPATH
    make -s -C "$ROOT" wheel >/dev/null
    "$PYTHON" -m venv --system-site-packages fresh # for NumPy
    run -0 fresh/bin/python -m pip install --no-index "$ROOT"/build/wheel/*.whl
    "$PYTHON" - fresh/lib/python*/site-packages <<'PY' # what RECORD says of each file
import base64, csv, hashlib, pathlib, sys
folder = pathlib.Path(sys.argv[1])
rows = [row for row in csv.reader(open(next(folder.glob("libsparsegrad-*.dist-info/RECORD")))) if row[1]]
assert {f"libsparsegrad/{name}" for name in ("__init__.py", "ddp.py", "py.typed")} < {row[0] for row in rows}
for name, digest, size in rows:
    data = (folder / name).read_bytes()
    assert len(data) == int(size) and digest == "sha256=" + base64.urlsafe_b64encode(
        hashlib.sha256(data).digest()).decode().rstrip("="), name
PY
    run -0 fresh/bin/python -c 'import numpy, libsparsegrad; print(libsparsegrad.topk(numpy.arange(9, dtype="f4"), None, 2)[0], libsparsegrad.binding.library._name)'
    [[ $output == "[7 8] $PWD/fresh/lib/"*"/site-packages/libsparsegrad/libsparsegrad.so."* ]]
    # It runs with glibc 2.28, needs nothing else, and computes what the library of the build does.
    library=${output#* $PWD}
    [ "$(printf 'GLIBC_2.28\n%s\n' "$(objdump -T "$PWD$library" | grep -o 'GLIBC_[0-9.]*')" | sort -V | tail -n 1)" = GLIBC_2.28 ]
    [ "$(readelf -d "$PWD$library" | grep -o '\[lib[a-z]*' | sort | xargs)" = "[libc [libm [libsparsegrad" ]
    fresh/bin/python "$ROOT/tests/cli/library.py" hashes >wheel.txt
    PYTHONPATH=$ROOT/lib/method "$PYTHON" "$ROOT/tests/cli/library.py" hashes >build.txt
    [ "$(grep -c . build.txt)" -gt 50 ]
    diff wheel.txt build.txt
}

# bats test_tags=slow
@test "programs, libraries and wheel have the same bytes from the same source in two folders" {
    local folder count=0
    export CCACHE_DISABLE=1 # which would give the second folder what the first one made
    unset MAKEFLAGS MAKELEVEL
    for folder in one "another, longer"; do
        mkdir "$folder"
        (cd "$ROOT" && cp -r --parents Makefile .ci tests/tests.mk recipes datasets results/SHA256SUMS LICENSE lib kernels cmd "$BATS_TEST_TMPDIR/$folder")
        make -s -C "$folder" WITH_CUDA=0 all wheel >/dev/null
        make -s -C "$folder" WITH_CUDA=0 install DESTDIR="$BATS_TEST_TMPDIR/root-${folder%%,*}" PREFIX=/usr >/dev/null
    done
    diff -r root-one root-another
    while read -r file; do
        run ! grep -c "$BATS_TEST_TMPDIR" "one/$file"
        cmp "one/$file" "another, longer/$file"
        count=$((count + 1))
    done < <(cd one && find build/bin build/lib build/wheel -type f)
    [ $count -ge 6 ]
}

@test "links between the installed documents hold" {
    cd "$INSTALLED/usr/share/doc/sparsegrad"
    [ -e results/README.md ] && [ -e recipes/OWN-GRADIENTS.md ]
    grep -rnoE '\]\((\.\./)*[A-Za-z-]+[A-Za-z/0-9.-]*\.(md|svg)' --include=*.md . | while IFS=: read -r file _ link; do
        [ -e "$(dirname "$file")/${link#*(}" ] || { echo "$file: $link"; false; }
    done
}

@test "the shared library's name and its symbols have the version of the interface" {
    local version interface
    version=$(pkg-config --modversion sparsegrad)
    interface=${version%.*} # while the major version is 0
    run -0 objdump -p "$INSTALLED/usr/lib/libsparsegrad.so"
    [[ $output =~ SONAME\ +libsparsegrad.so.$interface$'\n' ]]
    [ "$(readlink "$INSTALLED/usr/lib/libsparsegrad.so.$interface")" = "libsparsegrad.so.$version" ]
    [ "$(readlink "$INSTALLED/usr/lib/libsparsegrad.so")" = "libsparsegrad.so.$interface" ]
    run -0 nm -D --defined-only "$INSTALLED/usr/lib/libsparsegrad.so"
    [[ $output == *" T sg_topk@@SPARSEGRAD_$interface"* ]]
    [ "$(grep -c '@@' <<<"$output")" -gt 60 ]
    [ -z "$(grep -v -e "@@SPARSEGRAD_$interface\$" -e " A SPARSEGRAD_$interface\$" <<<"$output")" ]
    # A program asks for that version, so another library does not run it.
    reference
    [[ $(objdump -p reference) == *"SPARSEGRAD_$interface"* ]]
    mkdir other
    sed "s/SPARSEGRAD_$interface/SPARSEGRAD_9.9/" "$ROOT/build/release/api.map" >other.map
    gcc -shared -Wl,-soname,"libsparsegrad.so.$interface" -Wl,--version-script=other.map -o "other/libsparsegrad.so.$interface" \
        -Wl,--whole-archive "$ROOT/build/release/libsparsegrad.a" -Wl,--no-whole-archive -fopenmp -lm
    LD_LIBRARY_PATH=other run ! ./reference 1 1 none 4:1
    [[ $output == *"SPARSEGRAD_$interface' not found"* ]]
}

@test "Python, by ctypes: messages, sums and residuals are those of the C calls, bit for bit" {
    need_numpy
    reference
    for text in "topk density=0.1" "topk density=0.1 | levels levels=15; seed=3" "powersgd rank=2" "hard-threshold lambda=0.5" \
        "gtopk k=5" "signsgd; error-feedback=none" "topk k=9; error-feedback=momentum beta=0.5" \
        "topk k=9; controller=accordion high=30 interval=1; steps-per-epoch=2"; do
        run -0 "$PYTHON" "$ROOT/tests/cli/library.py" ctypes ./reference "$text"
        [[ $output == "$text: "* ]]
    done
}

@test "Python: what is wrong with a call is said before a pointer is taken, what was sent is counted, the tables are listed" {
    need_numpy
    run -0 timeout 120 "$PYTHON" "$ROOT/tests/cli/library_calls.py"
    [[ $output == *" calls refused, fork goes on" ]]
}

@test "a text is read alike where a decimal point is a comma" {
    need_numpy
    localedef -i de_DE -f UTF-8 ./de_DE.UTF-8 2>/dev/null || skip "no sources of locales: apt-get install locales"
    LOCPATH=$PWD run -0 "$PYTHON" -c '
import locale, libsparsegrad
locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
assert locale.str(0.5) == "0,5"
libsparsegrad.Method("topk density=0.5", [6])
assert locale.str(0.5) == "0,5"'
}

@test "PyTorch, workers of one process: means and residuals are the trainer's, bit for bit, also behind a NaN and a checkpoint" {
    find_python torch numpy || skip "no Python has PyTorch: name one that has it, SPARSE_TORCH_PYTHON=/path/to/python"
    reference
    for text in "topk density=0.01" "powersgd rank=2" "qsgd; seed=5" "topk k=9; error-feedback=ef21" \
        "topk k=9; controller=accordion high=30 interval=1; steps-per-epoch=2"; do
        run -0 "$PYTHON" "$ROOT/tests/cli/library.py" workers ./reference "$text"
        [ "$output" = "$text: the trainer's bits" ]
    done
    cat >readme.py <<'PY' # README's workers, on a net of its own
import torch, libsparsegrad
net = torch.nn.Linear(8, 4)
before = net.weight.detach().clone()
batch_of, loss_of = (lambda w: torch.ones(2, 8) * (w + 1)), (lambda net, x: net(x).square().mean())
optimizer = torch.optim.SGD(net.parameters(), 0.1)
PY
    sed -n '/^workers = /,/^```$/{/^```/d;p}' "$ROOT/README.md" >>readme.py
    echo 'print(bool((net.weight != before).any()), workers.total.entries)' >>readme.py
    run -0 "$PYTHON" readme.py
    [ "$output" = "True 16.0" ] # each of the eight sends one entry of the weights and one of the biases
}

@test "PyTorch's DistributedDataParallel: the whole model gives the trainer's bits, layers do or come near, by the ways they should" {
    local rank world
    find_python torch numpy || skip "no Python has PyTorch: name one that has it, SPARSE_TORCH_PYTHON=/path/to/python"
    reference
    for world in 2 3; do
        local cases=("near:8bit" "whole:qsgd; error-feedback=none")
        [ $world = 3 ] || cases=("whole:topk density=0.1" "whole:powersgd rank=2" "layers:topk density=0.1" "layers:none"
            "near:fp16" "near:8bit")
        rm -f store out?
        for ((rank = 0; rank < world; rank++)); do
            OMP_NUM_THREADS=1 timeout 240 "$PYTHON" "$ROOT/tests/cli/library.py" worker $rank $world "$PWD/store" "out$rank" "${cases[@]}" 3>&- &
        done
        wait
        "$PYTHON" "$ROOT/tests/cli/library.py" compare ./reference out? >>ways
    done
    diff ways - <<'END'
whole:topk density=0.1: 2 processes by gather
whole:powersgd rank=2: 2 processes by gather
layers:topk density=0.1: 2 processes by gather
layers:none: 2 processes by reduce
near:fp16: 2 processes by reduce
near:8bit: 2 processes by gather
near:8bit: 3 processes by deal and gather
whole:qsgd; error-feedback=none: 3 processes by gather
END
}

# bats test_tags=slow
@test "PyTorch: with kernels on a device, here emulated, sums and residuals have the host's bits and the host waits for nothing" {
    find_python torch numpy || skip "no Python has PyTorch: name one that has it, SPARSE_TORCH_PYTHON=/path/to/python"
    local library=build/release/emulation/libsparsegrad_emulated.so
    make -s -C "$ROOT" MODE=release $library
    for world in 2 3; do
        EMULATED=$ROOT/$library run -0 timeout 900 "$PYTHON" "$ROOT/tests/cli/ddp_device.py" $world 3>&-
        [[ $output == *"ok same_bits"* ]]
    done
}

# bats test_tags=slow
@test "PyTorch: what happens to others in training is right, or refused in the same words by all processes" {
    local world
    find_python torch numpy || skip "no Python has PyTorch: name one that has it, SPARSE_TORCH_PYTHON=/path/to/python"
    for world in 2 3 4; do
        run -0 timeout 900 "$PYTHON" "$ROOT/tests/cli/ddp_cases.py" $world 3>&-
        [[ $output == *"ok "* ]]
    done
}
