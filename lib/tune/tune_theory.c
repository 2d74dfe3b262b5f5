/* tune_theory.c: --theory: evaluates the results of section 5.1 (sg_theory.h). */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "tune_private.h"

static const struct sg_table_column columns[] = {
    {.head = "method", .weight = SG_TABLE_ALWAYS},
    {.head = "statement", .weight = SG_TABLE_ALWAYS},
    {.head = "measured", .align = SG_TABLE_RIGHT, .weight = 1},
    {.head = "right-hand side", .align = SG_TABLE_RIGHT, .weight = 1},
    {.head = "measured / right", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "from start", .align = SG_TABLE_RIGHT, .weight = 3},
    {.head = "noise", .align = SG_TABLE_RIGHT, .weight = 3},
    {.head = "compression", .align = SG_TABLE_RIGHT, .weight = 3},
    {.head = "gamma / largest stated", .align = SG_TABLE_RIGHT, .weight = 2},
};

static void add_rows(sg_table *t, const struct sg_theory_method *m) {
    struct sg_theory_row r;
    for (size_t k = 0; sg_theory_statement(&r, m, k); k++) {
        sg_table_cell(t, m->cell->label, NULL);
        sg_table_cell(t, sg_statement_name(r.what), NULL);
        sg_table_number(t, "%.5g", r.measured);
        sg_table_number(t, "%.5g", r.bound);
        sg_table_number(t, "%.3g", r.measured / r.bound);
        for (size_t i = 0; i < SG_TERMS; i++)
            sg_table_number(t, "%.4g", r.term[i]);
        sg_table_number(t, "%.3g", m->constants.gamma / r.largest_gamma);
    }
}

static void put_rate(FILE *out, const struct sg_theory_method *m) {
    const struct sg_theory_rate r =
        sg_theory_rate(m->absolute ? SG_THEOREM_6 : SG_THEOREM_7, &m->constants, m->compressor);
    fprintf(out, "# %s: corollary 1: gamma %.4g, rate %.4g, compression %.4g, which is the smaller from T = %.3g on\n",
            m->cell->label, r.gamma, r.rate, r.compression, r.steps);
}

static void put_table(FILE *out, const struct sg_tune *t, const void *of) {
    const struct sg_theory *theory = of;
    sg_table *table = sg_table_open(columns, sizeof columns / sizeof *columns);
    const struct sg_theory_constants *c = &theory->method[0].constants;
    if (!isnan(c->mu))
        fprintf(out, "# mu %.6g\n", c->mu);
    for (size_t i = 0; i < theory->count; i++) {
        c = &theory->method[i].constants;
        fprintf(out, "# %s: n %.0f, L %.6g, f(x0) - f* %.4g, M %.4g, sigma^2 %.4g, C %.4g, zeta^2 %.4g, D %.4g\n",
                theory->method[i].cell->label, c->n, c->L, c->gap, c->M, c->sigma_squared, c->C, c->zeta_squared, c->D);
        put_rate(out, &theory->method[i]);
        add_rows(table, &theory->method[i]);
    }
    for (size_t i = 0; i < theory->n_left_out; i++)
        fprintf(out, "# %s is left out: %s\n", theory->left_out[i].cell->label, theory->left_out[i].why);
    tune_put_table(out, table, t);
}

struct sg_theory_options tune_trained_here(const struct sg_tune *t, const struct sg_recipe *recipe) {
    return (struct sg_theory_options){.recipe = recipe,
                                      .data_dir = t->grid.data_dir,
                                      .threads = t->grid.threads,
                                      .stop = t->grid.stop,
                                      .progress = t->progress,
                                      .notice = t->say};
}

sg_status sg_tune_theory(struct sg_tune *t, struct sg_error *err) {
    const struct sg_theory_options options = tune_trained_here(t, t->recipe);
    struct sg_theory theory = {0};
    if (t->dry_run)
        return SG_OK;
    sg_status status = sg_theory_run(&theory, t->cells, t->n_cells, &options, err);
    if (status == SG_OK)
        tune_show(t, tune_evidence(t, "theory", sg_theory_json(&theory)), put_table, &theory);
    sg_theory_free(&theory);
    return status;
}
