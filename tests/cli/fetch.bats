#!/usr/bin/env bats
# datasets/fetch, from a publisher on this disk.
load common

setup() {
    export SPARSE_DATASETS=$BATS_TEST_TMPDIR/sets
    DEST=$BATS_TEST_TMPDIR/cache
    mkdir -p "$SPARSE_DATASETS"
    printf '1 1:1 2:2\n-1 1:3 2:0.5\n' >"$BATS_TEST_TMPDIR/rows"
    gzip -k "$BATS_TEST_TMPDIR/rows"
    SUM=$(sha256sum <"$BATS_TEST_TMPDIR/rows" | cut -d' ' -f1)
    describe trust-on-first-use
}

describe() {
    printf 'name: tiny\ntitle: tiny rows\nformat: libsvm\nfiles:\n  - name: rows\n    url: file://%s/rows.gz\n    sha256: %s\n' \
        "$BATS_TEST_TMPDIR" "$1" >"$SPARSE_DATASETS/tiny.yaml"
}

@test "fetch records a checksum the first time and compares it from then on" {
    run -0 "$ROOT/datasets/fetch" tiny "$DEST"
    [[ $output == *"recorded $SUM (first use)"* ]]
    [ "$(cat "$DEST/tiny/SHA256SUMS")" = "$SUM  rows" ]
    run -0 "$ROOT/datasets/fetch" tiny "$DEST"
    [[ $output == *": verified"* ]]
    printf '1 1:9\n' | gzip >"$DEST/tiny/rows.gz"
    run -1 "$ROOT/datasets/fetch" tiny "$DEST"
    [[ $output == *"expected $SUM"* ]]
}

@test "fetch shows what a set is and its terms before the first download, not later" {
    printf 'origin: a friend\nlicence: for tests only\n' >>"$SPARSE_DATASETS/tiny.yaml"
    run -0 --separate-stderr "$ROOT/datasets/fetch" tiny "$DEST"
    [ "${stderr_lines[0]} ${stderr_lines[1]} ${stderr_lines[2]}" = "fetch: tiny rows fetch: from a friend fetch: terms: for tests only" ]
    run -0 --separate-stderr "$ROOT/datasets/fetch" tiny "$DEST"
    [[ $stderr != *terms* ]]
}

@test "fetch verifies a pinned checksum before the file gets its name" {
    describe "$SUM"
    run -0 "$ROOT/datasets/fetch" tiny "$DEST"
    rm -r "$DEST"
    describe "${SUM//[0-9]/0}"
    run -1 "$ROOT/datasets/fetch" tiny "$DEST"
    [[ $output == *"SHA-256 of the text is $SUM"* ]]
    [ ! -e "$DEST/tiny/rows.gz" ]
}

@test "fetch refuses a file that cannot be unpacked" {
    head -c 20 "$BATS_TEST_TMPDIR/rows.gz" >"$BATS_TEST_TMPDIR/cut" && mv "$BATS_TEST_TMPDIR/cut" "$BATS_TEST_TMPDIR/rows.gz"
    run -1 "$ROOT/datasets/fetch" tiny "$DEST"
    [[ $output == *"cannot be unpacked"* ]]
}

# An archive of two files in a folder, and its description.
archive() {
    mkdir "$BATS_TEST_TMPDIR/folder"
    printf one >"$BATS_TEST_TMPDIR/folder/one.bin"
    printf two >"$BATS_TEST_TMPDIR/folder/two.bin"
    tar -czf "$BATS_TEST_TMPDIR/pair.tar.gz" -C "$BATS_TEST_TMPDIR" folder
    {
        printf 'name: pair\ntitle: a pair\nformat: cifar-100\nfiles:\n'
        for file in one two; do
            printf '  - name: %s.bin\n    url: file://%s/pair.tar.gz\n    sha256: %s\n' "$file" "$BATS_TEST_TMPDIR" \
                "$(printf '%s' "${1:-$file}" | sha256sum | cut -d' ' -f1)"
        done
    } >"$SPARSE_DATASETS/pair.yaml"
}

@test "fetch takes the files out of an archive and verifies each" {
    archive
    run -0 "$ROOT/datasets/fetch" pair "$DEST"
    [[ $output == *"one.bin: verified"*"two.bin: verified"* ]]
    [ "$(cat "$DEST/pair/one.bin" "$DEST/pair/two.bin")" = onetwo ]
    [ "$(ls "$DEST/pair")" = "$(printf 'SHA256SUMS\none.bin\ntwo.bin')" ]
    (cd "$DEST/pair" && sha256sum --quiet -c SHA256SUMS)
    rm "$BATS_TEST_TMPDIR/pair.tar.gz"
    run -0 "$ROOT/datasets/fetch" pair "$DEST"
    printf tow >"$DEST/pair/two.bin"
    run -1 "$ROOT/datasets/fetch" pair "$DEST"
    [[ $output == *"two.bin: SHA-256 of the text is"* ]]
}

@test "fetch takes a file out of a zip archive" {
    command -v unzip >/dev/null || skip "unzip is not installed"
    # What zip made of folder/rows that holds "a rating" (stored, not packed).
    base64 -d >"$BATS_TEST_TMPDIR/rows.zip" <<'ZIP'
UEsDBBQAAAAAAAAAIQAw8mQuCQAAAAkAAAALAAAAZm9sZGVyL3Jvd3NhIHJhdGluZwpQSwECFAMUAAAAAAAAACEAMPJkLgkAAAAJAAAACwAAAAAAAAAAAAAA
gAEAAAAAZm9sZGVyL3Jvd3NQSwUGAAAAAAEAAQA5AAAAMgAAAAAA
ZIP
    {
        printf 'name: zipped\ntitle: a zip\nformat: movielens\nfiles:\n'
        printf '  - name: rows\n    url: file://%s/rows.zip\n    sha256: trust-on-first-use\n' "$BATS_TEST_TMPDIR"
    } >"$SPARSE_DATASETS/zipped.yaml"
    run -0 "$ROOT/datasets/fetch" zipped "$DEST"
    [ "$(cat "$DEST/zipped/rows")" = "a rating" ]
    [ ! -e "$DEST/zipped/rows.zip" ]
    rm -r "$DEST" && head -c 60 "$BATS_TEST_TMPDIR/rows.zip" >"$BATS_TEST_TMPDIR/cut" && mv "$BATS_TEST_TMPDIR/cut" "$BATS_TEST_TMPDIR/rows.zip"
    run -1 "$ROOT/datasets/fetch" zipped "$DEST"
    [[ $output == *"rows.zip: rows cannot be unpacked"* ]]
}

@test "fetch refuses an archive that is damaged or holds something else" {
    archive one
    run -1 "$ROOT/datasets/fetch" pair "$DEST"
    [[ $output == *"pair.tar.gz: SHA-256 of the text is"* ]]
    [ ! -e "$DEST/pair/two.bin" ]
    rm -r "$DEST" && head -c 60 "$BATS_TEST_TMPDIR/pair.tar.gz" >"$BATS_TEST_TMPDIR/cut"
    mv "$BATS_TEST_TMPDIR/cut" "$BATS_TEST_TMPDIR/pair.tar.gz"
    run -1 "$ROOT/datasets/fetch" pair "$DEST"
    [[ $output == *"pair.tar.gz: one.bin cannot be unpacked"* ]]
}

@test "fetch without the publisher fails with a way on" {
    rm "$BATS_TEST_TMPDIR/rows.gz"
    run -1 "$ROOT/datasets/fetch" tiny "$DEST"
    [[ $output == *"not downloaded"* ]]
}

@test "fetch lists the sets, and suggests them for an unknown name" {
    run -0 "$ROOT/datasets/fetch" --list
    [[ $output == *"tiny rows"* && $output == *cifar-10* && $output == *gisette* && $output == *madelon* && $output == *ml-20m* ]]
    run -2 "$ROOT/datasets/fetch" gisete
    [[ $output == *"no data set 'gisete'; there are: tiny cifar-10 cifar-100 gisette madelon ml-100k"* ]]
    run -2 "$ROOT/datasets/fetch"
    [[ $output == *usage* ]]
}
