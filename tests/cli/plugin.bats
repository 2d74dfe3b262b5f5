#!/usr/bin/env bats
# Compressors outside the repository: built with what `make install` puts in place alone, run by all programs as one of the
# table is, part of what a finished run is known by, and refused with a reason where something is wrong with them.
# SPDX-License-Identifier: MIT
load common

setup_file() {
    export INSTALLED=$BATS_FILE_TMPDIR/root
    make -s -C "$ROOT" install PREFIX=/usr DESTDIR="$INSTALLED" >/dev/null
    export PKG_CONFIG_PATH=$INSTALLED/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$INSTALLED
    mkdir "$BATS_FILE_TMPDIR/mine"
    cp "$INSTALLED/usr/share/sparsegrad/examples/coder.c" "$BATS_FILE_TMPDIR/mine"
    build "$BATS_FILE_TMPDIR/mine/coder.c" "$BATS_FILE_TMPDIR/mine/my-topk.so"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export MINE=$BATS_FILE_TMPDIR/mine/my-topk.so
    sed 's/compressor: topk/compressor: my-topk/' "$ROOT/recipes/smoke.yaml" >mine.yaml
}

build() { # SOURCE OBJECT FLAGS...
    # shellcheck disable=SC2046
    cc -std=c11 -Wall -Wextra -Werror -Wno-missing-field-initializers -shared -fPIC "${@:3}" "$1" $(pkg-config --cflags sparsegrad) -o "$2"
}

variant() { # OBJECT SED...: the template, changed
    sed "${@:2}" "$BATS_FILE_TMPDIR/mine/coder.c" >changed.c
    ! cmp -s changed.c "$BATS_FILE_TMPDIR/mine/coder.c"
    build changed.c "$1"
}

rows() { # the compressor that there is, with the declaration that the arguments make of it
    printf '#include <sg_compressor_plugin.h>\nstatic void encode(struct sg_worker *w, unsigned r, const float *p, struct sg_message *m) {\n(void)w, (void)r, (void)p, (void)m;\n}\n'
    printf 'static const struct sg_compressor_ops mine = {.summary = "s", .source = "s", %s};\n' "$1"
    printf 'static const struct sg_compressor_ops *const all[] = {&mine, NULL};\n'
    printf 'SG_EXPORT const struct sg_compressor_plugin sparsegrad_plugin = {SG_PLUGIN_INTERFACE, .compressors = all};\n'
}

refused() { # WORDS ARGUMENTS...: a usage mistake, said in one line
    run -2 --separate-stderr sparsetrain "${@:2}"
    [[ $stderr == *"$1"* ]] || { echo "$stderr"; false; }
    [ "$(wc -l <<<"$stderr")" = 1 ]
}

@test "the template, built in an empty folder, sends and computes what topk does, bit for bit, on any threads and ranks" {
    sparsetrain -q "$ROOT/recipes/smoke.yaml" --method "Top-k k=4" -o topk.ndjson
    same_for_threads_and_ranks mine.ndjson "2 3" --plugin "$MINE" mine.yaml --method "Top-k k=4"
    diff <(stable mine.ndjson | tail -n +2) <(stable topk.ndjson | tail -n +2)
    [ "$(column bits mine.ndjson | tail -n 1)" -gt 1000 ]
    sparsetrain -q --plugin "$MINE" mine.yaml --method "Top-k k=4" --seed 2 -o scope.ndjson --set scope=model \
        --set error-feedback=momentum --set message.encoding=auto
    sparsetrain -q "$ROOT/recipes/smoke.yaml" --method "Top-k k=4" --seed 2 -o scope-topk.ndjson --set scope=model \
        --set error-feedback=momentum --set message.encoding=auto
    diff <(stable scope.ndjson | tail -n +2) <(stable scope-topk.ndjson | tail -n +2)
}

@test "programs list it, with its parameters, and complete --plugin" {
    run -0 sparsetrain --plugin "$MINE" --help-compressors
    [[ $output =~ $'\n'my-topk\ +coder\ +relative\ +no\ +wanted ]]
    for program in sparsetrain sparsebench sparsetune; do
        run -0 "$program" --plugin "$MINE" --help-recipe
        [[ $output == *my-topk* ]]
        run -0 env SPARSEGRAD_PLUGINS="$MINE" "$program" --help-recipe
        [[ $output == *"my-topk"* ]]
        run -0 "$program" --help-recipe
        [[ $output != *my-topk* ]]
        run -0 "$program" --completion=bash
        [[ $output == *--plugin* ]]
    done
}

@test "a list in the environment is loaded behind the options, each file once, wherever it lies" {
    variant other.so -e 's/"my-topk"/"other-topk"/'
    sed 's/my-topk/other-topk/' mine.yaml >other.yaml
    mkdir away
    ln -s ../other.so away/link.so
    export SPARSEGRAD_PLUGINS=:away/link.so:$MINE:
    sparsetrain -q other.yaml --plugin other.so --plugin ./away/../other.so --method "Top-k k=4" -o other.ndjson
    sparsetrain -q mine.yaml --method "Top-k k=4" -o mine.ndjson
    diff <(stable other.ndjson | tail -n +2) <(stable mine.ndjson | tail -n +2)
    # A run names those that it uses, and no folder.
    [ "$(head -n 1 other.ndjson | jq -c '[.program.plugins[].file]')" = '["other.so"]' ]
    [ "$(head -n 1 mine.ndjson | jq -r '.program.plugins[0].sha256')" = "$(sha256sum "$MINE" | cut -d' ' -f1)" ]
    sparsetrain -q "$ROOT/recipes/smoke.yaml" --method SGD -o with.ndjson
    env -u SPARSEGRAD_PLUGINS sparsetrain -q "$ROOT/recipes/smoke.yaml" --method SGD -o without.ndjson
    same_series with.ndjson without.ndjson
}

@test "sparsebench hands it to its cells, also under a launcher, and judges them as any others" {
    sparsebench -q --plugin "$MINE" mine.yaml --json >mine.json
    sparsebench -q "$ROOT/recipes/smoke.yaml" --folder builtin --json >topk.json
    for json in mine topk; do
        jq '[.results[] | .label, .final, .series], .claims, .summary' $json.json >$json
        [ "$(wc -l <$json)" -gt 100 ]
    done
    diff mine topk
    [ "$(jq -r '.identities | length' mine.json)" = 2 ] # of cells with it, and without
    [ "$(jq -r '.program.plugins[0].file' mine.json)" = my-topk.so ]
    [ "$(jq -r '.program.plugins' topk.json)" = null ]
    sparsebench -q --plugin "$MINE" mine.yaml --network workers=16,link=10gbe-tcp --json >network.json
    [ "$(jq -c '[.results[] | select(.compressor == "my-topk") | .final.time.mean > 0]' network.json)" = '[true,true]' ]
    have_mpi || return 0
    SPARSEGRAD_PLUGINS=$MINE sparsebench -q mine.yaml --folder ranked --launcher "$MPI -n 2" --method Top-k --seed 1 >/dev/null 3>&- </dev/null
    for cell in ranked/*.ndjson; do
        same_series "$cell" "results/local/smoke/cells/$(basename "$cell")"
    done
}

@test "an edited plug-in makes its own finished cells stale and no others; --any-version knows" {
    cp "$MINE" edited.so
    sparsebench -q --plugin edited.so mine.yaml >/dev/null
    run -0 sparsebench --plugin edited.so mine.yaml --dry-run
    [ "$(grep -c '^reuse' <<<"$output")" = 8 ]
    variant edited.so -e 's/64.0 \*/63.0 */'
    run -0 --separate-stderr sparsebench --plugin edited.so mine.yaml --dry-run
    [ "$(grep -c '^reuse' <<<"$output")" = 4 ]
    [ "$(grep '^run' <<<"$output" | grep -c Top-k)" = 4 ]
    run -0 sparsebench --plugin edited.so mine.yaml --dry-run --any-version
    [ "$(grep -c '^reuse' <<<"$output")" = 8 ]
    # Without any plug-in, a recipe of the same keys is another; SGD's cells are the same ones.
    run -0 sparsebench "$ROOT/recipes/smoke.yaml" --dry-run
    [ "$(grep -c '^reuse' <<<"$output")" = 4 ]
    sparsebench -q --plugin edited.so mine.yaml --json >edited.json
    [ "$(jq -r '.status' edited.json)" = ok ]
    run -0 sparsebench --plugin edited.so mine.yaml --dry-run
    [ "$(grep -c '^reuse' <<<"$output")" = 8 ]
}

@test "a run is resumed with the same plug-in, and begun afresh with another one" {
    local args=(mine.yaml --method "Top-k k=4" --set epochs=1500) pid
    same_after_kill 50 --plugin "$MINE" "${args[@]}"
    mkdir edited
    variant edited/my-topk.so -e 's/64.0 \*/63.0 */'
    sparsetrain -q --plugin edited/my-topk.so "${args[@]}" -o whole --force
    rm -f cut*
    sparsetrain -q --plugin "$MINE" "${args[@]}" -o cut --checkpoint-every 50 3>&- &
    pid=$!
    patiently [ -e cut.ckpt ]
    kill -KILL $pid
    wait $pid || true
    says 0 "another version" "starting afresh" -- sparsetrain --plugin edited/my-topk.so "${args[@]}" -o cut --resume
    same_series whole cut
    # A finished run of another plug-in is not taken for this one's.
    run ! --separate-stderr sparsetrain --plugin "$MINE" "${args[@]}" -o cut --resume
    [[ $stderr == *"was written by another build"* ]]
}

@test "sparsetune finds values of its parameters, and kernels' recipes time it" {
    sed -i -e '/^claims:/,$d' -e 's/k: .1, 4./k: 4/' -e 's/series: .*/series: [bits, bytes-sent]}/' mine.yaml
    sparsetune -q --plugin "$MINE" mine.yaml --match-bytes=0.2 --set 'seeds=[1]' --tolerance 0.5 -o evidence.json >matched.yaml
    grep -q 'compressor: my-topk, k: [0-9]' matched.yaml
    [ "$(jq -r '.program.plugins[0].file' evidence.json)" = my-topk.so ]
    sparsebench -q --plugin "$MINE" "$ROOT/recipes/kernels.yaml" --set 'operations=[]' --set 'compressors.names=[my-topk]' \
        --set 'compressors.sizes=[ncf]' --dry-run >/dev/null
    says 2 my-topk -- sparsebench -q "$ROOT/recipes/kernels.yaml" --set 'operations=[]' --set 'compressors.names=[my-topk]'
}

@test "gradients that another training recorded are replayed through it" {
    sparsetrain -q "$ROOT/recipes/smoke.yaml" --method SGD --set epochs=2 --record-gradients gradients -o sgd.ndjson
    cat >replay.yaml <<'Y'
schema: 1
name: replay
task: {kind: recorded, files: gradients}
workers: 4
epochs: 1
optimizer: {kind: sgd, learning-rate: 0.1}
seeds: [1]
record: {every: 10, series: [bits, error-norm, density, compression-error]}
methods:
  - {name: Mine, compressor: my-topk, k: 4}
  - {name: Theirs, compressor: topk, k: 4}
Y
    for method in Mine Theirs; do
        sparsetrain -q --plugin "$MINE" replay.yaml --method $method -o $method.ndjson
    done
    diff <(stable Mine.ndjson | tail -n +2) <(stable Theirs.ndjson | tail -n +2)
}

@test "a code and a feedback rule of a plug-in are used as those of the tables, and are part of the identity" {
    cat >rows.c <<'C'
#include <sg_compressor_plugin.h>
#include <string.h>
static size_t bytes_of(const struct sg_numbers *n) { return 4 * n->count; }
static size_t encode(void *data, const struct sg_numbers *n, double *bits) {
    memcpy(data, n->value, 4 * n->count);
    *bits = 32.0 * (double)n->count;
    return 4 * n->count;
}
static void decode(float *out, const struct sg_message *m, size_t first, size_t count) {
    memcpy(out, (const float *)m->data + first, 4 * count);
}
static bool valid(const struct sg_message *m) { return m->bytes == 4 * m->count; }
static const struct sg_code plain = {.name = "plain", .summary = "floats", .number = 200, .width = 4,
    .most_bytes = bytes_of, .encode = encode, .decode = decode, .valid = valid};
static const struct sg_feedback_rule again = {.name = "again", .summary = "as gradient", .source = "s", .keeps = true};
static const struct sg_code *const codes[] = {&plain, NULL};
static const struct sg_feedback_rule *const rules[] = {&again, NULL};
SG_EXPORT const struct sg_compressor_plugin sparsegrad_plugin = {SG_PLUGIN_INTERFACE, .codes = codes, .rules = rules};
C
    build rows.c ./rows.so
    sparsetrain -q "$ROOT/recipes/smoke.yaml" --method "Top-k k=4" --set error-feedback=gradient -o topk.ndjson
    same_for_threads_and_ranks mine.ndjson 2 --plugin rows.so "$ROOT/recipes/smoke.yaml" --method "Top-k k=4" \
        --set error-feedback=again --set message.values=plain
    diff <(stable mine.ndjson | tail -n +2) <(stable topk.ndjson | tail -n +2)
    for set in error-feedback=again message.values=plain methods.Top-k.values=plain; do
        sparsetrain -q --plugin rows.so "$ROOT/recipes/smoke.yaml" --method "Top-k k=4" --set $set -o used.ndjson --force
        [ "$(head -n 1 used.ndjson | jq -c '[.program.plugins[].file]')" = '["rows.so"]' ]
        [[ $(head -n 1 used.ndjson | jq -r .program.identity) == "$(head -n 1 topk.ndjson | jq -r .program.identity)"+???????????? ]]
    done
}

@test "what is wrong with a plug-in is said, with what to do" {
    refused "sparsetrain: --plugin none.so: it cannot be read: No such file or directory" --plugin none.so mine.yaml
    mkdir folder.so
    refused "folder.so" --plugin folder.so mine.yaml
    echo text >text.so
    refused "text.so: it cannot be loaded (compile it with cc -shared -fPIC" --plugin text.so mine.yaml
    : >empty.so
    refused "empty.so: it cannot be loaded" --plugin empty.so mine.yaml
    head -c 5000 "$MINE" >cut.so
    refused "cut.so: it is cut short: compile it again" --plugin cut.so mine.yaml
    echo 'int sg_no_such(void); int x(void); int x(void) { return sg_no_such(); }' >call.c
    build call.c call.so
    refused "undefined symbol: sg_no_such" --plugin call.so mine.yaml
    echo 'int nothing;' >nothing.c
    build nothing.c nothing.so
    refused "nothing.so: it has no symbol sparsegrad_plugin: define it as sg_compressor_plugin.h says" --plugin nothing.so mine.yaml
    variant old.so -e 's/{SG_PLUGIN_INTERFACE,/{{1, 0, 7, {0}},/'
    refused "it was compiled for version 0.7 of the library, and this program has 0.1: compile it again" --plugin old.so mine.yaml
    variant other.so -e 's/{SG_PLUGIN_INTERFACE,/{{2, SPARSEGRAD_MAJOR, SPARSEGRAD_MINOR, {0}},/'
    refused "another state of version 0.1" --plugin other.so mine.yaml
    variant taken.so -e 's/"my-topk"/"topk"/'
    refused "taken.so: there is a compressor 'topk' already: give yours another name" --plugin taken.so mine.yaml
    cp "$MINE" again.so
    refused "again.so: there is a compressor 'my-topk' already" --plugin "$MINE" --plugin again.so mine.yaml
    variant key.so -e 's/{.name = "k"/{.name = "name"/'
    refused "'my-topk' cannot have a parameter 'name', which is a key of every recipe" --plugin key.so mine.yaml
    rows '.name = "my own", .encode = encode' >blank.c
    build blank.c blank.so
    refused "'my own' is no name of a compressor" --plugin blank.so mine.yaml
    rows '.name = "idle"' >idle.c
    build idle.c idle.so -Wno-unused-function
    refused "compressor 'idle' must have exactly one of select, code and encode" --plugin idle.so mine.yaml
    rows '.name = "far", .encode = encode, .collective = "pigeons"' >far.c
    build far.c far.so
    refused "no collective 'pigeons'" --plugin far.so mine.yaml
    SPARSEGRAD_PLUGINS=$MINE:none.so refused "\$SPARSEGRAD_PLUGINS: none.so: it cannot be read: No such file or directory" mine.yaml
    for program in sparsebench "sparsetune --match-density"; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr $program --plugin none.so mine.yaml
        [[ $stderr == *"--plugin none.so: it cannot be read: No such file or directory" ]]
    done
    have_mpi || return 0
    run -2 --separate-stderr $MPI -n 3 "$BIN/sparsetrain" --plugin none.so mine.yaml 3>&- </dev/null
    [ "$(grep -c 'it cannot be read' <<<"$stderr")" = 1 ]
}

@test "a message of a plug-in that is no message stops the run with what is wrong about it" {
    local code says
    while IFS='|' read -r code says; do
        variant wrong.so -e "s/^    (void)round;/    $code\n&/"
        run -1 --separate-stderr sparsetrain -q --plugin ./wrong.so mine.yaml --method "Top-k k=4" --set steps=3
        [[ $stderr == *"worker 0, step 0"*"'my-topk'"*"$says"* ]] || { echo "$code: $stderr"; false; }
    done <<'END'
w->index[sent - 1] = 4000000000u;|positions do not ascend
w->index[1] = w->index[0];|positions do not ascend
out->count = out->n + 1;|more numbers than its vector
out->count = SIZE_MAX;|more numbers than its vector
out->index = NULL;|no positions
out->data = NULL;|no data
out->bytes = 7;|other bytes
out->bits = NAN;|its bits
out->bits = -300;|its bits
out->bits = 1e300;|its bits
w->count[0] += 1;|numbers in a layer
static struct sg_code own; own = sg_code_fp32; out->code = \&own;|its code
END
    variant silent.so -e 's/return isnan(param\[K\]) ?/return SG_ERR_IO; &/'
    refused "my-topk: it refuses, without a word why" --plugin ./silent.so mine.yaml --method "Top-k k=4"
    variant much.so -e 's/^    \.bound = bound,/&\n    .worker_doubles = much,/' \
        -e 's/^static size_t knob/static size_t much(const struct sg_layout *l) { (void)l; return SIZE_MAX; }\n&/'
    says 2 "my-topk: it asks for " " numbers" -- sparsetrain -q --plugin ./much.so mine.yaml --method "Top-k k=4"
}

@test "what a plug-in does when it is loaded reaches no result, and no exit(0) of it is a success" {
    loader() { # OBJECT CODE
        { printf '#include <fenv.h>\n#include <stdio.h>\n' && cat "$BATS_FILE_TMPDIR/mine/coder.c"
            printf '__attribute__((constructor)) static void load(void) { %s }\n' "$2"; } >load.c
        build load.c "$1" -lm
    }
    sparsetrain -q "$ROOT/recipes/smoke.yaml" --method "Top-k k=4" -o plain.ndjson
    loader turned.so 'fesetround(FE_UPWARD); puts("hello"); fflush(stdout);'
    run -0 --separate-stderr sparsetrain -q --plugin ./turned.so "$ROOT/recipes/smoke.yaml" --method "Top-k k=4"
    [[ $stderr == *"turned.so: when it was loaded it changed how floats are rounded"* ]]
    [[ $stderr == *hello* ]]
    diff <(stable - <<<"$output") <(stable plain.ndjson)
    loader left.so 'exit(0);'
    says 1 "exit(0)" -- sparsetrain -q --plugin ./left.so mine.yaml --method "Top-k k=4"
    run -1 --separate-stderr sparsebench -q --plugin ./left.so mine.yaml
}

@test "programs show a plug-in what the installed headers declare, and nothing else" {
    for program in sparsetrain sparsebench sparsetune; do
        nm -D --defined-only "$INSTALLED/usr/bin/$program" | awk '$3 ~ /^sg_/ { print $3 }' | sort >shown
        nm -D --defined-only "$INSTALLED/usr/lib/libsparsegrad.so" | awk 'NF == 3 && $2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort | diff - shown
    done
}

@test "sparsebench --verify-compressors: the template and those of the table keep what they promise" {
    run -0 --separate-stderr sparsebench --plugin "$MINE" --verify-compressors --table my-topk
    [[ ${lines[0]} == "# my-topk "*"all that applies holds"* ]]
    for property in form bits conserves class same-bits resume edges nonfinite damage; do
        grep -qE "^$property +holds +[1-9]" <<<"$output" || { echo "$property is not tried"; false; }
    done
    run -0 sparsebench --plugin "$MINE" --verify-compressors -o all.json
    [ "$(jq -c '[.schema, .status, .program.plugins[0].file, (.results | length)]' all.json)" = \
        "[\"sparsebench-verify/1\",\"ok\",\"my-topk.so\",$(sparsetrain --plugin "$MINE" --help-compressors | grep -vc '^#')]" ]
    [ "$(jq -c '[.results[] | select(.compressor == "topk").properties[] | select(.runs == 0).property]' all.json)" = '["mean"]' ]
    says 2 "unknown compressor 'my-topk'" "needs --plugin FILE" -- sparsebench --verify-compressors my-topk
    says 2 "all.json" -- sparsebench --verify-compressors topk -o all.json
}

@test "sparsebench --verify-compressors: a class that is declared without a bound is not tested, which does not hold" {
    local change
    for change in '/\.bound = bound/d' 's/return n > 0 ? .*;/return (void)param, (void)n, -1;/' \
        's/return n > 0 ? .*;/return (void)param, (void)n, (double)NAN;/'; do
        variant boundless.so -e "$change" -e 's/^static double bound/__attribute__((unused)) &/'
        run -0 --separate-stderr sparsebench --plugin ./boundless.so --verify-compressors --table my-topk
        [[ ${lines[0]} == "# my-topk "*"not all is tested"* ]]
        grep -q -E "^class +not tested +" <<<"$output"
        grep -q "^# class: .*it is relative, but" <<<"$output"
    done
    run -0 sparsebench --plugin ./boundless.so --verify-compressors my-topk --json
    [ "$(jq -c '[.results[0].properties[] | select(.untested).property]' <<<"$output")" = '["class"]' ]
}

@test "sparsebench --verify-compressors: each promise that a broken plug-in breaks is seen to be broken, and no other" {
    local name expected
    build "$BATS_TEST_DIRNAME/broken_plugin.c" broken.so
    for name in form bits conserves class mean repeat same-bits resume edges damage; do
        run -3 --separate-stderr sparsebench --plugin broken.so --verify-compressors "$name" --json
        [[ $stderr == *"a compressor breaks what it promises" ]]
        expected="[\"$name\"]"
        [ $name != same-bits ] || expected='["same-bits","resume"]' # a checkpoint cannot help it either
        [ "$(jq -c '[.results[0].properties[] | select(.failed > 0).property]' <<<"$output")" = "$expected" ] ||
            { jq -c '[.results[0].properties[] | select(.failed > 0)]' <<<"$output"; false; }
        [ "$(jq -r '.status, .results[0].passed' <<<"$output" | xargs)" = "failed false" ]
    done
    run -3 --separate-stderr sparsebench --plugin broken.so --verify-compressors --table bits topk mean form
    [[ $output == *"bits        FAILS"*"first: n=1: normal: the message states 16 bits for 1 numbers in 4 bytes of code fp32"* ]]
    [[ $output == *"it declares that it is unbiased, and sends "*" sigma off"* ]]
    variant dies.so -e 's/^    (void)round;/    abort();\n&/'
    run -3 --separate-stderr sparsebench --plugin ./dies.so --verify-compressors my-topk topk --json
    [ "$(jq -c '[.results[] | [.passed, .ended]]' <<<"$output")" = '[[false,"killed by signal 6 (Aborted)"],[true,null]]' ]
}

@test "ten lines of Python send and compute what topk does, bit for bit, on any threads and ranks, and keep their promises" {
    need_numpy
    export SPARSEGRAD_PYTHON=$PYTHON
    cp "$INSTALLED/usr/share/sparsegrad/examples/largest.py" .
    [ "$(grep -c . largest.py)" -le 10 ]
    sed 's/compressor: topk/compressor: my-largest/' "$ROOT/recipes/smoke.yaml" >python.yaml
    sparsetrain -q "$ROOT/recipes/smoke.yaml" --method "Top-k k=4" -o topk.ndjson
    same_for_threads_and_ranks python.ndjson "2" --plugin largest.py python.yaml --method "Top-k k=4"
    diff <(stable python.ndjson | tail -n +2) <(stable topk.ndjson | tail -n +2)
    [ "$(jq -r .program.plugins[0].sha256 <(head -n 1 python.ndjson))" = "$(sha256sum largest.py | cut -d' ' -f1)" ]
    run -0 sparsebench --plugin largest.py --verify-compressors my-largest --json
    [ "$(jq -c '.results[0] | [.passed, ([.properties[] | select(.failed > 0)] | length)]' <<<"$output")" = '[true,0]' ]
}

@test "a selector in Python is given its gradient and keeps state, and what it raises is printed" {
    need_numpy
    export SPARSEGRAD_PYTHON=$PYTHON
    cat >above.py <<'PY'
"""What exceeds the mean magnitude of all gradients so far."""
import numpy as np

parameters = {"factor": (0.0, 100.0, 2.0)}


def select(p, g, factor, state):
    state[:2] += np.abs(g).sum(dtype="f8"), len(g)
    return np.flatnonzero(np.abs(p) >= factor * state[0] / state[1])
PY
    run -0 sparsebench --plugin above.py --verify-compressors above --json
    [ "$(jq .results[0].passed <<<"$output")" = true ]
    sed 's/    return/    if state[1] > 60 * len(g):\n        raise ValueError("enough")\n&/' above.py >stops.py
    sed -e '/^claims:/,$d' -e '/name: Top-k/d; /name: Hard/d' "$ROOT/recipes/smoke.yaml" >stops.yaml
    echo '  - {name: Mine, compressor: stops}' >>stops.yaml
    run -1 --separate-stderr sparsetrain -q --plugin stops.py stops.yaml --method Mine -o s.ndjson
    [[ $stderr == *"ValueError: enough"*"'stops' failed, for the reason that it printed"* ]]
}

@test "a compressor in Python is searched at equal bytes, drawn in a tournament, reused, and resumed with its state" {
    need_numpy
    export SPARSEGRAD_PYTHON=$PYTHON
    cp "$INSTALLED/usr/share/sparsegrad/examples/largest.py" .
    printf '%s\n' 'import numpy as np' 'parameters = {"factor": (0.0, 100.0, 2.0)}' 'def select(p, g, factor, state):' \
        '    state[:2] += np.abs(g).sum(dtype="f8"), len(g)' '    return np.flatnonzero(np.abs(p) >= factor * state[0] / state[1])' >above.py
    export SPARSEGRAD_PLUGINS=largest.py:above.py
    sed -e '/^claims:/,$d' -e '/^methods:/,$d' -e 's/series: .*/series: [relative-suboptimality, bytes-sent]}/' \
        -e 's/^seeds: .*/seeds: [1]/' "$ROOT/recipes/smoke.yaml" >field.yaml
    cat >>field.yaml <<'YAML'
methods:
  - {name: SGD, compressor: none, baseline: true}
  - {name: Top-k, compressor: topk, k: 3}
  - {name: Mine, compressor: my-largest, k: 1}
  - {name: Above, compressor: above, factor: 2}
YAML
    # Ties go to the lower index in both, so the search must find Top-k's own k, and what both send is the same.
    sparsetune -q field.yaml --match-bytes=of:Top-k --method Mine --folder cells -o evidence.json >matched.yaml
    grep -q 'compressor: my-largest, k: 3}' matched.yaml
    [ "$(jq -c '[.tune.methods[0].targets[] | .of, .difference]' evidence.json)" = '["Top-k",0]' ]
    sparsebench -q matched.yaml --folder cells -o matched.json
    [ "$(jq -c '[.results[] | select(.method == "Mine" or .method == "Top-k") | .cells[0].reused]' matched.json)" = '[true,true]' ]
    [ "$(jq '[.results[1,2].final.relative_suboptimality.mean] | .[0] == .[1]' matched.json)" = true ]
    # A tournament: trials of a range, the best of which runs at a fresh seed.
    sed -e 's/my-largest, k: 1/my-largest, k: log 1..8/' -e '/Above/d' field.yaml >drawn.yaml
    echo 'tune: {trials: 2, by: relative-suboptimality, at: {tail-median: 0.5}}' >>drawn.yaml
    sparsebench -q drawn.yaml --folder cells -o drawn.json
    jq -e '.results[] | select(.method == "Mine") | .tuned.winner.value == ([.cells[] | select(.fresh).value][0])' drawn.json
    sparsebench -q drawn.yaml --folder cells -o again.json
    [ "$(jq '[.results[].cells[].reused] | all' again.json)" = true ]
    # A run that is killed goes on to the same bytes: state is in the checkpoint.
    same_after_kill 5 field.yaml --method Above
}

@test "a file of Python that is wrong is refused in its own words" {
    need_numpy
    export SPARSEGRAD_PYTHON=$PYTHON
    echo 'def compress(p, colour): return p' >mine.py
    refused "its function asks for colour" --plugin mine.py mine.yaml
    echo 'def compress(p' >mine.py
    refused "SyntaxError" --plugin mine.py mine.yaml
    echo 'import no_such_module' >mine.py
    refused "No module named 'no_such_module'" --plugin mine.py mine.yaml
    SPARSEGRAD_PYTHON=/no/python refused "needs python3" --plugin mine.py mine.yaml
}
