/* bench_link.c: sparsebench --measure-link: times messages between two ranks, and prints what a recipe's section
 * network says of such a link. */
#include "bench.h"

#include <stdio.h>

#include "sg_comm.h"
#include "sg_net_fit.h"
#include "sg_terminal.h"

/* A line through all sizes has relative residuals, so both ends count. */
static sg_status print(const sg_comm *comm, const struct sg_comm_times *t, struct sg_error *err) {
    struct net_fit line;
    sg_status status = net_fit_line(&line, t->bytes, t->seconds, SG_COMM_SIZES, err);
    if (status == SG_OK && !(line.byte_s > 0))
        status = sg_fail(err, SG_ERR_ARGUMENT, "larger messages took no longer than small ones: nothing can be fitted");
    if (status != SG_OK)
        return status;
    const double gbit_s = 8e-9 / line.byte_s, latency_us = 1e6 * line.alpha_s;
    if (opt.json)
        return sg_app_print_json(SG_OBJECT(SG_NUMBER("bandwidth_gbit_per_s", gbit_s),
                                           SG_NUMBER("latency_us", latency_us), SG_NUMBER("worst", line.worst),
                                           SG_TEXT("library", sg_comm_library(comm)),
                                           SG_VALUE("bytes", sg_json_numbers(t->bytes, SG_COMM_SIZES)),
                                           SG_VALUE("seconds", sg_json_numbers(t->seconds, SG_COMM_SIZES))),
                                 "the link", err);
    printf("# %d ranks, %s: messages of 4 bytes to 2 MiB, each within %.0f %% of this line\n"
           "network: {bandwidth: %.4g, latency: %.4g}\n",
           sg_comm_size(comm), sg_comm_library(comm), 100 * line.worst, gbit_s, latency_us);
    return SG_OK;
}

int measure_link(void) {
    struct sg_error err;
    struct sg_comm_times times;
    sg_comm *comm = NULL;
    sg_status status = sg_comm_open(&comm, &err);
    const bool lead = !comm || sg_comm_rank(comm) == 0;
    if (comm)
        sg_app_set_rank(sg_comm_rank(comm), sg_comm_size(comm));
    SG_DO(status, sg_comm_time_messages(comm, &times, &err));
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
