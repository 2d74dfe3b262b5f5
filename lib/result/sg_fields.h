/* sg_fields.h: structures that are written as JSON objects, and read from them, by one table of their members.
 *
 *   struct point {
 *       const cJSON *from;
 *       const char *label;
 *       double x;
 *   };
 *   static const struct sg_field point_fields[] = {SG_FIELD(point, label), SG_FIELD(point, x)};
 *   static const struct sg_shape point_shape = SG_SHAPE(point, point_fields);
 *
 * The name of a member is its key; an underscore at its end is no part of the key. Its type says what it is in JSON:
 *   const char *                 a text; NULL is null
 *   double                       a number; NaN is null
 *   bool                         true or false; false where it is absent
 *   enum sg_flag                 true or false; null where it is not known
 *   const cJSON *                any value; NULL is null
 *   struct sg_number_list, sg_text_list  a list; null if its array is NULL
 *   struct T *x                  an object (SG_OBJECT_FIELD); NULL is null
 *   size_t n_x; struct T *x      a list of objects (SG_LIST_FIELD), or an object whose members are objects
 *                                (SG_NAMED_FIELD; the first member of T behind `from` is the key); NULL is null
 * The first member of every structure is `from`, the JSON that it was read from; NULL = the program made it. Members of
 * that JSON which are not in the table are written again as they were.
 *
 * All memory belongs to an arena. A program that has none left ends (sg_memory.h). */
/* SPDX-License-Identifier: MIT */
#ifndef SG_FIELDS_H
#define SG_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "sg_json.h"

/* ---- memory ---- */

struct sg_arena {
    struct sg_arena_block *last;
};
/* Memory [bytes] of zeros, aligned for any object. It never returns NULL: without memory the process writes "PROGRAM:
 * out of memory" to standard error and exits with 1. */
void *sg_arena_get(struct sg_arena *arena, size_t bytes);
/* A copy of a text; NULL stays NULL. */
const char *sg_arena_text(struct sg_arena *arena, const char *text);
/* Makes the arena the owner of what malloc gave, or of a JSON value; returns it. NULL stays NULL. */
const char *sg_arena_take_text(struct sg_arena *arena, char *take_text);
cJSON *sg_arena_take(struct sg_arena *arena, cJSON *take_value);
/* Moves all that `from` owns to `to`. */
void sg_arena_join(struct sg_arena *to, struct sg_arena *from);
void sg_arena_free(struct sg_arena *arena); /* all of it */

/* ---- members ---- */

enum sg_flag { SG_FLAG_NO, SG_FLAG_YES, SG_FLAG_UNKNOWN };

struct sg_number_list {
    size_t n;
    double *x; /* [n] NaN for null */
};

struct sg_text_list {
    size_t n;
    const char **item; /* [n] NULL for what is no text */
};

enum sg_field_kind {
    SG_FIELD_TEXT,
    SG_FIELD_NUMBER,
    SG_FIELD_BOOL,
    SG_FIELD_FLAG,
    SG_FIELD_TREE,
    SG_FIELD_NUMBERS,
    SG_FIELD_TEXTS,
    SG_FIELD_OBJECT,
    SG_FIELD_LIST,
    SG_FIELD_NAMED,
    SG_FIELD_MADE
};

/* When a structure that the program made has a member. One that was read has what it had, and what became known. */
enum sg_field_rule {
    SG_ALWAYS,
    SG_IF_KNOWN, /* not where the member is null */
    SG_WITH_LAST /* where the member before it is there */
};

struct sg_field {
    const char *key;
    enum sg_field_kind kind;
    enum sg_field_rule rule;
    size_t at, count; /* offsets of the member, and of the number of a list */
    const struct sg_shape *of;
    cJSON *(*make)(const void *object); /* MADE: the value, made of other members; it is not read */
};

struct sg_shape {
    size_t size, n;
    const struct sg_field *field; /* [n] in the order in which they are written */
};

#define SG_FIELD_KIND(T, member)                                                                                       \
    _Generic(((struct T *)0)->member,                                                                                  \
        const char *: SG_FIELD_TEXT,                                                                                   \
        double: SG_FIELD_NUMBER,                                                                                       \
        bool: SG_FIELD_BOOL,                                                                                           \
        enum sg_flag: SG_FIELD_FLAG,                                                                                   \
        const cJSON *: SG_FIELD_TREE,                                                                                  \
        struct sg_number_list: SG_FIELD_NUMBERS, \
        struct sg_text_list: SG_FIELD_TEXTS)
#define SG_FIELD(T, member) SG_FIELD_IF(T, member, SG_ALWAYS)
#define SG_FIELD_IF(T, member, when)                                                                                   \
    { .key = #member, .kind = SG_FIELD_KIND(T, member), .rule = when, .at = offsetof(struct T, member) }
#define SG_OBJECT_FIELD(T, member, shape, when)                                                                        \
    { .key = #member, .kind = SG_FIELD_OBJECT, .rule = when, .at = offsetof(struct T, member), .of = &(shape) }
#define SG_LIST_FIELD(T, member, shape, when)                                                                          \
    {                                                                                                                  \
        .key = #member, .kind = SG_FIELD_LIST, .rule = when, .at = offsetof(struct T, member),                         \
        .count = offsetof(struct T, n_##member), .of = &(shape)                                                        \
    }
#define SG_NAMED_FIELD(T, member, shape, when)                                                                         \
    {                                                                                                                  \
        .key = #member, .kind = SG_FIELD_NAMED, .rule = when, .at = offsetof(struct T, member),                        \
        .count = offsetof(struct T, n_##member), .of = &(shape)                                                        \
    }
#define SG_MADE_FIELD(name, function)                                                                                  \
    { .key = name, .kind = SG_FIELD_MADE, .make = function }
#define SG_SHAPE(T, fields)                                                                                            \
    { .size = sizeof(struct T), .n = sizeof(fields) / sizeof *(fields), .field = fields }

/* Fills a structure of this shape, which is zeros, from JSON that outlives it. What is absent, or has another type, is
 * null. */
void sg_fields_read(const struct sg_shape *shape, void *object, const cJSON *json, struct sg_arena *arena);
/* The same of a new structure; NULL of NULL and of null. */
void *sg_fields_new(const struct sg_shape *shape, const cJSON *json, struct sg_arena *arena);
/* The structure as JSON with exact numbers. */
cJSON *sg_fields_json(const struct sg_shape *shape, const void *object);
/* A list of texts as JSON; NULL of a list that is null. */
cJSON *sg_text_list_json(const struct sg_text_list *texts);
/* Makes all texts fit to be shown (sg_text_clean). What they were read from stays as it is. */
void sg_fields_clean(const struct sg_shape *shape, void *object, struct sg_arena *arena);
/* Does the same in place to every text and key of a JSON value, and of the items behind it in its list. Its numbers
 * become as if they had been read. */
void sg_json_clean(cJSON *value);
/* A clean copy of a JSON value, which the arena owns; NULL of NULL. */
const cJSON *sg_arena_clean(struct sg_arena *arena, const cJSON *value);

/* A text, or another one in the place of NULL. */
static inline const char *sg_or(const char *text, const char *fallback) {
    return text ? text : fallback;
}

#endif
