/* made_document.h: results as the JSON that a user would read, for tests of those who make them. */
/* SPDX-License-Identifier: MIT */
#ifndef MADE_DOCUMENT_H
#define MADE_DOCUMENT_H

#include <stdlib.h>
#include <string.h>

#include "sg_grid.h"

/* JSON, which it takes over, written and read: numbers that a program makes are raw text. */
static inline cJSON *reread(cJSON *take_json) {
    struct sg_error err;
    cJSON *out = NULL;
    char *text = sg_json_text(take_json, false);
    if (text && sg_json_parse(&out, text, strlen(text), "the test", &err) != SG_OK)
        out = NULL;
    free(text);
    cJSON_Delete(take_json);
    return out;
}

/* The JSON of a document, which it takes over. */
static inline cJSON *document_json(struct sg_document *take_document) {
    cJSON *out = sg_document_json(take_document);
    sg_document_free(take_document);
    return reread(out);
}

/* The result of these cells as JSON. */
static inline cJSON *made_document(const struct sg_recipe *recipe, const struct sg_grid_network *network,
                                   const struct sg_cell *cells, const struct sg_cell_outcome *outcomes, size_t count,
                                   size_t most) {
    struct sg_document document;
    sg_grid_document(&document, cJSON_CreateObject(), cJSON_CreateObject(), recipe, network, cells, outcomes, count,
                     most);
    return document_json(&document);
}

/* A result, which it takes over, judged again. NULL: it is none. */
static inline cJSON *rejudged(cJSON *take_json) {
    struct sg_document document;
    struct sg_error err;
    if (sg_document_read(&document, take_json, "the test", &err) != SG_OK)
        return NULL;
    sg_grid_rejudge(&document);
    return document_json(&document);
}

#endif
