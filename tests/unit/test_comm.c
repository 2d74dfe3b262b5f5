/* The exchange in one process; over ranks it is tested by tests/cli/ranks.bats. */
#include <stdlib.h>
#include <string.h>

#include "sg_comm.h"
#include "tap.h"

enum { WORKERS = 3, D = 5 };

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

int main(void) {
    struct sg_error err = {0};
    sg_comm *c = NULL;
    unsetenv("OMPI_COMM_WORLD_SIZE");
    ok(sg_comm_open(&c, &err) == SG_OK && sg_comm_size(c) == 1 && sg_comm_rank(c) == 0, "opens without a launcher");
    ok(sg_comm_set_workers(c, 0, &err) == SG_ERR_ARGUMENT, "no workers are too few for a rank");
    ok(sg_comm_set_workers(c, WORKERS, &err) == SG_OK && sg_comm_count(c) == WORKERS && sg_comm_first(c) == 0,
       "all workers are here");

    /* Values whose float sum depends on the order: ((1e8 + 1) - 1e8) = 0, any other order gives 1 or 2. */
    const uint32_t index[WORKERS][2] = {{0, 4}, {0, 2}, {0, 0}};
    const float value[WORKERS][2] = {{1e8F, 1}, {1, 2}, {-1e8F, 0}};
    const size_t count[WORKERS] = {2, 2, 1};
    struct sg_message message[WORKERS];
    double note[WORKERS][SG_COMM_NOTES] = {{1}, {2}, {3, 0, 0, 7}};
    for (int w = 0; w < WORKERS; w++)
        message[w] = sparse(count[w], index[w], value[w], &count[w]);
    const struct sg_kernels *kernels = sg_kernels_cpu("c");
    const struct sg_exec exec = {.threads = 1};
    struct sg_contribution mine = {.message = message, .note = (const double(*)[SG_COMM_NOTES])note, .stop = 15};
    struct sg_outcome out;
    float sum[D] = {9, 9, 9, 9, 9};
    ok(sg_comm_exchange(c, &mine, sum, D, kernels, &exec, &out, &err) == SG_OK, "sparse messages are exchanged");
    ok(sum[0] == 0 && sum[1] == 0 && sum[2] == 2 && sum[3] == 0 && sum[4] == 1, "and summed in worker order");
    ok(out.volume.elements_mean == 5.0 / 3 && out.volume.elements_max == 2, "elements: mean and largest");
    ok(out.volume.bits_mean == 64 * 5.0 / 3 && out.volume.bytes_sent == (3 * 4 + 5 * 8) / 3.0, "bits and bytes");
    ok(out.note[0][0] == 1 && out.note[2][0] == 3 && out.note[2][3] == 7, "notes of all workers");
    ok(out.stop == 15 && out.save == 0 && out.status == SG_OK && out.failed_rank == -1, "a stop reaches everyone");

    const struct sg_message empty = sparse(0, NULL, NULL, NULL);
    for (int w = 0; w < WORKERS; w++)
        message[w] = empty;
    ok(sg_comm_exchange(c, &mine, sum, D, kernels, &exec, &out, &err) == SG_OK && sum[2] == 0 &&
           out.volume.elements_max == 0 && out.volume.bytes_sent == 4,
       "empty messages are normal");

    const float dense[D] = {1, 2, 3, 4, 5};
    for (int w = 0; w < WORKERS; w++)
        message[w] = all_of(&sg_code_fp32, dense);
    ok(sg_comm_exchange(c, &mine, sum, D, kernels, &exec, &out, &err) == SG_OK && sum[0] == 3 && sum[4] == 15 &&
           out.volume.bits_mean == 32 * D && out.volume.bytes_sent == 4 + 4 * D,
       "dense messages");
    const struct sg_wire_format rice = {sg_wire_find("rice"), &sg_code_fp16};
    sg_comm_set_format(c, &rice);
    _Alignas(float) uint16_t halves[D];
    sg_code_fp16.encode(halves, dense, D);
    for (int w = 0; w < WORKERS; w++)
        message[w] = all_of(&sg_code_fp16, halves);
    ok(sg_comm_exchange(c, &mine, sum, D, kernels, &exec, &out, &err) == SG_OK && sum[4] == 15 &&
           out.volume.bits_mean == 32 * D && out.volume.bytes_sent == 4 + 2 * D,
       "dense halves take 2 bytes a value");
    size_t bytes = 0;
    for (int w = 0; w < WORKERS; w++) {
        struct sg_wire_plan plan = {0};
        message[w] = sparse(count[w], index[w], NULL, &count[w]);
        message[w].code = &sg_code_fp16;
        message[w].data = halves; /* 1, 2 */
        message[w].bytes = 2 * count[w];
        bytes += sg_wire_plan(&plan, rice.encoding, &message[w], &err) == SG_OK ? plan.bytes : 0;
    }
    ok(sg_comm_exchange(c, &mine, sum, D, kernels, &exec, &out, &err) == SG_OK && sum[0] == 3 && sum[2] == 2 &&
           out.volume.bits_mean == 64 * 5.0 / 3 && bytes > 0 && out.volume.bytes_sent == (double)bytes / WORKERS,
       "encoded messages count the bytes of their plan");
    const uint32_t descending[2] = {4, 0};
    message[2].count = 2;
    message[2].bytes = 4;
    message[2].index = descending;
    ok(sg_comm_exchange(c, &mine, sum, D, kernels, &exec, &out, &err) == SG_ERR_ARGUMENT,
       "what cannot be encoded is refused");
    message[0] = message[2] = all_of(&sg_code_fp16, halves);
    message[1] = empty;
    ok(sg_comm_exchange(c, &mine, sum, D, kernels, &exec, &out, &err) == SG_ERR_ARGUMENT, "kinds are not mixed");

    mine.status = SG_ERR_NONFINITE;
    ok(sg_comm_exchange(c, &mine, sum, D, kernels, &exec, &out, &err) == SG_OK && out.status == SG_ERR_NONFINITE &&
           out.failed_rank == 0,
       "a failing rank is an outcome, not an error");
    float from[2] = {1, 2}, to[2] = {0, 0};
    ok(sg_comm_collect(c, 1, from, to, sizeof from, &err) == SG_OK && to[1] == 2, "a worker's data reach rank 0");
    ok(sg_comm_agree(c, SG_OK, &err) == SG_OK && sg_comm_agree(c, SG_ERR_IO, &err) == SG_ERR_IO,
       "agreement with oneself");
    sg_comm_close(c);
    sg_comm_close(NULL);
    return tap_done();
}
