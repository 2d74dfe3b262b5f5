/* method_text.c: a method from one line of text: names become rows of the tables, decimals their numbers. */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "method_private.h"
#include "sg_flat.h"
#include "sg_words.h"

enum { MOST_NAMES = 256 };
_Static_assert(SG_TEXT_NUMBERS == 3 * SG_METHOD_PARAMS, "room for a compressor's, a controller's and a code's numbers");

/* The text, and the word that was read last. */
struct reader {
    const char *at;
    char word[64];     /* the key, where the word has a value */
    const char *value; /* what stands behind its '='; NULL = it has none */
    struct sg_error *err;
};

/* What comes next: a word, which is read, or the mark that ends a part: '|', ';' or 0. */
enum next { NEXT_WORD = 1, NEXT_TOO_LONG };

static int next(struct reader *r) {
    r->at += strspn(r->at, " \t\n");
    if (strchr("|;", *r->at)) /* the end of the text, too */
        return *r->at != '\0' ? *r->at++ : '\0';
    const size_t length = strcspn(r->at, " \t\n|;");
    if (length >= sizeof r->word)
        return NEXT_TOO_LONG;
    memcpy(r->word, r->at, length);
    r->word[length] = '\0';
    r->at += length;
    char *equals = strchr(r->word, '=');
    r->value = equals ? equals + 1 : NULL;
    if (equals)
        *equals = '\0';
    return NEXT_WORD;
}

static sg_status fail_name(const struct reader *r, const char *what, const char *word, const char *const *names,
                           size_t n) {
    const char *near = sg_suggest(word, names, n);
    return sg_fail(r->err, SG_ERR_ARGUMENT, "%s '%s'%s%s%s", what, word, near ? " (did you mean '" : "",
                   near ? near : "", near ? "'?)" : "");
}

/* A row of any table. */
struct row {
    const char *name, *summary;
    const struct sg_parameter *params;
    size_t n_params;
};
#define ROW_OF(kind, ops)                                                                                              \
    if (strcmp(table, kind) == 0) {                                                                                    \
        if ((ops) != NULL)                                                                                             \
            *out = (struct row){(ops)->name, (ops)->summary, (ops)->params, (ops)->n_params};                          \
        return (ops) != NULL;                                                                                          \
    }

static bool find_row(const char *table, size_t i, struct row *out) {
    ROW_OF("compressor", sg_compressor_at(i))
    ROW_OF("code", sg_code_at(i))
    ROW_OF("controller", sg_controller_at(i))
    ROW_OF("error-feedback", sg_feedback_at(i))
    return false;
}

/* Fails for a word that is the name of none of a table's rows. */
static sg_status fail_row(const struct reader *r, const char *table, const char *word) {
    const char *names[MOST_NAMES], *summary;
    char what[40];
    size_t n = 0;
    while (n < MOST_NAMES && (names[n] = sg_text_row(table, n, &summary)) != NULL)
        n++;
    snprintf(what, sizeof what, "there is no %s", strcmp(table, "error-feedback") == 0 ? "error feedback" : table);
    return fail_name(r, what, word, names, n);
}

/* ---- the tables, for callers ---- */

const char *sg_text_row(const char *table, size_t row, const char **summary) {
    struct row found = {0};
    *summary = NULL;
    if (!find_row(table, row, &found))
        return NULL;
    *summary = found.summary;
    return found.name;
}

const char *sg_text_parameter(const char *table, size_t row, size_t parameter, double number[3], const char **help) {
    struct row found = {0};
    *help = NULL;
    if (!find_row(table, row, &found) || parameter >= found.n_params)
        return NULL;
    const struct sg_parameter *p = &found.params[parameter];
    number[0] = p->min;
    number[1] = p->max;
    number[2] = p->preset;
    *help = p->help;
    return p->name;
}

/* number <- the value of the word that was read last. */
static sg_status read_value(const struct reader *r, double *number) {
    if (!isnan(*number))
        return sg_fail(r->err, SG_ERR_ARGUMENT, "'%s' is given twice", r->word);
    if (!r->value)
        return sg_fail(r->err, SG_ERR_ARGUMENT, "'%s' has no value: write %s=VALUE", r->word, r->word);
    if (!sg_parse_number(number, r->value, -DBL_MAX, DBL_MAX))
        return sg_fail(r->err, SG_ERR_ARGUMENT, "'%s=%s' is no plain decimal number", r->word, r->value);
    return SG_OK;
}

/* number [n] <- what follows `name`, up to the mark that ends its part: *mark. Those that are not given become NaN. */
static sg_status read_parameters(struct reader *r, const char *name, const struct sg_parameter *params, size_t n,
                                 double *number, int *mark) {
    const char *names[SG_METHOD_PARAMS];
    for (size_t i = 0; i < SG_METHOD_PARAMS && i < n; i++) {
        names[i] = params[i].name;
        number[i] = NAN;
    }
    while ((*mark = next(r)) == NEXT_WORD) {
        size_t i = 0;
        while (i < n && strcmp(params[i].name, r->word) != 0)
            i++;
        if (i == n) {
            const sg_status status = fail_name(r, "there is no parameter", r->word, names, n);
            return sg_prefix(r->err, "%s: ", name), status;
        }
        if (read_value(r, &number[i]) != SG_OK)
            return sg_prefix(r->err, "%s: ", name);
    }
    return SG_OK;
}

static sg_status read_compressor(struct reader *r, struct sg_method_config *out, double *room, int *mark) {
    if (next(r) != NEXT_WORD || r->value)
        return sg_fail(r->err, SG_ERR_ARGUMENT, "it begins with the name of a compressor, such as topk");
    out->compressor = sg_compressor_find(r->word);
    if (!out->compressor)
        return fail_row(r, "compressor", r->word);
    out->param = room;
    return read_parameters(r, out->compressor->name, out->compressor->params, out->compressor->n_params, room, mark);
}

static sg_status read_code(struct reader *r, struct sg_method_config *out, double *room, int *mark) {
    if (next(r) != NEXT_WORD || r->value)
        return sg_fail(r->err, SG_ERR_ARGUMENT, "behind '|' stands the name of a code, such as fp16");
    out->code = sg_code_find(r->word);
    if (!out->code)
        return fail_row(r, "code", r->word);
    out->code_param = room;
    return read_parameters(r, out->code->name, out->code->params, out->code->n_params, room, mark);
}

static sg_status read_controller(struct reader *r, struct sg_method_config *out, double *room, int *mark) {
    out->controller = sg_controller_find(r->value);
    if (!out->controller)
        return fail_row(r, "controller", r->value);
    out->controller_param = room;
    return read_parameters(r, out->controller->name, out->controller->params, out->controller->n_params, room, mark);
}

static sg_status read_feedback(struct reader *r, struct sg_feedback *out, int *mark) {
    struct sg_parameter params[SG_FEEDBACK_PARAMS + 1] = {{"decay", 0, 1, 1, false, NULL}};
    double number[SG_FEEDBACK_PARAMS + 1];
    out->rule = sg_feedback_find(r->value);
    if (!out->rule)
        return fail_row(r, "error-feedback", r->value);
    if (out->rule->n_params > 0)
        memcpy(params + 1, out->rule->params, out->rule->n_params * sizeof *params);
    if (read_parameters(r, out->rule->name, params, out->rule->n_params + 1, number, mark) != SG_OK)
        return r->err->status;
    out->decay = isnan(number[0]) ? 1 : number[0];
    memcpy(out->param, number + 1, out->rule->n_params * sizeof *number);
    return SG_OK;
}

static sg_status read_whole(struct reader *r, int64_t min, int64_t max, int64_t *out, int *mark) {
    char name[sizeof r->word];
    strcpy(name, r->word);
    if (!sg_parse_integer(out, r->value, min, max))
        return sg_fail(r->err, SG_ERR_ARGUMENT, "'%s=%s' is no whole number from %lld to %lld", r->word, r->value,
                       (long long)min, (long long)max);
    return read_parameters(r, name, NULL, 0, NULL, mark);
}

static sg_status read_setting(struct reader *r, struct sg_method_config *out, double *room, int *mark) {
    static const char *const names[] = {"error-feedback", "controller", "seed", "steps", "steps-per-epoch", "threads"};
    int64_t whole = 0;
    sg_status status;
    if (next(r) != NEXT_WORD || !r->value)
        return sg_fail(r->err, SG_ERR_ARGUMENT, "behind ';' stands a setting with its value, such as seed=1");
    if (strcmp(r->word, "error-feedback") == 0)
        return read_feedback(r, &out->feedback, mark);
    if (strcmp(r->word, "controller") == 0)
        return read_controller(r, out, room, mark);
    if (strcmp(r->word, "seed") == 0) {
        status = read_whole(r, 0, INT64_MAX, &whole, mark);
        out->seed = (uint64_t)whole;
    } else if (strcmp(r->word, "steps") == 0) {
        status = read_whole(r, 1, INT64_MAX, &whole, mark);
        out->steps = (uint64_t)whole;
    } else if (strcmp(r->word, "steps-per-epoch") == 0) {
        status = read_whole(r, 1, INT64_MAX, &whole, mark);
        out->steps_per_epoch = (uint64_t)whole;
    } else if (strcmp(r->word, "threads") == 0) {
        status = read_whole(r, 1, 1024, &whole, mark);
        out->exec.threads = (int)whole;
    } else {
        status = fail_name(r, "there is no setting", r->word, names, sizeof names / sizeof *names);
    }
    return status;
}

static sg_status read_text(struct reader *r, struct sg_method_config *out, double *room) {
    int mark = 0;
    sg_status status = read_compressor(r, out, room, &mark);
    if (status == SG_OK && mark == '|')
        status = read_code(r, out, room + 2 * SG_METHOD_PARAMS, &mark);
    while (status == SG_OK && mark == ';')
        status = read_setting(r, out, room + SG_METHOD_PARAMS, &mark);
    if (status == SG_OK && mark == NEXT_TOO_LONG)
        status = sg_fail(r->err, SG_ERR_ARGUMENT, "a word of it is longer than %zu letters", sizeof r->word - 1);
    if (status == SG_OK && mark != '\0')
        status = sg_fail(r->err, SG_ERR_ARGUMENT, "'|' and a code stand once, behind the compressor's parameters");
    return status;
}

sg_status sg_method_read_text(struct sg_method_config *config, double room[SG_TEXT_NUMBERS], const char *text,
                              struct sg_error *err) {
    struct reader r = {.at = text, .err = err};
    config->controller = NULL;
    config->controller_param = NULL;
    config->code = NULL;
    config->code_param = NULL;
    config->feedback = (struct sg_feedback){.rule = &sg_feedback_gradient, .decay = 1};
    /* In the locale of a program's user a decimal point may be a comma. */
    const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        return sg_fail_memory(err, "reading a method's text");
    const locale_t before = uselocale(plain);
    const sg_status status = read_text(&r, config, room);
    uselocale(before);
    freelocale(plain);
    return status == SG_OK ? SG_OK : sg_prefix(err, "method '%.200s': ", text);
}

sg_status sg_method_open_text(sg_method **out, const char *text, const struct sg_layout *layout, size_t workers,
                              size_t first, size_t count, struct sg_error *err) {
    double room[SG_TEXT_NUMBERS];
    struct sg_method_config config = {.size = sizeof(struct sg_method_config),
                                      .layout = *layout,
                                      .workers = workers,
                                      .first = first,
                                      .count = count,
                                      .exec = {.threads = 1}};
    *out = NULL;
    if (workers < count || first > workers - count)
        return sg_fail(err, SG_ERR_ARGUMENT, "workers %zu .. %zu are not among %zu", first, first + count, workers);
    if (sg_method_read_text(&config, room, text, err) != SG_OK)
        return err->status;
    return sg_method_open(out, &config, err) == SG_OK ? SG_OK : sg_prefix(err, "method '%.200s': ", text);
}
