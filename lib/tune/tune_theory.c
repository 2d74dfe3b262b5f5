/* tune_theory.c: --theory: prints section 5.1 with numbers in it (sg_theory.h). */
#include "sg_text.h"
#include "tune_private.h"

static const struct sg_table_column columns[] = {
    {.head = "method", .weight = SG_TABLE_ALWAYS},
    {.head = "statement", .weight = SG_TABLE_ALWAYS},
    {.head = "measured", .align = SG_TABLE_RIGHT, .weight = 1},
    {.head = "right-hand side", .align = SG_TABLE_RIGHT, .weight = 1},
    {.head = "measured / right", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "gamma / largest stated", .align = SG_TABLE_RIGHT, .weight = 2},
};

static void add_rows(sg_table *t, const struct sg_theory_method *m) {
    enum sg_statement what;
    double measured, bound, largest;
    for (size_t k = 0; sg_theory_statement(m, k, &what, &measured, &bound, &largest); k++) {
        sg_table_cell(t, m->cell->label, NULL);
        sg_table_cell(t, sg_statement_name(what), NULL);
        sg_table_number(t, "%.5g", measured);
        sg_table_number(t, "%.5g", bound);
        sg_table_number(t, "%.3g", measured / bound);
        sg_table_number(t, "%.3g", m->constants.gamma / largest);
    }
}

static sg_status write_table(struct sg_tune *t, const struct sg_theory *theory, struct sg_error *err) {
    size_t size;
    FILE *out = open_memstream(&t->table, &size);
    sg_table *table = sg_table_open(columns, sizeof columns / sizeof *columns);
    const struct sg_theory_constants *c = &theory->method[0].constants;
    if (out)
        fprintf(out, "# L %.6g, mu %.6g, n %.0f\n", c->L, c->mu, c->n);
    for (size_t i = 0; i < theory->count && out; i++) {
        c = &theory->method[i].constants;
        fprintf(out, "# %s: M %.4g, sigma^2 %.4g, C %.4g, zeta^2 %.4g, D %.4g\n", theory->method[i].cell->label, c->M,
                c->sigma_squared, c->C, c->zeta_squared, c->D);
    }
    for (size_t i = 0; i < theory->n_left_out && out; i++)
        fprintf(out, "# %s is left out: %s\n", theory->left_out[i].cell->label, theory->left_out[i].why);
    for (size_t i = 0; i < theory->count; i++)
        add_rows(table, &theory->method[i]);
    const bool fine = out && tune_put_table(out, table, t);
    if (!out)
        sg_table_free(table);
    return tune_table_text(out, &t->table, fine) ? SG_OK : sg_fail_memory(err, "the table");
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
    struct sg_cell *cells = NULL;
    size_t count = 0;
    struct sg_theory theory = {0};
    const struct sg_theory_options options = tune_trained_here(t, t->recipe);
    sg_status status = sg_recipe_cells(t->recipe, &cells, &count, err);
    if (status == SG_OK && !t->dry_run) {
        status = sg_theory_run(&theory, cells, count, &options, err);
        SG_DO(status, tune_evidence(t, "theory", sg_theory_json(&theory), err));
        SG_DO(status, write_table(t, &theory, err));
    }
    sg_theory_free(&theory);
    sg_recipe_cells_free(cells, count);
    return status;
}
