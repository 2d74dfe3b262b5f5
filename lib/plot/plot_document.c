/* plot_document.c: what the readers of figures and of tables both look up in a result document. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "plot_private.h"
#include "sg_memory.h"
#include "sg_text.h"

enum { MAX_COLUMNS = 64 };

void sg_plot_note(struct sg_plot_notes *notes, const char *format, ...) {
    if (notes->n == SG_PLOT_NOTES)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(notes->text[notes->n++], sizeof notes->text[0], format, args);
    va_end(args);
}

void sg_plot_note_status(struct sg_plot_notes *notes, const struct sg_document *document) {
    const char *status = sg_or(document->status, "ok");
    if (strcmp(status, "ok") != 0)
        sg_plot_note(notes, "the result's status is '%.40s': what is there is shown", status);
    if (document->tuning && document->tuning->text)
        sg_plot_note(notes, "%s", document->tuning->text);
}

sg_status sg_plot_check_panel(const struct sg_document *document, const struct sg_plot_select *select,
                              struct sg_error *err) {
    const size_t n = document->n_plots;
    return select->panel <= (n ? n : 1) ? SG_OK
                                        : sg_fail(err, SG_ERR_ARGUMENT, "--panel=%zu: the result has %zu plot%s",
                                                  select->panel, n, n == 1 ? "" : "s");
}

/* Adds a name that is not in name [n] yet; returns how many there are then. */
static size_t add_name(const char **name, size_t n, const char *add) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(name[i], add) == 0)
            return n;
    if (n < MAX_COLUMNS)
        name[n++] = add;
    return n;
}

/* Distinct names of all columns: those of series, then those that only finals have. */
static size_t list_columns(const char **name, const struct sg_frame *frame) {
    size_t n = 0;
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t l = 0; l < frame->n_labels; l++)
            for (size_t c = 0; c < frame->label[l].n_columns; c++)
                if (pass == 1 || frame->label[l].column[c].in_series)
                    n = add_name(name, n, frame->label[l].column[c].name);
    return n;
}

static void join(char *out, size_t size, const char *const *name, size_t n) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", name[i]);
}

sg_status sg_plot_resolve(const char **out, const struct sg_frame *frame, const char *name, struct sg_error *err) {
    const char *column[MAX_COLUMNS];
    size_t n = list_columns(column, frame);
    char list[512], dashless[64];
    join(list, sizeof list, column, n);
    if (!name)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "this result has no plots: choose the axes with --x=NAME and --y=NAME "
                       "(columns: %s)",
                       list);
    for (size_t i = 0; i < n; i++)
        if (sg_same_name(name, strlen(name), column[i])) {
            *out = column[i];
            return SG_OK;
        }
    for (size_t o = 0; o < 2; o++) /* plots of points, one a cell, may be over these */
        for (size_t l = 0; l < frame->n_labels; l++) {
            const struct sg_frame_label *label = &frame->label[l];
            const cJSON *found = sg_frame_member(o == 0 ? label->swept : label->constants, name);
            if (found) {
                *out = found->string;
                return SG_OK;
            }
        }
    const char *near = sg_suggest(sg_snake(dashless, sizeof dashless, name), column, n);
    return sg_fail(err, SG_ERR_ARGUMENT, "no column '%.64s'%s%s%s (columns: %s)", name, near ? ", did you mean '" : "",
                   near ? near : "", near ? "'?" : "", list);
}

const cJSON *sg_plot_swept(const struct sg_frame_label *label, const char *name) {
    return sg_frame_member(label->swept, name);
}

char *sg_plot_label_without(const char *label, const char *name) {
    const char *found = NULL;
    for (const char *blank = strchr(label, ' '); blank; blank = strchr(blank + 1, ' ')) {
        const size_t length = strcspn(blank + 1, "= ");
        if (blank[1 + length] == '=' && sg_same_name(blank + 1, length, name))
            found = blank;
    }
    if (!found)
        return sg_strdup(label);
    const char *rest = found + 1 + strcspn(found + 1, " ");
    return sg_format("%.*s%s", (int)(found - label), label, rest);
}

bool sg_plot_is_recorded(const struct sg_frame *frame, const char *name) {
    for (size_t l = 0; l < frame->n_labels; l++)
        if (sg_frame_column(&frame->label[l], name))
            return true;
    return false;
}

int sg_plot_seeds(const struct sg_frame *frame) {
    for (size_t l = 1; l < frame->n_labels; l++)
        if (frame->label[l].n_seeds != frame->label[0].n_seeds)
            return 0;
    return frame->n_labels > 0 ? (int)frame->label[0].n_seeds : 0;
}

void sg_plot_final(double out[SG_STATISTICS], const struct sg_frame_label *label, const char *column) {
    const struct sg_frame_column *found = sg_frame_column(label, column);
    for (size_t s = 0; s < SG_STATISTICS; s++)
        out[s] = found ? found->final[s] : NAN;
}
