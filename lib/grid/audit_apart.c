/* audit_apart.c: which nodes of a result are not compared, with the reason, and which may be missing. */
/* SPDX-License-Identifier: MIT */
#include "audit_tree.h"

#include <string.h>

enum { ALL = AUDIT_CELLS | AUDIT_FINALS | AUDIT_RUNS | AUDIT_NEAR, RUN_AGAIN = AUDIT_CELLS | AUDIT_RUNS | AUDIT_NEAR };

/* What is of a machine or a moment, and what not every source knows. All else is compared. */
static const struct {
    const char *path;
    unsigned known; /* the sources that know it */
    const char *why;
} apart[] = {
    {"program", 0, "the program that made the result; the audit names its own"},
    {"run", 0, "the command and its moment"},
    {"host", 0, "the machine"},
    {"recipe.path", 0, "where the recipe was; its SHA-256 is compared"},
    {"results[].cells[].file", 0, "where the series was"},
    {"results[].cells[].reused", 0, "whether the series was there before, a matter of the moment"},
    {"taken_from", 0, "which labels stood in another result, and its commit"},
    {"results[].taken_from", 0, "the same of one label"},
    {"libraries", AUDIT_CELLS, "of the machine; a bundle's series name them, too"},
    {"identities", AUDIT_CELLS, "of the programs that ran the cells; a bundle's series name them, too"},
    {"results[].cells[].devices", AUDIT_CELLS, "of the machine; a bundle's series name them, too"},
    {"results[].cells[].elapsed_s", AUDIT_CELLS, "of the machine; a new run bounds it (see is_implausible)"},
    {"results[].cells[].message", AUDIT_CELLS, "words of the process that ran the cell"},
    {"dataset", RUN_AGAIN, "only runs read data"},
    {"units", RUN_AGAIN, "only runs have them"},
    {"results[].constants", RUN_AGAIN, "only runs compute them"},
    {"results[].cells", RUN_AGAIN, "only runs have steps; seeds, status and values of trials are used"},
    {"results[].series", RUN_AGAIN, "only runs have records"},
    {"summary.start", RUN_AGAIN, "of the first record, of which a result has the mean"},
    {"summary", ALL & ~AUDIT_NEAR, "other last bits make other words"},
    {"plots", ALL & ~AUDIT_NEAR, "follows from values, which are compared"},
    {"results[].tuned", ALL & ~AUDIT_NEAR, "other last bits may let another trial win"},
    {"tuning", ALL & ~AUDIT_NEAR, "other last bits may let another trial win"},
    {"results[].times_less", ALL & ~AUDIT_NEAR, "follows from values, which are compared"},
    {"results[].cells[].won", ALL & ~AUDIT_NEAR, "other last bits may let another trial win"},
    {"results[].cells[].value", ALL & ~AUDIT_NEAR, "of one trial, whose noise is not that of a column"},
};

/* Keys that programs have added since the first published result. Where another program wrote a result, and none of its
 * nodes has such a key, that is a note. No other key may be missing. */
static const char *const later[] = {
    "recipe.resolved",
    "recipe.set",
    "identities",
    "network",
    "traffic",
    "summary",
    "summary.std",
    "summary.methods[].std",
    "results[].times_less",
    "results[].tuned.edges",
    "tuning",
    "plots[].band",
    "plots[].smooth",
    "plots[].x_at",
    "plots[].y_at",
    "claims[].note",
    "claims[].bound",
    "claims[].descriptive",
    "claims[].margin",
    "claims[].seeds[].other",
};

/* ---- paths ---- */

/* True if the path is at or below this place: [] stands for any index. */
bool audit_is_at(const char *place, const char *path) {
    for (; *place; place++, path++) {
        if (*place != *path)
            return false;
        if (*place == '[') {
            path += strcspn(path, "]");
            place++;
            if (*path != ']')
                return false;
        }
    }
    return *path == '\0' || *path == '.' || *path == '[';
}

bool audit_is_known(enum audit_source source, const char *path) {
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        if (!(apart[i].known & source) && audit_is_at(apart[i].path, path))
            return false;
    return true;
}

bool audit_is_later(const char *path) {
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (audit_is_at(later[i], path))
            return true;
    return false;
}
