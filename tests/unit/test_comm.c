/* The exchange, in one process; tests/cli/ranks.bats runs the same over ranks, where every rank must see the same. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_comm.h"
#include "tap.h"

enum { WORKERS = 3, D = 5 };

static const struct sg_exec exec = {.threads = 1};
static struct sg_error err;
static struct sg_outcome out;
static float sum[D];

static struct sg_message sparse(size_t count, const uint32_t *index, const float *value, const size_t *layer_count) {
    return (struct sg_message){.code = &sg_code_fp32,
                               .n = D,
                               .count = count,
                               .index = index,
                               .data = value,
                               .bytes = 4 * count,
                               .bits = 64 * (double)count,
                               .layer_count = layer_count};
}

static struct sg_message all_of(const struct sg_code *code, const void *data) {
    return (struct sg_message){
        .code = code, .n = D, .count = D, .data = data, .bytes = D * code->width, .bits = 32 * D};
}

/* Of all workers' messages and notes this rank's go into one exchange, from as many threads as there are. */
static sg_status exchange(sg_comm *c, const struct sg_message *message, size_t n, double (*note)[SG_COMM_NOTES],
                          struct sg_control mine) {
    const size_t first = sg_comm_first(c), end = first + sg_comm_count(c);
    int refused = 0;
    sg_comm_begin(c, n ? sum : NULL, n, sg_kernels_cpu("c"), &exec);
#pragma omp parallel for reduction(+ : refused) num_threads(WORKERS)
    for (size_t w = first; w < end; w++) {
        struct sg_error why;
        if (message)
            refused += sg_comm_put(c, w, &message[w], &why) != SG_OK;
        if (note)
            sg_comm_note(c, w, note[w]);
    }
    if (refused)
        return SG_ERR_IO; /* no test expects this one */
    return sg_comm_end(c, &mine, &out, &err);
}

static const struct sg_control well;

/* Values whose float sum depends on the order: ((1e8 + 1) - 1e8) = 0, any other order gives 1 or 2. */
static const uint32_t index_of[WORKERS][2] = {{0, 4}, {0, 2}, {0, 0}};
static const float value_of[WORKERS][2] = {{1e8F, 1}, {1, 2}, {-1e8F, 0}};
static const size_t count_of[WORKERS] = {2, 2, 1};
static const float dense[D] = {1, 2, 3, 4, 5};

static void test_floats(sg_comm *c) {
    struct sg_message message[WORKERS];
    double note[WORKERS][SG_COMM_NOTES] = {{1}, {2}, {3, 0, 0, 7}};
    for (int w = 0; w < WORKERS; w++)
        message[w] = sparse(count_of[w], index_of[w], value_of[w], &count_of[w]);
    memset(sum, 9, sizeof sum);
    ok(exchange(c, message, D, note, (struct sg_control){.stop = 15}) == SG_OK, "sparse messages are exchanged");
    ok(sum[0] == 0 && sum[1] == 0 && sum[2] == 2 && sum[3] == 0 && sum[4] == 1, "and summed in worker order");
    ok(out.volume.elements_mean == 5.0 / 3 && out.volume.elements_max == 2, "elements: mean and largest");
    ok(out.volume.bits_mean == 64 * 5.0 / 3 && out.volume.bytes_sent == (3 * 4 + 5 * 8) / 3.0, "bits and bytes");
    ok(out.note[0][0] == 1 && out.note[2][0] == 3 && out.note[2][3] == 7, "notes of all workers");
    ok(out.stop == 15 && out.save == 0 && out.status == SG_OK && out.failed_rank == -1, "a stop reaches everyone");

    const struct sg_message empty = sparse(0, NULL, NULL, NULL);
    for (int w = 0; w < WORKERS; w++)
        message[w] = empty;
    ok(exchange(c, message, D, NULL, well) == SG_OK && sum[2] == 0 && out.volume.elements_max == 0 &&
           out.volume.bytes_sent == 4 && out.note[2][3] == 0 && out.stop == 0,
       "empty messages are normal, and nothing is left of an earlier exchange");

    for (int w = 0; w < WORKERS; w++)
        message[w] = all_of(&sg_code_fp32, dense);
    ok(exchange(c, message, D, NULL, well) == SG_OK && sum[0] == 3 && sum[4] == 15 && out.volume.bits_mean == 32 * D &&
           out.volume.bytes_sent == 4 + 4 * D,
       "dense messages");
}

static void test_rounds(sg_comm *c) {
    double note[WORKERS][SG_COMM_NOTES] = {{1}, {2}, {3, 0, 0, 7}};
    struct sg_message message[WORKERS];
    bool right = true;
    for (size_t n = 1; n <= D; n += 2) {
        for (int w = 0; w < WORKERS; w++) {
            message[w] = all_of(&sg_code_fp32, dense);
            message[w].n = message[w].count = n;
            message[w].bytes = 4 * n;
        }
        memset(sum, 0, sizeof sum);
        right &= exchange(c, message, n, NULL, well) == SG_OK && sum[n - 1] == 3 * (float)n &&
                 (n == D || sum[n] == 0) && out.volume.elements_mean == (double)n &&
                 out.volume.bytes_sent == (double)(4 + 4 * n);
    }
    ok(right, "exchanges of different lengths follow each other");
    ok(exchange(c, NULL, 0, note, (struct sg_control){.save = 1}) == SG_OK && out.note[1][0] == 2 &&
           out.note[2][3] == 7 && out.save == 1 && out.volume.bytes_sent == 0 && out.volume.bits_mean == 0,
       "an exchange of no numbers carries notes");
    sg_comm_begin(c, sum, D, sg_kernels_cpu("c"), &exec);
    message[0].n = D - 1;
    ok(sg_comm_put(c, sg_comm_first(c), &message[0], &err) == SG_ERR_ARGUMENT,
       "a message for another length is refused");
}

static void test_encoded(sg_comm *c) {
    const struct sg_wire_encoding *rice = sg_wire_find("rice");
    struct sg_message message[WORKERS];
    _Alignas(float) uint16_t halves[D];
    sg_comm_set_encoding(c, rice);
    sg_code_fp16.encode(halves, &(struct sg_numbers){.value = dense, .count = D}, &(double){0});
    for (int w = 0; w < WORKERS; w++)
        message[w] = all_of(&sg_code_fp16, halves);
    ok(exchange(c, message, D, NULL, well) == SG_OK && sum[4] == 15 && out.volume.bits_mean == 32 * D &&
           out.volume.bytes_sent == 4 + 2 * D,
       "dense halves take 2 bytes a value");
    size_t bytes = 0;
    for (int w = 0; w < WORKERS; w++) {
        struct sg_wire_plan plan = {0};
        message[w] = sparse(count_of[w], index_of[w], NULL, &count_of[w]);
        message[w].code = &sg_code_fp16;
        message[w].data = halves; /* 1, 2 */
        message[w].bytes = 2 * count_of[w];
        bytes += sg_wire_plan(&plan, rice, &message[w], &err) == SG_OK ? plan.bytes : 0;
    }
    ok(exchange(c, message, D, NULL, well) == SG_OK && sum[0] == 3 && sum[2] == 2 &&
           out.volume.bits_mean == 64 * 5.0 / 3 && bytes > 0 && out.volume.bytes_sent == (double)bytes / WORKERS,
       "encoded messages count the bytes of their plan");
    message[1] = message[0];
    message[1].code = &sg_code_fp32;
    message[1].data = dense;
    message[1].bytes = 4 * message[1].count;
    ok(exchange(c, message, D, NULL, well) == SG_ERR_ARGUMENT, "codes are not mixed");
    message[0] = message[2] = all_of(&sg_code_fp16, halves);
    message[1] = sparse(0, NULL, NULL, NULL);
    ok(exchange(c, message, D, NULL, well) == SG_ERR_ARGUMENT, "kinds are not mixed");
}

/* Numbers of no fixed width: of every worker as many bytes as its levels take, all positions or some. */
static void test_levels(sg_comm *c) {
    enum { ROOM = 64 };
    static float data[WORKERS][ROOM]; /* aligned for a float, and enough bytes */
    struct sg_message message[WORKERS];
    for (int all = 0; all <= 1; all++) {
        float want[D] = {0};
        double bytes = 0, knob = 1;
        bool fits = true;
        for (unsigned w = 0; w < WORKERS; w++, knob *= 50) {
            const size_t count = all ? D : count_of[w];
            double param[sizeof sg_code_levels_params / sizeof *sg_code_levels_params];
            for (size_t i = 0; i < sg_code_levels.n_params; i++)
                param[i] = sg_code_levels.params[i].preset;
            const struct sg_numbers numbers = {.value = dense,
                                               .count = count,
                                               .part = &count,
                                               .parts = 1,
                                               .param = param,
                                               .knob = &knob,
                                               .worker = w,
                                               .kernels = sg_kernels_cpu("c"),
                                               .threads = 1};
            struct sg_message *m = &message[w];
            struct sg_wire_plan plan = {0};
            *m = (struct sg_message){.code = &sg_code_levels, .n = D, .count = count, .data = data[w]};
            m->index = all ? NULL : index_of[w];
            fits &= sg_code_levels.most_bytes(&numbers) <= sizeof data[w];
            m->bytes = sg_code_levels.encode(data[w], &numbers, &m->bits);
            sg_message_add(want, m, 1, &exec);
            fits &= sg_wire_plan(&plan, sg_wire_find("rice"), m, &err) == SG_OK;
            bytes += (double)plan.bytes / WORKERS;
        }
        ok(fits && message[0].bytes != message[2].bytes && exchange(c, message, D, NULL, well) == SG_OK &&
               memcmp(sum, want, sizeof sum) == 0 && fabs(out.volume.bytes_sent - bytes) < 1e-9,
           "levels of %s positions are summed, and their bytes are those of the plans", all ? "all" : "some");
    }
}

/* Any workers but not all are skipped, so that ranks may have no message: sparse, of all numbers, and encoded. */
static void test_skipped(sg_comm *c) {
    size_t wrong = 0;
    for (unsigned put = 1; put < 1U << WORKERS; put++)
        for (int kind = 0; kind < 4; kind++) {
            float want[D] = {0};
            double bits = 0;
            sg_comm_set_encoding(c, sg_wire_find(kind == 2 ? "rice" : "raw"));
            sg_comm_begin(c, sum, D, sg_kernels_cpu("c"), &exec);
            for (unsigned w = 0; w < WORKERS; w++) {
                struct sg_message m =
                    kind == 1 ? all_of(&sg_code_fp32, dense) : sparse(count_of[w], index_of[w], value_of[w], NULL);
                const bool mine = w >= sg_comm_first(c) && w < sg_comm_first(c) + sg_comm_count(c);
                m.known = kind == 3;
                if (put >> w & 1) {
                    bits += m.bits / WORKERS;
                    sg_message_add(want, &m, 1, &exec);
                }
                if (mine && put >> w & 1)
                    wrong += sg_comm_put(c, w, &m, &err) != SG_OK;
                else if (mine)
                    sg_comm_skip(c, w);
            }
            if (kind < 3)
                wrong += sg_comm_end(c, &well, &out, &err) != SG_OK || memcmp(sum, want, sizeof sum) != 0 ||
                         fabs(out.volume.bits_mean - bits) > 1e-9;
            else if (sg_comm_size(c) == 1 && put < (1U << WORKERS) - 1)
                wrong += sg_comm_end(c, &well, &out, &err) != SG_ERR_ARGUMENT;
        }
    ok(wrong == 0, "workers that are skipped add nothing and cost nothing, and positions must be sent then");
    sg_comm_begin(c, sum, D, sg_kernels_cpu("c"), &exec);
    for (size_t w = sg_comm_first(c); w < sg_comm_first(c) + sg_comm_count(c); w++)
        sg_comm_skip(c, w);
    ok(sg_comm_end(c, &well, &out, &err) == SG_ERR_ARGUMENT, "not all workers are skipped");
}

/* Whole messages so long that ranks share the work of adding them up, in several parts; the first `skipped` workers put
 * none. */
static void test_shared(sg_comm *c, const struct sg_code *code, unsigned skipped) {
    enum { LONG = 800003, MANY = 7 }; /* LONG is no multiple of any number of ranks */
    float *value = malloc(LONG * sizeof *value), *want = calloc(LONG, sizeof *want), *got = malloc(LONG * sizeof *got);
    uint8_t *data = malloc((size_t)MANY * (LONG + 1) * sizeof *value);
    struct sg_message message[MANY];
    struct sg_error why;
    bool taken = value && want && got && data && sg_comm_set_workers(c, MANY, &err) == SG_OK;
    for (unsigned w = 0; taken && w < MANY; w++) {
        for (unsigned i = 0; i < LONG; i++) /* sums that depend on the order */
            value[i] = (w == 1 ? 1.0F : 1e4F) * (float)((int)((i + 7919 * w) * 2654435761U >> 20) - 2048) / 2048;
        message[w] = (struct sg_message){.code = code,
                                         .n = LONG,
                                         .count = LONG,
                                         .data = data + w * (LONG + 1) * code->width,
                                         .bytes = LONG * code->width,
                                         .bits = 1};
        code->encode(data + w * (LONG + 1) * code->width, &(struct sg_numbers){.value = value, .count = LONG},
                     &(double){0});
        if (w >= skipped)
            sg_message_add(want, &message[w], 1, &exec);
    }
    sg_comm_begin(c, got, LONG, sg_kernels_cpu("c"), &exec);
    for (size_t w = sg_comm_first(c); taken && w < sg_comm_first(c) + sg_comm_count(c); w++)
        if (w < skipped)
            sg_comm_skip(c, w);
        else
            taken = sg_comm_put(c, w, &message[w], &why) == SG_OK;
    ok(taken && sg_comm_end(c, &well, &out, &err) == SG_OK && memcmp(got, want, LONG * sizeof *got) == 0,
       "%s: long messages of all numbers but %u are summed in worker order", code->name, skipped);
    free(value);
    free(want);
    free(got);
    free(data);
}

/* What only one process can do: fail alone. */
static void test_alone(sg_comm *c) {
    const uint32_t descending[2] = {4, 0};
    struct sg_message message[WORKERS];
    for (int w = 0; w < WORKERS; w++)
        message[w] = sparse(2, w == 2 ? descending : index_of[w], dense, NULL);
    ok(exchange(c, message, D, NULL, well) == SG_ERR_ARGUMENT, "what cannot be encoded is refused");
    sg_comm_begin(c, sum, D, sg_kernels_cpu("c"), &exec);
    ok(sg_comm_put(c, 1, &message[1], &err) == SG_OK && sg_comm_end(c, &well, &out, &err) == SG_ERR_ARGUMENT,
       "a worker that puts nothing is missed");
}

int main(void) {
    sg_comm *c = NULL;
    const bool alone = sg_comm_launch_rank() < 0;
    ok(sg_comm_open(&c, &err) == SG_OK && (!alone || (sg_comm_size(c) == 1 && sg_comm_rank(c) == 0)), "opens");
    ok(sg_comm_set_workers(c, 0, &err) == SG_ERR_ARGUMENT, "no workers are too few for a rank");
    ok(sg_comm_set_workers(c, WORKERS, &err) == SG_OK && sg_comm_count(c) >= 1 &&
           (!alone || (sg_comm_count(c) == WORKERS && sg_comm_first(c) == 0)),
       "all workers are here");
    test_floats(c);
    test_rounds(c);
    test_skipped(c);
    test_encoded(c);
    test_levels(c);
    if (alone)
        test_alone(c);
    ok(exchange(c, NULL, D, NULL, (struct sg_control){.status = SG_ERR_NONFINITE}) == SG_OK &&
           out.status == SG_ERR_NONFINITE && out.failed_rank == 0,
       "a failing rank is an outcome, not an error");
    float from[2] = {1, 2}, to[2] = {0, 0};
    ok(sg_comm_collect(c, 1, from, to, sizeof from, &err) == SG_OK && (sg_comm_rank(c) > 0 || to[1] == 2),
       "a worker's data reach rank 0");
    ok(sg_comm_agree(c, SG_OK, &err) == SG_OK && sg_comm_agree(c, SG_ERR_IO, &err) == SG_ERR_IO,
       "agreement with oneself");
    test_shared(c, &sg_code_fp32, 0);
    test_shared(c, &sg_code_fp16, 0);
    test_shared(c, &sg_code_fp16, 4); /* more than the first of two ranks has */
    sg_comm_close(c);
    sg_comm_close(NULL);
    return tap_done();
}
