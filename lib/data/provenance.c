/* provenance.c: the origin of data as results record it, and whether two results have the same data. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_dataset.h"
#include "sg_json.h"

cJSON *sg_provenance_json(const struct sg_provenance *p) {
    return SG_SET(cJSON_CreateObject(), SG_TEXT("name", p->name), SG_TEXT("source", p->source),
                  SG_TEXT("generator", p->generator), SG_TEXT("sha256", p->sha256), SG_TEXT("path", p->path),
                  SG_VALUE("verified",
                           p->verified == SG_VERIFIED_NOT ? NULL : cJSON_CreateBool(p->verified == SG_VERIFIED_SAME)));
}

void sg_provenance_free(struct sg_provenance *p) {
    free(p->path);
    *p = (struct sg_provenance){0};
}
