#!/usr/bin/env bats
# The scripts of --completion, in bash, zsh and fish.
# SPDX-License-Identifier: MIT
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

@test "fish is offered options with what they do, choices, files and folders" {
    command -v fish >/dev/null || skip "no fish: apt-get install fish"
    export XDG_CONFIG_HOME=$PWD XDG_DATA_HOME=$PWD XDG_CACHE_HOME=$PWD
    fish_offers() { # PROGRAM LINE
        "$1" --completion=fish >"$1.fish"
        fish -c "source $1.fish; complete -C '$1 $2'" | cut -f1 | sort | tr '\n' ' '
    }
    [ "$(fish_offers sparsebench --col)" = "--color " ]
    fish -c "source sparsebench.fish; complete -C 'sparsebench --col'" | grep -q $'\tcolour'
    [ "$(fish_offers sparsebench --color=a)" = "--color=always --color=auto " ]
    [ "$(fish_offers sparsebench '-o re')" = "recipe.yaml recipes/ result.json " ]
    [ "$(fish_offers sparsebench '--folder a')" = "a folder/ " ]
    [ "$(fish_offers sparsebench --no)" = "--no-judge --no-memory-check " ]
    [[ "$(fish_offers sparsetrain reci)" = "recipe.yaml recipes/ " ]]
    [ -z "$(fish_offers sparsebench '--points 1')" ]
}

@test "zsh shows options with what they do, and choices" {
    command -v zsh >/dev/null || skip "no zsh: apt-get install zsh"
    for program in $PROGRAMS; do
        "$program" --completion=zsh >"_$program"
        zsh -n "_$program"
    done
    cat >ask.zsh <<'ZSH'
zmodload zsh/zpty
zpty shell 'COLUMNS=200 zsh -f -i'
zpty -w shell 'PS1="as""k: "; autoload -U compinit; compinit -u -D; . ./_sparsebench; bindkey "^I" list-choices'
zpty -r shell text '*ask: *'
zpty -n -w shell "$1"$'\t'
zpty -r shell text "*$2*"
ZSH
    timeout 60 zsh -f ask.zsh "sparsebench --col" "colour verdicts"
    timeout 60 zsh -f ask.zsh "sparsebench --color=" "always*never"
    timeout 60 zsh -f ask.zsh "sparsebench --help-recipe=" "json-schema"
    timeout 60 zsh -f ask.zsh "sparsebench re" "result.json"
}

@test "every option of --help is in the scripts, and no test hook" {
    for program in $PROGRAMS; do
        for shell in bash zsh fish; do
            "$program" --completion=$shell >script
            [ $shell != fish ] || sed -i 's/ -l / --/' script
            for option in $(options "$program"); do
                [ "$option" = --completion ] || grep -q -e "--\(no-\)\?${option#--}[]=' \$}[]" script || { echo "$program: $shell: $option"; false; }
            done
            run ! grep -e fake-clock -e corrupt script
        done
    done
}

@test "the manual of recipes has the text of --help-recipe" {
    make -s -C "$ROOT" install DESTDIR="$PWD/root" PREFIX=/usr >log 2>&1 || { cat log; false; }
    [ "$(sed -n '/^\.nf/,$p' root/usr/share/man/man5/sparse-recipe.5 | sed -e 1d -e 's/\\-/-/g' -e 's/\\e/\\/g' -e 's/^\\&//')" = \
        "$(sparsetrain --help-recipe)" ]
    (cd root/usr/share && [ -s bash-completion/completions/sparsetune ] && [ -s zsh/site-functions/_sparsetune ] && [ -s fish/vendor_completions.d/sparsetune.fish ])
    [ "$(sed -n 's/^# yaml-language-server: $schema=//p' root/usr/share/sparsegrad/recipes/mini/fig2a.yaml)" = ../recipe.schema.json ]
    [ -s root/usr/share/sparsegrad/recipes/recipe.schema.json ]
}
