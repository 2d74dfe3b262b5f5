/* task_evaluate_workers.c: does something for every worker of this rank, on several threads. */
#include "task_evaluate_workers.h"

#include "sg_debug.h"

sg_status task_evaluate_workers(sg_task *t, task_share *part, size_t first, size_t count, size_t n_shares, int threads,
                                double *share, struct sg_error *err) {
    SG_ASSERT(threads >= 1 && n_shares > 0);
    sg_status status = SG_OK;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (size_t w = 0; w < count; w++) {
        struct sg_error trouble;
        const sg_status mine = part(t, first + w, share + w * n_shares, &trouble);
#pragma omp critical(task_evaluate_workers)
        if (mine != SG_OK && status == SG_OK) {
            status = mine;
            *err = trouble;
        }
    }
    return status;
}
