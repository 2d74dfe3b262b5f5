/* library_reference.c: what the trainer does with gradients from a file, for comparison with other ways to do it: one
 * process, a struct of sg_method.h, and messages that are added where they lie.
 *
 *     library_reference WORKERS STEPS TEXT SIZE:ROWS... <gradients >out
 *
 * gradients: float32 [STEPS][WORKERS][d]. out: for each step the number of its rounds in 8 bytes; for each round and
 * each worker the message as a trainer sends it, behind its length in 8 bytes; and the sum [d]. At the end the
 * residuals [WORKERS][d]. */
/* SPDX-License-Identifier: MIT */
#define SPARSEGRAD_UNSTABLE
#include <sg_wire.h>
#include <sparsegrad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 16, MOST_WORKERS = 8 };

static struct sg_error err;

static void must(sg_status status) {
    if (status == SG_OK)
        return;
    fprintf(stderr, "library_reference: %s\n", err.msg);
    exit(1);
}

static sg_status print_message(void *of, size_t worker, unsigned round, const struct sg_message *m,
                               struct sg_error *e) {
    const uint64_t rounds = sg_method_rounds(of);
    struct sg_wire_plan plan;
    must(sg_wire_plan(&plan, NULL, m, e));
    uint8_t *bytes = malloc(plan.bytes);
    must(sg_wire_encode(bytes, plan.bytes, &plan, e));
    const uint64_t length = plan.bytes;
    if (worker == 0 && round == 0)
        fwrite(&rounds, sizeof rounds, 1, stdout);
    fwrite(&length, sizeof length, 1, stdout);
    fwrite(bytes, 1, plan.bytes, stdout);
    free(bytes);
    return SG_OK;
}

int main(int argc, char **argv) {
    const size_t workers = (size_t)atoi(argv[1]), layers = (size_t)argc - 4;
    size_t offset[MOST_LAYERS + 1] = {0}, rows[MOST_LAYERS];
    for (size_t l = 0; l < layers; l++) {
        offset[l + 1] = offset[l] + (size_t)atoi(argv[4 + l]);
        rows[l] = (size_t)atoi(strchr(argv[4 + l], ':') + 1);
    }
    const size_t d = offset[layers];
    double room[SG_TEXT_NUMBERS];
    struct sg_method_config config = {.size = sizeof(struct sg_method_config),
                                      .layout = {layers, offset, NULL, rows},
                                      .count = workers,
                                      .exec = {.threads = 2}};
    sg_method *m;
    must(sg_method_read_text(&config, room, argv[3], &err));
    must(sg_method_open(&m, &config, &err));
    float *g = malloc(workers * d * sizeof *g), *e = calloc(workers * d, sizeof *e), *sum = malloc(d * sizeof *sum);
    struct sg_message message[MOST_WORKERS];
    struct sg_play play = {
        .part = &m, .parts = 1, .d = d, .g = g, .e = sg_method_has_residuals(m) ? e : NULL, .sum = &sum};
    play.message = message;
    play.optimizes = true;
    play.sent = print_message;
    play.of = m;
    for (uint64_t step = 0; step < (uint64_t)atoi(argv[2]); step++) {
        if (fread(g, sizeof *g, workers * d, stdin) != workers * d)
            return 1;
        must(sg_method_play(&play, step, 1, &err));
        fwrite(sum, sizeof *sum, d, stdout);
    }
    fwrite(e, sizeof *e, workers * d, stdout);
    sg_method_close(m);
    free(g);
    free(e);
    free(sum);
}
