/* plot_legend.c: which curves the legend of a panel names, in which rows, and when all panels have one together. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "plot_private.h"

/* More entries than this are looked up more easily beside the curves. */
enum { MOST_SHARED = 6 };

bool sg_plot_draws_marks(const struct sg_panel *panel, const struct sg_curve *curve) {
    size_t shown = 0;
    for (size_t i = 0; i < curve->n && shown < 2; i++)
        shown += sg_plot_can_show(panel, curve, i);
    return !curve->level && (panel->points || panel->ranking || shown == 1);
}

static bool names(const struct sg_panel *panel, size_t entry, bool *marks) {
    bool shown = false;
    for (size_t c = 0; c < panel->n_curves; c++)
        if (panel->curve[c].legend == entry && sg_plot_shows(panel, &panel->curve[c]) &&
            (!panel->ranking || panel->curve[c].level)) { /* rows have their names beside them */
            shown = true;
            *marks = *marks || sg_plot_draws_marks(panel, &panel->curve[c]);
        }
    return shown;
}

/* True if the legend of a panel names this entry. *marks <- true if the panel draws its markers. */
static bool is_named(const struct sg_figure *f, size_t p, size_t entry, bool *marks) {
    bool shown = false;
    *marks = false;
    if (p < f->n_panels)
        return names(&f->panel[p], entry, marks);
    for (size_t i = 0; i < f->n_panels; i++)
        shown = names(&f->panel[i], entry, marks) || shown;
    return shown;
}

bool sg_plot_shares_legend(const struct sg_figure *f) {
    bool marks, same = true, whole = false;
    for (size_t p = 0; p < f->n_panels; p++) {
        bool all = true;
        for (size_t i = 0; i < f->n_legend; i++)
            all = all && is_named(f, p, i, &marks) == is_named(f, SG_PLOT_ALL, i, &marks);
        same = same && all;
        whole = whole || all;
    }
    return same || (whole && f->n_legend <= MOST_SHARED);
}

/* How many bytes of a label stand before its first parameter: those of "Top-k " in "Top-k k=10"; 0 = it has none. */
static size_t name_length(const char *label) {
    const char *equals = strchr(label, '=');
    while (equals && equals > label && equals[-1] != ' ')
        equals--;
    return equals ? (size_t)(equals - label) : 0;
}

/* The parameters alone of an entry whose name stands before it in the row: "k/d=0.01" behind "Top-k k/d=0.003". */
static const char *short_text(const struct sg_legend *e, const struct sg_legend *before) {
    const size_t n = name_length(e->label);
    const bool same = n > 0 && n == name_length(before->label) && strncmp(e->label, before->label, n) == 0;
    return e->text + (same && strncmp(e->text, e->label, n) == 0 ? n : 0);
}

static double width_of(const char *text) {
    return SG_ENTRY + SG_SMALL * sg_plot_ems(text);
}

/* The next entry from `i` that the panel's legend names; n_legend = none. */
static size_t next_named(const struct sg_figure *f, size_t panel, size_t i, bool *marks) {
    while (i < f->n_legend && !is_named(f, panel, i, marks))
        i++;
    return i;
}

/* How wide entry `i` is with those behind it that need only their parameter. */
static double group_width(const struct sg_figure *f, size_t panel, size_t i) {
    double width = width_of(f->legend[i].text);
    bool marks;
    for (size_t next; (next = next_named(f, panel, i + 1, &marks)) < f->n_legend; i = next) {
        const char *text = short_text(&f->legend[next], &f->legend[i]);
        if (text == f->legend[next].text)
            break;
        width += width_of(text);
    }
    return width;
}

bool sg_plot_next_entry(const struct sg_figure *f, size_t panel, double most, struct sg_entry *e) {
    const struct sg_legend *before = e->text ? &f->legend[e->entry] : NULL;
    const size_t i = next_named(f, panel, before ? e->entry + 1 : 0, &e->marks);
    if (i == f->n_legend)
        return false;
    const char *text = before ? short_text(&f->legend[i], before) : f->legend[i].text;
    const double room = most + SG_ENTRY - SG_SAMPLE - SG_GAP; /* nothing follows the last of a row */
    const double group = text == f->legend[i].text ? group_width(f, panel, i) : 0; /* which should share a row */
    e->x = e->end;
    if (before && (e->x + width_of(text) > room || (e->x + group > room && group <= room))) {
        /* a new row repeats the whole name, if it has the room */
        text = width_of(f->legend[i].text) <= room ? f->legend[i].text : text;
        e->row++;
        e->x = 0;
    }
    e->end = e->x + width_of(text);
    e->entry = i;
    e->text = text;
    return true;
}
