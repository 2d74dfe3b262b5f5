/* train_schedule.c: the learning rate of every step. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "train_private.h"

struct train_schedule train_schedule_read(const struct sg_node *optimizer, double base, double epochs) {
    return (struct train_schedule){.base = base,
                                   .epochs = epochs,
                                   .warm_up_from = sg_node_number(optimizer, "warm-up-from", 1),
                                   .cosine = strcmp(sg_node_string(optimizer, "decay", "steps"), "cosine") == 0,
                                   .decay_to = sg_node_number(optimizer, "decay-to", 0),
                                   .scale = sg_node_number(optimizer, "scale", 1),
                                   .warm_up_epochs = sg_node_number(optimizer, "warm-up-epochs", 0),
                                   .decay_factor = sg_node_number(optimizer, "decay-factor", 1),
                                   .decay_at = sg_node_get(optimizer, "decay-at")};
}

double train_schedule_rate(const struct train_schedule *s, double epoch) {
    const double from = s->warm_up_from;
    double factor = epoch < s->warm_up_epochs ? from + (s->scale - from) * epoch / s->warm_up_epochs : s->scale;
    for (size_t i = 0; s->decay_at && i < s->decay_at->count && epoch >= s->decay_at->child[i].number; i++)
        factor *= s->decay_factor;
    if (s->cosine && epoch > s->warm_up_epochs) {
        const double gone = (epoch - s->warm_up_epochs) / (s->epochs - s->warm_up_epochs);
        factor *= s->decay_to + (1 - s->decay_to) * (1 + cos(M_PI * gone)) / 2;
    }
    return s->base * factor;
}

/* Factors start at `warm_up_from` or at `scale`, move to `scale` and then only fall. */
double train_schedule_largest(const struct train_schedule *s) {
    return s->base * (s->warm_up_epochs > 0 ? fmax(s->warm_up_from, s->scale) : s->scale);
}
