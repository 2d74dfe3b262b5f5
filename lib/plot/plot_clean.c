/* plot_clean.c: makes every text of a document fit to be shown: UTF-8 on one line, in which nothing can steer a
 * terminal or mislead a reader. */
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"
#include "sg_text.h"

/* Clean one text of the document in its place; false = no memory. */
static bool clean_in_place(char **text) {
    char *clean = *text ? sg_text_clean(*text) : NULL;
    if (!clean)
        return !*text;
    free(*text);
    *text = clean;
    return true;
}

sg_status sg_plot_clean_document(cJSON *document, const char *name, struct sg_error *err) {
    for (cJSON *item = document; item; item = item->next) { /* the parser bounds the depth */
        bool fixed = item->type & (cJSON_StringIsConst | cJSON_IsReference);
        if ((!fixed && !clean_in_place(&item->string)) || (cJSON_IsString(item) && !clean_in_place(&item->valuestring)))
            return sg_fail_memory(err, name);
        sg_status status = item->child ? sg_plot_clean_document(item->child, name, err) : SG_OK;
        if (status != SG_OK)
            return status;
    }
    return SG_OK;
}
