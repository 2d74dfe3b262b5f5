/* gpu_run.h: runs of the trainer on a device, and what they wrote. */
/* SPDX-License-Identifier: MIT */
#ifndef GPU_RUN_H
#define GPU_RUN_H

#include <stdlib.h>
#include <string.h>

#include "sg_cuda.h"
#include "sg_train.h"
#include "tap.h"
#include "temporary.h"
#include "train_once.h"

static struct sg_error err;

/* A run of `method` of the recipe `text`; `set` lists changes of it, ended by NULL. */
static sg_status train_on(const char *device, const char *text, const char *method, const char *const *set,
                          FILE *series, bool resume, int (*stop)(void)) {
    const struct sg_train_options how = {.device = device,
                                         .threads = 1,
                                         .series = series,
                                         .checkpoint = temporary_path("ckpt"),
                                         .resume = resume,
                                         .stop = stop};
    return train_once(text, method, set, how, &err);
}

/* What a run wrote, less the record of where and when it ran; the caller frees it. */
static char *content(FILE *series) {
    char *line = NULL, *all = NULL;
    size_t room = 0, length = 0;
    FILE *out = open_memstream(&all, &length);
    rewind(series);
    while (getline(&line, &room, series) > 0)
        if (strncmp(line, "{\"record\":\"run\"", 15) != 0)
            fputs(line, out);
    fclose(out);
    free(line);
    return all;
}

#endif
