#!/usr/bin/env bats
# What is core: what the recipes of the paper's figures name, and what another feature of the core needs. A build with
# ZOO=0 lacks the rest.
# SPDX-License-Identifier: MIT
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
}

# Compressors of the core that no recipe of the paper's figures names, and what in the core needs them.
needed() {
    cat <<'END'
randomk --advise: its candidates; the definitions of section 3
qsgd --advise: its candidates
dgc --advise: its candidates
ef-signsgd --advise: its candidates
terngrad --advise: its candidates
fp16 --advise: its candidates
powersgd --advise: its candidates
bf16 the task gpt, whose recipes send halves
signsgd kernels of signs, on the CPU and on a GPU, and the hook for PyTorch
sign-l2 kernels of signs
onebit kernels of signs
ef-signsgd-twice rounds in two codes, of the hook for PyTorch
sign-l2-twice rounds in two codes, of the hook for PyTorch
terngrad-shared rounds with an agreed scale
END
}

# Names that a section of the paper's recipes has under a key.
named() { # KEY
    local recipe name
    for name in $(sed -n '/<!-- figures front -->/,/^## /p' "$ROOT/README.md" |
        grep -o 'results/[a-z0-9-]*\.svg' | sed 's/results.//; s/\.svg//'); do
        recipe=$ROOT/recipes/$name.yaml
        [[ $name != mini-* ]] || recipe=$ROOT/recipes/mini/${name#mini-}.yaml
        [[ $name != night-* ]] || recipe=$ROOT/recipes/night/${name#night-}.yaml
        grep -oE "\b$1: *[a-z0-9-]+" "$recipe" | sed 's/.*: *//'
    done | sort -u
}

codes() {
    sparsetrain --help-recipe | sed -n 's/^\* `code` (\(.*\); required.*/\1/p' | tr '|' '\n'
}

core() { # the compressors that are no zoo
    sparsetrain --help-compressors | awk '!/^#/ && $8 != "yes" { print $1 }' | sort
}

@test "the core has the compressors of the paper's figures and those that another of its features needs, and no more" {
    [ "$(named compressor | wc -l)" -ge 4 ]
    core >core
    named compressor >paper
    [ -z "$(comm -23 paper core)" ] || { echo "not core:"; comm -23 paper core; false; }
    diff core <(sort -u paper <(needed | cut -d' ' -f1))
    [ -z "$(comm -12 paper <(needed | cut -d' ' -f1 | sort))" ] # a reason is given where one is wanted
}

@test "the zoo comes behind the core in every table, and says that it is zoo" {
    [ "$(sparsetrain --help-compressors | awk '!/^#/ { print $8 }' | uniq | xargs)" = "- yes" ]
    [ "$(sparsetrain --help-compressors | awk '!/^#/ && $8 == "yes"' | wc -l)" -ge 30 ]
    [ "$(table controller | tail -n 3 | xargs)" = "l-greco dqsgd adaqs" ]
    codes | tail -n 12 >zoo
    diff zoo <(sed -n 's/^ *row(sg_code.*//; s/^    \.name = "\(.*\)",$/\1/p' $(for code in natural 8bit integers eden quantile inceptionn small_floats least; do
        echo "$ROOT/lib/zoo/code_$code.c"
    done))
    [ "$(ls "$ROOT"/lib/zoo/code_*.c | wc -l)" -eq 8 ]
    # lib/method writes all others. powersgd calls functions for factors; two share the files of qsgd and onebit.
    for code in $(sed -n '/define SG_CODES/,/lookup)/p' "$ROOT/lib/wire/sg_message.h" | grep -o 'sg_code_[a-z0-9_]*'); do
        grep -rqw "$code" "$ROOT/lib/method" --include='*.c' || echo "$code"
    done >unused
    [ "$(xargs <unused)" = "sg_code_dithering sg_code_factors sg_code_lookup" ]
}

# bats test_tags=slow
@test "ZOO=0 builds without the zoo, passes the unit tests, refuses its names, and what it has does what it did" {
    mkdir tree
    (cd "$ROOT" && sources | tar -cf - -T -) | tar -xf - -C tree
    make -s -j"$(nproc)" -C tree ZOO=0 DEPS=skip WITH_TORCH=0 WITH_CUDA=0 all unit >log 2>&1 || { cat log; false; }
    bin=tree/build/bin
    [ "$($bin/sparsetrain --help-compressors | awk '!/^#/ { print $1 }' | sort | xargs)" = "$(core | xargs)" ]
    sed 's/compressor: topk, k:.*}/compressor: redsync, k: 1}/' "$ROOT/recipes/smoke.yaml" >redsync.yaml
    run -2 "$bin/sparsetrain" --check redsync.yaml
    [[ $output == *"redsync"* ]]
    run -2 "$bin/sparsetrain" --check "$ROOT/recipes/smoke.yaml" --set methods.Top-k.values=natural
    [[ $output == *"natural"* ]]
    "$bin/sparsebench" --verify-compressors --table | grep -q "all that applies holds"
    for method in "Top-k k=4" Hard-threshold; do
        "$bin/sparsetrain" -q "$ROOT/recipes/smoke.yaml" --method "$method" -o without -f
        sparsetrain -q "$ROOT/recipes/smoke.yaml" --method "$method" -o with -f
        cmp <(grep '"record":"step"' with) <(grep '"record":"step"' without)
    done
    "$bin/sparsetune" -q "$ROOT/recipes/smoke.yaml" --advise --json |
        jq -e '[.tune.left_out[].reason] | index("this build is without it (ZOO=0)")'
}
