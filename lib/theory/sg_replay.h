/* sg_replay.h: configures the method of a cell for a replay of vectors that a run of this or another cell recorded. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_REPLAY_H
#define SG_REPLAY_H

#include <cjson/cJSON.h>

#include "sg_method.h"
#include "sg_recipe.h"
#include "sg_status.h"

/* Storage to which a config points. The caller zeroes it, and keeps it until the method is open. */
struct sg_replay_room {
    double number[SG_METHOD_NUMBERS];
    size_t whole[2]; /* offsets in `model` scope */
};

/* Adds seed, compressor, controller, code and feedback rule of the cell to a config. The config's layout, which has the
 * layers of the recording, is changed to the cell's scope. Expressions use the run's constants, {name: value}. */
SG_CHECKED sg_status sg_replay_method(struct sg_method_config *config, struct sg_replay_room *room,
                                      const struct sg_cell *cell, const cJSON *constants, struct sg_error *err);

#endif
