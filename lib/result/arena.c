/* arena.c: memory that is given piece by piece and freed as a whole. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sg_fields.h"
#include "sg_memory.h"

struct sg_arena_block {
    struct sg_arena_block *before;
    void *text;   /* what malloc gave, or NULL */
    cJSON *value; /* or a JSON value */
    max_align_t memory[];
};

static struct sg_arena_block *add(struct sg_arena *arena, size_t bytes) {
    struct sg_arena_block *block = sg_calloc(1, sizeof *block + bytes);
    block->before = arena->last;
    arena->last = block;
    return block;
}

void *sg_arena_get(struct sg_arena *arena, size_t bytes) {
    return add(arena, bytes)->memory;
}

const char *sg_arena_text(struct sg_arena *arena, const char *text) {
    const size_t size = text ? strlen(text) + 1 : 0;
    return text ? memcpy(sg_arena_get(arena, size), text, size) : NULL;
}

const char *sg_arena_take_text(struct sg_arena *arena, char *take_text) {
    if (take_text)
        add(arena, 0)->text = take_text;
    return take_text;
}

cJSON *sg_arena_take(struct sg_arena *arena, cJSON *take_value) {
    if (take_value)
        add(arena, 0)->value = take_value;
    return take_value;
}

void sg_arena_join(struct sg_arena *to, struct sg_arena *from) {
    struct sg_arena_block **end = &to->last;
    while (*end)
        end = &(*end)->before;
    *end = from->last;
    from->last = NULL;
}

void sg_arena_free(struct sg_arena *arena) {
    for (struct sg_arena_block *block = arena->last, *before; block; block = before) {
        before = block->before;
        free(block->text);
        cJSON_Delete(block->value);
        free(block);
    }
    arena->last = NULL;
}
