/* sg_options.h: one table per program drives parsing, -h, --help, suggestions, completion and the man page.
 *
 * Options are GNU style: --name=value or --name value, -o value, --no-name for each boolean; `--` ends them; options
 * and operands may mix. An unknown option's message names the nearest one. A number must be a whole string in range. */
/* SPDX-License-Identifier: MIT */
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
    SG_OPTION_GROUP   /* no option but a heading in --help; `name` is its text */
};

struct sg_option_list {
    const char *item[64];
    size_t count;
};

struct sg_option {
    enum sg_option_type type;
    const char *name;  /* without dashes */
    char letter;       /* the short form; 0 = none */
    void *target;      /* already holds the default, which --help prints */
    const char *value; /* metavariable in help: "FILE" */
    const char *choices;
    double min, max;
    const char *help; /* lower case, no full stop */
    /* STRING: the value if only --name is given; another value then needs "=". NULL = a value is required. */
    const char *bare;
    bool hidden; /* not shown in --help (test hooks) */
};

struct sg_option_table {
    const struct sg_option *option;
    size_t count;
};

struct sg_program {
    const char *name;    /* "sparsetrain" */
    const char *usage;   /* "[options] RECIPE" */
    const char *operand; /* extensions of the files that the program reads, "json|ndjson"; for shells */
    const char *summary; /* one line */
    /* What --help prints after the options: paragraphs, each a line that is wrapped, and examples, which are the lines
     * that begin with a blank. NULL = none. */
    const char *details;
    const char *verbose; /* what --verbose does, for --help */
    const struct sg_option *options;
    size_t n_options;
    const struct sg_option_table *shared; /* options that other programs have, too; NULL = none */
};

/* Parses argv, which is not modified, and stores up to max_operands operands in order. Returns SG_PARSE_RUN, or the
 * code to exit with. Every program also has -h, --help and --version, which print on stdout, and --quiet, --verbose and
 * the hidden --fake-clock, which are in force afterwards; and --completion, which prints a shell's script on stdout. A
 * usage error is printed on stderr. */
enum { SG_PARSE_RUN = -1 };
int sg_options_parse(const struct sg_program *program, int argc, char **argv, const char **operand, size_t max_operands,
                     size_t *n_operands);

/* True if the command line that was parsed gave this option, but not if --no-NAME came after it. */
bool sg_option_is_given(const char *name);

/* Prints name, version, commit, compiler, flags, features and libraries for --version, as text or as a JSON object. */
void sg_version_print(FILE *out, const char *program, bool json);

#endif
