/* compressor_table.c: one row a compressor; the order is the order in help and benchmarks. */
#include "method_private.h"

#include <string.h>

static const struct sg_compressor_ops *const table[] = {
    &sg_compress_none,      &sg_compress_topk,       &sg_compress_hard_threshold, &sg_compress_randomk,
    &sg_compress_accordion, &sg_compress_qsgd,       &sg_compress_powersgd,       &sg_compress_fp16,
    &sg_compress_bf16,      &sg_compress_natural,    &sg_compress_natural_8,      &sg_compress_dithering,
    &sg_compress_8bit,      &sg_compress_int_block,  &sg_compress_minmax,         &sg_compress_eden,
    &sg_compress_grid,      &sg_compress_switchml,   &sg_compress_intsgd,         &sg_compress_global_qsgd,
    &sg_compress_quantile,  &sg_compress_inceptionn,
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
