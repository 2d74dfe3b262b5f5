/* compressor_table.c: one row a compressor; the order is the order in help and benchmarks. */
#include "method_private.h"

#include <string.h>

static const struct sg_compressor_ops *const table[] = {
    &sg_compress_none,      &sg_compress_topk,    &sg_compress_hard_threshold, &sg_compress_randomk,
    &sg_compress_accordion, &sg_compress_qsgd,    &sg_compress_powersgd,       &sg_compress_clt_k,
    &sg_compress_gtopk,     &sg_compress_ok_topk, &sg_compress_demo,           &sg_compress_sparseloco,
};

const struct sg_compressor_ops *sg_compressor_at(size_t i) {
    return i < sizeof table / sizeof table[0] ? table[i] : NULL;
}

const struct sg_compressor_ops *sg_compressor_find(const char *name) {
    const struct sg_compressor_ops *ops;
    for (size_t i = 0; (ops = sg_compressor_at(i)) != NULL; i++)
        if (strcmp(ops->name, name) == 0 || (ops->also != NULL && strcmp(ops->also, name) == 0))
            return ops;
    return NULL;
}

unsigned sg_compressor_traits(const struct sg_compressor_ops *ops, const double *param) {
    return ops->traits_of != NULL ? ops->traits_of(param) : ops->traits;
}
