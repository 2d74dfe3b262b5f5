/* completion.c: the scripts that let bash, zsh and fish complete a program's command line, written from its option
 * table. */
/* SPDX-License-Identifier: MIT */
#include "app_private.h"

#include <ctype.h>
#include <string.h>

enum value { NOTHING, WORDS, FILES, FOLDERS, ANYTHING };

/* What follows an option, which is nothing where it needs no value. */
static enum value value_of(const struct sg_option *o) {
    if (o->type == SG_OPTION_FLAG || o->bare)
        return NOTHING;
    if (o->choices)
        return WORDS;
    if (o->value && (strcmp(o->value, "FILE") == 0 || strcmp(o->value, "RECORDING") == 0))
        return FILES;
    return o->value && strcmp(o->value, "DIR") == 0 ? FOLDERS : ANYTHING;
}

/* What is before the name: a flag that is on is offered as --no-name. */
static const char *prefix(const struct sg_option *o) {
    return o->type == SG_OPTION_FLAG && *(bool *)o->target ? "no-" : "";
}

/* The next option that --help shows, from *i on; NULL past the end. */
static const struct sg_option *next(const struct sg_program *p, size_t *i) {
    const struct sg_option *o;
    while ((o = app_option_at(p, (*i)++)) != NULL)
        if (o->type != SG_OPTION_GROUP && !o->hidden)
            return o;
    return NULL;
}

/* sparseplot-export as the name of a shell's function. */
static void print_function(const struct sg_program *p) {
    putchar('_');
    for (const char *c = p->name; *c; c++)
        putchar(isalnum((unsigned char)*c) ? *c : '_');
}

/* "a|b|c" with blanks in between. */
static void print_choices(const char *choices) {
    for (; *choices; choices++)
        putchar(*choices == '|' ? ' ' : *choices);
}

/* What an option does, with a backslash before each of these characters and before backslashes. */
static void print_help_of(const struct sg_program *p, const struct sg_option *o, const char *special) {
    for (const char *c = o->help ? o->help : p->verbose; *c; c++) {
        if (*c == '\\' || strchr(special, *c))
            putchar('\\');
        putchar(*c);
    }
}

/* ---- bash ---- */

static void print_case(const struct sg_option *o) {
    printf("    --%s", o->name);
    if (o->letter)
        printf("|-%c", o->letter);
    fputs(") ", stdout);
    switch (value_of(o)) {
    case WORDS:
        fputs("mapfile -t COMPREPLY < <(compgen -W '", stdout);
        print_choices(o->choices);
        fputs("' -- \"$word\"); ", stdout);
        break;
    case FILES:
        fputs("mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); compopt -o filenames; ", stdout);
        break;
    case FOLDERS:
        fputs("mapfile -t COMPREPLY < <(compgen -d -- \"$word\"); compopt -o filenames; ", stdout);
        break;
    case NOTHING:
    case ANYTHING:
        break;
    }
    puts("return ;;");
}

static void print_bash(const struct sg_program *p) {
    const struct sg_option *o;
    print_function(p);
    puts("() {\n"
         "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "    # bash takes --name=value apart into three words.\n"
         "    if [ \"$word\" = = ]; then\n"
         "        word=\n"
         "    elif [ \"$before\" = = ]; then\n"
         "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
         "    fi\n"
         "    COMPREPLY=()\n"
         "    case $before in");
    for (size_t i = 0; (o = next(p, &i)) != NULL;)
        if (value_of(o) != NOTHING)
            print_case(o);
    fputs("    esac\n"
          "    if [[ $word = -* ]]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W '--help --version",
          stdout);
    for (size_t i = 0; (o = next(p, &i)) != NULL;)
        printf(" --%s%s%s", prefix(o), o->name, value_of(o) == NOTHING ? "" : "=");
    printf("' -- \"$word\")\n"
           "        if [[ ${COMPREPLY[0]-} = *= ]]; then compopt -o nospace; fi\n"
           "    else\n"
           "        mapfile -t COMPREPLY < <(compgen -d -- \"$word\"; compgen -f -X '!*.@(%s)' -- \"$word\")\n"
           "        compopt -o filenames\n"
           "    fi\n"
           "}\n"
           "shopt -s extglob\n"
           "complete -F ",
           p->operand);
    print_function(p);
    printf(" %s\n", p->name);
}

/* ---- zsh ---- */

/* '(-o --output)'{-o+,--output=}$'[what it does]:FILE:_files' of _arguments. */
static void print_zsh_option(const struct sg_program *p, const struct sg_option *o) {
    static const char *const action[] = {[NOTHING] = "", [FILES] = "_files", [FOLDERS] = "_files -/", [ANYTHING] = " "};
    const enum value value = value_of(o);
    const char *equals = value != NOTHING ? "=" : o->bare ? "=-" : "";
    if (o->type == SG_OPTION_LIST)
        fputs("'*'", stdout);
    else if (o->letter)
        printf("'(-%c --%s)'", o->letter, o->name);
    if (o->letter)
        printf("{-%c%s,--%s%s}", o->letter, value != NOTHING ? "+" : "", o->name, equals);
    else
        printf("--%s%s%s", prefix(o), o->name, equals);
    fputs("$'[", stdout);
    print_help_of(p, o, "'");
    fputs("]", stdout);
    if (value != NOTHING || o->bare)
        printf("%s:%s:", o->bare ? ":" : "", o->value ? o->value : "word");
    if (o->choices) {
        putchar('(');
        print_choices(o->choices);
        putchar(')');
    } else {
        fputs(action[value], stdout);
    }
    fputs("' \\\n        ", stdout);
}

static void print_zsh(const struct sg_program *p) {
    const struct sg_option *o;
    print_function(p);
    fputs("() {\n    _arguments -s -S \\\n        ", stdout);
    for (size_t i = 0; (o = next(p, &i)) != NULL;)
        print_zsh_option(p, o);
    printf(
        "'(-h --help)'{-h,--help}'[help]' --version'[version, build and libraries]' '*:file:_files -g \"*.(%s)\"'\n}\n",
        p->operand);
    fputs("# As a file of $fpath it is called at once; else it registers itself.\nif [ \"${funcstack[1]}\" = ", stdout);
    print_function(p);
    fputs(" ]; then ", stdout);
    print_function(p);
    fputs("; else compdef ", stdout);
    print_function(p);
    printf(" %s; fi\n", p->name);
}

/* ---- fish ---- */

static void print_fish_option(const struct sg_program *p, const struct sg_option *o) {
    static const char *const value[] = {[NOTHING] = "",
                                        [WORDS] = " -x",
                                        [FILES] = " -r -F",
                                        [FOLDERS] = " -x -a '(__fish_complete_directories)'",
                                        [ANYTHING] = " -x"};
    printf("complete -c %s -l %s%s", p->name, prefix(o), o->name);
    if (o->letter)
        printf(" -s %c", o->letter);
    fputs(o->bare ? " -f" : value[value_of(o)], stdout);
    if (o->choices) {
        fputs(" -a '", stdout);
        print_choices(o->choices);
        putchar('\'');
    }
    fputs(" -d '", stdout);
    print_help_of(p, o, "'");
    puts("'");
}

static void print_fish(const struct sg_program *p) {
    const struct sg_option *o;
    for (size_t i = 0; (o = next(p, &i)) != NULL;)
        print_fish_option(p, o);
    printf("complete -c %s -s h -l help -d 'help'\ncomplete -c %s -l version -d 'version, build and libraries'\n",
           p->name, p->name);
    for (const char *type = p->operand; *type; type += strcspn(type, "|"), type += *type == '|')
        printf("complete -c %s -k -f -a '(__fish_complete_suffix .%.*s)'\n", p->name, (int)strcspn(type, "|"), type);
}

void app_print_completion(const struct sg_program *p, const char *shell) {
    const bool zsh = strcmp(shell, "zsh") == 0, fish = strcmp(shell, "fish") == 0;
    if (zsh)
        printf("#compdef %s\n", p->name); /* must be the first line */
    printf(fish ? "# Completion of %s for %s: %s --completion=fish | source\n"
                : "# Completion of %s for %s: . <(%s --completion=%s)\n",
           p->name, shell, p->name, shell);
    (zsh ? print_zsh : fish ? print_fish : print_bash)(p);
}
