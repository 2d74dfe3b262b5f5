/* document.c: the members of a result in tables, and with these its reader and its writer. */
/* SPDX-License-Identifier: MIT */
#include "sg_document.h"

#include <math.h>
#include <string.h>

#include "sg_text.h"

/* A member of the structure sg_document_T; one that is there if it is known; one that is there with that before it. */
#define F(T, member)     SG_FIELD(sg_document_##T, member)
#define KNOWN(T, member) SG_FIELD_IF(sg_document_##T, member, SG_IF_KNOWN)
#define WITH(T, member)  SG_FIELD_IF(sg_document_##T, member, SG_WITH_LAST)

/* ---- where the numbers come from ---- */

static const struct sg_field program_fields[] = {KNOWN(program, version), KNOWN(program, commit),
                                                 KNOWN(program, dirty)};
const struct sg_shape sg_document_program_shape = SG_SHAPE(sg_document_program, program_fields);

static const struct sg_field recipe_fields[] = {F(recipe, path), F(recipe, sha256), F(recipe, set),
                                                F(recipe, name), F(recipe, title),  F(recipe, resolved)};
const struct sg_shape sg_document_recipe_shape = SG_SHAPE(sg_document_recipe, recipe_fields);

static const struct sg_field run_fields[] = {
    F(run, argv),      F(run, started_at),
    F(run, elapsed_s), F(run, jobs),
    F(run, threads),   F(run, launcher),
    F(run, folder),    F(run, set),
    F(run, methods),   F(run, seeds),
    F(run, part),      SG_OBJECT_FIELD(sg_document_run, recipe, sg_document_recipe_shape, SG_IF_KNOWN)};
const struct sg_shape sg_document_run_shape = SG_SHAPE(sg_document_run, run_fields);

static const struct sg_field dataset_fields[] = {KNOWN(dataset, name), KNOWN(dataset, source),
                                                 KNOWN(dataset, generator), KNOWN(dataset, train_file)};
const struct sg_shape sg_document_dataset_shape = SG_SHAPE(sg_document_dataset, dataset_fields);

static const struct sg_field network_fields[] = {KNOWN(network, model), KNOWN(network, error)};
const struct sg_shape sg_document_network_shape = SG_SHAPE(sg_document_network, network_fields);

/* ---- labels ---- */

static const struct sg_field cell_fields[] = {
    F(cell, seed),           F(cell, status),   F(cell, message),       F(cell, file),
    F(cell, elapsed_s),      F(cell, steps),    F(cell, planned_steps), F(cell, epochs),
    F(cell, planned_epochs), F(cell, devices),  F(cell, reused),        KNOWN(cell, trial),
    WITH(cell, drawn),       WITH(cell, value), KNOWN(cell, won),       KNOWN(cell, fresh)};
static const struct sg_shape cell_shape = SG_SHAPE(sg_document_cell, cell_fields);

static const struct sg_field winner_fields[] = {F(winner, seed), F(winner, trial), F(winner, drawn), F(winner, value)};
static const struct sg_shape winner_shape = SG_SHAPE(sg_document_winner, winner_fields);

static const struct sg_field edge_fields[] = {F(edge, least), F(edge, greatest)};
static const struct sg_shape edge_shape = SG_SHAPE(sg_document_edge, edge_fields);

static const struct sg_field tuned_fields[] = {F(tuned, by), F(tuned, at), F(tuned, trials),
                                               SG_OBJECT_FIELD(sg_document_tuned, winner, winner_shape, SG_ALWAYS),
                                               SG_NAMED_FIELD(sg_document_tuned, edges, edge_shape, SG_ALWAYS)};
static const struct sg_shape tuned_shape = SG_SHAPE(sg_document_tuned, tuned_fields);

static const struct sg_field label_fields[] = {SG_FIELD(sg_frame_label, label),
                                               SG_FIELD(sg_frame_label, method),
                                               SG_FIELD(sg_frame_label, compressor),
                                               SG_FIELD(sg_frame_label, baseline),
                                               SG_FIELD(sg_frame_label, parameters),
                                               SG_FIELD_IF(sg_frame_label, swept, SG_IF_KNOWN),
                                               SG_OBJECT_FIELD(sg_frame_label, tuned, tuned_shape, SG_IF_KNOWN),
                                               SG_FIELD(sg_frame_label, constants),
                                               SG_FIELD(sg_frame_label, times_less),
                                               SG_FIELD(sg_frame_label, seeds),
                                               SG_LIST_FIELD(sg_frame_label, cells, cell_shape, SG_ALWAYS),
                                               SG_MADE_FIELD("series", sg_frame_series_json),
                                               SG_MADE_FIELD("final", sg_frame_final_json)};
static const struct sg_shape label_shape = SG_SHAPE(sg_frame_label, label_fields);

/* ---- claims ---- */

static const struct sg_field bound_fields[] = {F(bound, metric), F(bound, at), F(bound, of), F(bound, times),
                                               F(bound, plus)};
static const struct sg_shape bound_shape = SG_SHAPE(sg_document_bound, bound_fields);

static const struct sg_field margin_fields[] = {F(margin, scale), F(margin, mean), F(margin, half_width)};
static const struct sg_shape margin_shape = SG_SHAPE(sg_document_margin, margin_fields);

static const struct sg_field seed_fields[] = {F(seed, seed),  F(seed, value), F(seed, other),
                                              F(seed, bound), F(seed, ratio), F(seed, note)};
static const struct sg_shape seed_shape = SG_SHAPE(sg_document_seed, seed_fields);

static const struct sg_field case_fields[] = {F(case, case_), F(case, value),    F(case, bound),
                                              F(case, ratio), F(case, ratio_q1), F(case, ratio_q3)};
static const struct sg_shape case_shape = SG_SHAPE(sg_document_case, case_fields);

static const struct sg_field claim_fields[] = {F(claim, text),
                                               F(claim, descriptive),
                                               F(claim, note),
                                               F(claim, verdict),
                                               F(claim, metric),
                                               F(claim, at),
                                               F(claim, of),
                                               F(claim, sense),
                                               SG_OBJECT_FIELD(sg_document_claim, bound, bound_shape, SG_ALWAYS),
                                               F(claim, reason),
                                               SG_OBJECT_FIELD(sg_document_claim, margin, margin_shape, SG_ALWAYS),
                                               SG_LIST_FIELD(sg_document_claim, seeds, seed_shape, SG_ALWAYS),
                                               SG_LIST_FIELD(sg_document_claim, cases, case_shape, SG_IF_KNOWN)};
const struct sg_shape sg_document_claim_shape = SG_SHAPE(sg_document_claim, claim_fields);

/* ---- plots ---- */

static const struct sg_field spread_fields[] = {F(spread, mean), F(spread, std), F(spread, n), F(spread, values)};
static const struct sg_shape spread_shape = SG_SHAPE(sg_document_spread, spread_fields);

static const struct sg_field point_fields[] = {F(point, label),
                                               SG_OBJECT_FIELD(sg_document_point, x, spread_shape, SG_ALWAYS),
                                               SG_OBJECT_FIELD(sg_document_point, y, spread_shape, SG_ALWAYS)};
static const struct sg_shape point_shape = SG_SHAPE(sg_document_point, point_fields);

static const struct sg_field plot_fields[] = {F(plot, x),
                                              F(plot, y),
                                              F(plot, log),
                                              F(plot, title),
                                              F(plot, kind),
                                              F(plot, band),
                                              F(plot, smooth),
                                              F(plot, x_range),
                                              F(plot, y_range),
                                              F(plot, methods),
                                              F(plot, x_at),
                                              F(plot, y_at),
                                              SG_LIST_FIELD(sg_document_plot, points, point_shape, SG_ALWAYS)};
static const struct sg_shape plot_shape = SG_SHAPE(sg_document_plot, plot_fields);

/* ---- what was found ---- */

static const struct sg_field traffic_fields[] = {F(traffic, column), F(traffic, baseline), F(traffic, other_steps)};
static const struct sg_shape traffic_shape = SG_SHAPE(sg_document_traffic, traffic_fields);

static const struct sg_field level_fields[] = {F(level, times_less), F(level, first), F(level, second), F(level, lead),
                                               F(level, beyond_noise)};
static const struct sg_shape level_shape = SG_SHAPE(sg_document_level, level_fields);

static const struct sg_field method_fields[] = {F(method, label),   F(method, baseline), F(method, value),
                                                F(method, std),     F(method, values),   F(method, loss),
                                                F(method, low),     F(method, high),     F(method, pairs),
                                                F(method, verdict), F(method, reaches),  F(method, times_less)};
static const struct sg_shape method_shape = SG_SHAPE(sg_document_method, method_fields);

static const struct sg_field summary_fields[] = {
    F(summary, text),
    F(summary, reason),
    F(summary, baseline),
    F(summary, metric),
    F(summary, at),
    F(summary, better),
    F(summary, within),
    F(summary, unit),
    F(summary, value),
    F(summary, start),
    F(summary, std),
    F(summary, values),
    SG_LIST_FIELD(sg_document_summary, equal_traffic, level_shape, SG_ALWAYS),
    SG_LIST_FIELD(sg_document_summary, methods, method_shape, SG_ALWAYS)};
static const struct sg_shape summary_shape = SG_SHAPE(sg_document_summary, summary_fields);

static const struct sg_field key_fields[] = {F(key, studies), F(key, least), F(key, greatest), F(key, at_edge)};
static const struct sg_shape key_shape = SG_SHAPE(sg_document_key, key_fields);

static const struct sg_field tuning_fields[] = {SG_NAMED_FIELD(sg_document_tuning, keys, key_shape, SG_ALWAYS),
                                                F(tuning, text)};
static const struct sg_shape tuning_shape = SG_SHAPE(sg_document_tuning, tuning_fields);

static const struct sg_field table_fields[] = {KNOWN(table, columns), KNOWN(table, footnote)};
static const struct sg_shape table_shape = SG_SHAPE(sg_document_table, table_fields);

/* ---- the result ---- */

static const struct sg_field document_fields[] = {
    SG_FIELD(sg_document, schema),
    SG_FIELD(sg_document, status),
    SG_OBJECT_FIELD(sg_document, program, sg_document_program_shape, SG_ALWAYS),
    SG_OBJECT_FIELD(sg_document, run, sg_document_run_shape, SG_ALWAYS),
    SG_OBJECT_FIELD(sg_document, recipe, sg_document_recipe_shape, SG_ALWAYS),
    SG_OBJECT_FIELD(sg_document, dataset, sg_document_dataset_shape, SG_ALWAYS),
    SG_FIELD(sg_document, identities),
    SG_FIELD(sg_document, host),
    SG_FIELD(sg_document, libraries),
    SG_FIELD(sg_document, units),
    SG_OBJECT_FIELD(sg_document, network, sg_document_network_shape, SG_ALWAYS),
    SG_OBJECT_FIELD(sg_document, traffic, traffic_shape, SG_ALWAYS),
    {.key = "results",
     .kind = SG_FIELD_LIST,
     .at = offsetof(struct sg_document, results.label),
     .count = offsetof(struct sg_document, results.n_labels),
     .of = &label_shape},
    SG_LIST_FIELD(sg_document, claims, sg_document_claim_shape, SG_ALWAYS),
    SG_LIST_FIELD(sg_document, plots, plot_shape, SG_ALWAYS),
    SG_OBJECT_FIELD(sg_document, summary, summary_shape, SG_ALWAYS),
    SG_OBJECT_FIELD(sg_document, tuning, tuning_shape, SG_IF_KNOWN),
    SG_FIELD_IF(sg_document, kind, SG_IF_KNOWN),
    SG_FIELD_IF(sg_document, name, SG_IF_KNOWN),
    SG_FIELD_IF(sg_document, title, SG_IF_KNOWN),
    SG_FIELD_IF(sg_document, method, SG_IF_KNOWN),
    SG_FIELD_IF(sg_document, over, SG_IF_KNOWN),
    SG_OBJECT_FIELD(sg_document, table, table_shape, SG_IF_KNOWN)};
static const struct sg_shape document_shape = SG_SHAPE(sg_document, document_fields);

/* Checks the labels, and reads their columns. */
static sg_status read_labels(struct sg_document *d, const char *name, struct sg_error *err) {
    sg_status status = SG_OK;
    for (size_t l = 0; l < d->results.n_labels && status == SG_OK; l++) {
        struct sg_frame_label *label = &d->results.label[l];
        label->n_seeds = label->seeds.n;
        label->method = label->method ? label->method : label->label;
        if (!label->label)
            return sg_fail(err, SG_ERR_FORMAT, "%s: a result without \"label\"", name);
        for (size_t k = 0; k < l; k++)
            if (strcmp(d->results.label[k].label, label->label) == 0)
                return sg_fail(err, SG_ERR_FORMAT, "%s: two results have the label '%.80s'", name, label->label);
        status = sg_frame_read_columns(label, name, err);
    }
    return status;
}

sg_status sg_document_read(struct sg_document *out, cJSON *take_json, const char *name, struct sg_error *err) {
    struct sg_document d = {0};
    struct sg_arena memory = {0};
    const cJSON *results = sg_json_get(take_json, "results");
    sg_arena_take(&memory, take_json);
    sg_fields_read(&document_shape, &d, take_json, &memory);
    d.memory = memory;
    if (sg_document_is_kernels(&d)) {
        d.rows = results;
        d.results = (struct sg_frame){0};
    }
    sg_status status =
        cJSON_IsArray(results) ? read_labels(&d, name, err) : sg_fail(err, SG_ERR_FORMAT, "%s: no \"results\"", name);
    if (status == SG_OK)
        *out = d;
    else
        sg_document_free(&d);
    return status;
}

cJSON *sg_document_json(const struct sg_document *document) {
    cJSON *out = sg_fields_json(&document_shape, document);
    if (document->rows)
        cJSON_ReplaceItemInObjectCaseSensitive(out, "results", sg_json_copy(document->rows));
    return out;
}

void sg_document_clean(struct sg_document *document) {
    document->rows = sg_arena_clean(&document->memory, document->rows);
    sg_fields_clean(&document_shape, document, &document->memory);
}

void sg_document_free(struct sg_document *document) {
    sg_frame_free_columns(&document->results);
    sg_arena_free(&document->memory);
    *document = (struct sg_document){0};
}

/* ---- looking up ---- */

const char *sg_document_task(const struct sg_document *document) {
    return sg_json_string(document->recipe ? document->recipe->resolved : NULL, "task.kind", "");
}

bool sg_document_is_kernels(const struct sg_document *document) {
    return document->kind && strcmp(document->kind, "kernels") == 0;
}

const struct sg_document_point *sg_document_point(const struct sg_document_plot *plot, const char *label) {
    for (size_t i = 0; plot && i < plot->n_points; i++)
        if (plot->points[i].label && strcmp(plot->points[i].label, label) == 0)
            return &plot->points[i];
    return NULL;
}

void sg_document_spread(double out[SG_STATISTICS], const struct sg_document_spread *spread, size_t n_seeds) {
    for (size_t s = 0; s < SG_STATISTICS; s++)
        out[s] = NAN;
    if (!spread)
        return;
    const bool plain = spread->from && !cJSON_IsObject(spread->from); /* a number alone */
    out[SG_MEAN] = plain ? sg_json_number(spread->from, "", NAN) : spread->mean;
    out[SG_STD] = n_seeds < 2 ? NAN : spread->std;
    out[SG_COUNT] = spread->n;
}
