/* tune_network.c: the modelled network of --when and --advise: reads it, times a run on it, and describes it. */
#include <stdlib.h>

#include "sg_debug.h"
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

sg_status tune_network_seconds(double total[SG_NET_SERIES], const struct sg_grid_messages *messages,
                               const struct sg_grid_network *network, size_t records, struct sg_error *err) {
    double *all = calloc(records * SG_NET_SERIES, sizeof *all), *column[SG_NET_SERIES];
    SG_ASSERT(records > 0);
    for (size_t i = 0; i < SG_NET_SERIES; i++)
        column[i] = all + i * records;
    const sg_status status =
        all ? sg_grid_messages_time(column, messages, network, records, err) : sg_fail_memory(err, "the times");
    for (size_t i = 0; status == SG_OK && i < SG_NET_SERIES; i++)
        total[i] = column[i][records - 1];
    free(all);
    return status;
}

void tune_say_network(cJSON *list, const struct sg_grid_network *n, bool assumed, const char *without_compute) {
    if (assumed)
        tune_sentence(list, "The recipe has no section network, so the link %s is assumed.", n->net.between.name);
    if (n->compute_s > 0)
        tune_sentence(list, "The forward and backward pass of a step take %.4g s (network.compute).", n->compute_s);
    else
        tune_sentence(list, "No compute time is given (network.compute), %s.", without_compute);
}
