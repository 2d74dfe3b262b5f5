/* compressor_table.c: the table of compressors, and those that plug-ins add. */
/* SPDX-License-Identifier: MIT */
#include "method_private.h"

#include <math.h>
#include <string.h>

#define ROW(name) &name
static const void *const table[] = {METHOD_COMPRESSORS(ROW)};
static struct sg_rows rows = SG_ROWS(table);
static size_t zoo; /* so many of the added rows are those of lib/zoo, the first ones */

#ifdef SG_ZOO /* that a table names the function brings lib/zoo out of its archive */
__attribute__((constructor)) static void add_zoo(void) {
    sg_zoo_register();
    zoo = rows.n_added;
}
#endif

enum { MOST_ROUNDS = 64 };

const struct sg_compressor_ops *sg_compressor_at(size_t i) {
    return sg_row_at(&rows, i);
}

const struct sg_compressor_ops *sg_compressor_find(const char *name) {
    const struct sg_compressor_ops *ops;
    for (size_t i = 0; (ops = sg_compressor_at(i)) != NULL; i++)
        if (strcmp(ops->name, name) == 0 || (ops->also && strcmp(ops->also, name) == 0))
            return ops;
    return NULL;
}

/* What a row lacks for a step of a method; NULL = nothing. */
static const char *lack_of(const struct sg_compressor_ops *ops) {
    double preset[SG_METHOD_PARAMS] = {0};
    for (size_t i = 0; i < ops->n_params; i++)
        preset[i] = ops->params[i].preset;
    if ((ops->select != NULL) + (ops->code != NULL) + (ops->encode != NULL) != 1)
        return "must have exactly one of select, code and encode";
    if (!ops->source)
        return "has no source: name its publication";
    if (ops->code && ops->n_params < ops->code->n_params)
        return "must have the parameters of its code, as its first ones";
    if (ops->knob && ops->knob(preset) >= ops->n_params)
        return "has a knob that is none of its parameters";
    if (ops->rounds && (ops->rounds->count == 0 || !ops->rounds->combine))
        return "has rounds without a count of them or without 'combine'";
    if (ops->rounds && ops->rounds->count > MOST_ROUNDS)
        return "has more than 64 rounds";
    return ops->rounds && ops->rounds->count > 1 && !ops->rounds->keep
               ? "has several rounds, so it must have 'keep' for the residual"
               : NULL;
}

sg_status sg_compressor_add(const struct sg_compressor_ops *ops, struct sg_error *err) {
    const struct sg_row row = {"compressor", ops->name, ops->summary, ops->params, ops->n_params};
    const char *const name[] = {ops->name, ops->also};
    const sg_status status = sg_row_check(&rows, &row, err);
    if (status != SG_OK)
        return status;
    if (ops->also && !sg_is_row_name(ops->also))
        return sg_fail(err, SG_ERR_ARGUMENT, "compressor '%s': '%s' is no other spelling: use letters, digits and '-'",
                       ops->name, ops->also);
    for (size_t i = 0; i < 2 && name[i]; i++)
        if (sg_compressor_find(name[i]))
            return sg_fail(err, SG_ERR_ARGUMENT, "there is a compressor '%s' already: give yours another name",
                           name[i]);
    if (lack_of(ops))
        return sg_fail(err, SG_ERR_ARGUMENT, "compressor '%s' %s", ops->name, lack_of(ops));
    return sg_row_add(&rows, ops, row.what, err);
}

static bool is_among(const struct sg_compressor_ops *ops, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++)
        if (rows.added[i] == ops)
            return true;
    return false;
}

bool method_is_added(const struct sg_compressor_ops *ops) {
    return is_among(ops, zoo, rows.n_added);
}

bool sg_compressor_is_zoo(const struct sg_compressor_ops *ops) {
    return is_among(ops, 0, zoo);
}

unsigned sg_compressor_traits(const struct sg_compressor_ops *ops, const double *param) {
    return ops->traits_of ? ops->traits_of(param) : ops->traits;
}

/* Counts and budgets are alternatives to a share, so they are not set if the compressor has a share. */
void sg_compressor_example(const struct sg_compressor_ops *ops, double density, double threshold, double *param) {
    bool shares = false;
    for (size_t i = 0; i < ops->n_params; i++)
        shares = shares || strncmp(ops->params[i].name, "density", 7) == 0;
    for (size_t i = 0; i < ops->n_params; i++) {
        const struct sg_parameter *p = &ops->params[i];
        const bool other = (shares && p->name[0] == 'k') || strcmp(p->name, "budget") == 0;
        param[i] = strncmp(p->name, "density", 7) == 0 ? density : p->preset;
        if (isnan(param[i]) && !other)
            param[i] = fmax(p->min, fmin(p->max, p->integer ? floor(threshold) : threshold));
    }
}
