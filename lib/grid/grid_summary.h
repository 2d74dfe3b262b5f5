/* grid_summary.h: the rows of a result, each beside the row without compression that has its other settings; private to
 * the files that make a result's `traffic`, `times_less` and `summary`. */
/* SPDX-License-Identifier: MIT */
#ifndef GRID_SUMMARY_H
#define GRID_SUMMARY_H

#include <stdio.h>

#include "grid_private.h"
#include "sg_task.h"

/* Whether a row is as good as its baseline. */
enum summary_verdict {
    SUMMARY_UNKNOWN,   /* there is nothing to compare */
    SUMMARY_REACHES,   /* the 95 % interval of its loss, paired by seed, lies within the metric's margin */
    SUMMARY_LOSES,     /* the interval lies beyond the margin */
    SUMMARY_NOT_SHOWN, /* else, and with one seed in common */
    SUMMARY_VERDICTS
};

struct summary_row {
    struct sg_frame_label *label;   /* of the document */
    const struct summary_row *base; /* itself for a row without compression; NULL = there is none */
    double steps;                   /* of its runs; NaN = not known, or they differ */
    double sent, times_less;        /* of the traffic's column; NaN = not known, or after other numbers of steps */
    double *value;                  /* [n_seeds] the quality; NaN = none */
    double mean, std;               /* of value; NaN unless every seed has one */
    size_t pairs;                   /* seeds that it and its baseline have */
    double loss, half;              /* of the pairs, on the scale of the metric's quantity; half NaN = one pair */
    enum summary_verdict verdict;
};

struct summary {
    struct sg_document *document;
    const struct grid_frame *runs; /* the runs behind the document; NULL = the document alone is there */
    size_t n;
    struct summary_row *row;       /* [n] */
    const char *column;            /* of the traffic; NULL = not known */
    const struct summary_row *one; /* the first baseline whose traffic is known, else the first one; NULL = none */
    /* The quality: that of the `item`-th of the document's `list`, claims or plots. */
    const struct sg_metric *metric; /* NULL = the document names none */
    const cJSON *at;                /* NULL = the last record */
    const char *list;
    size_t item;
};

/* Reads the rows of a document and compares them. */
struct summary summary_of(struct sg_document *document, const struct grid_frame *runs);
/* True if two rows have had other numbers of steps. */
bool summary_other_steps(const struct summary_row *a, const struct summary_row *b);
/* True for a compressed row with a loss. */
static inline bool summary_is_compared(const struct summary_row *r) {
    return r->base && r->base != r && !isnan(r->loss);
}
/* The loss of `a` against `b`, paired by seed: *half <- half of its 95 % interval. NaN = there is none. */
double summary_loss(double *half, size_t *pairs, const struct summary *s, const struct summary_row *a,
                    const struct summary_row *b);

/* ---- words (grid_levels.c); each returns out ---- */

enum { SUMMARY_TEXT = 192 };
/* "693 times less traffic", "as much traffic"; "" where it is not known. */
const char *summary_traffic_text(double times_less, char out[SUMMARY_TEXT]);
/* "4.2 ± 1.8 points", with the difference in perplexity beside its logarithm. */
const char *summary_loss_text(const struct summary *s, double loss, double half, double value, double base,
                              char out[SUMMARY_TEXT]);
/* Writes the sentence on equal traffic, and its numbers into the summary. False: no two methods send as much. */
bool summary_put_equal_traffic(FILE *out, struct sg_document_summary *found, const struct summary *s);
/* Writes the price of the row that takes the least data for the quality of no compression, if one is clear. */
void summary_put_price(FILE *out, const struct summary *s);

#endif
