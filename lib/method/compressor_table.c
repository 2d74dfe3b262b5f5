/* compressor_table.c: one row a compressor; the order is the order in help and benchmarks. */
#include "method_private.h"

#include <string.h>

static const struct sg_compressor_ops *const table[] = {
    &sg_compress_none,     &sg_compress_topk,          &sg_compress_hard_threshold,
    &sg_compress_randomk,  &sg_compress_accordion,     &sg_compress_qsgd,
    &sg_compress_powersgd, &sg_compress_ef_signsgd,    &sg_compress_sign_l2,
    &sg_compress_onebit,   &sg_compress_signsgd,       &sg_compress_terngrad,
    &sg_compress_strom,    &sg_compress_dryden,        &sg_compress_signtopk,
    &sg_compress_stc,      &sg_compress_sign_l2_twice, &sg_compress_terngrad_shared,
};

const struct sg_compressor_ops *sg_compressor_at(size_t i) {
    return i < sizeof table / sizeof table[0] ? table[i] : NULL;
}

const struct sg_compressor_ops *sg_compressor_find(const char *name) {
    const struct sg_compressor_ops *ops;
    for (size_t i = 0; (ops = sg_compressor_at(i)) != NULL; i++)
        if (strcmp(ops->name, name) == 0)
            return ops;
    return NULL;
}
