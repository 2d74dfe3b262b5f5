/* train_schedule.c: the learning rate of every step. */
#include <math.h>
#include <stdlib.h>

#include "train_state.h"

sg_status train_schedule_read(struct train_schedule *out, const struct sg_node *optimizer, double base,
                              struct sg_error *err) {
    const struct sg_node *decays = sg_node_get(optimizer, "decay-at");
    struct train_schedule s = {.base = base,
                               .scale = sg_node_number(optimizer, "scale", 1),
                               .warm_up_epochs = sg_node_number(optimizer, "warm-up-epochs", 0),
                               .decay_factor = sg_node_number(optimizer, "decay-factor", 1),
                               .n_decays = decays ? decays->count : 0};
    s.decay_at = malloc((s.n_decays + 1) * sizeof *s.decay_at);
    if (!s.decay_at)
        return sg_fail_memory(err, "the learning rate's schedule");
    for (size_t i = 0; i < s.n_decays; i++)
        s.decay_at[i] = decays->child[i].number;
    *out = s;
    return SG_OK;
}

double train_schedule_rate(const struct train_schedule *s, double epoch) {
    double factor = epoch < s->warm_up_epochs ? 1 + (s->scale - 1) * epoch / s->warm_up_epochs : s->scale;
    for (size_t i = 0; i < s->n_decays && epoch >= s->decay_at[i]; i++)
        factor *= s->decay_factor;
    return s->base * factor;
}

/* Factors start at 1 or at `scale`, move to `scale` and then only fall. */
double train_schedule_largest(const struct train_schedule *s) {
    return s->base * (s->warm_up_epochs > 0 ? fmax(1, s->scale) : s->scale);
}
