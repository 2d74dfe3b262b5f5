/* gradient_numbers.c: reads numbers of files as floats. */
/* SPDX-License-Identifier: MIT */
#include "gradients_private.h"
#include "sg_codes.h"
#include "sg_file.h"
#include "sg_half.h"
#include "sg_kernels.h"

const char *const gradient_number_name[GRADIENT_NUMBERS] = {
    [GRADIENT_FLOAT32] = "float32", [GRADIENT_FLOAT16] = "float16", [GRADIENT_BFLOAT16] = "bfloat16"};

size_t gradient_number_bytes(enum gradient_number number) {
    return number == GRADIENT_FLOAT32 ? 4 : 2;
}

/* The kernel reads finite halves only. sg_half_value makes numbers of infinities and NaN, whose exponent must become a
 * float's largest. */
static void from_halves(float *out, const uint16_t *in, size_t n) {
    const struct sg_kernels *kernels = sg_kernels_cpu(NULL);
    const uint16_t exponent = 0x7c00;
    unsigned infinite = 0;
    for (size_t j = 0; j < n; j++)
        infinite |= (in[j] & exponent) == exponent;
    if (!infinite && kernels) {
        kernels->loops->read_halves(out, in, n);
        return;
    }
    for (size_t j = 0; j < n; j++) {
        const uint32_t bits = sg_float_bits(sg_half_value(in[j]));
        out[j] = sg_float_of_bits(bits | ((in[j] & exponent) == exponent ? 0x7f800000 : 0));
    }
}

static void from_bfloats(float *out, const uint16_t *in, size_t n) {
    for (size_t j = 0; j < n; j++)
        out[j] = sg_float_of_bits((uint32_t)in[j] << 16);
}

sg_status gradient_read(int fd, const char *path, enum gradient_number number, off_t at, size_t count, float *out,
                        struct sg_error *err) {
    enum { CHUNK = 1 << 16 }; /* few enough to stay in the cache */
    uint16_t chunk[CHUNK];
    sg_status status = SG_OK;
    if (number == GRADIENT_FLOAT32)
        return sg_file_read_at(fd, out, count * sizeof *out, at, path, err);
    for (size_t done = 0; done < count && status == SG_OK; done += CHUNK) {
        const size_t now = count - done < CHUNK ? count - done : CHUNK;
        status = sg_file_read_at(fd, chunk, now * sizeof *chunk, at + (off_t)(done * sizeof *chunk), path, err);
        if (status == SG_OK && number == GRADIENT_FLOAT16)
            from_halves(out + done, chunk, now);
        else if (status == SG_OK)
            from_bfloats(out + done, chunk, now);
    }
    return status;
}
