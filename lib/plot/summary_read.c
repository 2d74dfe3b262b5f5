/* Final values of every label and the claims, ready to tabulate. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"

enum { MAX_METRICS = 32 };

struct choice {
    const char *name[MAX_METRICS];
    size_t n;
};

static sg_status choose(struct choice *c, const cJSON *document, const char *name, struct sg_error *err) {
    const char *column;
    sg_status status = sg_plot_resolve(&column, document, name, err);
    if (status != SG_OK || !sg_plot_is_recorded(document, column))
        return status;
    for (size_t i = 0; i < c->n; i++)
        if (c->name[i] == column)
            return SG_OK;
    if (c->n < MAX_METRICS)
        c->name[c->n++] = column;
    return SG_OK;
}

/* Where a run stands is no result of it. */
static bool is_clock(const char *name) {
    return strcmp(name, "step") == 0 || strcmp(name, "epoch") == 0;
}

static sg_status choose_metrics(struct choice *c, const cJSON *document, const struct sg_plot_select *select,
                                struct sg_error *err) {
    sg_status status = SG_OK;
    if (select->y)
        return choose(c, document, select->y, err);
    const cJSON *plots = sg_json_get(document, "plots"), *plot, *result, *item;
    size_t n = (size_t)cJSON_GetArraySize(plots), number = 0;
    if (select->panel > (n ? n : 1))
        return sg_fail(err, SG_ERR_ARGUMENT, "--panel=%zu: the result has %zu plot%s", select->panel, n,
                       n == 1 ? "" : "s");
    cJSON_ArrayForEach(plot, plots) {
        const char *axes[] = {sg_json_string(plot, "y", NULL), sg_json_string(plot, "x", NULL)};
        if (select->panel && select->panel != ++number)
            continue;
        for (size_t a = 0; a < 2 && status == SG_OK; a++)
            if (axes[a] && !is_clock(axes[a]))
                status = choose(c, document, axes[a], err);
    }
    if (n > 0 || status != SG_OK)
        return status;
    cJSON_ArrayForEach(result, sg_json_get(document, "results")) cJSON_ArrayForEach(
        item, sg_json_get(result, "series")) if (status == SG_OK && c->n < MAX_METRICS && !is_clock(item->string))
        status = choose(c, document, item->string, err);
    return status;
}

static sg_status read_rows(struct sg_summary *s, const cJSON *document, struct sg_error *err) {
    const cJSON *results = sg_json_get(document, "results"), *result;
    s->row = calloc((size_t)cJSON_GetArraySize(results) + 1, sizeof *s->row);
    if (!s->row)
        return sg_fail_memory(err, "the table");
    cJSON_ArrayForEach(result, results) {
        struct sg_summary_row *row = &s->row[s->n_rows++];
        row->label = sg_json_string(result, "label", "");
        row->mean = calloc(s->n_metrics + 1, sizeof *row->mean);
        row->std = calloc(s->n_metrics + 1, sizeof *row->std);
        if (!row->mean || !row->std)
            return sg_fail_memory(err, "the table");
        for (size_t m = 0; m < s->n_metrics; m++)
            sg_plot_final(result, s->metric[m].name, &row->mean[m], &row->std[m]);
    }
    return SG_OK;
}

static sg_status read_claims(struct sg_summary *s, const cJSON *document, struct sg_error *err) {
    const cJSON *claims = sg_json_get(document, "claims"), *claim, *seed;
    s->claim = calloc((size_t)cJSON_GetArraySize(claims) + 1, sizeof *s->claim);
    if (!s->claim)
        return sg_fail_memory(err, "the claims");
    cJSON_ArrayForEach(claim, claims) {
        struct sg_claim *c = &s->claim[s->n_claims++];
        const cJSON *seeds = sg_json_get(claim, "seeds");
        c->text = sg_json_string(claim, "text", "");
        c->verdict = sg_json_string(claim, "verdict", "undecided");
        c->reason = sg_json_string(claim, "reason", NULL);
        c->at_least = strcmp(sg_json_string(claim, "sense", ""), "at-least") == 0;
        c->seed = calloc((size_t)cJSON_GetArraySize(seeds) + 1, sizeof *c->seed);
        if (!c->seed)
            return sg_fail_memory(err, "the claims");
        cJSON_ArrayForEach(seed, seeds) c->seed[c->n_seeds++] =
            (struct sg_claim_seed){sg_json_string(seed, "seed", "?"), sg_json_number(seed, "value", NAN),
                                   sg_json_number(seed, "bound", NAN), sg_json_number(seed, "ratio", NAN)};
    }
    return SG_OK;
}

sg_status sg_summary_read(struct sg_summary *out, const cJSON *document, const struct sg_plot_select *select,
                          struct sg_error *err) {
    struct sg_summary s = {0};
    struct choice choice = {.n = 0};
    int seeds = sg_plot_seeds(document);
    sg_status status = choose_metrics(&choice, document, select, err);
    if (status != SG_OK)
        return status;
    sg_plot_note_status(&s.notes, document);
    s.title = sg_plot_title(document, select->title);
    s.source = sg_plot_source(document);
    if (seeds > 1 ? asprintf(&s.footnote, "Final values, mean ± standard deviation over %d seeds", seeds) < 0
                  : (s.footnote = strdup(seeds ? "Final values, one seed"
                                               : "Final values, mean ± standard deviation over "
                                                 "seeds")) == NULL)
        s.footnote = NULL;
    s.metric = calloc(choice.n + 1, sizeof *s.metric);
    if (!s.title || !s.source || !s.footnote || !s.metric) {
        status = sg_fail_memory(err, "the table");
        goto out;
    }
    for (; s.n_metrics < choice.n; s.n_metrics++) {
        struct sg_summary_metric *m = &s.metric[s.n_metrics];
        m->name = choice.name[s.n_metrics];
        status = sg_plot_label(&m->label, &m->latex, document, m->name, err);
        if (status != SG_OK)
            goto out;
    }
    status = read_rows(&s, document, err);
    if (status == SG_OK)
        status = read_claims(&s, document, err);
out:
    if (status == SG_OK)
        *out = s;
    else
        sg_summary_free(&s);
    return status;
}

void sg_summary_free(struct sg_summary *s) {
    for (size_t i = 0; i < s->n_metrics; i++) {
        free(s->metric[i].label);
        free(s->metric[i].latex);
    }
    for (size_t i = 0; i < s->n_rows; i++) {
        free(s->row[i].mean);
        free(s->row[i].std);
    }
    for (size_t i = 0; i < s->n_claims; i++)
        free(s->claim[i].seed);
    free(s->metric);
    free(s->row);
    free(s->claim);
    free(s->title);
    free(s->source);
    free(s->footnote);
    *s = (struct sg_summary){0};
}
