/* train_options.h: the options of sparsetrain. */
/* SPDX-License-Identifier: MIT */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H

#include "sg_options.h"

extern struct train_opt {
    const char *seed, *output, *data_dir, *device, *checkpoint, *record_inputs, *record_gradients, *k_from,
        *help_recipe;
    struct sg_option_list methods, set, plugins;
    int64_t threads, checkpoint_every, progress_fd, at_once;
    double time_limit;
    bool json, ndjson, table, force, resume, dry_run, check, help_compressors, memory_check;
} opt;

extern const struct sg_program program;

#endif
