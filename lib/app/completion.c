/* completion.c: the script that lets bash complete a program's command line, written from its option table. */
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

void app_print_completion(const struct sg_program *p) {
    const struct sg_option *o;
    printf("# Completion of %s for bash: . <(%s --completion=bash)\n", p->name, p->name);
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
