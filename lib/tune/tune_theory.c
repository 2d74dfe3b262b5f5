/* tune_theory.c: --theory: prints section 5.1 with numbers in it (sg_theory.h). */
#include <math.h>

#include "sg_theory.h"
#include "sg_text.h"
#include "tune_private.h"

static sg_status write_table(struct sg_tune *t, const struct sg_theory *theory, struct sg_error *err) {
    size_t size;
    FILE *out = open_memstream(&t->table, &size);
    const struct sg_theory_constants *c = &theory->method[0].constants;
    if (!out)
        return sg_fail_memory(err, "the table");
    fprintf(out, "# L %.6g, mu %.6g, n %.0f\n", c->L, c->mu, c->n);
    for (size_t i = 0; i < theory->count; i++) {
        c = &theory->method[i].constants;
        fprintf(out, "# %s: M %.4g, sigma^2 %.4g, C %.4g, zeta^2 %.4g, D %.4g\n", theory->method[i].cell->label, c->M,
                c->sigma_squared, c->C, c->zeta_squared, c->D);
    }
    for (size_t i = 0; i < theory->n_left_out; i++)
        fprintf(out, "# %s is left out: %s\n", theory->left_out[i].cell->label, theory->left_out[i].why);
    fprintf(out, "# method | statement | measured | right-hand side | measured / right | gamma / largest stated\n");
    for (size_t i = 0; i < theory->count; i++) {
        const struct sg_theory_method *m = &theory->method[i];
        enum sg_statement what;
        double measured, bound, largest;
        for (size_t k = 0; sg_theory_statement(m, k, &what, &measured, &bound, &largest); k++) {
            fprintf(out, "%-24s %-10s %12.5g ", m->cell->label, sg_statement_name(what), measured);
            fprintf(out, isnan(bound) ? "           -          - " : "%12.5g %10.3g ", bound, measured / bound);
            fprintf(out, "%10.3g\n", m->constants.gamma / largest);
        }
    }
    return sg_stream_text(out, &t->table) ? SG_OK : sg_fail_memory(err, "the table");
}

sg_status tune_theory(struct sg_tune *t, struct sg_error *err) {
    struct sg_cell *cells = NULL;
    size_t count = 0;
    struct sg_theory theory = {0};
    const struct sg_theory_options options = {.recipe = t->recipe,
                                              .data_dir = t->grid.data_dir,
                                              .threads = t->grid.threads,
                                              .stop = t->grid.stop,
                                              .progress = t->progress,
                                              .notice = t->say};
    sg_status status = sg_recipe_cells(t->recipe, &cells, &count, err);
    if (status == SG_OK && !t->dry_run) {
        status = sg_theory_run(&theory, cells, count, &options, err);
        if (status == SG_OK)
            status = tune_evidence(t, "theory", sg_theory_json(&theory), err);
        if (status == SG_OK)
            status = write_table(t, &theory, err);
    }
    sg_theory_free(&theory);
    sg_recipe_cells_free(cells, count);
    return status;
}
