/* sg_replay.h: the method of a cell, to be played on vectors that a run of it, or of another cell, recorded. */
#ifndef SG_REPLAY_H
#define SG_REPLAY_H

#include <cjson/cJSON.h>

#include "sg_method.h"
#include "sg_recipe.h"
#include "sg_status.h"

/* What a config points into; zeroed before, it must live until the method is open. */
struct sg_replay_room {
    double number[SG_METHOD_NUMBERS];
    size_t whole[2]; /* offsets in `model` scope */
};

/* Adds the cell's own to a config: seed, compressor, controller, code and feedback rule. Its layout, which has the layers
 * of the recording, becomes that of the cell's scope. Expressions take the constants of a run's header, {name: value}. */
SG_CHECKED sg_status sg_replay_method(struct sg_method_config *config, struct sg_replay_room *room,
                                      const struct sg_cell *cell, const cJSON *constants, struct sg_error *err);

#endif
