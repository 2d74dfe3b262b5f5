/* library_reference.c: what the trainer does with gradients from a file, for comparison with other ways to do it: one
 * process, a struct of sg_method.h, and messages that are added where they lie.
 *
 *     library_reference WORKERS STEPS TEXT SIZE:ROWS... <gradients >out
 *
 * gradients: float32 [STEPS][WORKERS][d]. out: for each step the number of its rounds in 8 bytes; for each round and
 * each worker the message as a trainer sends it, behind its length in 8 bytes; and the sum [d]. At the end the residuals
 * [WORKERS][d]. */
#include <math.h>
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

static void print_message(const struct sg_message *m) {
    struct sg_wire_plan plan;
    must(sg_wire_plan(&plan, NULL, m, &err));
    uint8_t *bytes = malloc(plan.bytes);
    must(sg_wire_encode(bytes, plan.bytes, &plan, &err));
    const uint64_t length = plan.bytes;
    fwrite(&length, sizeof length, 1, stdout);
    fwrite(bytes, 1, plan.bytes, stdout);
    free(bytes);
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
    struct sg_method_config config = {.layout = {layers, offset, NULL, rows}, .count = workers, .exec = {.threads = 2}};
    sg_method *m;
    must(sg_method_read_text(&config, room, argv[3], &err));
    must(sg_method_open(&m, &config, &err));
    float *g = malloc(workers * d * sizeof *g), *e = calloc(workers * d, sizeof *e), *sum = malloc(d * sizeof *sum);
    for (uint64_t step = 0; step < (uint64_t)atoi(argv[2]); step++) {
        struct sg_message message[MOST_WORKERS];
        struct sg_spent spent = {0};
        double square[MOST_LAYERS];
        if (fread(g, sizeof *g, workers * d, stdin) != workers * d)
            return 1;
        const bool leads = sg_method_leads(m, step, 1);
        if (leads)
            sg_method_lead(m, g, square);
        sg_method_begin(m, step, 1, leads ? square : NULL);
        const uint64_t rounds = sg_method_rounds(m);
        fwrite(&rounds, sizeof rounds, 1, stdout);
        for (unsigned r = 0; r < rounds; r++) {
            double entries = 0, bits = 0;
            for (size_t w = 0; w < workers; w++) {
                must(sg_method_send(m, w, r, r == 0 ? g + w * d : NULL, sg_method_has_residuals(m) ? e + w * d : NULL,
                                    NULL, &message[w], &err));
                print_message(&message[w]);
                entries += (double)message[w].count;
                bits += message[w].bits;
                spent.largest = fmax(spent.largest, sg_method_note(m, w));
            }
            spent.entries += entries / (double)workers;
            spent.bits += bits / (double)workers;
            memset(sum, 0, d * sizeof *sum);
            sg_message_add_all(sum, sg_method_length(m, r), message, workers, sg_kernels_cpu(NULL), &config.exec);
            if (sg_method_hears(m))
                sg_method_hear(m, message);
            sg_method_receive(m, r, sum);
        }
        for (size_t w = 0; w < workers; w++)
            sg_method_keep(m, w, e + w * d, sum);
        sg_method_end(m, sum, &spent);
        fwrite(sum, sizeof *sum, d, stdout);
    }
    fwrite(e, sizeof *e, workers * d, stdout);
    sg_method_close(m);
    free(g);
    free(e);
    free(sum);
}
