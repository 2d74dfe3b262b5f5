/* sg_options.h: one table per program drives parsing, -h, --help, suggestions and the man-page check.
 *
 * GNU style: --name=value or --name value, -o value, --no-name for each boolean, `--` ends options, options and
 * operands may mix. An unknown option names the nearest one. Numbers must be whole strings in range. */
#ifndef SG_OPTIONS_H
#define SG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sg_status.h"

enum sg_option_type {
    SG_OPTION_FLAG,   /* bool *: --name sets true, --no-name false */
    SG_OPTION_STRING, /* const char **: borrowed from argv */
    SG_OPTION_CHOICE, /* const char **: one of `choices`, "a|b|c" */
    SG_OPTION_INT,    /* int64_t *: whole number in [min, max] */
    SG_OPTION_NUMBER, /* double *: finite, in [min, max] */
    SG_OPTION_LIST,   /* struct sg_option_list *: may be given several times */
    SG_OPTION_GROUP   /* no option: a heading in --help; name is its text */
};

struct sg_option_list {
    const char *item[64];
    size_t count;
};

struct sg_option {
    enum sg_option_type type;
    const char *name;  /* without dashes */
    char letter;       /* short form or 0 */
    void *target;      /* already holds the default, which --help prints */
    const char *value; /* metavariable in help: "FILE" */
    const char *choices;
    double min, max;
    const char *help; /* lower case, no full stop */
    bool hidden;      /* left out of help (test hooks) */
};

struct sg_program {
    const char *name;    /* "sparsetrain" */
    const char *usage;   /* "[options] RECIPE" */
    const char *summary; /* one line */
    const char
        *details; /* paragraphs after the options in --help, wrapped there, but for lines that begin with a blank,
                          * the examples; NULL = none */
    const char *verbose; /* what --verbose does, for --help */
    const struct sg_option *options;
    size_t n_options;
    const struct sg_option *shared; /* more of them, which other programs have too; NULL = none */
    size_t n_shared;
};

/* Parse argv. Operands (up to max_operands) are stored in order. Returns SG_PARSE_RUN, or the code to exit with: -h, --help
 * and --version (added to every table) print on stdout, a usage error is said on stderr. --quiet, --verbose and the
 * hidden --fake-clock, which every program has too, are in force afterwards. argv is not modified. */
enum { SG_PARSE_RUN = -1 };
int sg_options_parse(const struct sg_program *program, int argc, char **argv, const char **operand, size_t max_operands,
                     size_t *n_operands);

/* Text of --version: name, version, commit, compiler, flags, features, libraries. */
void sg_version_print(FILE *out, const char *program);

#endif
