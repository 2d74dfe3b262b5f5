/* summary_read.c: reads final values of every label and the claims, ready to tabulate. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"
#include "sg_task.h"
#include "sg_text.h"

/* A column of the table. */
struct source {
    const char *name;    /* the document's column */
    const cJSON *points; /* the values at `axis` of a plot of points; NULL = those where the runs ended */
    const char *axis;    /* "x" or "y" */
    const cJSON *at;     /* what the values are of a run; NULL = an older result, which does not say */
    const cJSON *found;  /* the document's summary, whose values these are; NULL = they are not */
    bool drawn;          /* what the trial drew that won */
};

struct choice {
    const cJSON *document;
    struct sg_frame frame; /* its numbers */
    struct source source[SG_SUMMARY_COLUMNS];
    size_t n;
};

static bool same_source(const struct source *a, const struct source *b) {
    return strcmp(a->name, b->name) == 0 && a->drawn == b->drawn && !a->points == !b->points &&
           !a->found == !b->found && (!a->points || (a->axis == b->axis && cJSON_Compare(a->at, b->at, true)));
}

static void add(struct choice *c, const struct source *source) {
    for (size_t i = 0; i < c->n; i++)
        if (same_source(&c->source[i], source))
            return;
    if (c->n < SG_SUMMARY_COLUMNS)
        c->source[c->n++] = *source;
}

/* What the points of a source have for a label. */
static void read_point(double out[SG_STATISTICS], const struct source *s, const struct sg_frame_label *label) {
    sg_frame_read_spread(out, sg_json_get(sg_plot_find(s->points, "label", label->label), s->axis), label->n_seeds);
}

/* True if the points differ from the final values of the runs. */
static bool is_elsewhere(const struct choice *c, const struct source *s) {
    double shown[SG_STATISTICS], final[SG_STATISTICS];
    if (s->at)
        return cJSON_IsObject(s->at) && !sg_json_bool(s->at, "final", false);
    for (size_t l = 0; l < c->frame.n_labels; l++) {
        read_point(shown, s, &c->frame.label[l]);
        sg_plot_final(final, &c->frame.label[l], s->name);
        if (!isnan(shown[SG_MEAN]) && shown[SG_MEAN] != final[SG_MEAN])
            return true;
    }
    return false;
}

/* Chooses the columns of a plot's axes, y first. A column that no run recorded is left out with a note, because the
 * grid may have been stopped before its first cell was finished. */
static void choose_plot(struct choice *c, const cJSON *plot, struct sg_plot_notes *notes) {
    static const char *const axis[][2] = {{"y", "y_at"}, {"x", "x_at"}};
    for (size_t a = 0; a < 2; a++) {
        const char *name = sg_json_string(plot, axis[a][0], NULL);
        struct source s = {.axis = axis[a][0], .at = sg_json_get(plot, axis[a][1])};
        struct sg_error unknown;
        if (!name || sg_frame_is_axis(name))
            continue;
        if (sg_plot_resolve(&s.name, &c->frame, name, &unknown) != SG_OK)
            sg_plot_note(notes, "'%.60s' was not recorded and is left out", name);
        else if (sg_plot_is_recorded(&c->frame, s.name)) {
            s.points = sg_json_get(plot, "points");
            if (!cJSON_IsArray(s.points) || !is_elsewhere(c, &s))
                s.points = NULL;
            add(c, &s);
        }
    }
}

/* Adds the final values of a column, if there is one of this name. */
static void add_final(struct choice *c, const char *name) {
    struct source s = {0};
    struct sg_error unknown;
    if (sg_plot_resolve(&s.name, &c->frame, name, &unknown) == SG_OK)
        add(c, &s);
}

/* Adds a column for the values that the sentence below the table compares, unless another column has them. */
static void add_compared(struct choice *c) {
    const cJSON *found = sg_json_get(c->document, "summary");
    struct source s = {.at = sg_json_get(found, "at"), .found = found};
    struct sg_error unknown;
    if (!sg_json_string(found, "text", NULL) || !cJSON_IsObject(s.at) || sg_json_bool(s.at, "final", false) ||
        sg_plot_resolve(&s.name, &c->frame, sg_json_string(found, "metric", ""), &unknown) != SG_OK)
        return;
    for (size_t i = 0; i < c->n; i++)
        if (c->source[i].points && c->source[i].name == s.name && cJSON_Compare(c->source[i].at, s.at, true))
            return;
    add(c, &s);
}

/* Adds a column for each key that some method has tuned. */
static void add_drawn(struct choice *c) {
    const cJSON *value;
    for (size_t l = 0; l < c->frame.n_labels; l++)
        cJSON_ArrayForEach(value, sg_json_get(c->frame.label[l].json, "tuned.winner.drawn"))
            add(c, &(struct source){.name = value->string, .drawn = true});
}

/* Chooses the columns of the plots, and if there is a network also its times. */
static void choose_plots(struct choice *c, const struct sg_plot_select *select, struct sg_plot_notes *notes) {
    const cJSON *plot;
    size_t number = 0;
    cJSON_ArrayForEach(plot, sg_json_get(c->document, "plots")) if (++number == select->panel || select->panel == 0)
        choose_plot(c, plot, notes);
    if (select->panel == 0)
        add_compared(c);
    if (sg_json_string(c->document, "network.model", NULL)) {
        add_final(c, "time");
        add_final(c, "exposed_time");
    }
}

/* Chooses the columns that the document lists, the i-th for the i-th plot. */
static void choose_told(struct choice *c, const cJSON *columns, size_t panel) {
    const cJSON *column;
    size_t number = 0;
    cJSON_ArrayForEach(column, columns) if ((++number == panel || panel == 0) && cJSON_IsString(column))
        add_final(c, column->valuestring);
}

static sg_status choose_metrics(struct choice *c, const struct sg_plot_select *select, struct sg_plot_notes *notes,
                                struct sg_error *err) {
    const cJSON *told = sg_json_get(c->document, "table.columns");
    struct source chosen = {0};
    if (select->y) {
        sg_status status = sg_plot_resolve(&chosen.name, &c->frame, select->y, err);
        if (status == SG_OK && sg_plot_is_recorded(&c->frame, chosen.name))
            add(c, &chosen);
        return status;
    }
    if (sg_plot_check_panel(c->document, select, err) != SG_OK)
        return err->status;
    if (told)
        choose_told(c, told, select->panel);
    else if (cJSON_GetArraySize(sg_json_get(c->document, "plots")) > 0)
        choose_plots(c, select, notes);
    else
        for (size_t l = 0; l < c->frame.n_labels; l++)
            for (size_t i = 0; i < c->frame.label[l].n_columns && c->n < SG_SUMMARY_COLUMNS; i++) {
                const struct sg_frame_column *column = &c->frame.label[l].column[i];
                if (column->in_series && !sg_frame_is_axis(column->name))
                    add_final(c, column->name);
            }
    add_drawn(c);
    return SG_OK;
}

void sg_plot_at_words(char *out, size_t size, const cJSON *at) {
    static const struct {
        const char *key, *words;
    } flag[] = {{"max", "largest"}, {"min", "smallest"}, {"mean", "mean"}, {"sum", "sum"}};
    const char *words = "as drawn";
    const double median = sg_json_number(at, "tail_median", NAN), mean = sg_json_number(at, "tail_mean", NAN);
    const double epoch = sg_json_number(at, "epoch", NAN), step = sg_json_number(at, "step", NAN);
    for (size_t i = 0; i < sizeof flag / sizeof *flag; i++)
        if (sg_json_bool(at, flag[i].key, false))
            words = flag[i].words;
    if (!isnan(median) || !isnan(mean))
        snprintf(out, size, ", %s of the last %g %%", isnan(mean) ? "median" : "mean",
                 100 * (isnan(mean) ? median : mean));
    else if (!isnan(epoch) || !isnan(step))
        snprintf(out, size, ", at %s %g", isnan(step) ? "epoch" : "step", isnan(step) ? epoch : step);
    else if (sg_json_bool(at, "final", false))
        out[0] = '\0';
    else if (sg_json_string(at, "when", NULL))
        snprintf(out, size, ", when %.40s ≤ %g", sg_json_string(at, "when", ""), sg_json_number(at, "below", NAN));
    else
        snprintf(out, size, ", %s", words);
}

/* True if the winners of most studies had the least or the greatest draw of a key. */
static bool is_at_edge(const cJSON *document, const char *key) {
    return sg_json_bool(sg_json_get(sg_json_get(document, "tuning.keys"), key), "at_edge", false);
}

static sg_status read_metric(struct sg_summary_metric *m, const cJSON *document, const struct source *source,
                             struct sg_error *err) {
    const struct sg_metric *known = sg_column_find(source->name);
    char at[96] = "", *name = sg_plot_heading(document, source->name, &m->formula);
    m->name = source->name;
    if (source->points || source->found)
        sg_plot_at_words(at, sizeof at, source->at);
    if (source->drawn)
        snprintf(at, sizeof at,
                 is_at_edge(document, source->name) ? " that won, at the edge of its range" : " that won");
    m->heading = name ? sg_format("%s%s", name, at) : NULL;
    m->higher = known && known->higher;
    free(name);
    return m->heading ? SG_OK : sg_fail_memory(err, "the table");
}

/* A label's entry in the summary, which is its own for the baseline; NULL = it has none. */
static const cJSON *compared(const cJSON *found, const char *label) {
    const bool base = strcmp(label, sg_json_string(found, "baseline", "")) == 0;
    return base ? found : sg_plot_find(sg_json_get(found, "methods"), "label", label);
}

static void read_number(struct sg_summary_row *row, size_t m, const struct sg_frame_label *label,
                        const struct source *source) {
    double value[SG_STATISTICS];
    if (source->points)
        read_point(value, source, label);
    else
        sg_plot_final(value, label, source->name);
    row->mean[m] = value[SG_MEAN];
    row->std[m] = value[SG_STD];
    if (source->drawn) {
        row->mean[m] =
            sg_json_number(sg_frame_member(sg_json_get(label->json, "tuned.winner.drawn"), source->name), "", NAN);
        row->std[m] = NAN;
    }
    if (source->found) {
        const cJSON *entry = compared(source->found, label->label);
        row->mean[m] = sg_json_number(entry, "value", NAN);
        row->std[m] = label->n_seeds > 1 ? sg_json_number(entry, "std", NAN) : NAN;
    }
}

/* Reads the last column: how many times less each method sent than the baseline, if the result says so. */
static sg_status read_traffic(struct sg_summary *s, const cJSON *document, struct sg_error *err) {
    const char *baseline = sg_json_string(document, "traffic.baseline", NULL), *unused;
    if (!baseline)
        return SG_OK;
    char *sent = sg_plot_heading(document, sg_json_string(document, "traffic.column", "bits"), &unused);
    struct sg_summary_metric *m = &s->metric[s->n_metrics++];
    m->name = "times_less";
    m->higher = true;
    m->heading = strdup("times less sent");
    s->traffic =
        sent ? sg_format("%s of %s / that of the method%s", sent, baseline,
                         sg_json_bool(document, "traffic.other_steps", false) ? ", where both took as many steps" : "")
             : NULL;
    free(sent);
    m->formula = s->traffic;
    return s->traffic && m->heading ? SG_OK : sg_fail_memory(err, "the table");
}

static sg_status read_rows(struct sg_summary *s, const struct choice *choice, struct sg_error *err) {
    s->row = calloc(choice->frame.n_labels + 1, sizeof *s->row);
    if (!s->row)
        return sg_fail_memory(err, "the table");
    for (size_t l = 0; l < choice->frame.n_labels; l++) {
        const struct sg_frame_label *label = &choice->frame.label[l];
        struct sg_summary_row *row = &s->row[s->n_rows++];
        row->label = label->label;
        row->mean = calloc(s->n_metrics + 1, sizeof *row->mean);
        row->std = calloc(s->n_metrics + 1, sizeof *row->std);
        if (!row->mean || !row->std)
            return sg_fail_memory(err, "the table");
        for (size_t m = 0; m < choice->n; m++)
            read_number(row, m, label, &choice->source[m]);
        if (s->n_metrics > choice->n) {
            row->mean[choice->n] = sg_json_number(label->json, "times_less", NAN);
            row->std[choice->n] = NAN;
        }
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
        c->cases = sg_json_get(claim, "cases") != NULL;
        const cJSON *seeds = sg_json_get(claim, c->cases ? "cases" : "seeds");
        c->text = sg_json_string(claim, "text", "");
        c->verdict = sg_json_string(claim, "verdict", "undecided");
        c->reason = sg_json_string(claim, "reason", NULL);
        c->note = sg_json_string(claim, "note", NULL);
        c->descriptive = sg_json_bool(claim, "descriptive", false);
        c->judged = strcmp(c->verdict, "not judged") != 0;
        c->at_least = strcmp(sg_json_string(claim, "sense", ""), "at-least") == 0;
        c->seed = calloc((size_t)cJSON_GetArraySize(seeds) + 1, sizeof *c->seed);
        if (!c->seed)
            return sg_fail_memory(err, "the claims");
        c->ratio_min = c->ratio_max = NAN;
        cJSON_ArrayForEach(seed, seeds) {
            const double ratio = sg_json_number(seed, "ratio", NAN);
            c->seed[c->n_seeds++] = (struct sg_claim_seed){sg_json_string(seed, c->cases ? "case" : "seed", "?"),
                                                           sg_json_number(seed, "value", NAN),
                                                           sg_json_number(seed, "bound", NAN),
                                                           ratio,
                                                           sg_json_number(seed, "ratio_q1", NAN),
                                                           sg_json_number(seed, "ratio_q3", NAN)};
            c->ratio_min = fmin(c->ratio_min, ratio); /* fmin ignores a NaN */
            c->ratio_max = fmax(c->ratio_max, ratio);
        }
    }
    return SG_OK;
}

/* Chooses the metric of the summary, taken where the summary does if it can; else the first that the task evaluates. */
static void choose_quality(struct sg_summary *s, const struct choice *choice) {
    const cJSON *document = choice->document;
    const struct sg_task_kind *kind = sg_task_kind_find(sg_json_string(document, "recipe.resolved.task.kind", ""));
    const char *name = sg_json_string(document, "summary.metric", NULL);
    const cJSON *at = sg_json_get(document, "summary.at");
    s->quality = s->n_metrics;
    for (size_t pass = 0; pass < 3; pass++)
        for (size_t m = 0; m < choice->n && s->quality == s->n_metrics; m++) {
            const struct source *source = &choice->source[m];
            const bool same =
                pass < 2 ? name && strcmp(source->name, name) == 0 : sg_task_metric(kind, source->name) != NULL;
            if (same && (pass > 0 || (source->points && cJSON_Compare(source->at, at, true))))
                s->quality = m;
        }
}

/* " after 496 steps" where the table has a density, which says little without the length of the run; else "". */
static const char *steps_text(char out[64], const struct choice *choice) {
    double least = INFINITY, most = 0;
    bool dense = false;
    for (size_t m = 0; m < choice->n; m++)
        dense = dense || strstr(choice->source[m].name, "density") != NULL;
    for (size_t l = 0; dense && l < choice->frame.n_labels; l++) {
        const cJSON *cell;
        cJSON_ArrayForEach(cell, sg_json_get(choice->frame.label[l].json, "cells")) {
            const double steps = sg_json_number(cell, "steps", NAN);
            least = fmin(least, steps); /* fmin ignores a NaN */
            most = fmax(most, steps);
        }
    }
    out[0] = '\0';
    if (most > 0 && least < most)
        snprintf(out, 64, " after %.0f to %.0f steps", least, most);
    else if (most > 0)
        snprintf(out, 64, " after %.0f steps", most);
    return out;
}

/* The texts around the table. */
static sg_status read_texts(struct sg_summary *s, const struct choice *choice, const struct sg_plot_select *select,
                            struct sg_error *err) {
    const cJSON *document = choice->document;
    const int seeds = sg_plot_seeds(&choice->frame);
    char text[64];
    const char *steps = steps_text(text, choice);
    const char *told = select->y ? NULL : sg_json_string(document, "table.footnote", NULL);
    s->title = sg_plot_title(document, select->title);
    s->source = sg_plot_source(document);
    s->finding = sg_json_string(document, "summary.text", NULL);
    s->footnote = told        ? strdup(told)
                  : seeds > 1 ? sg_format("Final values%s, mean ± standard deviation over %d seeds", steps, seeds)
                              : sg_format(seeds ? "Final values%s, one seed"
                                                : "Final values%s, mean ± standard deviation over seeds",
                                          steps);
    s->footnote = sg_plot_add_unfinished(s->footnote, document);
    return s->title && s->source && s->footnote ? SG_OK : sg_fail_memory(err, "the table");
}

static sg_status read_metrics(struct sg_summary *s, const struct choice *choice, bool traffic, struct sg_error *err) {
    sg_status status = SG_OK;
    s->metric = calloc(choice->n + 2, sizeof *s->metric);
    if (!s->metric)
        return sg_fail_memory(err, "the table");
    for (; s->n_metrics < choice->n && status == SG_OK; s->n_metrics++)
        status = read_metric(&s->metric[s->n_metrics], choice->document, &choice->source[s->n_metrics], err);
    return status == SG_OK && traffic ? read_traffic(s, choice->document, err) : status;
}

/* Reads all but the claims. */
static sg_status read_methods(struct sg_summary *s, struct choice *choice, const struct sg_plot_select *select,
                              struct sg_error *err) {
    sg_plot_note_status(&s->notes, choice->document);
    sg_status status = sg_frame_read(&choice->frame, sg_json_get(choice->document, "results"), "the table", err);
    SG_DO(status, choose_metrics(choice, select, &s->notes, err));
    SG_DO(status, read_texts(s, choice, select, err));
    SG_DO(status, read_metrics(s, choice, !select->y, err));
    SG_DO(status, read_rows(s, choice, err));
    if (status != SG_OK)
        return status;
    choose_quality(s, choice);
    return sg_summary_sort(s, select->sort, err);
}

sg_status sg_summary_read(struct sg_summary *out, const cJSON *document, const struct sg_plot_select *select,
                          struct sg_error *err) {
    struct sg_summary s = {.seeds = select->seeds, .color = select->color, .columns = select->columns};
    struct choice choice = {.document = document};
    sg_status status = sg_plot_is_kernels(document) ? SG_OK : read_methods(&s, &choice, select, err);
    SG_DO(status, read_claims(&s, document, err));
    SG_DO(status, sg_plot_read_rankings(&s, document, select, err));
    sg_frame_free(&choice.frame);
    if (status == SG_OK)
        *out = s;
    else
        sg_summary_free(&s);
    return status;
}

void sg_summary_free(struct sg_summary *s) {
    for (size_t i = 0; i < s->n_metrics; i++)
        free(s->metric[i].heading);
    for (size_t i = 0; i < s->n_rows; i++) {
        free(s->row[i].mean);
        free(s->row[i].std);
    }
    for (size_t i = 0; i < s->n_claims; i++)
        free(s->claim[i].seed);
    for (size_t i = 0; i < s->n_rankings; i++)
        sg_figure_free(&s->ranking[i]);
    free(s->metric);
    free(s->row);
    free(s->claim);
    free(s->ranking);
    free(s->traffic);
    free(s->title);
    free(s->source);
    free(s->footnote);
    *s = (struct sg_summary){0};
}
