/* train_schedule.c: the learning rate of every step. */
#include <math.h>

#include "train_state.h"

struct train_schedule train_schedule_read(const struct sg_node *optimizer, double base) {
    return (struct train_schedule){.base = base,
                                   .scale = sg_node_number(optimizer, "scale", 1),
                                   .warm_up_epochs = sg_node_number(optimizer, "warm-up-epochs", 0),
                                   .decay_factor = sg_node_number(optimizer, "decay-factor", 1),
                                   .decay_at = sg_node_get(optimizer, "decay-at")};
}

double train_schedule_rate(const struct train_schedule *s, double epoch) {
    double factor = epoch < s->warm_up_epochs ? 1 + (s->scale - 1) * epoch / s->warm_up_epochs : s->scale;
    for (size_t i = 0; s->decay_at && i < s->decay_at->count && epoch >= s->decay_at->child[i].number; i++)
        factor *= s->decay_factor;
    return s->base * factor;
}

/* Factors start at 1 or at `scale`, move to `scale` and then only fall. */
double train_schedule_largest(const struct train_schedule *s) {
    return s->base * (s->warm_up_epochs > 0 ? fmax(1, s->scale) : s->scale);
}
