/* The exchange, in one process; tests/cli/ranks.bats runs the same over ranks, where every rank must see the same. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <pthread.h>
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

/* Messages of all numbers, so long that ranks share the work of adding them up, in several parts if there are so many
 * numbers; the first `skipped` workers put none. Their layers and buckets end anywhere. `hears`: all ranks want all. */
static void test_shared(sg_comm *c, const struct sg_code *code, size_t n, unsigned skipped, bool hears) {
    enum { MANY = 7, MOST_PARAMS = 8 };
    const size_t part[] = {n / 3, 0, 1, n - n / 3 - 1};
    float *value = malloc(n * sizeof *value), *want = calloc(n, sizeof *want), *got = malloc(n * sizeof *got);
    float *data[MANY] = {NULL};
    struct sg_message message[MANY];
    double param[MOST_PARAMS] = {0}, bytes = 0;
    struct sg_error why;
    bool taken = value && want && got && sg_comm_set_workers(c, MANY, &err) == SG_OK && code->n_params <= MOST_PARAMS;
    for (size_t i = 0; i < code->n_params; i++)
        param[i] = strcmp(code->params[i].name, "bucket") == 0 ? 43 : code->params[i].preset;
    for (unsigned w = 0; taken && w < MANY; w++) {
        const struct sg_numbers numbers = {.value = value,
                                           .count = n,
                                           .part = part,
                                           .parts = 4,
                                           .param = param,
                                           .worker = w,
                                           .kernels = sg_kernels_cpu(NULL),
                                           .threads = 1};
        struct sg_message *m = &message[w];
        struct sg_wire_plan plan = {0};
        for (unsigned i = 0; i < n; i++) /* sums that depend on the order */
            value[i] = (w == 1 ? 1.0F : 1e4F) * (float)((int)((i + 7919 * w) * 2654435761U >> 20) - 2048) / 2048;
        data[w] = malloc(code->most_bytes(&numbers));
        *m = (struct sg_message){.code = code, .n = n, .count = n, .data = data[w]};
        taken = data[w] != NULL;
        m->bytes = taken ? code->encode(data[w], &numbers, &m->bits) : 0;
        if (taken && w >= skipped) {
            sg_message_add(want, m, 1, &exec);
            taken = sg_wire_plan(&plan, sg_wire_find("rice"), m, &why) == SG_OK;
            bytes += (double)(code->width > 0 ? 4 + m->bytes : plan.bytes) / MANY;
        }
    }
    sg_comm_set_encoding(c, sg_wire_find("rice"));
    sg_comm_begin(c, got, n, sg_kernels_cpu("c"), &exec);
    if (hears)
        sg_comm_hear(c);
    for (size_t w = sg_comm_first(c); taken && w < sg_comm_first(c) + sg_comm_count(c); w++)
        if (w < skipped)
            sg_comm_skip(c, w);
        else
            taken = sg_comm_put(c, w, &message[w], &why) == SG_OK;
    taken = taken && sg_comm_end(c, &well, &out, &err) == SG_OK;
    ok(taken && memcmp(got, want, n * sizeof *got) == 0 && fabs(out.volume.bytes_sent - bytes) < 1e-3,
       "%s: %zu numbers of all workers but %u are summed in worker order", code->name, n, skipped);
    const struct sg_message *all = taken ? sg_comm_messages(c) : NULL;
    for (unsigned w = 0; hears && w < MANY; w++)
        taken = taken && all && all[w].bytes == message[w].bytes && !memcmp(all[w].data, data[w], all[w].bytes);
    ok(taken && (hears || !all || sg_comm_size(c) == 1 || (code->width == 0 && code->cut == NULL)),
       "%s: all messages are here, or slices only", code->name);
    for (unsigned w = 0; w < MANY; w++)
        free(data[w]);
    free(value);
    free(want);
    free(got);
}

static void *end_beside(void *of) {
    sg_comm **lane = of;
    struct sg_error why;
    struct sg_outcome of_lane;
    for (int i = 2; i-- > 0;)
        if (sg_comm_end(lane[i], &well, &of_lane, &why) != SG_OK || of_lane.status != SG_OK)
            return of;
    return NULL;
}

/* Two exchanges are begun; a thread beside ends them, the second one first. Then messages are counted only. */
static void test_beside(sg_comm *c) {
    static float part[2][D];
    struct sg_message message[WORKERS];
    sg_comm *lane[2] = {NULL};
    pthread_t thread;
    void *failed = lane;
    bool fine = true;
    for (int w = 0; w < WORKERS; w++)
        message[w] = sparse(count_of[w], index_of[w], value_of[w], &count_of[w]);
    for (int i = 0; i < 2 && fine && sg_comm_has_beside(c); i++) {
        fine = sg_comm_open_beside(&lane[i], c, &err) == SG_OK && sg_comm_count(lane[i]) == sg_comm_count(c);
        sg_comm_begin(lane[i], part[i], D, sg_kernels_cpu("c"), &exec);
        for (size_t w = sg_comm_first(c); w < sg_comm_first(c) + sg_comm_count(c) && fine; w++)
            fine = sg_comm_put(lane[i], w, &message[w], &err) == SG_OK;
    }
    if (lane[1] && pthread_create(&thread, NULL, end_beside, lane) == 0)
        pthread_join(thread, &failed);
    ok(fine && (!lane[1] || (failed == NULL && part[0][2] == 2 && part[1][4] == 1 && part[1][0] == 0)),
       lane[1] ? "exchanges beside the first thread" : "one rank has nothing beside it # SKIP");
    sg_comm_begin(c, sum, D, sg_kernels_cpu("c"), &exec);
    sg_comm_only_count(c);
    for (size_t w = sg_comm_first(c); w < sg_comm_first(c) + sg_comm_count(c) && fine; w++)
        fine = sg_comm_put(c, w, &message[w], &err) == SG_OK;
    memset(sum, 7, sizeof sum);
    memcpy(part[0], sum, sizeof sum);
    ok(fine && sg_comm_end(c, &well, &out, &err) == SG_OK && memcmp(part[0], sum, sizeof sum) == 0 &&
           out.volume.bytes_sent == (3 * 4 + 5 * 8) / 3.0 && sg_comm_messages(c) == NULL,
       "messages that are counted only leave the sum as it is");
    sg_comm_close(lane[0]);
    sg_comm_close(lane[1]);
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

static void test_slices(sg_comm *c) {
    enum { LONG = 800003, SHORT = 50021 }; /* no multiple of any number of ranks */
    test_shared(c, &sg_code_fp32, LONG, 0, false);
    test_shared(c, &sg_code_levels, LONG, 0, false);
    test_shared(c, &sg_code_fp16, LONG, 4, false); /* more than the first of two ranks has */
    test_shared(c, &sg_code_signs, LONG, 4, false);
    test_shared(c, &sg_code_levels, SHORT, 0, true);
    for (size_t i = 0; sg_code_at(i); i++)
        if (sg_code_at(i) != &sg_code_factors) /* it has no encoder of numbers alone */
            test_shared(c, sg_code_at(i), SHORT, 0, false);
}

/* What three workers exchange. */
static void test_few(sg_comm *c, bool alone) {
    ok(sg_comm_set_workers(c, 0, &err) == SG_ERR_ARGUMENT, "no workers are too few for a rank");
    ok(sg_comm_set_workers(c, WORKERS, &err) == SG_OK && sg_comm_count(c) >= 1 &&
           (!alone || (sg_comm_count(c) == WORKERS && sg_comm_first(c) == 0)),
       "all workers are here");
    test_floats(c);
    test_rounds(c);
    test_skipped(c);
    test_encoded(c);
    test_levels(c);
    sg_comm_set_encoding(c, sg_wire_find("raw"));
    test_beside(c);
    sg_comm_set_encoding(c, sg_wire_find("rice"));
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
}

int main(void) {
    sg_comm *c = NULL;
    const bool alone = sg_comm_launch_rank() < 0;
    ok(sg_comm_open(&c, &err) == SG_OK && (!alone || (sg_comm_size(c) == 1 && sg_comm_rank(c) == 0)), "opens");
    if (sg_comm_size(c) <= WORKERS)
        test_few(c, alone);
    test_slices(c);
    sg_comm_close(c);
    sg_comm_close(NULL);
    return tap_done();
}
