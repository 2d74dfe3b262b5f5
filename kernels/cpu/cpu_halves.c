/* cpu_halves.c: numbers as halves of which a network adds those of all processes, without an overflow. */
/* SPDX-License-Identifier: MIT */
#include "sg_codes.h"
#include "sg_half.h"
#include "sg_kernels.h"

enum { CHUNK = 1024 }; /* numbers that stay in the first cache between their steps */

static void write(uint16_t *restrict half, const float *restrict x, size_t n, bool upper) {
    if (upper)
        for (size_t j = 0; j < n; j++)
            half[j] = sg_bf16_of(x[j]);
    else
        sg_kernels_cpu(NULL)->loops->write_halves(half, x, n);
}

static void read(float *restrict x, const uint16_t *restrict half, size_t n, bool upper) {
    if (upper)
        for (size_t j = 0; j < n; j++)
            x[j] = sg_bf16_value(half[j]);
    else
        sg_kernels_cpu(NULL)->loops->read_halves(x, half, n);
}

/* The largest half of which `processes` have a finite sum. */
static float most_of(float processes, bool upper) {
    const float limit = upper ? sg_bf16_value(0x7f7f) : sg_half_value(0x7bff), share = limit / processes;
    uint16_t half;
    float most;
    write(&half, &share, 1, upper);
    read(&most, &half, 1, upper);
    if (most * processes > limit) {
        half--;
        read(&most, &half, 1, upper);
    }
    return most;
}

void sg_halves_write(uint16_t *half, float *lost, const float *number, size_t count, size_t processes, bool upper) {
    const float ways = (float)processes, most = most_of(ways, upper);
    float x[CHUNK];
    for (size_t at = 0; at < count; at += CHUNK) {
        const size_t n = count - at < CHUNK ? count - at : CHUNK;
        for (size_t j = 0; j < n; j++) {
            const float share = number[at + j] / ways;
            x[j] = share > most ? most : share < -most ? -most : share;
        }
        write(half + at, x, n, upper);
        if (!lost)
            continue;
        read(x, half + at, n, upper);
        for (size_t j = 0; j < n; j++)
            lost[at + j] += number[at + j] - x[j] * ways;
    }
}

void sg_halves_read(float *number, const uint16_t *half, size_t count, size_t processes, bool upper) {
    const float ways = (float)processes;
    for (size_t at = 0; at < count; at += CHUNK) {
        const size_t n = count - at < CHUNK ? count - at : CHUNK;
        read(number + at, half + at, n, upper);
        for (size_t j = 0; j < n; j++)
            number[at + j] *= ways;
    }
}
