/* How fast the task `recorded` reads gradients, beside two limits of the same run: reading the file by read(2); and `e
 * += g`, which is the least that error feedback does with a gradient. usage: replay FOLDER [ELEMENTS STEPS ROUNDS]
 * It writes files of STEPS gradients into FOLDER and removes them. All of them are in the page cache, so no disk is
 * timed. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sg_clock.h"
#include "sg_file.h"
#include "sg_gradients.h"

static void fail(const char *what) {
    fprintf(stderr, "replay: %s\n", what);
    exit(1);
}

/* Writes `bytes` at once or ends the program. */
static void put(int fd, const void *data, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t now = write(fd, (const char *)data + done, bytes - done);
        if (now <= 0)
            fail("cannot write");
        done += (size_t)now;
    }
}

static void write_file(const char *path, const char *head, size_t length, const void *gradient, size_t bytes,
                       size_t steps) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        fail("cannot write");
    put(fd, head, length);
    for (size_t t = 0; t < steps; t++)
        put(fd, gradient, bytes);
    close(fd);
}

static void write_npy(const char *path, const char *descr, const void *gradient, size_t width, size_t d, size_t steps) {
    char head[128] = "\x93NUMPY\1";
    const int length = snprintf(head + 10, sizeof head - 10,
                                "{'descr': '%s', 'fortran_order': False, 'shape': (%zu, %zu), }\n", descr, steps, d);
    head[8] = (char)length;
    write_file(path, head, 10 + (size_t)length, gradient, d * width, steps);
}

static void write_safetensors(const char *path, const void *gradient, size_t d) {
    char head[128] = "";
    const int length = snprintf(head + 8, sizeof head - 8,
                                "{\"w\":{\"dtype\":\"F32\",\"shape\":[%zu],\"data_offsets\":[0,%zu]}}", d, 4 * d);
    head[0] = (char)length;
    write_file(path, head, 8 + (size_t)length, gradient, 4 * d, 1);
}

/* Takes the time since then if it is the least so far: what other programs of a busy machine cost is in the others. */
static void least(double *best, double since_s) {
    const double spent_s = sg_clock_s() - since_s;
    *best = spent_s < *best ? spent_s : *best;
}

static double time_reading(double best, const char *path, char *buffer, size_t bytes, size_t steps) {
    int fd;
    struct sg_error err;
    if (sg_file_open(&fd, path, &err) != SG_OK)
        fail(err.msg);
    for (size_t t = 0; t < steps; t++) {
        const double start_s = sg_clock_s();
        for (size_t got = 0; got < bytes;) {
            const ssize_t now = read(fd, buffer + got, bytes - got);
            if (now <= 0)
                fail("a file is too short");
            got += (size_t)now;
        }
        least(&best, start_s);
    }
    close(fd);
    return best;
}

static double time_replay(double best, const char *files, float *g, size_t steps) {
    struct sg_error err;
    sg_gradients *gradients;
    if (sg_gradients_open(&gradients, &(struct sg_gradients_request){.files = files}, &err) != SG_OK)
        fail(err.msg);
    for (size_t t = 0; t < steps; t++) {
        const double start_s = sg_clock_s();
        if (sg_gradients_read(gradients, t, 0, g, &err) != SG_OK)
            fail(err.msg);
        least(&best, start_s);
    }
    sg_gradients_close(gradients);
    return best;
}

static double time_add(double best, float *restrict e, const float *restrict g, size_t d, size_t steps) {
    for (size_t t = 0; t < steps; t++) {
        const double start_s = sg_clock_s();
        for (size_t j = 0; j < d; j++)
            e[j] += g[j];
        least(&best, start_s);
    }
    return best;
}

int main(int argc, char **argv) {
    if (argc < 2)
        fail("usage: replay FOLDER [ELEMENTS STEPS ROUNDS]");
    const size_t d = argc > 2 ? strtoull(argv[2], NULL, 10) : 25000000,
                 steps = argc > 3 ? strtoull(argv[3], NULL, 10) : 8;
    const size_t rounds = argc > 4 ? strtoull(argv[4], NULL, 10) : 5;
    float *g = malloc(d * sizeof *g), *e = calloc(d, sizeof *e);
    uint16_t *half = malloc(d * sizeof *half);
    char path[4][4096];
    if (!g || !e || !half)
        fail("no memory");
    for (size_t j = 0; j < d; j++) {
        g[j] = (float)(j % 1000) - 500;
        half[j] = (uint16_t)(j % 0x7c00); /* all finite halves, subnormal ones too */
    }
    static const char *const name[] = {"float32.npy", "float16.npy", "bfloat16.npy", "{step}.safetensors"};
    for (size_t i = 0; i < 4; i++)
        snprintf(path[i], sizeof path[i], "%s/%s", argv[1], i == 3 ? "0.safetensors" : name[i]);
    write_npy(path[0], "<f4", g, 4, d, steps);
    write_npy(path[1], "<f2", half, 2, d, steps);
    write_npy(path[2], "<u2", half, 2, d, steps);
    write_safetensors(path[3], g, d);
    printf("# gradients of %zu elements, %zu steps, one thread, the least time of a step in %zu rounds; ratio: the "
           "slower of reading and "
           "e += g, "
           "over replay\n",
           d, steps, rounds);
    printf("# file                 replay    reading     e += g   ratio\n");
    printf("#                     ms/step    ms/step    ms/step       1\n");
    int slow = 0;
    for (size_t i = 0; i < 4; i++) {
        double replay = 1e9, reading = 1e9, add = 1e9;
        char files[8192];
        snprintf(files, sizeof files, "%s/%s", argv[1], name[i]);
        const size_t bytes = d * (i == 1 || i == 2 ? 2 : 4), there = i == 3 ? 1 : steps;
        for (size_t r = 0; r < rounds; r++) {
            reading = time_reading(reading, path[i], (char *)g, bytes, there);
            replay = time_replay(replay, files, g, there);
            add = time_add(add, e, g, d, there);
        }
        const double ratio = (reading > add ? reading : add) / replay;
        slow |= !(ratio >= 0.8);
        printf("%-18s %10.3f %10.3f %10.3f %7.2f\n", name[i], 1e3 * replay, 1e3 * reading, 1e3 * add, ratio);
        remove(path[i]);
    }
    free(g);
    free(e);
    free(half);
    return slow ? 3 : 0;
}
