/* sg_json.h: JSON in and out on cJSON, with exact numbers.
 * Doubles are written with the shortest of 15..17 digits that parses back; NaN and Inf become null.
 * Object members are looked up case-sensitively. */
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

/* Text of x as above into out [SG_NUMBER_CHARS]; "null" for NaN and Inf. Returns out. */
char *sg_number_text(double x, char out[SG_NUMBER_CHARS]);

/* Watch all allocations of cJSON in this process from now on: after the first that failed, sg_json_text refuses every
 * value, because no one knows which of them lacks something. Programs call it first thing (sg_app_start). */
void sg_json_guard(void);
/* Memory for a part of a document ran out where cJSON could not see it: refuse from now on as well. */
void sg_json_lost(void);

/* Members; each does nothing when an earlier allocation failed (object NULL). sg_json_* never abort. */
void sg_json_set_number(cJSON *object, const char *key, double value);
void sg_json_set_string(cJSON *object, const char *key, const char *value); /* NULL value = null */
void sg_json_set_bool(cJSON *object, const char *key, bool value);
void sg_json_set(cJSON *object, const char *key, cJSON *take_value);  /* NULL value = null */
void sg_json_set_u64(cJSON *object, const char *key, uint64_t value); /* as a string: a double holds 53 bits */
void sg_json_push(cJSON *array, cJSON *take_value);                   /* NULL: nothing */
void sg_json_push_number(cJSON *array, double value);
void sg_json_push_string(cJSON *array, const char *value);
cJSON *sg_json_numbers(const double *x, size_t n); /* array */

/* Look-ups; NULL / fallback when absent or of another type. Paths are dotted: "recipe.resolved.name". */
const cJSON *sg_json_get(const cJSON *object, const char *path);
double sg_json_number(const cJSON *object, const char *path, double fallback);
const char *sg_json_string(const cJSON *object, const char *path, const char *fallback);
bool sg_json_bool(const cJSON *object, const char *path, bool fallback);

/* Whole value as text ending in a newline, indented (`pretty`) or on one line. malloc'ed; NULL = no memory, now or
 * since sg_json_guard. */
char *sg_json_text(const cJSON *value, bool pretty);

/* Parse `text` [length]; `name` is for messages, which give line:column. Depth and size are limited
 * (256 MiB); anything after the value but white space is an error. */
SG_CHECKED sg_status sg_json_parse(cJSON **out, const char *text, size_t length, const char *name,
                                   struct sg_error *err);

/* Read a file, "-" = stdin. */
SG_CHECKED sg_status sg_json_read(cJSON **out, const char *path, struct sg_error *err);

#ifdef __cplusplus
}
#endif
#endif
