/* tune_oracle.c: --oracle: what Lemma 3 says about a recorded run (sg_lemma3_oracle.h). */
#include <stdlib.h>

#include "sg_clock.h"
#include "sg_lemma3_oracle.h"
#include "sg_text.h"
#include "tune_private.h"

static sg_status write_table(struct sg_tune *t, const struct sg_oracle *o, struct sg_error *err) {
    size_t size;
    FILE *out = open_memstream(&t->table, &size);
    const double entries = (double)o->entries;
    if (!out)
        return sg_fail_memory(err, "the table");
    fprintf(out,
            "# what '%s', seed %llu, compressed: %llu steps of %zu workers, %zu parameters\n"
            "# sent %llu entries, %.4g %%: lambda %.6g (down to %.6g), least total error %.6g\n"
            "# method | sent, %% | error | least error | regret | error / least | lambda of as many\n",
            o->cell->label, (unsigned long long)o->cell->seed, (unsigned long long)o->steps, o->workers, o->d,
            (unsigned long long)o->best.k, 100 * (double)o->best.k / entries, o->best.kept_last, o->best.lost_most,
            o->best.lost);
    for (size_t i = 0; i < o->n_methods; i++) {
        const struct sg_oracle_method *m = &o->method[i];
        fprintf(out, "%-24s %10.4g %12.6g %12.6g %12.6g %8.4f %12.6g\n", m->cell->label,
                100 * (double)m->sent / entries, m->error, m->best.lost, sg_oracle_regret(m),
                m->best.lost > 0 ? m->error / m->best.lost : 1, m->best.kept_last);
    }
    return sg_stream_text(out, &t->table) ? SG_OK : sg_fail_memory(err, "the table");
}

sg_status tune_oracle(struct sg_tune *t, struct sg_error *err) {
    struct sg_cell *cells = NULL;
    size_t count = 0;
    struct sg_oracle oracle = {0};
    const struct sg_oracle_options options = {
        .threads = t->grid.threads > 0 ? t->grid.threads : sg_cores(1), .stop = t->grid.stop, .progress = t->progress};
    sg_status status = sg_recipe_cells(t->recipe, &cells, &count, err);
    if (status == SG_OK && t->dry_run)
        goto out;
    if (status == SG_OK)
        status = sg_oracle_run(&oracle, t->recording, cells, count, &options, err);
    if (status == SG_OK)
        status = tune_evidence(t, "oracle", sg_oracle_json(&oracle), err);
    if (status == SG_OK)
        status = write_table(t, &oracle, err);
    sg_oracle_free(&oracle);
out:
    sg_recipe_cells_free(cells, count);
    return status;
}
