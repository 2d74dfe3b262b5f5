/* own_loop.c: a training loop of one's own over the library. Four workers in one process minimize the mean of
 * |x - c_i|^2 / 2, where c_i is worker i's own point; the method is the program's argument.
 *
 *     cc own_loop.c -o own_loop $(pkg-config --cflags --libs sparsegrad) -lm
 *     ./own_loop "topk density=0.05"
 *     ./own_loop "topk density=0.05 | natural; error-feedback=ef21" */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <sparsegrad.h>
#include <stdio.h>

enum { WORKERS = 4, D = 1000, STEPS = 400 };

static float c[WORKERS][D], x[D], sum[D], gradient[WORKERS][D], residual[WORKERS][D];

static double distance(void) { /* of x from the minimum, which is the mean of the c_i */
    double square = 0;
    for (int j = 0; j < D; j++) {
        double mean = 0;
        for (int i = 0; i < WORKERS; i++)
            mean += (double)c[i][j] / WORKERS;
        square += (x[j] - mean) * (x[j] - mean);
    }
    return sqrt(square);
}

int main(int argc, char **argv) {
    const float *g[WORKERS];
    float *e[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        g[i] = gradient[i];
        e[i] = residual[i];
        for (int j = 0; j < D; j++)
            c[i][j] = (float)sin(7.0 * i + 0.1 * j * (i + 1));
    }
    const size_t offset[] = {0, D / 2, D}; /* two layers */
    const struct sg_layout layout = {2, offset, NULL, NULL};
    struct sg_error err;
    sg_method *m;
    /* Workers 0 .. 3 of four live here. A process that hosts one of them passes first = its rank, count = 1. */
    if (sg_method_open_text(&m, argc > 1 ? argv[1] : "topk density=0.05", &layout, WORKERS, 0, WORKERS, &err) != SG_OK)
        return fprintf(stderr, "%s\n", err.msg), 1;
    const double gamma = 0.02;
    double bytes = 0;
    struct sg_sent sent;
    printf("distance at the start %.3g\n", distance());
    for (uint64_t step = 0; step < STEPS; step++) {
        for (int i = 0; i < WORKERS; i++)
            for (int j = 0; j < D; j++)
                gradient[i][j] = x[j] - c[i][j];
        /* NULL, NULL: nothing travels. Else a function that gathers the bytes of all processes, and its argument. */
        if (sg_method_step(m, step, gamma, g, e, sum, NULL, NULL, &err) != SG_OK)
            return fprintf(stderr, "%s\n", err.msg), 1;
        for (int j = 0; j < D; j++)
            x[j] -= (float)gamma * sum[j] / WORKERS;
        sg_method_sent(m, &sent);
        bytes += sent.bytes / WORKERS;
    }
    printf("distance at the end %.3g, %.3g of the bytes of floats\n", distance(), bytes / STEPS / (4.0 * D));
    sg_method_close(m);
    return 0;
}
