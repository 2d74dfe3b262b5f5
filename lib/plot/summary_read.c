/* summary_read.c: reads final values of every label and the claims, ready to tabulate. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "plot_private.h"
#include "sg_memory.h"
#include "sg_task.h"
#include "sg_text.h"

/* A column of the table. */
struct source {
    const char *name;                        /* the document's column */
    const struct sg_document_plot *points;   /* the values of this plot's points; NULL = those where the runs ended */
    bool is_x;                               /* of their x, or else their y */
    const cJSON *at;                         /* where in a run; NULL = an older result, which does not say */
    const struct sg_document_summary *found; /* the document's summary, whose values these are; NULL = they are not */
    bool drawn;                              /* what the trial drew that won */
};

struct choice {
    const struct sg_document *document;
    struct source source[SG_SUMMARY_COLUMNS];
    size_t n;
};

static bool same_source(const struct source *a, const struct source *b) {
    return strcmp(a->name, b->name) == 0 && a->drawn == b->drawn && !a->points == !b->points &&
           !a->found == !b->found && (!a->points || (a->is_x == b->is_x && cJSON_Compare(a->at, b->at, true)));
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
    const struct sg_document_point *point = sg_document_point(s->points, label->label);
    sg_document_spread(out, !point ? NULL : s->is_x ? point->x : point->y, label->n_seeds);
}

/* True if the points differ from the final values of the runs. */
static bool is_elsewhere(const struct choice *c, const struct source *s) {
    double shown[SG_STATISTICS], final[SG_STATISTICS];
    if (s->at)
        return cJSON_IsObject(s->at) && !sg_json_bool(s->at, "final", false);
    for (size_t l = 0; l < c->document->results.n_labels; l++) {
        const struct sg_frame_label *label = &c->document->results.label[l];
        read_point(shown, s, label);
        sg_plot_final(final, label, s->name);
        if (!isnan(shown[SG_MEAN]) && shown[SG_MEAN] != final[SG_MEAN])
            return true;
    }
    return false;
}

/* Chooses the columns of a plot's axes, y first. A column that no run recorded is left out with a note, because the
 * grid may have been stopped before its first cell was finished. */
static void choose_plot(struct choice *c, const struct sg_document_plot *plot, struct sg_plot_notes *notes) {
    for (int x = 0; x < 2; x++) {
        const char *name = x ? plot->x : plot->y;
        struct source s = {.is_x = x, .at = x ? plot->x_at : plot->y_at};
        struct sg_error unknown;
        if (!name || sg_frame_is_axis(name))
            continue;
        if (sg_plot_resolve(&s.name, &c->document->results, name, &unknown) != SG_OK)
            sg_plot_note(notes, "'%.60s' was not recorded and is left out", name);
        else if (sg_plot_is_recorded(&c->document->results, s.name)) {
            s.points = plot;
            if (!plot->points || !is_elsewhere(c, &s))
                s.points = NULL;
            add(c, &s);
        }
    }
}

/* Adds the final values of a column, if there is one of this name. */
static void add_final(struct choice *c, const char *name) {
    struct source s = {0};
    struct sg_error unknown;
    if (sg_plot_resolve(&s.name, &c->document->results, name, &unknown) == SG_OK)
        add(c, &s);
}

/* Adds a column for the values that the sentence below the table compares, unless another column has them. */
static void add_compared(struct choice *c) {
    const struct sg_document_summary *found = c->document->summary;
    struct source s = {.at = found ? found->at : NULL, .found = found};
    struct sg_error unknown;
    if (!found || !found->text || !cJSON_IsObject(s.at) || sg_json_bool(s.at, "final", false) ||
        sg_plot_resolve(&s.name, &c->document->results, sg_or(found->metric, ""), &unknown) != SG_OK)
        return;
    for (size_t i = 0; i < c->n; i++)
        if (c->source[i].points && c->source[i].name == s.name && cJSON_Compare(c->source[i].at, s.at, true))
            return;
    add(c, &s);
}

/* What the winner of a label's studies drew; NULL = it was not tuned. */
static const cJSON *drawn_of(const struct sg_frame_label *label) {
    return label->tuned && label->tuned->winner ? label->tuned->winner->drawn : NULL;
}

/* Adds a column for each key that some method has tuned. */
static void add_drawn(struct choice *c) {
    const cJSON *value;
    for (size_t l = 0; l < c->document->results.n_labels; l++)
        cJSON_ArrayForEach(value, drawn_of(&c->document->results.label[l]))
            add(c, &(struct source){.name = value->string, .drawn = true});
}

/* Chooses the columns of the plots, and if there is a network also its times. */
static void choose_plots(struct choice *c, const struct sg_plot_select *select, struct sg_plot_notes *notes) {
    for (size_t i = 0; i < c->document->n_plots; i++)
        if (select->panel == 0 || select->panel == i + 1)
            choose_plot(c, &c->document->plots[i], notes);
    if (select->panel == 0)
        add_compared(c);
    if (c->document->network && c->document->network->model) {
        add_final(c, "time");
        add_final(c, "exposed_time");
    }
}

/* Chooses the columns that the document lists, the i-th for the i-th plot. */
static void choose_told(struct choice *c, const struct sg_text_list *columns, size_t panel) {
    for (size_t i = 0; i < columns->n; i++)
        if ((panel == 0 || panel == i + 1) && columns->item[i])
            add_final(c, columns->item[i]);
}

static sg_status choose_metrics(struct choice *c, const struct sg_plot_select *select, struct sg_plot_notes *notes,
                                struct sg_error *err) {
    const struct sg_document_table *told = c->document->table;
    struct source chosen = {0};
    if (select->y) {
        sg_status status = sg_plot_resolve(&chosen.name, &c->document->results, select->y, err);
        if (status == SG_OK && sg_plot_is_recorded(&c->document->results, chosen.name))
            add(c, &chosen);
        return status;
    }
    if (sg_plot_check_panel(c->document, select, err) != SG_OK)
        return err->status;
    if (told && told->columns.item)
        choose_told(c, &told->columns, select->panel);
    else if (c->document->n_plots > 0)
        choose_plots(c, select, notes);
    else
        for (size_t l = 0; l < c->document->results.n_labels; l++)
            for (size_t i = 0; i < c->document->results.label[l].n_columns && c->n < SG_SUMMARY_COLUMNS; i++) {
                const struct sg_frame_column *column = &c->document->results.label[l].column[i];
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
static bool is_at_edge(const struct sg_document_tuning *tuning, const char *key) {
    for (size_t i = 0; tuning && i < tuning->n_keys; i++)
        if (strcmp(tuning->keys[i].name, key) == 0)
            return tuning->keys[i].at_edge;
    return false;
}

static void read_metric(struct sg_summary_metric *m, const struct sg_document *document, const struct source *source) {
    const struct sg_metric *known = sg_column_find(source->name);
    char at[96] = "", *name = sg_plot_heading(document, source->name, &m->formula);
    m->name = source->name;
    if (source->points || source->found)
        sg_plot_at_words(at, sizeof at, source->at);
    if (source->drawn)
        snprintf(at, sizeof at,
                 is_at_edge(document->tuning, source->name) ? " that won, at the edge of its range" : " that won");
    m->heading = name ? sg_format("%s%s", name, at) : NULL;
    m->higher = known && known->higher;
    free(name);
}

/* A label's value and deviation in the summary; NaN = it has none. */
static void read_found(double *value, double *std, const struct sg_document_summary *found, const char *label) {
    const bool base = strcmp(label, sg_or(found->baseline, "")) == 0;
    *value = base ? found->value : NAN;
    *std = base ? found->std : NAN;
    for (size_t i = 0; !base && i < found->n_methods; i++)
        if (strcmp(sg_or(found->methods[i].label, ""), label) == 0) {
            *value = found->methods[i].value;
            *std = found->methods[i].std;
            return;
        }
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
        row->mean[m] = sg_json_number(sg_frame_member(drawn_of(label), source->name), "", NAN);
        row->std[m] = NAN;
    }
    if (source->found) {
        read_found(&row->mean[m], &row->std[m], source->found, label->label);
        row->std[m] = label->n_seeds > 1 ? row->std[m] : NAN;
    }
}

/* Reads the last column: how many times less each method sent than the baseline, if the result says so. */
static void read_traffic(struct sg_summary *s, const struct sg_document *document) {
    const struct sg_document_traffic *traffic = document->traffic;
    const char *unused;
    if (!traffic || !traffic->baseline)
        return;
    char *sent = sg_plot_heading(document, sg_or(traffic->column, "bits"), &unused);
    struct sg_summary_metric *m = &s->metric[s->n_metrics++];
    m->name = "times_less";
    m->higher = true;
    m->heading = sg_strdup("times less sent");
    s->traffic = sent ? sg_format("%s of %s / that of the method%s", sent, traffic->baseline,
                                  traffic->other_steps ? ", where both took as many steps" : "")
                      : NULL;
    free(sent);
    m->formula = s->traffic;
}

static void read_rows(struct sg_summary *s, const struct choice *choice) {
    const struct sg_frame *results = &choice->document->results;
    s->row = sg_calloc(results->n_labels + 1, sizeof *s->row);
    for (size_t l = 0; l < results->n_labels; l++) {
        const struct sg_frame_label *label = &results->label[l];
        struct sg_summary_row *row = &s->row[s->n_rows++];
        row->label = label->label;
        row->mean = sg_calloc(s->n_metrics + 1, sizeof *row->mean);
        row->std = sg_calloc(s->n_metrics + 1, sizeof *row->std);
        for (size_t m = 0; m < choice->n; m++)
            read_number(row, m, label, &choice->source[m]);
        if (s->n_metrics > choice->n) {
            row->mean[choice->n] = label->times_less;
            row->std[choice->n] = NAN;
        }
    }
}

/* Chooses the metric of the summary, taken where the summary does if it can; else the first that the task evaluates. */
static void choose_quality(struct sg_summary *s, const struct choice *choice) {
    const struct sg_document_summary *found = choice->document->summary;
    const struct sg_task_kind *kind = sg_task_kind_find(sg_document_task(choice->document));
    const char *name = found ? found->metric : NULL;
    const cJSON *at = found ? found->at : NULL;
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
        dense = dense || strstr(choice->source[m].name, "density");
    for (size_t l = 0; dense && l < choice->document->results.n_labels; l++) {
        const struct sg_frame_label *label = &choice->document->results.label[l];
        for (size_t i = 0; i < label->n_cells; i++) {
            least = fmin(least, label->cells[i].steps); /* fmin ignores a NaN */
            most = fmax(most, label->cells[i].steps);
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
static void read_texts(struct sg_summary *s, const struct choice *choice, const struct sg_plot_select *select) {
    const struct sg_document *document = choice->document;
    const int seeds = sg_plot_seeds(&document->results);
    char text[64];
    const char *steps = steps_text(text, choice);
    const char *told = select->y || !document->table ? NULL : document->table->footnote;
    s->title = sg_plot_title(document, select->title);
    s->source = sg_plot_source(document);
    s->finding = document->summary ? document->summary->text : NULL;
    s->footnote = told        ? sg_strdup(told)
                  : seeds > 1 ? sg_format("Final values%s, mean ± standard deviation over %d seeds", steps, seeds)
                              : sg_format(seeds ? "Final values%s, one seed"
                                                : "Final values%s, mean ± standard deviation over seeds",
                                          steps);
    s->footnote = sg_plot_add_unfinished(s->footnote, document);
}

static void read_metrics(struct sg_summary *s, const struct choice *choice, bool traffic) {
    s->metric = sg_calloc(choice->n + 2, sizeof *s->metric);
    for (; s->n_metrics < choice->n; s->n_metrics++)
        read_metric(&s->metric[s->n_metrics], choice->document, &choice->source[s->n_metrics]);
    if (traffic)
        read_traffic(s, choice->document);
}

/* Reads all but the claims. */
static sg_status read_methods(struct sg_summary *s, struct choice *choice, const struct sg_plot_select *select,
                              struct sg_error *err) {
    sg_plot_note_status(&s->notes, choice->document);
    sg_status status = choose_metrics(choice, select, &s->notes, err);
    if (status == SG_OK)
        read_texts(s, choice, select);
    if (status == SG_OK)
        read_metrics(s, choice, !select->y);
    if (status == SG_OK)
        read_rows(s, choice);
    if (status != SG_OK)
        return status;
    choose_quality(s, choice);
    return sg_summary_sort(s, select->sort, err);
}

sg_status sg_summary_read(struct sg_summary *out, const struct sg_document *document,
                          const struct sg_plot_select *select, struct sg_error *err) {
    struct sg_summary s = {.seeds = select->seeds,
                           .claims = select->claims,
                           .color = select->color,
                           .columns = select->columns,
                           .claim = document->claims,
                           .n_claims = document->n_claims};
    struct choice choice = {.document = document};
    sg_status status = sg_document_is_kernels(document) ? SG_OK : read_methods(&s, &choice, select, err);
    SG_DO(status, sg_plot_read_rankings(&s, document, select, err));
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
    for (size_t i = 0; i < s->n_rankings; i++)
        sg_figure_free(&s->ranking[i]);
    free(s->metric);
    free(s->row);
    free(s->ranking);
    free(s->traffic);
    free(s->title);
    free(s->source);
    free(s->footnote);
    *s = (struct sg_summary){0};
}
