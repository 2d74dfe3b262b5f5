#!/usr/bin/env bats
# The shape of the tree: dependency arrows, headers, build, installation.
load common

level() {
    case $1 in
    kernels) echo 0 ;;
    core) echo 1 ;;
    wire | tensor) echo 2 ;;
    method | result | comm | net | data | recipe | task) echo 3 ;;
    app | train | grid | plot | bench) echo 4 ;;
    tune) echo 5 ;;
    *) echo 99 ;;
    esac
}

owner() { # of a header: its module
    local path
    path=$(cd "$ROOT" && find lib kernels -name "$1" | head -n 1)
    [ -n "$path" ] || return 0
    case $path in kernels/*) echo kernels ;; *) echo "$path" | cut -d/ -f2 ;; esac
}

@test "includes point down, and never into another module's private header" {
    local bad=""
    for file in $(cd "$ROOT" && git ls-files 'lib/*/*.[ch]' 'lib/*/*.cu' 'kernels/*.[ch]' 'kernels/*/*.[ch]' 'kernels/*/*.cu*' 'cmd/*.c'); do
        case $file in
        kernels/*) me=kernels ;;
        cmd/*) me=cmd ;;
        *) me=$(echo "$file" | cut -d/ -f2) ;;
        esac
        for header in $(sed -n 's/^#include "\(.*\)"/\1/p' "$ROOT/$file"); do
            [ "$header" != version.h ] || continue
            you=$(owner "$header")
            [ -n "$you" ] || { bad="$bad $file:$header(unknown)"; continue; }
            [ "$me" = "$you" ] && continue
            case $header in sg_*|sparsegrad.h) ;; *) bad="$bad $file:$header(private)" ;; esac
            [ "$me" = cmd ] || [ "$(level "$me")" -ge "$(level "$you")" ] || bad="$bad $file:$header(up)"
        done
    done
    [ -z "$bad" ] || { echo "$bad"; false; }
}

@test "file names are unique" {
    run -0 bash -c "cd '$ROOT' && git ls-files cmd lib kernels tests/unit | xargs -n 1 basename | sort | uniq -d"
    [ -z "$output" ]
}

@test "every header compiles alone, as C11 and as C++" {
    command -v g++ >/dev/null || skip "no C++ compiler"
    local flags
    flags=$(cd "$ROOT" && find lib kernels -type d | sed "s|^|-I$ROOT/|" | tr '\n' ' ')
    for header in $(cd "$ROOT" && git ls-files 'lib/*/sg_*.h' 'lib/method/sparsegrad.h' 'kernels/sg_*.h'); do
        # shellcheck disable=SC2086
        gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -x c $flags "$ROOT/$header"
        # shellcheck disable=SC2086
        g++ -Wall -Wextra -Werror -fsyntax-only -x c++ $flags "$ROOT/$header"
    done
}

@test "the core library needs libc, libm and OpenMP only, and neither prints nor exits" {
    make -s -C "$ROOT" build/release/libsparsegrad.so.0
    run -0 ldd "$ROOT/build/release/libsparsegrad.so.0"
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

@test "a second make does nothing" {
    make -s -C "$ROOT" all
    run -0 make --no-print-directory -C "$ROOT" all
    [[ $output == *"built build/bin"* && $output != *"  CC "* && $output != *"  LD "* ]]
}

@test "a failing unit test fails the runner" {
    local tree=$BATS_TEST_TMPDIR/tree
    mkdir -p "$tree/tests" "$tree/build/release/tests"
    cp "$ROOT/tests/run" "$tree/tests/run"
    printf '#!/bin/sh\necho "not ok 1 - on purpose"\necho 1..1\nexit 1\n' >"$tree/build/release/tests/test_bad"
    printf '#!/bin/sh\necho "ok 1 - then a crash"\nkill -SEGV $$\n' >"$tree/build/release/tests/test_crash"
    chmod +x "$tree"/build/release/tests/*
    run -1 sh "$tree/tests/run" quick
    [ "${lines[-1]}" = "1 passed, 2 failed, 0 skipped" ]
}

@test "a user's program compiles against the installed library" {
    local root=$BATS_TEST_TMPDIR/root
    make -s -C "$ROOT" install PREFIX=/usr DESTDIR="$root" >/dev/null
    cat >"$BATS_TEST_TMPDIR/user.c" <<'C'
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
    struct sg_method_config config = {.compressor = sg_compressor_find("topk"), .param = param, .layout = {1, offset, NULL},
                                      .feedback = {SG_FEEDBACK_GRADIENT, 1}, .count = 1, .exec = {.threads = 1}};
    if (sg_method_open(&method, &config, &err) != SG_OK)
        return puts(err.msg), 1;
    sg_method_begin(method, 0, 1, NULL);
    if (sg_method_send(method, 0, g, e, NULL, &m, &err) != SG_OK)
        return puts(err.msg), 1;
    for (size_t i = 0; i < m.count; i++)
        printf("%u:%g ", m.index[i], ((const float *)m.data)[i]);
    struct sg_wire_plan plan;
    uint16_t half[2];
    struct sg_message halves = m;
    sg_code_fp16.encode(half, m.data, m.count);
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
        gcc -std=c11 $extra -o "$BATS_TEST_TMPDIR/user" "$BATS_TEST_TMPDIR/user.c" $(pkg-config --cflags --libs sparsegrad)
        LD_LIBRARY_PATH=$root/usr/lib run -0 "$BATS_TEST_TMPDIR/user"
        [ "$output" = "1:-5 3:4 kept -3, 11 bytes as bitmap" ]
    done
    [ -x "$root/usr/bin/sparsetrain" ]
    [ -f "$root/usr/share/man/man1/sparsetrain.1" ]
    [ -f "$root/usr/share/sparsegrad/recipes/fig1.yaml" ]
}

@test "man pages list exactly the options of --help" {
    for program in sparsetrain sparsebench sparsetune sparseplot-export; do
        options=$("$BIN/$program" --help | sed -nE 's/^ +(-[a-z], )?(--[a-z-]+).*/\2/p' | sort -u)
        for option in $options; do
            # roff may write a dash as \-
            sed 's/\\-/-/g' "$ROOT/cmd/$program.1" | grep -q -- "$option" || { echo "$program.1 lacks $option"; false; }
        done
    done
}

@test "no paths of one machine in the tree" {
    run bash -c "cd '$ROOT' && git grep -nIE '/root/|/home/[a-z]' -- . ':!tests/cli/tree.bats'"
    [ -z "$output" ]
}
