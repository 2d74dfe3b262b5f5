#!/usr/bin/env bats
# The shape of the tree: dependency arrows, headers, build, installation.
# SPDX-License-Identifier: MIT
load common

# ROOM and the rooms that it may include, a line each, from the list in lib/README.md.
listed() {
    sed -n '/^\* core: /,/^$/s/^\* \([a-z]*\)\( (\([a-z ]*\))\)*: .*/\1 \3/p' "$ROOT/lib/README.md"
}

# OWNER[header]: the room whose header it is. PERMITTED[room]: the rooms that it may include, from that list.
rooms() {
    local path name you
    declare -gA OWNER PERMITTED
    while read -r path; do
        name=${path##*/}
        case $path in lib/*) path=${path#lib/} ;; esac
        OWNER[$name]=${path%%/*}
    done < <(cd "$ROOT" && find lib kernels cmd -name '*.[ch]*')
    while read -r name you; do
        PERMITTED[$name]=" $you "
    done < <(listed)
}

# All includes of the sources: a line "room file header" each.
includes() {
    (cd "$ROOT" && grep -roE '^#include "[^"]*"' lib kernels cmd --include='*.[ch]' --include='*.cu' --include='*.cuh') |
        sed -E 's/^((lib\/)?([a-z]+)[^:]*):#include "(.*)"/\3 \1 \4/'
}

@test "includes follow the arrows of lib/README.md, and never into another room's private header" {
    local bad="" room me file header you
    rooms
    for room in $(cd "$ROOT/lib" && ls -d */ | tr -d /) cmd kernels; do
        [ -n "${PERMITTED[$room]-}" ] || bad="$bad $room(not in the list)"
    done
    includes >"$BATS_TEST_TMPDIR/includes"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/includes")" -gt 1000 ]
    while read -r me file header; do
        case $header in version.h | page_files.h | plugin_server.h) continue ;; esac # the Makefile makes them
        you=${OWNER[$header]-}
        [ -n "$you" ] || { bad="$bad $file:$header(unknown)"; continue; }
        [ "$me" != "$you" ] || continue
        case $header in sg_*|sparsegrad.h) ;; *) bad="$bad $file:$header(private)" ;; esac
        [[ ${PERMITTED[$me]} == *" $you "* ]] || bad="$bad $file:$header(no such arrow)"
    done <"$BATS_TEST_TMPDIR/includes"
    [ -z "$bad" ] || { echo "$bad"; false; }
}

@test "compressors stand on public headers alone, but for two that bring a controller of lib/method" {
    cd "$ROOT/lib/method"
    [ "$(grep -l '^#include "sg_compressor_parts.h"' compress_*.c | wc -l)" -ge 9 ]
    [ "$(ls ../zoo/compress_*.c | wc -l)" -ge 20 ] # whose includes the test above checks
    [ "$(grep -lE '^#include "[a-z]*_private\.h"' compress_*.c | xargs)" = "compress_accordion.c compress_threshold.c" ]
}

@test "a condition on a pointer says p or !p" {
    cd "$ROOT"
    [ "$(grep -rE '(if|while) \(!?[][a-z0-9_.>-]+( &&|\)$)' lib --include='*.c' | wc -l)" -ge 500 ]
    run -1 --separate-stderr grep -rnE '(if|while) \(.*[][a-z0-9_.>-]+ [!=]= NULL( &&| \|\||\)( \{)?$)' cmd lib kernels
}

@test "the programs allocate by sg_memory.h alone, which ends them where memory runs out" {
    local rooms=(cmd lib/{app,base,bench,data,grid,plot,recipe,result,task,theory,train,tune,verify})
    cd "$ROOT"
    [ "$(grep -rE '\bsg_(m|c|re)alloc\(' "${rooms[@]}" --include='*.[ch]' | wc -l)" -ge 300 ]
    run -1 --separate-stderr grep -rnE '[^_[:alnum:]](([mc]|re|aligned_)alloc|strn?dup|v?asprintf|open_memstream)\(' \
        "${rooms[@]}" --include='*.[ch]' --exclude='*memory.[ch]' --exclude=text.c
}

@test "the list of rooms has no arrow that nothing uses" {
    local unused="" me you file header
    local -A used
    rooms
    while read -r me file header; do
        used[$me ${OWNER[$header]-}]=1
    done < <(includes)
    for me in "${!PERMITTED[@]}"; do
        for you in ${PERMITTED[$me]}; do
            [ -n "${used[$me $you]-}" ] || unused="$unused $me->$you"
        done
    done
    [ -z "$unused" ] || { echo "$unused"; false; }
}

@test "rooms use rooms further up in the list, so that no two use each other" {
    local above=" " me you
    while read -r me you; do
        for room in $you; do
            [[ $above == *" $room "* ]] || { echo "$me uses $room"; false; }
        done
        above="$above$me "
    done < <(listed)
    [ "$(wc -w <<<"$above")" -gt 15 ]
}

@test "file names are unique" {
    run -0 sources
    [ "${#lines[@]}" -gt 300 ]
    output=$(grep -E '^(cmd|lib|kernels|tests/unit)/' <<<"$output" | xargs -n 1 basename | grep -vxF README.md | sort | uniq -d)
    [ -z "$output" ] || { echo "$output"; false; }
}

@test "every header compiles alone, as C11 and as C++" {
    command -v g++ >/dev/null || skip "no C++ compiler"
    local flags
    flags=$(cd "$ROOT" && find lib kernels -type d | sed "s|^|-I$ROOT/|" | tr '\n' ' ')
    for header in $(sources | grep -E '^(lib/[a-z]+|kernels)/sg_.*\.h$|^lib/method/sparsegrad\.h$'); do
        # shellcheck disable=SC2086
        gcc -std=c11 -D_GNU_SOURCE -DSPARSEGRAD_UNSTABLE -Wall -Wextra -Werror -fsyntax-only -x c $flags "$ROOT/$header"
        # shellcheck disable=SC2086
        g++ -DSPARSEGRAD_UNSTABLE -Wall -Wextra -Werror -fsyntax-only -x c++ $flags "$ROOT/$header"
    done
}

@test "every source that can change a number is in one part of the program's identity" {
    make -s -C "$ROOT" identity-parts >"$BATS_TEST_TMPDIR/parts"
    cd "$ROOT" || exit 1
    # All of these folders, each in one part: a file of a folder that the Makefile does not list would be in none.
    find lib/base lib/comm lib/core lib/data lib/method lib/recipe lib/result lib/task lib/tensor lib/train lib/wire lib/zoo kernels -type f \
        ! -path 'lib/*/*/*' '(' -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' ')' | sort >"$BATS_TEST_TMPDIR/sources"
    cut -d: -f2 "$BATS_TEST_TMPDIR/parts" | sort | diff - "$BATS_TEST_TMPDIR/sources"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/sources")" -gt 150 ]
    # What one task has of its own, no other includes: else a change of it would go unnoticed there. task_data asks every
    # task's readers which data there are.
    run -0 awk -F '[:"]' '
        FILENAME == ARGV[1] { part[$2] = $1; sub(/.*\//, "", $2); owner[$2] = $1; next }
        $1 ~ /task_data/ || part[$1] == "apart" || !($3 in owner) { next }
        { seen++ }
        owner[$3] ~ /^(common|apart)$/ || owner[$3] == part[$1] { next }
        owner[$3] " " part[$1] !~ /^(torch (cnn|lm|gpt|ncf)|text (lm|gpt))$/ { print $1 "(" part[$1] "):" $3 "(" owner[$3] ")" }
        END { if (seen < 500) print "only " seen " includes" }
    ' "$BATS_TEST_TMPDIR/parts" <(xargs grep -H '^#include "' <"$BATS_TEST_TMPDIR/sources")
    [ -z "$output" ] || { echo "$output"; false; }
    # Every task that there is has an identity of its own.
    local kinds
    kinds=$(sed -n '/sg_task_kind task_kind/,/^};/s/^    {"\([a-z]*\)",.*/\1/p' lib/task/task_table.c | sort | xargs)
    [ -n "$kinds" ]
    [ "$(grep SG_BUILD_IDENTITIES build/release/version.h | grep -o '{"[a-z]*"' | tr -d '{"' | sort | xargs)" = "$kinds" ]
}

identities() { # of the tasks, of a copy of the tree
    (cd "$BATS_TEST_TMPDIR/copy" && lib/base/identity 0.1.0 /usr | tr -d '{} "' | tr ',' ' ')
}

@test "a comment, a plot or another task's source changes no task's identity, code does" {
    local copy=$BATS_TEST_TMPDIR/copy before after
    mkdir "$copy"
    (cd "$ROOT" && cp -r --parents lib kernels cmd Makefile recipes tests/tests.mk results/SHA256SUMS "$copy")
    unset MAKEFLAGS MAKELEVEL MODE
    before=$(identities)
    [ "$(wc -w <<<"$before")" = 12 ]
    sed -i '1i /* A comment, with "quotes" and a // in it. */' "$copy/lib/train/train_step.c" "$copy/lib/core/rng.c"
    echo '// the end' >>"$copy/lib/tensor/sg_tensor.cpp"
    sed -i 's/^    /        /; s/ \* / *\n        /' "$copy/lib/core/stats.c" # another layout
    ! cmp -s "$copy/lib/core/stats.c" "$ROOT/lib/core/stats.c"
    echo 'int more_of_a_plot;' >>"$copy/lib/plot/plot_axis.c"
    echo 'int more_of_a_grid;' >>"$copy/lib/grid/grid_run.c"
    echo 'int more_of_a_reference;' >>"$copy/lib/recipe/recipe_reference.c"
    [ "$(identities)" = "$before" ]
    echo 'int more_of_a_reader;' >>"$copy/lib/data/token_text.c" # of two tasks
    after=$(identities)
    [ "$(diff <(xargs -n 2 <<<"$before") <(xargs -n 2 <<<"$after") | grep '^>' | cut -d' ' -f2 | xargs)" = 'gpt lm' ]
    sed -i 's/^\( *\)return /\1return 0 + /' "$copy/lib/core/rng.c" # of all
    ! cmp -s "$copy/lib/core/rng.c" "$ROOT/lib/core/rng.c"
    [ "$(diff <(xargs -n 2 <<<"$after") <(identities | xargs -n 2) | grep -c '^>')" = 6 ]
    before=$(identities)
    echo 'int sg_new_file;' >"$copy/lib/train/train_new.c" # common until it is named elsewhere
    [ "$(diff <(xargs -n 2 <<<"$before") <(identities | xargs -n 2) | grep -c '^>')" = 6 ]
    before=$(identities)
    sed -i 's/"\([a-z]\)/"\1x/' "$copy/lib/wire/wire_raw.c" # quoted text is code
    ! cmp -s "$copy/lib/wire/wire_raw.c" "$ROOT/lib/wire/wire_raw.c"
    [ "$(diff <(xargs -n 2 <<<"$before") <(identities | xargs -n 2) | grep -c '^>')" = 6 ]
    # Programs have them, whatever compiles these.
    make -s -C "$copy" WITH_CUDA=0 WITH_TORCH=0 CC=clang build/release/version.h
    [ "$(sed -n 's/#define SG_BUILD_IDENTITIES //p' "$copy/build/release/version.h")" = "$(cd "$copy" && lib/base/identity 0.1.0)" ]
}

@test "the core library needs libc, libm and OpenMP only, and neither prints nor exits" {
    local library
    make -s -C "$ROOT" install PREFIX=/usr DESTDIR="$BATS_TEST_TMPDIR/root" >/dev/null
    library=$(realpath "$BATS_TEST_TMPDIR/root/usr/lib/libsparsegrad.so")
    run -0 ldd "$library"
    [[ $output != *cjson* && $output != *yaml* && $output != *mpi* ]]
    run -0 nm -u "$ROOT/build/release/libsparsegrad.a"
    for symbol in printf puts exit abort fopen; do
        [[ ! $output =~ U\ "$symbol"$'\n' ]]
    done
}

@test "the programs do not link libtorch" {
    for program in sparsetrain sparsebench sparsetune sparseplot-export; do
        run -0 ldd "$BIN/$program"
        [[ $output != *torch* ]]
    done
}

@test "a second make does nothing, nor does one for a part of what is built" {
    make -s -C "$ROOT" all
    run -0 make --no-print-directory -C "$ROOT" all
    [[ $output == *"built build/bin"* && $output != *"  CC "* && $output != *"  LD "* ]]
    # Flags of these objects alone are none of the flags that all objects depend on.
    for part in libsparsegrad.a libengine.a; do
        run -0 make --no-print-directory -C "$ROOT" "build/release/$part"
        [ -z "$(grep -v 'is up to date' <<<"$output")" ]
    done
}

@test "the list of source files is the same without git" {
    [ -e "$ROOT/.git" ] && command -v git >/dev/null || skip "this is no git checkout"
    local copy=$BATS_TEST_TMPDIR/copy
    mkdir -p "$copy/build" "$copy/results/local"
    sources >"$BATS_TEST_TMPDIR/list"
    tar -cf - -C "$ROOT" -T "$BATS_TEST_TMPDIR/list" | tar -xf - -C "$copy"
    touch "$copy/build/made" "$copy/results/local/made.json" "$copy/half.tmp"
    diff <(sort "$BATS_TEST_TMPDIR/list") <(ROOT=$copy sources | sort)
}

@test "make help begins with few targets, ALL=1 lists every figure by its title, and both fit 80 columns" {
    local names
    cd "$ROOT"
    run -0 make --no-print-directory help
    [ "${#lines[@]}" -le 25 ]
    [ -z "$(grep -E '.{81}' <<<"$output")" ]
    [[ $output == *"  fig1 "*"  check "*"  install "* ]]
    run -0 make --no-print-directory help ALL=1
    [ -z "$(grep -E '.{81}' <<<"$output")" ]
    [[ $output == *" $(sed -n 's/^title: "\(.\{20\}\).*/\1/p' recipes/fig2a.yaml)"* ]]
    names=$(ls recipes/*.yaml recipes/mini/*.yaml recipes/night/*.yaml | sed 's|^recipes/||; s|/|-|; s|\.yaml$||')
    # shellcheck disable=SC2086
    make -n DEPS=skip BIN=/elsewhere $names >"$BATS_TEST_TMPDIR/commands"
    for name in $names; do
        grep -q "^  $name " <<<"$output" || { echo "$name is not listed"; false; }
        grep -qF "sh recipes/run $name /elsewhere " "$BATS_TEST_TMPDIR/commands" || { echo "$name is no target"; false; }
    done
}

@test "the makefiles keep to 120 columns and 450 lines" {
    cd "$ROOT"
    [ "$(cat Makefile recipes/figures.mk tests/tests.mk | grep -vc SPDX)" -le 450 ]
    [ -z "$(awk 'length > 120 { print FILENAME ": " FNR }' Makefile recipes/figures.mk tests/tests.mk)" ]
}

@test "a failing unit test fails the runner, and runs first the next time" {
    local tree=$BATS_TEST_TMPDIR/tree
    mkdir -p "$tree/tests" "$tree/build/release/tests"
    cp "$ROOT/tests/run" "$tree/tests/run"
    printf '#!/bin/sh\necho "not ok 1 - on purpose"\necho 1..1\nexit 1\n' >"$tree/build/release/tests/test_bad"
    printf '#!/bin/sh\necho "ok 1 - then a crash"\nkill -SEGV $$\n' >"$tree/build/release/tests/test_crash"
    printf '#!/bin/sh\necho "ok 1 - fine"\necho "ok 2 # SKIP nothing to do"\necho 1..2\n' >"$tree/build/release/tests/test_a_good_one"
    chmod +x "$tree"/build/release/tests/*
    run -1 env JOBS=1 sh "$tree/tests/run" quick
    [[ ${lines[0]} == unit-test_a_good_one* ]]
    [ "${lines[-1]}" = "2 passed, 2 failed, 1 skipped" ]
    run -1 env JOBS=1 sh "$tree/tests/run" quick
    [[ ${lines[0]} == "unit-test_bad "* ]]
    [[ ${lines[-2]} == "failed: unit-test_bad unit-test_crash "* ]]
    rm "$tree"/build/release/tests/test_[bc]*
    run -0 sh "$tree/tests/run" quick
    [ "${lines[-1]}" = "1 passed, 0 failed, 1 skipped" ]
}

@test "a user's program compiles against the installed library" {
    local root=$BATS_TEST_TMPDIR/root
    make -s -C "$ROOT" install PREFIX=/usr DESTDIR="$root" >/dev/null
    cat >"$BATS_TEST_TMPDIR/user.c" <<'C'
#define SPARSEGRAD_UNSTABLE
#include <math.h>
#include <sg_wire.h>
#include <sparsegrad.h>
#include <stdio.h>

int main(void) {
    const float g[6] = {1, -5, 2, 4, -3, 0};
    float e[6] = {0};
    const size_t offset[2] = {0, 6};
    const double param[] = {2, NAN};
    struct sg_error err;
    struct sg_message m;
    sg_method *method;
    struct sg_method_config config = {.size = sizeof config, .compressor = sg_compressor_find("topk"), .param = param, .layout = {1, offset},
                                      .feedback = {&sg_feedback_gradient, 1}, .count = 1, .exec = {.threads = 1}};
    if (sg_method_open(&method, &config, &err) != SG_OK)
        return puts(err.msg), 1;
    sg_method_begin(method, 0, 1, NULL);
    if (sg_method_send(method, 0, 0, g, e, NULL, &m, &err) != SG_OK)
        return puts(err.msg), 1;
    for (size_t i = 0; i < m.count; i++)
        printf("%u:%g ", m.index[i], ((const float *)m.data)[i]);
    struct sg_wire_plan plan;
    uint16_t half[2];
    double bits;
    struct sg_message halves = m;
    sg_code_fp16.encode(half, &(struct sg_numbers){.value = m.data, .count = m.count}, &bits);
    halves.code = &sg_code_fp16;
    halves.data = half;
    halves.bytes = sizeof half;
    if (sg_wire_plan(&plan, NULL, &halves, &err) != SG_OK)
        return puts(err.msg), 1;
    printf("kept %g, %zu bytes as %s\n", e[4], plan.bytes, plan.encoding->name);
    sg_method_close(method);
}
C
    export PKG_CONFIG_PATH=$root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
    for extra in "" "-static"; do
        # shellcheck disable=SC2046
        gcc -std=c11 $extra -o "$BATS_TEST_TMPDIR/user" "$BATS_TEST_TMPDIR/user.c" $(pkg-config ${extra:+-$extra} --cflags --libs sparsegrad)
        LD_LIBRARY_PATH=$root/usr/lib run -0 "$BATS_TEST_TMPDIR/user"
        [ "$output" = "1:-5 3:4 kept -3, 11 bytes as bitmap" ]
    done
    [ -x "$root/usr/bin/sparsetrain" ]
    [ -f "$root/usr/share/man/man1/sparsetrain.1" ]
    [ -f "$root/usr/share/sparsegrad/recipes/fig1.yaml" ]
}

@test "the installed libraries define the names of their headers and no other" {
    local lib=$BATS_TEST_TMPDIR/root/usr/lib
    make -s -C "$ROOT" install PREFIX=/usr DESTDIR="$BATS_TEST_TMPDIR/root" >/dev/null
    # Without the name of the version itself, and of each symbol without its version.
    nm -D --defined-only "$lib/libsparsegrad.so" | awk 'NF == 3 && $2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$BATS_TEST_TMPDIR/shared"
    nm -g --defined-only "$lib/libsparsegrad.a" | awk 'NF == 3 { print $3 }' | sort >"$BATS_TEST_TMPDIR/static"
    diff "$BATS_TEST_TMPDIR/shared" "$BATS_TEST_TMPDIR/static"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/shared")" -gt 60 ]
    while read -r symbol; do
        [[ $symbol == sg_* ]] || { echo "$symbol is not of the library's prefix"; false; }
        grep -qw "$symbol" "$lib"/../include/sparsegrad/*.h || { echo "$symbol is in no header"; false; }
    done <"$BATS_TEST_TMPDIR/shared"
}

@test "man pages list exactly the options of --help" {
    local page
    for program in sparsetrain sparsebench sparsetune sparseplot-export; do
        page=$BATS_TEST_TMPDIR/$program.1
        "$BIN/$program" --help | awk -v version=0 -f "$ROOT/cmd/man.awk" - "$ROOT/cmd/$program.man" >"$page"
        sed -n '/^\.SH OPTIONS/,/^\.SH EXIT/p' "$page" | sed 's/\\-/-/g' | sed -nE '/^\.T[PQ]/{n;s/^\.BI? "?(-[a-zA-Z], )?(--[a-z-]+).*/\2/p}' |
            sort | diff - <("$BIN/$program" --help | sed -nE '/^Examples:/q;s/^(  -[a-z], |      )(--[a-z-]+).*/\2/p' | sort)
        for section in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' EXAMPLES 'SEE ALSO'; do
            [ "$(grep -c "^\.SH $section$" "$page")" = 1 ] || { echo "$program: $section"; false; }
        done
    done
    sed 's/^\.OP --seed.*/.OP --sead/; s/^\.OP --set$/.OP --sead/' "$ROOT/cmd/sparsetrain.man" >"$BATS_TEST_TMPDIR/sead.man"
    run -1 awk -v version=0 -f "$ROOT/cmd/man.awk" <("$BIN/sparsetrain" --help) "$BATS_TEST_TMPDIR/sead.man"
    [[ $output == *"--help has no --sead"* ]]
}

@test "every source that is written by hand has its licence in a line behind its opening comment" {
    cd "$ROOT"
    sources | grep -vE '^(tests/fuzz/corpus/|tests/golden/.*_golden\.h$)' >"$BATS_TEST_TMPDIR/files"
    { grep -E '(\.(c|h|cpp|cu|cuh|css|js|py|bash|bats|awk|mk|sbatch|pbs|def|yml)|^Makefile)$' "$BATS_TEST_TMPDIR/files"
        xargs -d '\n' grep -lIm 1 '^#!' <"$BATS_TEST_TMPDIR/files"; } | sort -u >"$BATS_TEST_TMPDIR/sources"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/sources")" -ge 900 ]
    run -0 xargs -d '\n' -a "$BATS_TEST_TMPDIR/sources" grep -LE '^(/\*|//|#) SPDX-License-Identifier: MIT( \*/)?$'
    [ -z "$output" ] || { echo "$output"; false; }
}

@test "no paths of one machine in the tree" {
    run -1 bash -c "cd '$ROOT' && grep -nIE '/root/|/home/[a-z]' $(sources | grep -vx tests/cli/tree.bats | tr '\n' ' ')"
    [ -z "$output" ]
}

@test "no line of a source is wider than 120 columns" {
    (cd "$ROOT" && sources | grep -E '\.(c|h|cpp|cu|cuh)$' | grep -v '^tests/golden/' >"$BATS_TEST_TMPDIR/files")
    [ "$(wc -l <"$BATS_TEST_TMPDIR/files")" -gt 400 ]
    cd "$ROOT" && LC_ALL=C.UTF-8 run -123 xargs -d '\n' -a "$BATS_TEST_TMPDIR/files" grep -HnE '^.{121}'
    [ -z "$output" ]
}
