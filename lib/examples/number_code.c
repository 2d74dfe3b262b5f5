/* number_code.c: a code of numbers. It writes multiples of 2^-10 in 16 bits; beyond 32 it writes the largest one.
 *
 *     cc -shared -fPIC number_code.c $(pkg-config --cflags sparsegrad) -o fixed.so
 *     sparsetrain --plugin fixed.so recipe.yaml      with   {name: Mine, compressor: topk, k: 4, values: fixed} */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <sg_compressor_plugin.h>
#include <string.h>

static size_t most_bytes(const struct sg_numbers *n) {
    return 2 * n->count;
}

static size_t encode(void *data, const struct sg_numbers *n, double *bits) {
    for (size_t j = 0; j < n->count; j++) {
        const int16_t q = (int16_t)fmaxf(-32767, fminf(32767, rintf(1024 * n->value[j])));
        memcpy((char *)data + 2 * j, &q, sizeof q);
    }
    *bits = 16.0 * (double)n->count;
    return 2 * n->count;
}

/* Decoding may start at any number. */
static void decode(float *out, const struct sg_message *m, size_t first, size_t count) {
    for (size_t j = 0; j < count; j++) {
        int16_t q;
        memcpy(&q, (const char *)m->data + 2 * (first + j), sizeof q);
        out[j] = (float)q / 1024;
    }
}

/* Bytes that are not well formed must be refused. Here any 16 bits are a number. */
static bool valid(const struct sg_message *m) {
    return m->bytes == 2 * m->count;
}

static const struct sg_code fixed = {
    .name = "fixed",
    .summary = "16 bits a value: multiples of 2^-10",
    .number = 200, /* in messages; a plug-in takes one of SG_CODE_ADDED_FIRST .. SG_CODE_ADDED_LAST */
    .width = 2,    /* bytes a number; 0 = a message says how many its numbers take */
    .most_bytes = most_bytes,
    .encode = encode,
    .decode = decode,
    .valid = valid,
};

static const struct sg_code *const codes[] = {&fixed, NULL};
SG_EXPORT const struct sg_compressor_plugin sparsegrad_plugin = {SG_PLUGIN_INTERFACE, .codes = codes};
