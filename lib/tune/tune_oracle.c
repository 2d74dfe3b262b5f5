/* tune_oracle.c: --oracle: Lemma 3 of a recorded run (sg_lemma3_oracle.h). */
/* SPDX-License-Identifier: MIT */
#include "sg_host.h"
#include "sg_lemma3_oracle.h"
#include "tune_private.h"

static const struct sg_table_column columns[] = {
    {.head = "method", .weight = SG_TABLE_ALWAYS},
    {.head = "sent, %", .align = SG_TABLE_RIGHT, .weight = 2},
    {.head = "error", .align = SG_TABLE_RIGHT, .weight = 2},
    {.head = "least error", .align = SG_TABLE_RIGHT, .weight = 2},
    {.head = "regret", .align = SG_TABLE_RIGHT, .weight = 1},
    {.head = "error / least", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "lambda of as many", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
};

static void put_table(FILE *out, const struct sg_tune *t, const void *of) {
    const struct sg_oracle *o = of;
    sg_table *table = sg_table_open(columns, sizeof columns / sizeof *columns);
    const double entries = (double)o->entries;
    fprintf(out,
            "# what '%s', seed %llu, compressed: %llu steps of %zu workers, %zu parameters\n"
            "# sent %llu entries, %.4g %%: lambda %.6g (down to %.6g), least total error %.6g\n",
            o->cell->label, (unsigned long long)o->cell->seed, (unsigned long long)o->steps, o->workers, o->d,
            (unsigned long long)o->best.k, 100 * (double)o->best.k / entries, o->best.kept_last, o->best.lost_most,
            o->best.lost);
    for (size_t i = 0; i < o->n_methods; i++) {
        const struct sg_oracle_method *m = &o->method[i];
        sg_table_cell(table, m->cell->label, NULL);
        sg_table_number(table, "%.4g", 100 * (double)m->sent / entries);
        sg_table_number(table, "%.6g", m->error);
        sg_table_number(table, "%.6g", m->best.lost);
        sg_table_number(table, "%.6g", sg_oracle_regret(m));
        sg_table_number(table, "%.4f", m->best.lost > 0 ? m->error / m->best.lost : 1);
        sg_table_number(table, "%.6g", m->best.kept_last);
    }
    tune_put_table(out, table, t);
}

sg_status sg_tune_oracle(struct sg_tune *t, struct sg_error *err) {
    struct sg_oracle oracle = {0};
    const struct sg_oracle_options options = {.threads = t->grid.threads > 0 ? t->grid.threads : sg_threads(1),
                                              .stop = t->grid.stop,
                                              .progress = t->progress};
    if (t->dry_run)
        return SG_OK;
    sg_status status = sg_oracle_run(&oracle, t->recording, t->cells, t->n_cells, &options, err);
    if (status == SG_OK)
        tune_show(t, tune_evidence(t, "oracle", sg_oracle_json(&oracle)), put_table, &oracle);
    sg_oracle_free(&oracle);
    return status;
}
