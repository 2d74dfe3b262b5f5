#include <stdlib.h>
#include <string.h>

#include "tune_private.h"

static const struct sg_tune_action actions[] = {
    {"match-density", tune_match_density},
};

const struct sg_tune_action *sg_tune_find(const char *name) {
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].name, name) == 0)
            return &actions[i];
    return NULL;
}

void sg_tune_free(struct sg_tune *t) {
    free(t->text);
    cJSON_Delete(t->evidence);
    t->text = NULL;
    t->evidence = NULL;
}
