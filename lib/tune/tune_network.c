/* tune_network.c: the modelled network of --when and --advise: reads it, times a run on it, and describes it. */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "sg_debug.h"
#include "sg_host.h"
#include "sg_memory.h"
#include "sg_text.h"
#include "tune_private.h"

sg_status tune_network_read(struct sg_grid_network *out, bool *assumed, const struct sg_tune *t, struct sg_error *err) {
    struct tune_changes c;
    struct sg_recipe with = {0};
    bool there;
    sg_status status = sg_grid_network_read(out, &there, t->recipe, err);
    *assumed = !there;
    if (status != SG_OK || there)
        return status;
    tune_changes_start(&c, t, NULL);
    tune_change_network(&c);
    status = tune_changes_read(&with, NULL, &c, err);
    SG_DO(status, sg_grid_network_read(out, &there, &with, err));
    sg_recipe_free(&with);
    tune_changes_free(&c);
    return status;
}

sg_status tune_network_seconds(double total[SG_NET_TOTALS], const struct sg_grid_messages *messages,
                               const struct sg_grid_network *network, size_t records, struct sg_error *err) {
    double *all = sg_calloc(records * SG_NET_TOTALS, sizeof *all), *column[SG_NET_TOTALS];
    SG_ASSERT(records > 0);
    for (size_t i = 0; i < SG_NET_TOTALS; i++)
        column[i] = all + i * records;
    const sg_status status = sg_grid_messages_time(column, messages, network, records, err);
    for (size_t i = 0; status == SG_OK && i < SG_NET_TOTALS; i++)
        total[i] = column[i][records - 1];
    free(all);
    return status;
}

/* A whole number in groups of three digits: "279,232". */
static const char *grouped(char out[32], double whole) {
    char digits[32];
    const size_t n = (size_t)snprintf(digits, sizeof digits, "%.0f", fmin(whole, 1e18));
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

double tune_elements(const struct sg_grid_network *n, double d) {
    return n->elements > 0 ? n->elements : d;
}

const char *tune_model_text(char out[TUNE_MODEL_CHARS], const struct sg_grid_network *n, double d) {
    char elements[32], own[32], bytes[24], recorded[64] = "";
    if (n->elements > 0 && n->elements != d)
        snprintf(recorded, sizeof recorded, "; %s were recorded", grouped(own, d));
    snprintf(out, TUNE_MODEL_CHARS, "a model of %s numbers (%s a step%s)", grouped(elements, tune_elements(n, d)),
             sg_memory_text(bytes, 4 * tune_elements(n, d)), recorded);
    return out;
}

/* A step that could hide more than this many times what it exchanges is far from any that networks slow down. */
static const double FAR = 100;

void tune_say_network(cJSON *list, const struct sg_grid_network *n, double d, bool assumed,
                      const char *without_compute) {
    const double hidden = n->compute_s / (n->net.between.byte_s * n->share), sent = 4 * tune_elements(n, d);
    char could[24], has[24];
    if (assumed)
        tune_sentence(list, "The recipe has no section network, so the link %s is assumed.", n->net.between.name);
    if (n->compute_s > 0)
        tune_sentence(list, "The forward and backward pass of a step take %.4g s (network.compute).", n->compute_s);
    else
        tune_sentence(list, "No compute time is given (network.compute), %s.", without_compute);
    if (hidden > FAR * sent)
        tune_sentence(list,
                      "The passes of a step could hide %s, and the model has %s: give network.elements if the one that "
                      "you mean is larger.",
                      sg_memory_text(could, hidden), sg_memory_text(has, sent));
}
