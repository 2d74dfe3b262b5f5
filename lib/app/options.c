/* options.c: parses a command line by an option table, and prints its help. */
/* SPDX-License-Identifier: MIT */
#include "app_private.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "sg_clock.h"
#include "sg_memory.h"
#include "sg_table.h"
#include "sg_terminal.h"
#include "sg_text.h"

enum { MAX_CANDIDATES = 128 };

static struct {
    bool quiet, verbose, fake_clock;
    const char *completion;
} common;

/* The options that the command line gave. */
static struct {
    const struct sg_option *option[MAX_CANDIDATES];
    size_t n;
} given;

static const struct sg_option common_options[] = {
    {SG_OPTION_GROUP, .name = "Messages"},
    {SG_OPTION_FLAG, "quiet", 'q', &common.quiet, .help = "errors and warnings only"},
    {SG_OPTION_FLAG, "verbose", 'v', &common.verbose, .help = NULL}, /* the program has its own */
    {SG_OPTION_CHOICE, "completion", 0, &common.completion, .choices = "bash|zsh|fish",
     .hidden = true}, /* print_help has it below */
    {SG_OPTION_FLAG, "fake-clock", 0, &common.fake_clock, .help = "all times are zero", .hidden = true},
};

const struct sg_option *app_option_at(const struct sg_program *p, size_t i) {
    if (i < p->n_options)
        return &p->options[i];
    i -= p->n_options;
    if (p->shared) {
        if (i < p->shared->count)
            return &p->shared->option[i];
        i -= p->shared->count;
    }
    return i < sizeof common_options / sizeof *common_options ? &common_options[i] : NULL;
}

static const char *or_empty(const char *text) {
    return text ? text : "";
}

enum { WIDTH = 80, LEFT = 30 };

/* Paragraphs, which are a line each, are wrapped; lines that begin with a blank, examples, stand as they are. */
static void print_details(const char *text) {
    while (*text) {
        const size_t length = strcspn(text, "\n");
        char *line = sg_strndup(text, length);
        sg_put_wrapped(stdout, line, *text == ' ' ? 0 : WIDTH, "", "");
        if (length == 0)
            putchar('\n');
        free(line);
        text += length + (text[length] == '\n');
    }
}

/* Prints an option's left column. A long list of choices is continued below its beginning. */
static void print_left(FILE *out, const char *text) {
    const int indent = (int)strcspn(text, "=") + 1;
    int column = 0;
    while (*text) {
        const int part = (int)strcspn(text, "|") + (strchr(text, '|') != NULL);
        if (column > 0 && column + part > WIDTH)
            column = fprintf(out, "\n%*s", indent, "") - 1;
        column += fprintf(out, "%.*s", part, text);
        text += part;
    }
    fputc('\n', out);
}

/* Writes " [default]" for an option, read from its target. */
static void default_text(const struct sg_option *o, char *out, size_t size) {
    out[0] = '\0';
    if (o->type == SG_OPTION_INT)
        snprintf(out, size, " [%lld]", (long long)*(int64_t *)o->target);
    else if (o->type == SG_OPTION_NUMBER && !isnan(*(double *)o->target))
        snprintf(out, size, " [%g]", *(double *)o->target);
    else if ((o->type == SG_OPTION_STRING || o->type == SG_OPTION_CHOICE) && *(const char **)o->target)
        snprintf(out, size, " [%s]", *(const char **)o->target);
    else if (o->type == SG_OPTION_FLAG && *(bool *)o->target)
        snprintf(out, size, " [on]");
}

static void print_option(FILE *out, const struct sg_program *p, const struct sg_option *o) {
    char left[512], right[1024], preset[256], first[LEFT + 2], next[LEFT + 2];
    const char *value = o->type == SG_OPTION_FLAG ? NULL : o->choices ? o->choices : o->value;
    snprintf(left, sizeof left, "  %c%c%s --%s%s%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
             o->letter ? "," : " ", o->name, o->bare ? "[" : "", value ? "=" : "", or_empty(value), o->bare ? "]" : "");
    default_text(o, preset, sizeof preset);
    snprintf(right, sizeof right, "%s%s", o->help ? o->help : p->verbose, preset);
    snprintf(first, sizeof first, "%-*.*s", LEFT + 1, LEFT + 1, left);
    snprintf(next, sizeof next, "%*s", LEFT + 1, "");
    if (strlen(left) > LEFT)
        print_left(out, left);
    sg_put_wrapped(out, right, WIDTH, strlen(left) > LEFT ? next : first, next);
}

static void print_help(const struct sg_program *p, bool full) {
    printf("usage: %s %s\n", p->name, p->usage);
    sg_put_wrapped(stdout, p->summary, WIDTH, "", "");
    if (!full) {
        printf("For all options, use %s --help.\n", p->name);
        return;
    }
    const struct sg_option *o;
    for (size_t i = 0; (o = app_option_at(p, i)) != NULL; i++) {
        if (o->type == SG_OPTION_GROUP)
            printf("\n%s:\n", o->name);
        else if (!o->hidden)
            print_option(stdout, p, o);
    }
    printf("\nHelp:\n  -h                            short help\n      --help                    this text\n"
           "      --version                 version, build and libraries (--json)\n"
           "      --completion=bash|zsh|fish\n"
           "                                print a script that makes this shell complete\n"
           "                                options and files\n");
    if (p->details) {
        printf("\n");
        print_details(p->details);
    }
}

static int usage_error(const struct sg_program *p) {
    fprintf(stderr, "usage: %s %s\nFor all options, use %s --help.\n", p->name, p->usage, p->name);
    return SG_EXIT_USAGE;
}

/* Finds --name and, for flags, --no-name. */
static const struct sg_option *find(const struct sg_program *p, const char *name, size_t length, bool *negated) {
    for (int pass = 0; pass < 2; pass++) {
        *negated = pass == 1;
        if (pass == 1) {
            if (length <= 3 || strncmp(name, "no-", 3) != 0)
                return NULL;
            name += 3;
            length -= 3;
        }
        const struct sg_option *o;
        for (size_t i = 0; (o = app_option_at(p, i)) != NULL; i++)
            if (o->type != SG_OPTION_GROUP && (pass == 0 || o->type == SG_OPTION_FLAG) && strlen(o->name) == length &&
                strncmp(o->name, name, length) == 0)
                return o;
    }
    return NULL;
}

static int unknown(const struct sg_program *p, const char *arg, size_t length) {
    const char *names[MAX_CANDIDATES] = {"help", "version"};
    const struct sg_option *o;
    size_t n = 2;
    for (size_t i = 0; (o = app_option_at(p, i)) != NULL && n < MAX_CANDIDATES; i++)
        if (o->type != SG_OPTION_GROUP && !o->hidden)
            names[n++] = o->name;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), arg + strspn(arg, "-"));
    const char *near = sg_suggest(word, names, n);
    sg_log_error(near ? "unknown option '%s' (did you mean '--%s'?)" : "unknown option '%s'", arg, near);
    return usage_error(p);
}

static void set_given(const struct sg_option *o, bool is_given) {
    size_t i = 0;
    while (i < given.n && given.option[i] != o)
        i++;
    if (is_given && i == given.n && given.n < MAX_CANDIDATES)
        given.option[given.n++] = o;
    else if (!is_given && i < given.n)
        given.option[i] = given.option[--given.n];
}

bool sg_option_is_given(const char *name) {
    for (size_t i = 0; i < given.n; i++)
        if (strcmp(given.option[i]->name, name) == 0)
            return true;
    return false;
}

static bool store(const struct sg_option *o, const char *value) {
    switch (o->type) {
    case SG_OPTION_STRING:
        *(const char **)o->target = value;
        return true;
    case SG_OPTION_CHOICE:
        if (!sg_is_choice(o->choices, value)) {
            sg_log_error("--%s=%s: must be one of %s", o->name, value, o->choices);
            return false;
        }
        *(const char **)o->target = value;
        return true;
    case SG_OPTION_INT:
        if (!sg_parse_integer(o->target, value, (int64_t)o->min, (int64_t)o->max)) {
            sg_log_error("--%s=%s: must be a whole number from %.0f to %.0f", o->name, value, o->min, o->max);
            return false;
        }
        return true;
    case SG_OPTION_NUMBER:
        if (!sg_parse_number(o->target, value, o->min, o->max)) {
            sg_log_error("--%s=%s: must be a number from %g to %g", o->name, value, o->min, o->max);
            return false;
        }
        return true;
    case SG_OPTION_LIST: {
        struct sg_option_list *list = o->target;
        if (list->count == sizeof list->item / sizeof *list->item) {
            sg_log_error("--%s: given more than %zu times", o->name, list->count);
            return false;
        }
        list->item[list->count++] = value;
        return true;
    }
    case SG_OPTION_FLAG:
    case SG_OPTION_GROUP:
        break;
    }
    return false;
}

/* Of KEY=VALUE the equals sign is there, or the message has it; next: the argument behind it, or NULL. */
static bool check_pair(const struct sg_option *o, const char *value, const char *next) {
    if (!o->value || strcmp(o->value, "KEY=VALUE") != 0 || strchr(value, '='))
        return true;
    if (next && next[0] != '-' && access(next, F_OK) != 0) /* not the recipe */
        sg_log_error("--%s %s %s: write --%s %s=%s", o->name, value, next, o->name, value, next);
    else
        sg_log_error("--%s %s: write --%s KEY=VALUE, as workers=4", o->name, value, o->name);
    return false;
}

/* Takes an option's value: from "=value", from the rest of a short cluster, or from the next argument. */
static bool take_value(const struct sg_option *o, const char *attached, int argc, char **argv, int *i) {
    if (!attached && *i + 1 >= argc) {
        sg_log_error("--%s needs a value%s%s", o->name, o->value ? ": " : "", or_empty(o->value));
        return false;
    }
    const char *value = attached ? attached : argv[++*i];
    return check_pair(o, value, *i + 1 < argc ? argv[*i + 1] : NULL) && store(o, value);
}

/* The option of a letter in a cluster of short ones. */
static const struct sg_option *find_letter(const struct sg_program *p, char letter) {
    const struct sg_option *o = NULL;
    for (size_t i = 0; (o = app_option_at(p, i)) != NULL; i++)
        if (o->type != SG_OPTION_GROUP && o->letter == letter)
            break;
    return o;
}

static bool has_word(int argc, char **argv, const char *word) {
    bool found = false;
    for (int i = 1; i < argc; i++)
        found = found || strcmp(argv[i], word) == 0;
    return found;
}

int sg_options_parse(const struct sg_program *p, int argc, char **argv, const char **operand, size_t max_operands,
                     size_t *n_operands) {
    bool only_operands = false;
    *n_operands = given.n = 0;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (only_operands || arg[0] != '-' || arg[1] == '\0') {
            if (*n_operands == max_operands) {
                sg_log_error("unexpected argument '%s'", arg);
                return usage_error(p);
            }
            operand[(*n_operands)++] = arg;
        } else if (strcmp(arg, "--") == 0) {
            only_operands = true;
        } else if (strcmp(arg, "-h") == 0 || strcmp(arg, "--help") == 0) {
            print_help(p, arg[1] == '-');
            return SG_EXIT_OK;
        } else if (strcmp(arg, "--version") == 0) {
            sg_version_print(stdout, p->name, has_word(argc, argv, "--json"));
            return SG_EXIT_OK;
        } else if (arg[1] == '-') {
            const char *name = arg + 2, *equals = strchr(name, '=');
            size_t length = equals ? (size_t)(equals - name) : strlen(name);
            bool negated;
            const struct sg_option *o = find(p, name, length, &negated);
            if (!o)
                return unknown(p, arg, length + 2);
            set_given(o, !negated);
            if (o->type == SG_OPTION_FLAG) {
                if (equals) {
                    sg_log_error("--%s takes no value", o->name);
                    return usage_error(p);
                }
                *(bool *)o->target = !negated;
            } else if (o->bare && !equals) {
                *(const char **)o->target = o->bare;
            } else if (!take_value(o, equals ? equals + 1 : NULL, argc, argv, &i)) {
                return usage_error(p);
            }
        } else { /* a cluster of short options: -qo FILE */
            for (const char *c = arg + 1; *c; c++) {
                const struct sg_option *o = find_letter(p, *c);
                if (!o)
                    return unknown(p, arg, strlen(arg));
                set_given(o, true);
                if (o->type == SG_OPTION_FLAG) {
                    *(bool *)o->target = true;
                    continue;
                }
                if (!take_value(o, c[1] ? c + 1 : NULL, argc, argv, &i))
                    return usage_error(p);
                break;
            }
        }
    }
    if (common.completion) {
        app_print_completion(p, common.completion);
        return SG_EXIT_OK;
    }
    sg_app_set_verbosity(common.quiet ? SG_QUIET : common.verbose ? SG_VERBOSE : SG_NORMAL);
    sg_clock_set_fake(common.fake_clock);
    return SG_PARSE_RUN;
}
