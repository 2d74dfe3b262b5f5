/* The inner loops of the codes (sg_codes.h) of every instruction set this machine has, against definitions written out
 * here; and whole codes, whose bytes and numbers are those of plain C. */
/* SPDX-License-Identifier: MIT */
#include "kernel_tables.h"
#include "sg_codes.h"
#include "sg_message.h"
#include "sg_philox.h"

enum { N = 700, GUARD = 16 };

static const size_t sizes[] = {0, 1, 7, 8, 15, 16, 17, 31, 64, 65, 255, 511, 512};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static float x[N], out[N];
static uint32_t field[N + 1], wanted[N], draw[N];

static void fill_draws(uint64_t seed) {
    sg_rng r = sg_rng_open(seed, SG_RNG_TEST, 1, 0);
    for (size_t j = 0; j < N; j++) /* 0 and the largest ones occur, too */
        draw[j] = j % 16 == 0 ? 0 : j % 16 == 1 ? UINT32_MAX : sg_rng_u32(&r);
}

static bool same_fields(size_t n) {
    return memcmp(field, wanted, n * sizeof *field) == 0;
}

/* ---- sums, signs and random numbers ---- */

static void test_sums(const struct sg_code_kernels *k, const char *name) {
    static float y[SG_KERNEL_BLOCK];
    static double term[4][SG_KERNEL_BLOCK];
    size_t wrong = 0;
    for (int pattern = 0; pattern < SG_PATTERNS; pattern++)
        for (size_t n = 0; n <= SG_KERNEL_BLOCK; n = n < 40 ? n + 1 : 3 * n) {
            const size_t count = n > 3000 ? SG_KERNEL_BLOCK : n;
            double sum[4];
            sg_pattern_fill(y, count, (enum sg_pattern)pattern, n);
            size_t below = 0;
            for (size_t i = 0; i < count; i++) {
                const double v = (double)y[i];
                term[SG_TERM_SQUARES][i] = v * v;
                term[SG_TERM_MAGNITUDES][i] = fabs(v);
                term[SG_TERM_SIDES][i] = v > 0 ? v : 0;
                term[SG_TERM_SIDES + 1][i] = v < 0 ? v : 0;
                below += v < 0;
            }
            for (int t = 0; t <= SG_TERM_SIDES; t++)
                k->sum_block(sum + t, y, count, (enum sg_term)t);
            for (int t = 0; t <= SG_TERM_SIDES + 1; t++)
                wrong += sum[t] != lane_sum(term[t], NULL, count);
            wrong += k->count_below(y, count) != below;
        }
    ok(wrong == 0, "%s: sums of squares, magnitudes and sides have the stated order", name);
}

static void test_signs(const struct sg_code_kernels *k, const char *name) {
    static const float value[] = {0.5F, -0.25F};
    size_t wrong = 0;
    for (int pattern = 0; pattern < SG_PATTERNS; pattern++)
        for (size_t v = 0; v < N_SIZES; v++)
            for (size_t first = 0; first < 20; first += 3) {
                const size_t n = sizes[v], bytes = (n + 7) / 8;
                uint8_t packed[N / 8 + GUARD];
                sg_pattern_fill(x, n, (enum sg_pattern)pattern, v);
                memset(packed, 0xa5, sizeof packed);
                k->pack_signs(packed, x, n);
                for (size_t j = 0; j < 8 * bytes; j++)
                    wrong += (packed[j / 8] >> j % 8 & 1) != (j < n && x[j] < 0);
                wrong += packed[bytes] != 0xa5;
                if (first > n)
                    continue;
                out[n - first] = 7;
                k->unpack_signs(out, packed, first, n - first, value);
                for (size_t j = first; j < n; j++)
                    wrong += out[j - first] != value[x[j] < 0];
                wrong += out[n - first] != 7;
            }
    ok(wrong == 0, "%s: signs are packed and read from any place on", name);
}

static void test_draws(const struct sg_code_kernels *k, const char *name) {
    static const uint32_t key[] = {77, 0xfffffff0}, counter[] = {0, 5, 0xffffffff, 3};
    uint32_t room[SG_PHILOX_ROOM + GUARD], right[SG_PHILOX_ROOM];
    size_t wrong = 0;
    for (size_t v = 0; v < N_SIZES; v++)
        for (uint64_t first = 0; first < 9; first++) {
            const uint64_t from = first < 6 ? first : ((uint64_t)1 << 34) - 8 * first; /* the last of the stream, too */
            const size_t n = first < 6 ? sizes[v] : sizes[v] < 40 ? sizes[v] : 40;
            memset(room, 0xa5, sizeof room);
            const uint32_t *got = k->draws(room, key, counter, from, n);
            wrong += memcmp(got, sg_philox_draws(right, key, counter, from, n), n * sizeof *got) != 0;
            for (size_t j = SG_PHILOX_ROOM; j < SG_PHILOX_ROOM + GUARD; j++)
                wrong += room[j] != 0xa5a5a5a5;
        }
    ok(wrong == 0, "%s: random numbers are those of the stream", name);
}

static void test_fields(const struct sg_code_kernels *k, const char *name) {
    size_t wrong = 0;
    fill_draws(3);
    for (unsigned bits = 1; bits <= 32; bits++)
        for (size_t v = 0; v <= N_SIZES; v++) {
            const size_t n = v < N_SIZES ? sizes[v] : N, bytes = (n * bits + 7) / 8;
            uint8_t packed[4 * N + GUARD];
            memset(packed, 0xa5, sizeof packed);
            for (size_t j = 0; j < n; j++)
                wanted[j] = draw[j] >> (32 - bits);
            k->pack(packed, wanted, n, bits);
            for (size_t b = 0; b < 8 * bytes; b++) {
                const uint32_t bit = b < n * bits ? wanted[b / bits] >> b % bits & 1 : 0;
                wrong += (packed[b / 8] >> b % 8 & 1) != bit;
            }
            wrong += packed[bytes] != 0xa5;
            for (size_t first = 0; first <= n && first < 20; first++) {
                field[n - first] = 7;
                k->unpack(field, packed, first, n - first, bits);
                wrong += memcmp(field, wanted + first, (n - first) * sizeof *field) != 0 || field[n - first] != 7;
            }
        }
    ok(wrong == 0, "%s: fields of 1 to 32 bits are packed and read from any place on", name);
}

/* ---- rounding ---- */

static double rounded(double a, const uint32_t *u) {
    return u == NULL ? nearbyint(a) : floor(a) + ((double)(*u >> 8) * 0x1p-24 < a - floor(a));
}

static void test_multiples(const struct sg_code_kernels *k, const char *name) {
    static const double units[] = {0.01, 0.25, 1, 0x1p-149, 1e30};
    size_t wrong = 0;
    for (int pattern = 0; pattern < SG_PATTERNS; pattern++)
        for (size_t c = 0; c < 4 * 3 * 5; c++) {
            const struct sg_multiples m = {.unit = (double)(float)units[c % 5],
                                           .bits = c / 5 % 3 == 0   ? 2
                                                   : c / 5 % 3 == 1 ? 8
                                                                    : 24,
                                           .most = (1U << (c / 5 % 3 == 0   ? 1
                                                           : c / 5 % 3 == 1 ? 7
                                                                            : 23)) -
                                                   1,
                                           .clamps = c / 15 % 2};
            const uint32_t beyond = 1U << (m.bits - 1);
            sg_pattern_fill(x, N, (enum sg_pattern)pattern, c);
            for (size_t j = 0; j < N; j++) {
                const double a = fabs((double)x[j]) / m.unit;
                const double q = rounded(fmin(a, m.most), c / 30 ? &draw[j] : NULL);
                const uint32_t two = (uint32_t)(int32_t)(x[j] < 0 ? -q : q) & (2 * beyond - 1);
                wanted[j] = m.clamps || a <= m.most ? two : beyond;
            }
            k->write_multiples(field, x, N, &m, c / 30 ? draw : NULL);
            wrong += !same_fields(N);
            k->read_multiples(out, wanted, N, (float)m.unit, m.bits);
            for (size_t j = 0; j < N; j++) {
                const int32_t q = wanted[j] < beyond ? (int32_t)wanted[j] : (int32_t)(wanted[j] - 2 * beyond);
                wrong += bits_of(out[j]) != (wanted[j] == beyond ? 0 : bits_of((float)(m.unit * q)));
            }
        }
    ok(wrong == 0, "%s: multiples of a unit, nearest and at random", name);
}

static void test_places(const struct sg_code_kernels *k, const char *name) {
    size_t wrong = 0;
    for (int pattern = 0; pattern < SG_PATTERNS; pattern++)
        for (size_t v = 1; v < N_SIZES; v++) {
            const size_t n = sizes[v];
            float ends[2], low = INFINITY, high = -INFINITY;
            sg_pattern_fill(x, n, (enum sg_pattern)pattern, v);
            for (size_t j = 0; j < n; j++) {
                low = x[j] < low ? x[j] : low;
                high = x[j] > high ? x[j] : high;
            }
            k->extremes(ends, x, n);
            wrong += bits_of(ends[0]) != bits_of(low) || bits_of(ends[1]) != bits_of(high);
            for (uint32_t most = 3; high > low && most < 70000; most = 4 * most + 3)
                for (int at_random = 0; at_random < 2; at_random++) {
                    const double step = ((double)high - (double)low) / most;
                    for (size_t j = 0; j < n; j++) {
                        const double a = ((double)x[j] - (double)low) / step;
                        wanted[j] = (uint32_t)fmin(at_random ? rounded(a, &draw[j]) : floor(a + 0.5), most);
                    }
                    k->write_places(field, x, n, (double)low, step, most, at_random ? draw : NULL);
                    wrong += !same_fields(n);
                    k->read_places(out, wanted, n, (double)low, step);
                    for (size_t j = 0; j < n; j++)
                        wrong += bits_of(out[j]) != bits_of((float)((double)low + step * wanted[j]));
                }
        }
    ok(wrong == 0, "%s: places between two ends, which are the first of equal numbers", name);
}

static void test_powers(const struct sg_code_kernels *k, const char *name) {
    size_t wrong = 0;
    for (int pattern = 0; pattern < SG_PATTERNS; pattern++)
        for (int shorter = 0; shorter < 2; shorter++) {
            const uint32_t lowest = shorter ? 18 : 0, highest = shorter ? 145 : 254;
            const unsigned bits = shorter ? 8 : 9;
            sg_pattern_fill(x, N, (enum sg_pattern)pattern, 5);
            for (size_t j = 0; j < N; j++) {
                uint32_t exponent = bits_of(fabsf(x[j])) >> 23;
                exponent += (bits_of(x[j]) & 0x7fffff) > draw[j] >> 9;
                exponent = exponent < highest ? exponent : highest;
                exponent = exponent > lowest ? exponent - lowest : 0;
                wanted[j] = exponent > 0 && signbit(x[j]) ? exponent + (1U << (bits - 1)) : exponent;
            }
            k->write_powers(field, x, N, lowest, highest, bits, draw);
            wrong += !same_fields(N);
            k->read_powers(out, wanted, N, lowest, bits);
            for (size_t j = 0; j < N; j++) {
                const uint32_t exponent = wanted[j] & ((1U << (bits - 1)) - 1);
                const float power = exponent > 0 ? ldexpf(1, (int)(exponent + lowest) - 127) : 0;
                wrong += out[j] != (wanted[j] >> (bits - 1) ? -power : power);
            }
        }
    ok(wrong == 0, "%s: powers of two", name);
}

/* As the publication of natural dithering has it. */
static uint32_t level_of(double a, uint32_t levels, uint32_t of_draw) {
    const double u = 0x1p-24 * (double)(of_draw >> 8);
    int e;
    if (a <= 0 || a >= 1)
        return a > 0 ? levels : 0;
    const double fraction = 2 * frexp(a, &e) - 1;
    const int below = (int)levels + e - 1;
    return below < 1 ? u < ldexp(a, (int)levels - 1) : (uint32_t)below + (u < fraction);
}

static void test_parts(const struct sg_code_kernels *k, const char *name) {
    size_t wrong = 0;
    for (int pattern = 0; pattern < SG_PATTERNS; pattern++)
        for (uint32_t levels = 1; levels <= 127; levels = 2 * levels + 1) {
            const unsigned bits = 33 - (unsigned)__builtin_clz(levels);
            float norm = 0x1p-149F;
            sg_pattern_fill(x, N, (enum sg_pattern)pattern, levels);
            for (size_t j = 0; j < N; j++)
                norm = fmaxf(norm, fabsf(x[j]) * (levels == 3 ? 2.5F : 1));
            for (size_t j = 0; j < N; j++) {
                const uint32_t level = level_of(fabs((double)x[j]) / (double)norm, levels, draw[j]);
                wanted[j] = level | (uint32_t)(level > 0 && x[j] < 0) << (bits - 1);
            }
            k->write_parts(field, x, N, norm, levels, bits, draw);
            wrong += !same_fields(N);
            k->read_parts(out, wanted, N, norm, levels, bits);
            for (size_t j = 0; j < N; j++) {
                const uint32_t level = wanted[j] & ((1U << (bits - 1)) - 1);
                const float part = level > 0 ? ldexpf(norm, (int)level - (int)levels) : 0;
                wrong += bits_of(out[j]) != bits_of(wanted[j] >> (bits - 1) ? -part : part);
            }
        }
    ok(wrong == 0, "%s: a norm times powers of two", name);
}

static void test_ranks(const struct sg_code_kernels *k, const char *name) {
    static struct sg_ranks ranks;
    double value[SG_RANKS];
    size_t wrong = 0;
    for (uint32_t i = 0; i < SG_RANKS; i++) {
        value[i] = (i + 1.0) / SG_RANKS;
        ranks.edge[i] = i + 1 < SG_RANKS ? ldexp(1 + (i % 7) / 7.0, (int)(i / 7) - 19) : INFINITY;
    }
    for (uint32_t place = 0; place < SG_RANK_PLACES; place++)
        for (ranks.below[place] = 0; ranks.edge[ranks.below[place]] < sg_rank_place_begin(place);)
            ranks.below[place]++;
    for (int pattern = 0; pattern < SG_PATTERNS; pattern++) {
        float norm = 0x1p-149F;
        sg_pattern_fill(x, N, (enum sg_pattern)pattern, 6);
        for (size_t j = 0; j < N; j++)
            norm = fmaxf(norm, fabsf(x[j]));
        for (size_t j = 0; j < N; j++) {
            uint32_t rank = 0;
            while (ranks.edge[rank] < fabs((double)x[j]) / (double)norm)
                rank++;
            wanted[j] = rank | (uint32_t)(x[j] < 0) << 7;
        }
        k->write_ranks(field, x, N, norm, &ranks, 8);
        wrong += !same_fields(N);
        k->read_ranks(out, wanted, N, norm, value, 8);
        for (size_t j = 0; j < N; j++) {
            const float of_rank = (float)((double)norm * value[wanted[j] % SG_RANKS]);
            wrong += bits_of(out[j]) != bits_of(wanted[j] >> 7 ? -of_rank : of_rank);
        }
    }
    ok(wrong == 0, "%s: ranks among given values", name);
}

/* ---- whole codes ---- */

static const size_t parts[] = {3, 0, 1000, 1 << 15, 5001};
enum { PARTS = sizeof parts / sizeof *parts, COUNT = 3 + 1000 + (1 << 15) + 5001, PARAMS = 8 };

/* The message of x in this code by one table, and the numbers that are read back by it. */
static size_t write_and_read(uint8_t *data, float *back, const struct sg_code *code, const float *value,
                             const double *param, const char *table, int threads) {
    const struct sg_numbers numbers = {.value = value,
                                       .count = COUNT,
                                       .part = parts,
                                       .parts = PARTS,
                                       .param = param,
                                       .seed = 3,
                                       .step = 4,
                                       .worker = 1,
                                       .kernels = sg_kernels_cpu(table),
                                       .threads = threads};
    double bits;
    const size_t bytes = code->encode(data, &numbers, &bits);
    const struct sg_message m = {.code = code, .n = COUNT, .count = COUNT, .data = data, .bytes = bytes};
    setenv("SG_CPU", table, 1);
    for (size_t at = 0, now; at < COUNT; at += now) {
        now = COUNT - at < 2047 ? COUNT - at : 2047;
        code->decode(back + at, &m, at, now);
    }
    unsetenv("SG_CPU");
    return bytes;
}

static void test_code(const struct sg_code *code, bool at_random, const char *table) {
    static float value[COUNT], back[2][COUNT];
    static double param[PARAMS];
    size_t wrong = 0;
    for (size_t i = 0; i < code->n_params; i++)
        param[i] = at_random && strcmp(code->params[i].name, "stochastic") == 0 ? 1 : code->params[i].preset;
    for (int pattern = 0; pattern < SG_PATTERNS; pattern++) {
        sg_pattern_fill(value, COUNT, (enum sg_pattern)pattern, 8);
        const struct sg_numbers all = {
            .count = COUNT, .part = parts, .parts = PARTS, .param = param, .kernels = sg_kernels_cpu("c")};
        const size_t most = code->most_bytes(&all);
        uint8_t *data[2] = {malloc(most), malloc(most)};
        const size_t bytes = write_and_read(data[0], back[0], code, value, param, "c", 1);
        for (int threads = 1; threads <= 2; threads++)
            wrong += write_and_read(data[1], back[1], code, value, param, table, threads) != bytes ||
                     memcmp(data[0], data[1], bytes) != 0 || memcmp(back[0], back[1], sizeof back[0]) != 0;
        free(data[0]);
        free(data[1]);
    }
    ok(wrong == 0, "%s: %s%s has the bytes and numbers of plain C", table, code->name, at_random ? ", at random" : "");
}

static void test_table(const struct sg_kernels *kernels) {
    const struct sg_code_kernels *k = kernels->loops;
    const char *name = kernels->name;
    fill_draws(1);
    test_sums(k, name);
    test_signs(k, name);
    test_draws(k, name);
    test_fields(k, name);
    fill_draws(2);
    test_multiples(k, name);
    test_places(k, name);
    test_powers(k, name);
    test_parts(k, name);
    test_ranks(k, name);
    for (size_t c = 0; sg_code_at(c) != NULL; c++)
        if (sg_code_at(c) != &sg_code_factors) /* its messages are of matrices, not of numbers */
            for (int at_random = 0; at_random < 2; at_random++)
                test_code(sg_code_at(c), at_random, name);
}

int main(void) {
    test_tables(test_table);
    return tap_done();
}
