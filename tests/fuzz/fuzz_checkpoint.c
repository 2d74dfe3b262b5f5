/* The head of a checkpoint from hostile bytes: a cell may resume from it only if format, key and identity are its own.
 * A fuzzer cannot guess them, so bits of byte 0 say which of them are put in. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "replay.h"
#include "sg_plugins.h"
#include "sg_recipe.h"
#include "sg_result.h"
#include "sg_task.h"
#include "sg_train.h"

enum { MAGIC = 16, KEY = 72, IDENTITY = 64, HEAD = MAGIC + KEY + IDENTITY, WHOLE = 4096 };

static const char text[] = "schema: 1\nname: fuzz\ntask: {kind: logreg, dataset: madelon}\nworkers: 2\nbatch: 1\n"
                           "steps: 1\noptimizer: {kind: sgd, learning-rate: 1}\n"
                           "record: {every: 1, series: [loss]}\nmethods: [{name: SGD, compressor: none}]\n";

static const struct sg_cell *the_cell(void) {
    static struct sg_recipe recipe;
    static struct sg_cell *cells;
    size_t count;
    struct sg_error err = {0};
    if (!cells && (sg_recipe_parse(&recipe, text, strlen(text), "fuzz.yaml", NULL, 0, &err) != SG_OK ||
                   sg_recipe_cells(&recipe, &cells, &count, &err) != SG_OK)) {
        fprintf(stderr, "%s\n", err.msg);
        abort();
    }
    return &cells[0];
}

/* own <- format, key and identity of the cell as its checkpoint begins with them. */
static void make_head(char own[HEAD], const struct sg_cell *cell) {
    char program[SG_CELL_IDENTITY], data[SG_DATASET_IDENTITY];
    memset(own, 0, HEAD);
    memcpy(own, "sg-checkpoint/5", MAGIC);
    strncpy(own + MAGIC, cell->key, KEY - 1);
    snprintf(own + MAGIC + KEY, IDENTITY, "%.31s %.31s", sg_cell_identity(program, cell),
             sg_dataset_identity(data, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const size_t at[] = {0, MAGIC, MAGIC + KEY, HEAD};
    char path[64], own[HEAD];
    const struct sg_cell *cell = the_cell();
    const int fd = memfd_create("fuzz", 0);
    struct sg_error err = {0};
    bool resumable = false;
    make_head(own, cell);
    if (fd < 0 || (size > 0 && write(fd, data + 1, size - 1) != (ssize_t)(size - 1)))
        abort();
    for (size_t part = 0; size > 0 && part < 3; part++)
        if (data[0] >> part & 1 && pwrite(fd, own + at[part], at[part + 1] - at[part], (off_t)at[part]) < 0)
            abort();
    if (size > 0 && data[0] & 8 && ftruncate(fd, WHOLE) != 0)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (sg_train_resumable(&resumable, path, cell, NULL, &err) != SG_OK && !err.msg[0])
        abort();
    char then[HEAD] = {0};
    const bool same = pread(fd, then, HEAD, 0) == HEAD && memcmp(then, own, MAGIC + KEY) == 0 &&
                      memcmp(then + MAGIC + KEY, own + MAGIC + KEY, strcspn(own + MAGIC + KEY, " ") + 1) == 0;
    if ((resumable && !same) || (same && size > 0 && data[0] & 8 && !resumable))
        abort();
    close(fd);
    return 0;
}
