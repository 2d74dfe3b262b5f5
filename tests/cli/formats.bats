#!/usr/bin/env bats
# lib/FORMATS.md against the bytes that the programs write: formats.py decodes them by its maps alone.
# SPDX-License-Identifier: MIT
load common

SMOKE=$ROOT/recipes/smoke.yaml

setup() {
    command -v python3 >/dev/null || skip "python3 is not installed"
    cd "$BATS_TEST_TMPDIR" && mkdir data
}

decode() {
    python3 "$ROOT/tests/cli/formats.py" "$@"
}

train() { # two generated clouds: d = 40
    sparsetrain -q "$SMOKE" --data data --set workers=4 "$@"
}

# A run of so many steps that it can be stopped: run.ckpt and run.part are left.
stopped() { # OPTION...
    sparsetrain -q "$SMOKE" --data data --set workers=4 -o run --set steps=400000 --set record.every=40 \
        --checkpoint-every 500 "$@" 2>/dev/null 3>&- &
    local pid=$! code=0
    while kill -0 $pid && [ ! -e run.ckpt ]; do sleep 0.1; done
    kill -TERM $pid
    wait $pid || code=$?
    [ $code = 143 ] && [ -e run.ckpt ]
}

field() { # NAME: of $output, a line of JSON
    jq -c ".$1" <<<"$output"
}

near() { # A B: equal but for rounding
    awk "BEGIN { exit !($1 - $2 <= 1e-9 * ($1 + $2) && $2 - $1 <= 1e-9 * ($1 + $2)) }"
}

@test "messages: every encoding and code, from one entry to all" {
    command -v gcc >/dev/null || skip "no compiler"
    [ -e "$ROOT/build/release/libsparsegrad.a" ] || skip "no release build"
    cat >write.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_wire.h"

/* usage: write N POSITION...: a message of these positions under every encoding and code, with numbers 0.5, 1, 1.5 … or,
 * from the code bf16 on, 0.5, -1, 1.5 …
 * The first part has all numbers but one. On stderr a line for each, with the numbers as the library reads them. */
int main(int argc, char **argv) {
    struct sg_error err;
    static uint32_t index[4096];
    static float value[4096], data[8192], read[4096];
    static uint8_t out[1 << 16];
    const size_t count = (size_t)argc - 2;
    for (size_t j = 0; j < count; j++)
        index[j] = (uint32_t)strtoul(argv[j + 2], NULL, 10);
    for (size_t c = 0; sg_code_at(c); c++) {
        for (size_t j = 0; j < count; j++)
            value[j] = (float)(j + 1) / 2 * (sg_code_at(c)->number > 2 && j % 2 ? -1 : 1);
        struct sg_message m = {.code = sg_code_at(c), .n = strtoul(argv[1], NULL, 10), .count = count, .index = index};
        const size_t part[] = {count - (count > 0), 0, count > 0};
        double param[16];
        for (size_t i = 0; i < m.code->n_params; i++)
            param[i] = m.code->params[i].preset;
        const struct sg_numbers numbers = {.value = value, .count = count, .part = part, .parts = 3, .param = param,
                                           .kernels = sg_kernels_cpu(NULL), .threads = 1};
        m.bytes = m.code->encode(data, &numbers, &m.bits);
        m.data = data;
        m.code->decode(read, &m, 0, count);
        for (size_t twice = 0, i; sg_wire_at(i = twice / 2); twice++) {
            struct sg_wire_plan plan;
            if (sg_wire_plan(&plan, sg_wire_at(i), &m, &err))
                return 1;
            if (twice % 2) /* and in fewer bits */
                sg_wire_shorten(&plan);
            if (twice % 2 && !plan.shorter)
                continue;
            if (sg_wire_encode(out, sizeof out, &plan, &err))
                return 1;
            fwrite(out, 1, plan.bytes, stdout);
            fprintf(stderr, "%zu %s %zu %zu ", plan.bytes, m.code->name, i, m.n);
            for (size_t j = 0; j < count; j++)
                fprintf(stderr, "%s%u:%g", j ? " " : "", (unsigned)index[j], (double)read[j]);
            fputc('\n', stderr);
        }
    }
    return ferror(stdout) != 0;
}
C
    gcc -std=c11 -DSPARSEGRAD_UNSTABLE -Wall -Wextra -Werror -I"$ROOT/lib/core" -I"$ROOT/lib/wire" -I"$ROOT/kernels" -fopenmp -o write write.c \
        "$ROOT/build/release/libsparsegrad.a" -lm
    local set
    for set in "1 0" "7 6" "40 0 1 2 39" "1000 3 4 5 64 65 700 999" "4294967296 0 127 128 16511 16512 3000000000 4294967295" \
        "300 $(seq -s ' ' 0 7 299)" "64 $(seq -s ' ' 0 63)" "9 1 2 3 4 5 6 7 8" "5" "400 $(seq -s ' ' 0 399)"; do
        # A bitmap of 2^32 bits does not fit into the buffer.
        # shellcheck disable=SC2086
        ./write $set >messages 2>expected || [ "${set%% *}" = 4294967296 ]
        run -0 decode message messages
        [ "${set%% *}" = 4294967296 ] || [ "${#lines[@]}" -ge 15 ]
        diff expected - <<<"$output"
        where=$(tr ' ' '\n' <<<"${set#* }" | awk -v all="$set" 'all ~ / / { printf "%s%s:%g", (NR > 1 ? " " : ""), $1, NR / 2 }')
        [ "$(head -n 1 expected | cut -d ' ' -f 4-)" = "${set%% *} $where" ]
    done
}

@test "checkpoint: x, residuals, sums and hashes are where the map says, beside a recording" {
    stopped --method Hard-threshold --record-inputs run.k
    run -0 decode checkpoint run.ckpt run.part run.k.part
    local step
    step=$(field step)
    train --method Hard-threshold --set steps="$step" -o whole --record-inputs whole.k \
        --set 'record.series=[error-norm, bits, average-density-padded]'
    [ "$(field x_sha256)" = "$(tail -n 1 whole | jq .parameters_sha256)" ]
    near "$(field error_norm)" "$(column error_norm whole | tail -n 1)"
    [ "$(field bits)" = "$(column bits whole | tail -n 1)" ]
    near "$(field "padded / .step / .d")" "$(column average_density_padded whole | tail -n 1)"
    # And what follows from it: the recording up to here, and its map.
    cmp -n $(($(stat -c %s whole.k) - $(head -n 1 whole.k | wc -c) - 64)) <(tail -n +2 whole.k) <(tail -n +2 run.k.part)
    run -0 decode recording whole.k
    [ "$(field steps)" = "$step" ] && [ "$(field d)" = 40 ] && [ "$(field workers)" = 4 ]
    near "$(field gamma)" "$(head -n 1 whole | jq .constants.gamma)"
    near "$(field "sent * 64")" "$(column bits whole | tail -n 1)"
}

@test "checkpoint: the optimizer's and a controller's state" {
    sed 's/compressor: topk, k: .1, 4./compressor: accordion, k-min: 1, k-max: 4, interval: 1, accumulate: 1/
        s/kind: sgd,/kind: sgd, momentum: 0.9,/; s/^seeds/error-feedback: gradient\nseeds/' "$SMOKE" |
        sed '/^claims/,$d' >accordion.yaml
    SMOKE=accordion.yaml stopped --method Top-k
    run -0 decode checkpoint run.ckpt run.part
    [ "$(field floats)" = 40 ] && [ "$(field sums)" = 40 ] && [ "$(field 'common | length')" = 3 ]
    [ "$(jq '.common[0] > 0 and (.common[1] | . == 0 or . == 1) and .optimizer > 0' <<<"$output")" = true ]
    near "$(jq '.common[2]' <<<"$output")" "$(head -n 1 run.part | jq .constants.gamma)"
    SMOKE=accordion.yaml train --method Top-k --set steps="$(field step)" --set record.every=1 -o whole
    [ "$(field x_sha256)" = "$(tail -n 1 whole | jq .parameters_sha256)" ]
    near "$(field error_norm)" "$(column error_norm whole | tail -n 1)"
}

@test "checkpoint: the vectors of a feedback rule" {
    stopped --method "Top-k k=4" --set error-feedback=ef21
    run -0 decode checkpoint run.ckpt run.part
    # Every worker's last gradient, and the sum of the estimates h = g - e.
    [ "$(field sums)" = 160 ] && [ "$(field 'common | length')" = 40 ]
    [ "$(jq '.sum > 0 and .off < 1e-5' <<<"$output")" = true ] || { echo "$output"; false; }
    train --method "Top-k k=4" --set error-feedback=ef21 --set steps="$(field step)" --set record.every=1 -o whole
    [ "$(field x_sha256)" = "$(tail -n 1 whole | jq .parameters_sha256)" ]
    near "$(field error_norm)" "$(column error_norm whole | tail -n 1)"
}

@test "matrix cache: dense of each kind and sparse rows; cache of doubles" {
    local storage text key l2
    awk 'BEGIN { for (i = 0; i < 40; i++) print (i % 2 ? "+1" : "-1"), "1:" i + 1, "2:" i % 7 + 1 }' >data/rows4
    awk 'BEGIN { for (i = 0; i < 40; i++) print (i % 2 ? "+1" : "-1"), "1:" i / 4 + 0.25, "2:" i % 7 + 1 }' >data/rows1
    awk 'BEGIN { for (i = 0; i < 40; i++) print (i % 2 ? "+1" : "-1"), "1:0.1", "2:" i + 0.3 }' >data/rows2
    awk 'BEGIN { for (i = 0; i < 40; i++) print (i % 2 ? "+1" : "-1"), i % 50 + 1 ":0.1", "60:" i + 0.3 }' >data/rows3
    for storage in 1 2 3 4; do
        sparsetrain -q "$SMOKE" --data data --set workers=2 --set steps=5 --method SGD --set task.dataset=rows$storage -o run$storage
        decode matrix data/derived/rows$storage-*.cache >decoded
        text=$(sha256sum <data/rows$storage | cut -d ' ' -f 1)
        key=$(printf 'text 1, 0 features\n%s\n%s\n' "$(realpath data/rows$storage)" \
            "$(stat -c '%s %.9Y %i' data/rows$storage)" | sha256sum | cut -d ' ' -f 1)
        run head -n 1 decoded
        [ "$output" = "$storage 40 $([ $storage = 3 ] && echo 60 || echo 2) $key $text" ]
        # The rows are those of the text; awk's numbers are the nearest doubles on both sides.
        numbers() { sed 's/[:+]/ /g' | awk '{ for (i = 1; i <= NF; i++) printf "%.15g ", $i; print "" }'; }
        cmp <(tail -n +2 decoded | numbers) <(numbers <data/rows$storage)
        run -0 decode doubles data/derived/constants-"$(printf 'sparsegrad 1\nconstants\n%s\n0x0p+0\n' "$text" | sha256sum | head -c 16)".cache \
            constants "$text" 0
        [ "$(jq '.value[0]' <<<"$output")" = "$(head -n 1 run$storage | jq .constants.L)" ]
        l2=$(head -n 1 run$storage | jq .constants.l2)
        for file in data/derived/optimum-*.cache; do
            run decode doubles "$file" optimum "$text" "$l2"
            [ "$status" != 0 ] || break
        done
        [ "$status" = 0 ]
        [ "$(jq ".value[.count - 2] == $(head -n 1 run$storage | jq .constants.f_star)" <<<"$output")" = true ]
    done
}

@test "a byte that is not where the map says is found" {
    train --method SGD --set steps=20 -o run --record-inputs run.k
    decode recording run.k >/dev/null
    train --method SGD --set steps=20 -o gradients --record-gradients gradients.k
    decode recording gradients.k >/dev/null
    printf x >>run.k
    run ! decode recording run.k
    local cache
    cache=$(echo data/derived/two-clouds-*.cache)
    decode matrix "$cache" >/dev/null
    printf '\1' | dd of="$cache" bs=1 seek=100 conv=notrunc 2>/dev/null
    run ! decode matrix "$cache"
}

@test "the worked examples of lib/FORMATS.md: the bytes that the library writes, and integers that its decoder reads" {
    sed -n '/^An example: n = 100/,/^Where every rank/s/^| `\([0-9a-f ]*\)` .*/\1/p' "$ROOT/lib/FORMATS.md" | xargs >shown
    cat >write.c <<'C'
#include <stdio.h>

#include "sg_flat.h"

int main(void) {
    struct sg_error err;
    uint8_t out[99];
    size_t bytes;
    if (sg_encode(out, sizeof out, &bytes, 100, (const uint32_t[]){2, 3, 97}, (const float[]){1, -2, 0.5f}, 3, &err))
        return 1;
    for (size_t i = 0; i < bytes; i++)
        printf("%02x%s", out[i], i + 1 < bytes ? " " : "\n");
}
C
    gcc -std=c11 -I"$ROOT/lib/core" -I"$ROOT/lib/method" write.c "$ROOT/build/lib/"libsparsegrad.so.* -Wl,-rpath,"$ROOT/build/lib" -o write
    ./write | diff shown -
    python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.stdin.read()))' <shown >message
    [ "$(decode message message)" = "21 fp32 2 100 2:1 3:-2 97:0.5" ]
    sed -n '/^An example: the integers/,/^600 in/s/^| `\([01 ]*\)` .*/\1/p' "$ROOT/lib/FORMATS.md" | tr -d ' \n' >bits
    [ "$(decode prefix "$(cat bits)" 6)" = "2 0 0 5 2 2" ]
}
