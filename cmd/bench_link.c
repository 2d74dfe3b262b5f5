/* bench_link.c: sparsebench --measure-link: times messages between two ranks, and prints what a recipe's section
 * network says of such a link. */
/* SPDX-License-Identifier: MIT */
#include "bench.h"

#include <math.h>
#include <stdio.h>

#include "rank_watch.h"
#include "sg_comm.h"
#include "sg_net_fit.h"
#include "sg_terminal.h"

static const double USUAL_S = 30;

/* The seconds for all sizes; a fast link takes 2 of them. */
static double budget_s(void) {
    return isnan(opt.time_limit) ? USUAL_S : opt.time_limit;
}

/* A line through all sizes has relative residuals, so both ends count. */
static sg_status print(const sg_comm *comm, const struct sg_comm_times *t, struct sg_error *err) {
    struct net_fit line;
    sg_status status = net_fit_line(&line, t->bytes, t->seconds, t->count, err);
    if (status == SG_OK && !(line.byte_s > 0))
        status = sg_fail(err, SG_ERR_ARGUMENT, "larger messages took no longer than small ones: nothing can be fitted");
    if (status != SG_OK)
        return status;
    const double gbit_s = 8e-9 / line.byte_s, latency_us = 1e6 * line.alpha_s;
    if (opt.json) {
        sg_app_print_json(SG_OBJECT(SG_NUMBER("bandwidth_gbit_per_s", gbit_s), SG_NUMBER("latency_us", latency_us),
                                    SG_NUMBER("worst", line.worst), SG_TEXT("library", sg_comm_library(comm)),
                                    SG_VALUE("bytes", sg_json_numbers(t->bytes, t->count)),
                                    SG_VALUE("seconds", sg_json_numbers(t->seconds, t->count))));
        return SG_OK;
    }
    printf("# %d ranks, %s: messages of 4 to %.0f bytes, each within %.0f %% of this line\n", sg_comm_size(comm),
           sg_comm_library(comm), t->bytes[t->count - 1], 100 * line.worst);
    if (t->count < SG_COMM_SIZES)
        printf("# larger ones had no room in %g s (--time-limit)\n", budget_s());
    printf("network: {bandwidth: %.4g, latency: %.4g}\n", gbit_s, latency_us);
    return SG_OK;
}

static struct sg_progress bar;

static void on_size(double done, double total) {
    sg_progress_show(&bar, "sizes of messages", done, total);
}

int measure_link(void) {
    struct sg_error err;
    struct sg_comm_times times;
    sg_comm *comm = NULL;
    rank_watch(isnan(opt.time_limit) ? 0 : launched_s + opt.time_limit, NULL);
    sg_status status = sg_comm_open(&comm, &err);
    const bool lead = !comm || sg_comm_rank(comm) == 0;
    if (comm)
        sg_app_set_rank(sg_comm_rank(comm), sg_comm_size(comm));
    SG_DO(status, sg_comm_time_messages(comm, &times, budget_s(), on_size, &err));
    sg_progress_end(&bar);
    if (status != SG_OK && comm && sg_comm_size(comm) > 1) { /* the other ranks may wait for this one's messages */
        sg_log_error("%s", err.msg);
        sg_comm_abort(comm, sg_exit_code(status));
    }
    if (status == SG_OK && lead)
        status = print(comm, &times, &err);
    if (status != SG_OK && lead)
        sg_log_error("%s", err.msg);
    sg_comm_close(comm);
    return sg_exit_code(status);
}
