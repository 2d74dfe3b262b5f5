#!/usr/bin/env bats
# The scripts of --completion, in bash.
load common

PROGRAMS="sparsetrain sparsebench sparsetune sparseplot-export"

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    mkdir -p recipes "a folder"
    touch recipe.yaml result.json "two words.yaml"
}

# What bash offers for the last of these words, one a line.
offers() { # PROGRAM WORD...
    bash -c '
        . <("$1" --completion=bash)
        compopt() { :; }
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        COMP_WORDS[0]=$1
        set -- "$1"
        "_${1//-/_}" "$1"
        printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}

# The names of the options in --help.
options() { # PROGRAM
    "$1" --help | sed '/^Help:/q' | grep -o '^  \(-.,\|   \) --[a-z-]*' | grep -o -- '--[a-z-]*'
}

@test "bash is offered options, choices, files and folders" {
    [ "$(offers sparsebench --col)" = "--color=" ]
    [ "$(offers sparsebench --color = a | tr '\n' ' ')" = "auto always " ]
    [ "$(offers sparsebench --color ne)" = "never" ]
    [ "$(offers sparsebench -o re | sort | tr '\n' ' ')" = "recipe.yaml recipes result.json " ]
    [ "$(offers sparsebench --folder = "a " )" = "a folder" ]
    [ "$(offers sparsebench re | sort -u | tr '\n' ' ')" = "recipe.yaml recipes result.json " ]
    [ "$(offers sparsetrain re | sort -u | tr '\n' ' ')" = "recipe.yaml recipes " ]
    [ "$(offers sparsebench tw)" = "two words.yaml" ]
    [ "$(offers sparseplot-export res)" = "result.json" ]
    [ -z "$(offers sparsebench --points 1)" ]
    [ "$(offers sparsebench --no | sort | tr "\n" " ")" = "--no-judge --no-memory-check " ]
}

@test "every option of --help is in the script, and no test hook" {
    for program in $PROGRAMS; do
        "$program" --completion=bash >script
        for option in $(options "$program"); do
            [ "$option" = --completion ] || grep -q -e "--\(no-\)\?${option#--}[=' ]" script || { echo "$program: $option"; false; }
        done
        run ! grep -e fake-clock -e corrupt script
    done
}

@test "the manual of recipes has the text of --help-recipe" {
    make -s -C "$ROOT" install DESTDIR="$PWD/root" PREFIX=/usr >log 2>&1 || { cat log; false; }
    [ "$(sed -n '/^\.nf/,$p' root/usr/share/man/man5/sparse-recipe.5 | sed -e 1d -e 's/\\-/-/g' -e 's/\\e/\\/g' -e 's/^\\&//')" = \
        "$(sparsetrain --help-recipe)" ]
    [ -s root/usr/share/bash-completion/completions/sparsetune ]
}
