/* grid_tolerance.c: how far a number of a network may be off when it comes from another processor. */
#include "sg_audit.h"
#include "sg_json.h"

static const struct {
    const char *column;
    double share;
} tolerance[] = {
    {"other", 0},
};

cJSON *sg_audit_tolerance_json(void) {
    cJSON *out = cJSON_CreateObject();
    for (size_t i = 0; i < sizeof tolerance / sizeof *tolerance; i++)
        sg_json_set_number(out, tolerance[i].column, tolerance[i].share);
    return out;
}
