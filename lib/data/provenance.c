/* provenance.c: where data came from, as results say it, and whether two results are of the same data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_dataset.h"
#include "sg_json.h"

cJSON *sg_provenance_json(const struct sg_provenance *p) {
    cJSON *object = cJSON_CreateObject();
    sg_json_set_string(object, "name", p->name);
    sg_json_set_string(object, "source", p->source);
    sg_json_set_string(object, "generator", p->generator);
    sg_json_set_string(object, "sha256", p->sha256);
    sg_json_set_string(object, "path", p->path);
    if (p->verified == SG_VERIFIED_NOT)
        sg_json_set(object, "verified", NULL);
    else
        sg_json_set_bool(object, "verified", p->verified == SG_VERIFIED_SAME);
    return object;
}

void sg_provenance_free(struct sg_provenance *p) {
    free(p->path);
    *p = (struct sg_provenance){0};
}
