/* masks_isa.c: keep_mask of sg_kernels.h. Compiled once per instruction set; the loop over drawn numbers is plain C
 * that the compiler makes vectors of. */
/* SPDX-License-Identifier: MIT */
#include "philox_isa.h"
#include "select_scan.h"

/* Elements begin .. end-1, which lie in one run, from number `first` of the stream on. */
static void mask_run(float *restrict mask, size_t begin, size_t end, const struct sg_draws *d, uint64_t first,
                     uint32_t least, float kept) {
    uint32_t room[SG_PHILOX_ROOM];
    for (size_t at = begin, count; at < end; at += count, first += count) {
        count = end - at < SG_PHILOX_PIECE ? end - at : SG_PHILOX_PIECE;
        const uint32_t *restrict draw = philox_draws(room, d->key, d->counter, first, count);
        for (size_t j = 0; j < count; j++)
            mask[at + j] = draw[j] < least ? 0 : kept;
    }
}

static void mask_range(float *mask, size_t begin, size_t end, const struct sg_draws *d, uint32_t least, float kept) {
    for (size_t at = begin, stop; at < end; at = stop) {
        const uint64_t run = at / d->run, inside = at % d->run;
        stop = end - at < d->run - inside ? end : at + (size_t)(d->run - inside);
        mask_run(mask, at, stop, d, d->first + run * d->stride + inside, least, kept);
    }
}

void ISA_NAME(keep_mask_)(const struct sg_exec *exec, float *mask, size_t n, const struct sg_draws *draws,
                          uint32_t least, float kept) {
    SG_ASSERT(exec->threads >= 1 && draws->run >= 1);
    if (exec->threads == 1 || n <= PIECE) {
        mask_range(mask, 0, n, draws, least, kept);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(exec->threads)
    for (size_t at = 0; at < n; at += PIECE)
        mask_range(mask, at, n - at < PIECE ? n : at + PIECE, draws, least, kept);
}
