#!/usr/bin/env bats
# What the programs say of mistakes and grids, word by word, with their exit codes. `make golden` renews the transcripts.
# SPDX-License-Identifier: MIT
load common

compare() { # NAME
    diff -u "$ROOT/tests/golden/cli/$1.txt" <("$ROOT/tests/golden/cli/transcript" "$ROOT/tests/golden/cli/$1.txt")
}

@test "mistakes in recipes, in the same words by all programs" {
    compare recipes
}

@test "sparsetrain" {
    compare sparsetrain
}

@test "sparsebench" {
    compare sparsebench
}

@test "sparsetune" {
    compare sparsetune
}

@test "sparsetune --when and --advise" {
    compare advice
}

@test "datasets/fetch" {
    compare fetch
}

@test "sparseplot-export" {
    compare sparseplot-export
}

@test "grids" {
    compare grid
}

@test "recipes of kernels" {
    compare kernels
}

@test "a transcript that says something else is noticed" {
    printf '# A program.\n$ sparsetrain nothing.yaml\n! sparsetrain: all is well\n' >"$BATS_TEST_TMPDIR/t.txt"
    run -0 "$ROOT/tests/golden/cli/transcript" "$BATS_TEST_TMPDIR/t.txt"
    [ "$output" = "# A program.
$ sparsetrain nothing.yaml
! sparsetrain: cannot read nothing.yaml: No such file or directory
  [2]" ]
}
