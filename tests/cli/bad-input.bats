#!/usr/bin/env bats
# Bad input to the programs that is not tested beside what is good: place, remedy, exit code, and nothing lost.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export SPARSE_DATA=$CACHE
    SMOKE=$ROOT/recipes/smoke.yaml
}

@test "what is no regular file is refused at once as data; a recipe may come through a pipe" {
    mkfifo rows rows.gz && mkdir folder
    for case in ./rows:pipe ./rows.gz:pipe ./folder:folder /dev/zero:device; do
        file=${case%:*}
        run -2 --separate-stderr timeout -k 5 20 sparsetrain -q "$SMOKE" --method SGD --set task.dataset=$file -o out
        [ ! -e out ] && [ ! -e out.part ]
    done
    run -2 --separate-stderr timeout -k 5 20 sparsetune "$SMOKE" --oracle rows
    run -0 --separate-stderr timeout -k 5 20 sparsetrain --dry-run <(cat "$SMOKE") --method SGD
    run -0 --separate-stderr timeout -k 5 20 sparsetrain --dry-run /dev/stdin --method SGD <"$SMOKE"
    # Somebody who waits for a pipe's other end can be stopped.
    mkfifo recipe
    run -124 timeout -k 5 1 sparsetrain --dry-run recipe
    for command in "sparsebench --audit recipe" "sparseplot-export recipe"; do
        run -124 timeout -k 5 1 $command
    done
    run -2 --separate-stderr timeout -k 5 20 sparsebench --bundle=b recipe
    [ ! -e b ]
    for command in "sparsebench --audit /dev/zero" "sparsetrain --method SGD /dev/zero"; do
        run --separate-stderr timeout -k 5 20 $command
        [[ $status = [12] && $stderr == *"/dev/zero"* ]] || { echo "$command: $status $stderr"; false; }
    done
    # What a file names is a regular file.
    sed '/^claims:/,$d' "$SMOKE" >pipe.yaml
    mkfifo pipe.json
    echo 'network: {link: 1gbe, processor: ./pipe.json}' >>pipe.yaml
    run --separate-stderr timeout -k 5 20 sparsebench pipe.yaml
    [[ $status = [12] && $stderr == *"pipe.json is a pipe, not a regular file"* ]]
}

@test "a damaged cache of parsed data is told of, made again and never used" {
    mkdir data
    awk 'BEGIN { for (i = 0; i < 40; i++) print (i % 2 ? 1 : -1), "1:" i / 7, "2:" (i * i) % 11 / 3, "3:" i % 5 }' >data/rows
    train() { sparsetrain -q "$SMOKE" --data data --set workers=2 --set task.dataset=rows --set steps=50 --method SGD "$@"; }
    train -o whole
    cache=$(ls data/derived/rows-*.cache)
    before=$(sha256sum <"$cache")
    at=$(($(stat -c %s "$cache") - 9)) # in the values
    byte=$(od -An -tu1 -j $at -N 1 "$cache")
    printf "\\$(printf %o $((byte ^ 16)))" | dd of="$cache" bs=1 seek=$at conv=notrunc 2>/dev/null
    [ "$(sha256sum <"$cache")" != "$before" ]
    run -0 --separate-stderr sparsetrain "$SMOKE" --data data --set workers=2 --set task.dataset=rows --set steps=50 --method SGD -o again
    [[ $stderr == *"$cache: damaged: its bytes do not have its checksum; what it holds is made again"* ]] || { echo "$stderr"; false; }
    [ "$(sha256sum <"$cache")" = "$before" ]
    [ "$(tail -n 1 whole | jq -S 'del(.elapsed_s, .setup_s)')" = "$(tail -n 1 again | jq -S 'del(.elapsed_s, .setup_s)')" ]
    [[ $(tail -n 1 again) == *parameters_sha256* ]]
}

# A set of two features whose rows are ./sets/rows.
describe() { # SHA256
    export SPARSE_DATASETS=$PWD
    mkdir -p sets
    printf 'name: tiny\ntitle: tiny\nformat: libsvm\nfeatures: 2\nfiles:\n  - name: rows\n    url: file://%s\n    sha256: %s\n' \
        "$PWD/published" "$1" >tiny.yaml
}

tiny() {
    sparsetrain -q "$SMOKE" --data sets --set workers=2 --set task.dataset=tiny --set task.stand-in=two-clouds --method SGD "$@"
}

@test "an index beyond the features that the set's description names" {
    describe trust-on-first-use
    printf '1 1:1 2:2\n-1 1:3 3:1\n' >sets/rows
    run -1 --separate-stderr tiny
    [ "$stderr" = "sparsetrain: sets/rows:2:8: index 3 is beyond the 2 features" ]
}

@test "data that change after their checksum was recorded or pinned; a stand-in never hides it" {
    printf '1 1:1 2:2\n-1 1:3 2:1\n' >published
    describe trust-on-first-use
    "$ROOT/datasets/fetch" tiny sets
    run -0 --separate-stderr tiny
    [[ $output == *'"source":"file"'* ]]
    printf '1 1:1 2:2\n-1 1:3 2:7\n' >sets/tiny/rows
    says 1 "sets/tiny/rows: the text's SHA-256 is " "SHA256SUMS beside it says " "run datasets/fetch tiny" -- tiny
    describe "$(sha256sum <published | cut -d' ' -f1)"
    says 1 "the data set's description says $(sha256sum <published | cut -d' ' -f1)" -- tiny
    cp published sets/tiny/rows
    run -0 --separate-stderr tiny
}

@test "SHA256SUMS: every form that sha256sum -c reads is compared, also beside a path; a line that cannot be read is named" {
    mkdir -p own/tiny
    printf '1 1:1 2:2\n-1 1:3 2:1\n' >own/tiny/rows
    printf '1 1:1 2:2\n-1 1:3 2:1\n' >own/tiny/tiny
    sed 's/stand-in: two-clouds, //; s/dataset: two-clouds/dataset: tiny/; s/^workers: 4/workers: 2/' "$SMOKE" >sums.yaml
    local other right mark=$'\xef\xbb\xbf' line
    other=$(printf other | sha256sum | cut -c1-64)
    right=$(sha256sum <own/tiny/tiny | cut -c1-64)
    for line in "$other  tiny" "$other *tiny" "$other  ./tiny" "$other  tiny"$'\r' "$mark$other  tiny" "\\$other  tiny" "  $other  tiny" \
        "${other^^}  tiny" "SHA256 (tiny) = $other" "SHA256(tiny)= $other" "$right  tiny"$'\n'"$other  tiny" "$other tiny"; do
        printf '%s\n' "$line" >own/tiny/SHA256SUMS
        says 1 "own/tiny/tiny: the text's SHA-256 is $right, but SHA256SUMS beside it says " -- \
            sparsetrain -q sums.yaml --method SGD --set task.dataset=own/tiny/tiny
        [ "$line" != "$other  ./tiny" ] || says 1 "tiny: the text's SHA-256 is" -- sparsetrain -q sums.yaml --method SGD --data own
    done
    for line in "${other:0:32}  tiny" "$other$other  ./tiny" "$other=tiny tiny" "MD5 (tiny) = ${other:0:32}"; do
        printf '# tiny\n%s\n' "$line" >own/tiny/SHA256SUMS
        says 1 "own/tiny/SHA256SUMS:2: it names 'tiny', but is no line that sha256sum -c reads" -- \
            sparsetrain -q sums.yaml --method SGD --set task.dataset=own/tiny/tiny
    done
    printf '%s\n' "$other  tiny-2" "$right  ./tiny" "$other  a tiny.b" >own/tiny/SHA256SUMS
    run -0 --separate-stderr sparsetrain sums.yaml --method SGD --set task.dataset=own/tiny/tiny
    [[ $stderr != *SHA256SUMS* ]]
    run -0 --separate-stderr sparsetrain sums.yaml --method SGD --set task.dataset=own/tiny/rows
    [[ $stderr == *"own/tiny/SHA256SUMS does not name 'rows', which is not compared"* ]]
}

@test "recipes on stdin: a misplaced key, two errors at once" {
    sed 's/^workers: 4/workers: 0\nmomentum: 0.9/' "$SMOKE" >r.yaml
    for program in "sparsetrain --method SGD" sparsebench; do
        run -2 --separate-stderr $program - <r.yaml
        [[ ${stderr_lines[0]} == "${program%% *}: <stdin>:6:10: "*workers* ]]
        [[ $stderr == *"<stdin>:7:1: "*momentum*optimizer* ]] # where the key belongs
    done
    head -c 2097152 /dev/zero | tr '\0' '#' >big.yaml
    run -2 --separate-stderr sparsebench - <big.yaml
    [[ $stderr == *"<stdin>"*1048576* || $stderr == *"1 MiB"* ]] || { echo "$stderr"; false; }
}

@test "more ranks than workers is a usage error" {
    sparsetrain --version | grep -q "mpi on" || skip "built without MPI"
    command -v mpirun >/dev/null || skip "mpirun is not installed"
    run --separate-stderr mpirun --allow-run-as-root --oversubscribe -n 3 "$BIN/sparsetrain" -q "$SMOKE" --set workers=2 --method SGD -o out
    [ "$status" = 2 ]
    [ "$(grep -c '^sparsetrain: .*3 ranks for 2 workers' <<<"$stderr")" = 1 ]
    [ ! -e out ] && [ ! -e out.part ]
}

@test "--device cuda: sparsetrain and sparsebench fail and say what to do" {
    run -1 --separate-stderr sparsetrain -q "$SMOKE" --method SGD --device cuda
    [[ $stderr == "sparsetrain: --device cuda"*"use --device cpu" ]]
    run -1 --separate-stderr sparsebench -q "$SMOKE" --method SGD --seed 1 --device cuda --folder cells
    [[ $stderr == *"SGD, seed 1 failed"*"use --device cpu"* ]]
    [ "$(jq -r .status <<<"$output")" = failed ]
}

@test "what sparsebench reads back: a cell of a newer schema is run again, not trusted" {
    sparsebench -q "$SMOKE" --method SGD --seed 1 --folder cells >one.json
    sed -i 's|sparsetrain/1|sparsetrain/2|' cells/SGD-seed1-*.ndjson
    sparsebench -q "$SMOKE" --method SGD --seed 1 --folder cells >two.json
    [ "$(jq '.results[0].cells[0].reused' two.json)" = false ]
    cmp <(jq '.results[0].final' one.json) <(jq '.results[0].final' two.json)
    says 1 "newer" "sparsetrain/9" -- sparseplot-export <(sed 's|"sparsetrain/1"|"sparsetrain/9"|' cells/SGD-seed1-*.ndjson)
}

# A limit on the size of files stands in for a full disk.
full_disk() { # COMMAND...
    bash -c 'trap "" XFSZ; ulimit -f 2; exec "$@"' -- "$@" 2>&1 | cat
    return "${PIPESTATUS[0]}"
}

@test "the disk fills during a run: exit 1, the result before it is untouched" {
    echo before >out
    run -1 full_disk sparsetrain -q "$SMOKE" --method SGD --set record.every=1 -o out --force
    [ "$output" = "sparsetrain: cannot write the series: File too large" ]
    [ "$(cat out)" = before ]
}

@test "the disk fills during a checkpoint: exit 1, and after room is made the run goes on" {
    local args=(-q "$SMOKE" --method "Top-k k=4" --set workers=30 --set record.every=100000)
    sparsetrain "${args[@]}" -o whole
    run -1 full_disk sparsetrain "${args[@]}" -o out --checkpoint-every 50
    [[ $output == "sparsetrain: cannot write out.ckpt"*"File too large" ]] || { echo "$output"; false; }
    [ ! -e out ] && [ ! -e out.ckpt ]
    sparsetrain "${args[@]}" -o out --resume
    same_series whole out
}


@test "files as people have them: packed without a suffix, without a last newline, one class, archives' names" {
    printf '+1 1:1 3:2\n-1 2:1\n+1 1:0.5 2:3\n-1 3:-1\n' >rows
    run_on() { # FILE: its series, and its notices in $stderr
        run --separate-stderr sparsetrain "$SMOKE" --method SGD --set workers=2 --set steps=20 --set task.dataset=./"$1"
    }
    steps() { grep '"record":"step"' <<<"$output"; }
    run_on rows
    [ "$status" = 0 ] && [ -z "$stderr" ]
    whole=$(steps)
    gzip -c rows >plainly
    xz -c rows >in-xz
    printf '\xef\xbb\xbf' | cat - rows >marked
    for file in plainly in-xz marked; do
        run_on $file
        [ "$(steps)" = "$whole" ] || { echo "$file: $stderr"; false; }
    done
    head -c -1 rows >last
    run_on last
    [ "$(steps)" = "$whole" ] && [[ $stderr == *"./last: the last row does not end in a newline"* ]]
    run_on last # again, whatever a cache keeps
    [[ $stderr == *"./last: the last row does not end in a newline"* ]]
    grep '^+' rows >one
    run_on one
    run_on one
    [ "$status" = 0 ] && [[ $stderr == *"all rows of './one' have one label"* ]]
    python3 -c 'import zipfile; zipfile.ZipFile("packed", "w").write("rows")'
    run_on packed
    [ "$status" != 0 ] && [[ $stderr == *"./packed is a zip archive: unpack it"* ]]
    for name in g.npz model.safetensors.index.json; do
        cp packed $name
        cat >g.yaml <<YAML
schema: 1
name: g
task: {kind: recorded, files: ./$name}
workers: 1
epochs: 1
optimizer: {kind: sgd, learning-rate: 0.1}
record: {every: 1, series: [bits]}
methods:
  - {name: Top-k, compressor: topk, k: 1}
YAML
        run --separate-stderr sparsetrain g.yaml
        [[ $status != 0 && $stderr == *"$name is "*": "* && $stderr != *"neither .npy"* ]] || { echo "$stderr"; false; }
    done
    # WikiText-2 by its publisher's names, and CIFAR-10 in the folder of its archive; pickles are named.
    mkdir -p words/mine cifar/cifar-10-batches-bin pickled/cifar-10/cifar-10-batches-py
    for part in train valid test; do seq 1 40 >words/mine/wiki.$part.tokens; done
    run -0 --separate-stderr sparsetrain "$ROOT/recipes/mini/fig2b.yaml" --method SGD --dry-run --set task.dataset=mine --set task.stand-in=null --data words
    [[ $stderr != *"not here"* ]]
    touch pickled/cifar-10/cifar-10-batches-py/data_batch_1
    look() { # FOLDER
        run --separate-stderr sparsetrain "$ROOT/recipes/mini/fig2a.yaml" --method SGD --set task.stand-in=null --set task.dataset=cifar-10 --data "$1"
    }
    SPARSE_DATA='' look pickled
    [[ $status != 0 && $stderr == *"not here"*"the version for Python, and the binary version is read"* ]]
    for file in data_batch_{1..5} test_batch; do printf x >cifar/cifar-10-batches-bin/$file.bin; done
    SPARSE_DATA='' look cifar
    [[ $status != 0 && $stderr != *"not here"* && $stderr == *"cifar-10-batches-bin/"* ]] || { echo "$stderr"; false; }
}
