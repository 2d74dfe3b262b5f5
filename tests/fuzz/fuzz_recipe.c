/* Recipes from hostile text: what comes before a NUL is the file, what follows is one --set. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "sg_recipe.h"
#include "sg_task.h"

/* Recipes need the table of task kinds, not the tasks. */
const struct sg_task_ops sg_logreg_ops __attribute__((weak)) = {0};

static void walk_cells(const struct sg_recipe *recipe) {
    struct sg_cell *cells;
    size_t count;
    struct sg_error err;
    if (sg_recipe_cells(recipe, &cells, &count, &err) != SG_OK)
        abort();
    for (size_t i = 0; i < count; i++)
        if (strlen(cells[i].key) != 64 || cells[i].label[0] == '\0' || cells[i].method == NULL)
            abort();
    sg_recipe_cells_free(cells, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *end = size > 0 ? memchr(data, 0, size) : NULL;
    size_t length = end != NULL ? (size_t)(end - (const char *)data) : size;
    char *set = end != NULL ? strndup(end + 1, size - length - 1) : NULL;
    const char *const sets[] = {set};
    struct sg_recipe recipe;
    struct sg_error err = {0};
    if (sg_recipe_parse(&recipe, (const char *)data, length, "fuzz.yaml", sets, set != NULL, &err) == SG_OK) {
        const struct sg_node *seeds = sg_node_get(&recipe.root, "seeds");
        if (seeds->count <= 16) /* more only take time */
            walk_cells(&recipe);
        sg_recipe_free(&recipe);
    } else if (err.msg[0] == '\0') {
        abort();
    }
    free(set);
    return 0;
}
