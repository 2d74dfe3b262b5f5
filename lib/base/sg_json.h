/* sg_json.h: JSON in and out on cJSON, with exact numbers.
 *
 * A double is written with the fewest of 15..17 digits that read back as the same double; NaN and Inf become null. It
 * is stored as a raw item, because cJSON's own printing loses bits. Members of objects are looked up case-sensitively.
 */
/* SPDX-License-Identifier: MIT */
#ifndef SG_JSON_H
#define SG_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SG_NUMBER_CHARS = 32 };

/* Writes x as text into out [SG_NUMBER_CHARS] and returns out; "null" for NaN and Inf. */
char *sg_number_text(double x, char out[SG_NUMBER_CHARS]);

/* Makes cJSON end the program where memory runs out (sg_memory.h). sg_app_start calls it. */
void sg_json_guard(void);

/* Set members of an object. */
void sg_json_set_number(cJSON *object, const char *key, double value);
void sg_json_set_string(cJSON *object, const char *key, const char *value); /* NULL value = null */
void sg_json_set_bool(cJSON *object, const char *key, bool value);
void sg_json_set(cJSON *object, const char *key, cJSON *take_value);  /* NULL value = null */
void sg_json_set_u64(cJSON *object, const char *key, uint64_t value); /* a string: doubles have 53 bits */

/* A member of an object. SG_SET(object, SG_TEXT("label", label), …) sets several, in this order, and returns the
 * object; SG_OBJECT(SG_TEXT("label", label), …) is a new one. */
struct sg_member {
    const char *key;
    enum { SG_MEMBER_NUMBER, SG_MEMBER_U64, SG_MEMBER_TEXT, SG_MEMBER_BOOL, SG_MEMBER_VALUE } kind;
    double number;
    uint64_t whole; /* U64, which becomes a string */
    const char *text;
    cJSON *value; /* ownership passes to the object */
};
#define SG_NUMBER(name, x)  ((struct sg_member){.key = (name), .kind = SG_MEMBER_NUMBER, .number = (double)(x)})
#define SG_U64(name, x)     ((struct sg_member){.key = (name), .kind = SG_MEMBER_U64, .whole = (x)})
#define SG_TEXT(name, x)    ((struct sg_member){.key = (name), .kind = SG_MEMBER_TEXT, .text = (x)})
#define SG_BOOL(name, x)    ((struct sg_member){.key = (name), .kind = SG_MEMBER_BOOL, .number = (x)})
#define SG_VALUE(name, x)   ((struct sg_member){.key = (name), .kind = SG_MEMBER_VALUE, .value = (x)})
#define SG_OBJECT(...)      SG_SET(cJSON_CreateObject(), __VA_ARGS__)
#define SG_SET(object, ...) sg_json_set_members(object, (const struct sg_member[]){__VA_ARGS__, {.key = NULL}})
cJSON *sg_json_set_members(cJSON *object, const struct sg_member *members); /* the last has no key */

/* Moves the members of an object, in their order, to the end of another; NULL has none. */
void sg_json_move(cJSON *to, cJSON *take_from);

void sg_json_push(cJSON *array, cJSON *take_value); /* does nothing if the value is NULL */
void sg_json_push_number(cJSON *array, double value);
void sg_json_push_string(cJSON *array, const char *value);
/* Of what was parsed, to be written with exact numbers; NULL of NULL. */
cJSON *sg_json_copy(const cJSON *value);
cJSON *sg_json_numbers(const double *x, size_t n); /* an array */

/* Look-ups by a dotted path, "recipe.resolved.name". They return NULL or the fallback if the member is absent or has
 * another type. */
const cJSON *sg_json_get(const cJSON *object, const char *path);
double sg_json_number(const cJSON *object, const char *path, double fallback);
const char *sg_json_string(const cJSON *object, const char *path, const char *fallback);
bool sg_json_bool(const cJSON *object, const char *path, bool fallback);

/* The value as text that ends in a newline, indented (`pretty`) or on one line; the caller frees it. */
char *sg_json_text(const cJSON *value, bool pretty);

/* Parses `text` [length], at most 256 MiB and of limited depth; the caller deletes *out. `name` begins messages, which
 * give line:column. SG_ERR_FORMAT if anything but white space follows the value, if an object has a key twice, and if
 * a NUL is in the text, also as \u0000. */
SG_CHECKED sg_status sg_json_parse(cJSON **out, const char *text, size_t length, const char *name,
                                   struct sg_error *err);

/* Reads and parses a file; "-" = stdin. */
SG_CHECKED sg_status sg_json_read(cJSON **out, const char *path, struct sg_error *err);

#ifdef __cplusplus
}
#endif
#endif
