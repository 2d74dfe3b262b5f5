/* plot_ticks.c: where an axis has ticks and what is written at them, so that no two labels touch. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"
#include "sg_debug.h"

enum { MOST_LABELS = 7 };

/* Decades of a log axis, whose ends' quotient may be no double. */
static double decades_of(const struct sg_axis *axis) {
    return log10(axis->max) - log10(axis->min);
}

static bool is_inside(const struct sg_axis *axis, double at) {
    const double room = axis->log ? 0 : 1e-9 * (axis->max - axis->min);
    return axis->log ? at >= axis->min * (1 - 1e-9) && at <= axis->max * (1 + 1e-9)
                     : at >= axis->min - room && at <= axis->max + room;
}

static void add(struct sg_ticks *t, const struct sg_axis *axis, double at, bool labelled, bool power) {
    char decimal[32]; /* 0.6 and not twelve times 0.05 */
    snprintf(decimal, sizeof decimal, "%.12g", at);
    at = strtod(decimal, NULL) + 0.0;
    if (t->n == SG_TICKS_MOST || !is_inside(axis, at))
        return;
    t->tick[t->n++] = (struct sg_tick){.at = at, .labelled = labelled, .power = power};
    t->labels += labelled;
}

/* ---- texts ---- */

/* True if every label is written in full: no number of a log axis is below a thousandth or of five digits. */
static bool are_short(double least, double largest, bool log) {
    return largest == 0 || (largest < 9999.5 && (log ? least >= 0.99e-3 : largest >= 0.99e-2));
}

/* "5×10⁻⁹" and "10⁻⁸": a log axis has no common factor, which its powers of ten would contradict. */
static void write_power(char *text, size_t size, double at) {
    char power[SG_POWER_CHARS];
    const int exponent = (int)floor(log10(at) + 1e-9);
    const char *factor = sg_plot_power(power, exponent);
    char mantissa[16];
    snprintf(mantissa, sizeof mantissa, "%.6g", at / pow(10, exponent));
    const bool one = strcmp(mantissa, "1") == 0;
    snprintf(text, size, "%s%s", one ? "" : mantissa, factor + (one ? strlen("×") : 0));
}

static void write_texts(struct sg_ticks *t, bool log) {
    bool plain = true; /* powers of ten that one reads more easily as numbers: 0.01 to 1000 */
    bool powers = false;
    double largest = 0, least = INFINITY;
    for (size_t i = 0; i < t->n; i++)
        if (t->tick[i].labelled) {
            plain = plain && t->tick[i].at > 0.009 && t->tick[i].at < 1001;
            largest = fmax(largest, fabs(t->tick[i].at));
            least = t->tick[i].at != 0 ? fmin(least, fabs(t->tick[i].at)) : least;
        }
    for (size_t i = 0; i < t->n; i++) {
        t->tick[i].power = t->tick[i].power && !plain;
        powers = powers || t->tick[i].power;
    }
    const bool shortest = powers || are_short(least, largest, log);
    t->exponent = shortest || log ? 0 : 3 * (int)floor(log10(largest) / 3 + 1e-9);
    for (size_t i = 0; i < t->n; i++) {
        struct sg_tick *tick = &t->tick[i];
        if (tick->power)
            snprintf(tick->text, sizeof tick->text, "%.0f", log10(tick->at));
        else if (tick->labelled && log && !shortest)
            write_power(tick->text, sizeof tick->text, tick->at);
        else if (tick->labelled)
            snprintf(tick->text, sizeof tick->text, "%.6g", tick->at / pow(10, t->exponent) + 0.0);
    }
}

double sg_tick_ems(const struct sg_tick *tick) {
    const bool negative = tick->text[0] == '-'; /* it is drawn as a true minus */
    const double ems = sg_plot_ems(tick->text + negative) + (negative ? sg_plot_ems("−") : 0);
    return tick->power ? sg_plot_ems("10") + 0.8 * ems : ems;
}

/* True if no label touches the next one. */
static bool is_apart(const struct sg_ticks *t, const struct sg_axis *axis, const struct sg_tick_room *room) {
    const struct sg_tick *before = NULL;
    const double from = axis->log ? log10(axis->min) : axis->min;
    const double scale = room->inches / ((axis->log ? log10(axis->max) : axis->max) - from);
    for (size_t i = 0; i < t->n; i++) {
        const struct sg_tick *tick = &t->tick[i];
        if (!tick->labelled)
            continue;
        if (before) {
            const double apart = axis->log ? log10(tick->at) - log10(before->at) : tick->at - before->at;
            const double need = room->across ? (sg_tick_ems(before) + sg_tick_ems(tick)) / 2 + 0.7 : 1.5;
            if (!(apart * scale >= need * room->em))
                return false;
        }
        before = tick;
    }
    return true;
}

/* ---- candidates ---- */

/* The smallest of 1, 2, 5, 10, … times a power of ten that is not below `raw`. */
static double round_step(double raw) {
    const double power = pow(10, floor(log10(raw) + 1e-9)), digit = raw / power;
    const double step = power * (digit <= 1 + 1e-9 ? 1 : digit <= 2 + 1e-9 ? 2 : digit <= 5 + 1e-9 ? 5 : 10);
    return isnormal(step) ? step : 1;
}

static void even(struct sg_ticks *t, const struct sg_axis *axis, double step) {
    const double first = ceil(axis->min / step - 1e-9);
    for (int k = 0; k < 2 * MOST_LABELS && (first + k) * step <= axis->max + 1e-9 * step; k++)
        add(t, axis, (first + k) * step, true, false);
}

/* Labels at the digits that `labelled` lists, of every decade, and minor ticks at the other digits. */
static void digits(struct sg_ticks *t, const struct sg_axis *axis, const char *labelled) {
    const int last = (int)floor(log10(axis->max) + 1e-9);
    for (int e = (int)floor(log10(axis->min) - 1e-9); e <= last; e++)
        for (char digit = '1'; digit <= '9'; digit++)
            add(t, axis, (digit - '0') * pow(10, e), strchr(labelled, digit) != NULL, false);
}

/* Labels every `step` decades, with minor ticks at the digits between or, if labels are further apart, at decades. */
static void powers(struct sg_ticks *t, const struct sg_axis *axis, int step) {
    const int first = (int)floor(log10(axis->min) - 1e-9), last = (int)floor(log10(axis->max) + 1e-9);
    for (int e = first; e <= last; e++) {
        const bool labelled = e % step == 0;
        if (labelled || last - first < 40)
            add(t, axis, pow(10, e), labelled, labelled);
        for (int digit = 2; step == 1 && digit <= 9; digit++)
            add(t, axis, digit * pow(10, e), false, false);
    }
}

static bool fits(struct sg_ticks *t, const struct sg_axis *axis, const struct sg_tick_room *room, size_t least) {
    write_texts(t, axis->log);
    return t->labels >= least && t->labels <= MOST_LABELS && is_apart(t, axis, room);
}

static void choose_even(struct sg_ticks *t, const struct sg_axis *axis, const struct sg_tick_room *room) {
    const double largest = fmax(fabs(axis->min), fabs(axis->max));
    double step = round_step(fmax(axis->max - axis->min, 1e-12 * largest) / MOST_LABELS);
    for (int tries = 0; tries < 6; tries++, step = round_step(1.5 * step)) {
        *t = (struct sg_ticks){0};
        even(t, axis, step);
        if (fits(t, axis, room, 0))
            return;
    }
}

void sg_plot_ticks(struct sg_ticks *t, const struct sg_axis *axis, const struct sg_tick_room *room) {
    static const char *const sets[] = {"12357", "125", "1", "13"};
    SG_ASSERT(axis->min < axis->max);
    if (!axis->log) {
        choose_even(t, axis, room);
        return;
    }
    const double decades = decades_of(axis);
    for (size_t i = decades > 1; decades < 4 && i < sizeof sets / sizeof *sets; i++) {
        *t = (struct sg_ticks){0};
        if (strcmp(sets[i], "1") == 0)
            powers(t, axis, 1);
        else
            digits(t, axis, sets[i]);
        if (fits(t, axis, room, 3))
            return;
    }
    if (decades < 1) {
        choose_even(t, axis, room);
        if (t->labels >= 2 && fits(t, axis, room, 2))
            return;
    }
    for (int step = (int)ceil(decades / MOST_LABELS); step < 700; step++) {
        *t = (struct sg_ticks){0};
        powers(t, axis, step);
        if (fits(t, axis, room, 0))
            return;
    }
}
