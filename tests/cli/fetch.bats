#!/usr/bin/env bats
# datasets/fetch, from a publisher on this disk.
# SPDX-License-Identifier: MIT
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
    [ "$(cat "$DEST/tiny/SHA256SUMS")" = "$SUM  rows" ]
    run -0 "$ROOT/datasets/fetch" tiny "$DEST"
    printf '1 1:9\n' | gzip >"$DEST/tiny/rows.gz"
    run -1 "$ROOT/datasets/fetch" tiny "$DEST"
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
    [ ! -e "$DEST/tiny/rows.gz" ]
}

@test "fetch refuses a file that cannot be unpacked" {
    head -c 20 "$BATS_TEST_TMPDIR/rows.gz" >"$BATS_TEST_TMPDIR/cut" && mv "$BATS_TEST_TMPDIR/cut" "$BATS_TEST_TMPDIR/rows.gz"
    run -1 "$ROOT/datasets/fetch" tiny "$DEST"
    [ ! -e "$DEST/tiny/rows.gz" ]
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
    [ "$(cat "$DEST/pair/one.bin" "$DEST/pair/two.bin")" = onetwo ]
    [ "$(ls "$DEST/pair")" = "$(printf 'SHA256SUMS\none.bin\ntwo.bin')" ]
    (cd "$DEST/pair" && sha256sum --quiet -c SHA256SUMS)
    rm "$BATS_TEST_TMPDIR/pair.tar.gz"
    run -0 "$ROOT/datasets/fetch" pair "$DEST"
    printf tow >"$DEST/pair/two.bin"
    run -1 "$ROOT/datasets/fetch" pair "$DEST"
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
    [ ! -e "$DEST/zipped/rows" ]
}

@test "fetch refuses an archive that is damaged or holds something else" {
    archive one
    run -1 "$ROOT/datasets/fetch" pair "$DEST"
    [ ! -e "$DEST/pair/two.bin" ]
    rm -r "$DEST" && head -c 60 "$BATS_TEST_TMPDIR/pair.tar.gz" >"$BATS_TEST_TMPDIR/cut"
    mv "$BATS_TEST_TMPDIR/cut" "$BATS_TEST_TMPDIR/pair.tar.gz"
    run -1 "$ROOT/datasets/fetch" pair "$DEST"
    [ ! -e "$DEST/pair/one.bin" ]
}

@test "fetch lists the sets" {
    run -0 "$ROOT/datasets/fetch" --list
    [[ $output == *"tiny rows"* && $output == *cifar-10* && $output == *gisette* && $output == *madelon* && $output == *ml-20m* ]]
    run -2 "$ROOT/datasets/fetch"
    [[ $output == *usage* ]]
}

@test "fetch runs nothing and writes nowhere that a description says" {
    cd "$BATS_TEST_TMPDIR"
    for name in 'a$//;1e>pwned;s/' '$(>pwned)' '`>pwned`' ../../evil a/b .hidden -o SHA256SUMS '*'; do
        printf 'name: tiny\ntitle: tiny\nformat: libsvm\nfiles:\n  - name: %s\n    url: file://%s/rows.gz\n    sha256: trust-on-first-use\n' \
            "$name" "$BATS_TEST_TMPDIR" >"$SPARSE_DATASETS/tiny.yaml"
        for round in 1 2; do
            run -1 "$ROOT/datasets/fetch" tiny "$DEST/deep"
            [[ $output == "fetch: "*"tiny.yaml: not a plain file name: '$name'" ]] || { echo "$name, $round: $output"; false; }
        done
    done
    for url in -o/tmp/x 'rows.gz' 'dict://x' 'file:///x/$(>pwned).tar.gz' "file://$BATS_TEST_TMPDIR/..tar.gz"; do
        printf 'name: tiny\ntitle: tiny\nformat: libsvm\nfiles:\n  - name: rows\n    url: %s\n    sha256: trust-on-first-use\n' \
            "$url" >"$SPARSE_DATASETS/tiny.yaml"
        run -1 "$ROOT/datasets/fetch" tiny "$DEST/deep"
        [[ $output == *"tiny.yaml: file rows: "*"'$url'" ]] || { echo "$url: $output"; false; }
    done
    [ ! -e "$DEST" ] && [ ! -e pwned ]
}

@test "fetch takes a set's name, no path; and a description that lists files" {
    cp "$SPARSE_DATASETS/tiny.yaml" "$BATS_TEST_TMPDIR/outside.yaml"
    for name in ../outside ./tiny .. -x; do
        run -2 "$ROOT/datasets/fetch" "$name" "$DEST"
        [[ $output == *"no data set '$name'"* || $output == usage* ]] || { echo "$output"; false; }
    done
    printf 'name: tiny\ntitle: tiny\nformat: libsvm\nfiles:\n' >"$SPARSE_DATASETS/tiny.yaml"
    run -1 "$ROOT/datasets/fetch" tiny "$DEST"
    printf '  - name: rows\n    sha256: trust-on-first-use\n' >>"$SPARSE_DATASETS/tiny.yaml"
    run -1 "$ROOT/datasets/fetch" tiny "$DEST"
    [ ! -e "$DEST" ]
}

@test "fetch reads the keys of a file in any order" {
    printf 'format: libsvm\nfiles:\n- sha256: %s\n  url: file://%s/rows.gz # packed\n  name: rows\ntitle: tiny\n' \
        "$SUM" "$BATS_TEST_TMPDIR" >"$SPARSE_DATASETS/tiny.yaml"
    run -0 "$ROOT/datasets/fetch" tiny "$DEST"
    [[ $output == *"$DEST/tiny/rows.gz: verified" ]] || { echo "$output"; false; }
}

@test "fetch replaces a link in the place of what it writes, and leaves its target alone" {
    archive
    mkdir -p "$DEST/tiny" "$DEST/pair"
    for link in tiny/rows.gz.part tiny/SHA256SUMS pair/one.bin.part pair/pair.tar.gz.part; do
        echo precious >"$BATS_TEST_TMPDIR/victim"
        ln -s "$BATS_TEST_TMPDIR/victim" "$DEST/$link"
        run -0 "$ROOT/datasets/fetch" "${link%%/*}" "$DEST"
        [ "$(cat "$BATS_TEST_TMPDIR/victim")" = precious ] || { echo "$link was followed"; false; }
        rm -r "$DEST/${link%%/*}" && mkdir "$DEST/${link%%/*}"
    done
    [ -z "$(find "$DEST" -type l)" ]
    for pipe in tiny/rows.gz tiny/rows.gz.part tiny/SHA256SUMS pair/one.bin pair/pair.tar.gz; do
        mkfifo "$DEST/$pipe"
        run -1 timeout 20 "$ROOT/datasets/fetch" "${pipe%%/*}" "$DEST"
        [[ $output == *"$DEST/$pipe: not a file"* ]]
        rm "$DEST/$pipe"
    done
}

# A curl that makes nothing of a part: this status, and this answer of the publisher.
no_resume() { # STATUS ANSWER
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    cat >"$BATS_TEST_TMPDIR/bin/curl" <<END
#!/bin/bash
echo >>"$BATS_TEST_TMPDIR/downloads"
out=\$(sed 's/.*--output \([^ ]*\) .*/\1/' <<<"\$*")
[ ! -s "\$out" ] || { printf %s $2; exit $1; }
exec $(command -v curl) "\$@"
END
    chmod +x "$BATS_TEST_TMPDIR/bin/curl"
}

@test "fetch takes a part that is whole, and begins once more where a part cannot be gone on with" {
    local part=$DEST/tiny/rows.gz.part pin
    no_resume 33 200
    for pin in "$SUM" trust-on-first-use; do
        for state in whole cut long other 416; do
            describe "$pin"
            rm -rf "$DEST" && mkdir -p "$DEST/tiny"
            cp "$BATS_TEST_TMPDIR/rows.gz" "$part"
            case $state in
            cut) truncate -s 10 "$part" ;;
            long) echo x >>"$part" ;;
            other) echo '1 1:9' | gzip >"$part" ;;
            416) echo x >>"$part" && no_resume 22 416 ;;
            esac
            : >"$BATS_TEST_TMPDIR/downloads"
            run -0 env PATH="$BATS_TEST_TMPDIR/bin:$PATH" "$ROOT/datasets/fetch" tiny "$DEST"
            cmp "$BATS_TEST_TMPDIR/rows.gz" "$DEST/tiny/rows.gz"
            [ "$state $pin" != "whole $SUM" ] || [ ! -s "$BATS_TEST_TMPDIR/downloads" ]
        done
    done
    no_resume 22 404 # it may come back
    rm "$DEST/tiny/rows.gz" && echo part >"$part"
    run -1 env PATH="$BATS_TEST_TMPDIR/bin:$PATH" "$ROOT/datasets/fetch" tiny "$DEST"
    [[ $output == *"what arrived is kept"* && $(cat "$part") = part ]]
}

@test "fetch takes no more bytes than the description says, neither packed nor unpacked" {
    local bytes
    bytes=$(wc -c <"$BATS_TEST_TMPDIR/rows")
    echo "    bytes: $bytes" >>"$SPARSE_DATASETS/tiny.yaml"
    run -0 "$ROOT/datasets/fetch" tiny "$DEST"
    describe trust-on-first-use
    echo "    bytes: $((bytes - 1))" >>"$SPARSE_DATASETS/tiny.yaml"
    rm -r "$DEST"
    run -1 "$ROOT/datasets/fetch" tiny "$DEST"
    [ ! -e "$DEST/tiny/SHA256SUMS" ]
    rm -r "$DEST"
    sed -i 's|file://.*|file:///dev/zero|' "$SPARSE_DATASETS/tiny.yaml"
    run -1 timeout 20 "$ROOT/datasets/fetch" tiny "$DEST"
    [[ $output == *"larger than the "*" bytes"* && ! -e $DEST/tiny/rows.part ]]
    mkdir "$BATS_TEST_TMPDIR/folder"
    head -c 5000000 /dev/zero >"$BATS_TEST_TMPDIR/folder/rows"
    tar -czf "$BATS_TEST_TMPDIR/bomb.tar.gz" -C "$BATS_TEST_TMPDIR" folder
    printf 'title: t\nfiles:\n  - name: rows\n    url: file://%s/bomb.tar.gz\n    sha256: %s\n    bytes: 100\n' \
        "$BATS_TEST_TMPDIR" trust-on-first-use >"$SPARSE_DATASETS/tiny.yaml"
    run -1 "$ROOT/datasets/fetch" tiny "$DEST"
    [ ! -e "$DEST/tiny/rows.part" ]
}

@test "fetches of one set at once all end well" {
    archive
    mkdir "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/sh\necho >>"%s/downloads"\nsleep 0.5\nexec %s "$@"\n' "$BATS_TEST_TMPDIR" "$(command -v curl)" >"$BATS_TEST_TMPDIR/bin/curl"
    chmod +x "$BATS_TEST_TMPDIR/bin/curl"
    pids=
    for i in 1 2 3 4; do
        PATH=$BATS_TEST_TMPDIR/bin:$PATH "$ROOT/datasets/fetch" pair "$DEST" >"$BATS_TEST_TMPDIR/out$i" 2>&1 3>&- &
        pids="$pids $!"
    done
    for pid in $pids; do
        wait "$pid" || { cat "$BATS_TEST_TMPDIR"/out*; false; }
    done
    [ "$(cat "$BATS_TEST_TMPDIR"/out* | grep -c 'waiting for it')" = 3 ] # they did meet
    [ "$(wc -l <"$BATS_TEST_TMPDIR/downloads")" = 1 ]
    [ "$(cat "$BATS_TEST_TMPDIR"/out* | grep -c ': verified')" = 8 ]
    [ "$(wc -l <"$DEST/pair/SHA256SUMS")" = 2 ]
}

@test "fetch shows progress on a terminal only" {
    "$ROOT/datasets/fetch" tiny "$DEST" 2>"$BATS_TEST_TMPDIR/err" >/dev/null
    [ "$(cat "$BATS_TEST_TMPDIR/err")" = "fetch: tiny rows" ]
    rm -r "$DEST"
    run -0 script -qec "'$ROOT/datasets/fetch' tiny '$DEST'" /dev/null </dev/null
    [[ $output == *"#"* ]]
    rm -r "$DEST"
    run -0 script -qec "'$ROOT/datasets/fetch' --no-progress tiny '$DEST'" /dev/null </dev/null
    [[ $output != *"#"* && $output == *"recorded $SUM"* ]]
}

@test "a figure whose data cannot be fetched says where the files can be put" {
    cd "$BATS_TEST_TMPDIR" && mkdir datasets recipes
    cp "$ROOT/datasets/fetch" datasets
    sed "s|url: .*|url: file://$PWD/gone|" "$SPARSE_DATASETS/tiny.yaml" >datasets/tiny.yaml
    sed 's/dataset: two-clouds/dataset: tiny/' "$ROOT/recipes/smoke.yaml" >recipes/tiny.yaml
    grep -q 'dataset: tiny' recipes/tiny.yaml
    unset SPARSE_DATASETS
    for have in nothing part; do # an interrupted download is no data
        run -0 --separate-stderr env -u SPARSE_DATA SMOKE=1 sh "$ROOT/recipes/run" tiny "$BIN" 2
        [[ $stderr == *"put its files into datasets/cache/tiny, or name a folder that holds tiny with \$SPARSE_DATA"* ]]
        mkdir -p datasets/cache/tiny && printf 1 >datasets/cache/tiny/rows.part
    done
}
