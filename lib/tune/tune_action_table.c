/* tune_action_table.c: the table of what sparsetune can do. */
#include <string.h>

#include "tune_private.h"

static const struct sg_tune_action actions[] = {
    {"match-density", tune_match_density},
    {"match-bytes", tune_match_bytes},
    {"reach-baseline", tune_reach_baseline},
    {"oracle", tune_oracle},
    {"rule", tune_rule},
    {"theory", tune_theory},
    {"when", tune_when},
    {"advise", tune_advise},
};

const struct sg_tune_action *sg_tune_find(const char *name) {
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].name, name) == 0)
            return &actions[i];
    return NULL;
}
