/* json.c: JSON in and out. */
/* SPDX-License-Identifier: MIT */
#include "sg_json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_file.h"
#include "sg_memory.h"
#include "sg_text.h"

enum { MAX_RESULT_BYTES = 256 << 20, MAX_DEPTH = 64 };

void sg_json_guard(void) {
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = sg_malloc, .free_fn = free});
}

char *sg_number_text(double x, char out[SG_NUMBER_CHARS]) {
    if (!isfinite(x)) {
        memcpy(out, "null", 5);
        return out;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, SG_NUMBER_CHARS, "%.*g", digits, x);
        if (strtod(out, NULL) == x)
            break;
    }
    return out;
}

/* cJSON's own number printing loses the last bit of one double in six, so numbers are raw text. */
static cJSON *number_item(double value) {
    char text[SG_NUMBER_CHARS];
    return isfinite(value) ? cJSON_CreateRaw(sg_number_text(value, text)) : cJSON_CreateNull();
}

void sg_json_set(cJSON *object, const char *key, cJSON *take_value) {
    SG_ASSERT(key);
    cJSON *item = take_value ? take_value : cJSON_CreateNull();
    cJSON_AddItemToObject(object, key, item);
}

void sg_json_move(cJSON *to, cJSON *take_from) {
    for (cJSON *member; take_from && (member = take_from->child);)
        sg_json_set(to, member->string, cJSON_DetachItemViaPointer(take_from, member));
    cJSON_Delete(take_from);
}

void sg_json_set_number(cJSON *object, const char *key, double value) {
    sg_json_set(object, key, number_item(value));
}

void sg_json_set_string(cJSON *object, const char *key, const char *value) {
    sg_json_set(object, key, value ? cJSON_CreateString(value) : NULL);
}

void sg_json_set_bool(cJSON *object, const char *key, bool value) {
    sg_json_set(object, key, cJSON_CreateBool(value));
}

void sg_json_set_u64(cJSON *object, const char *key, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    sg_json_set_string(object, key, text);
}

cJSON *sg_json_set_members(cJSON *object, const struct sg_member *members) {
    for (const struct sg_member *m = members; m->key; m++)
        if (m->kind == SG_MEMBER_NUMBER)
            sg_json_set_number(object, m->key, m->number);
        else if (m->kind == SG_MEMBER_U64)
            sg_json_set_u64(object, m->key, m->whole);
        else if (m->kind == SG_MEMBER_TEXT)
            sg_json_set_string(object, m->key, m->text);
        else if (m->kind == SG_MEMBER_BOOL)
            sg_json_set_bool(object, m->key, m->number != 0);
        else
            sg_json_set(object, m->key, m->value);
    return object;
}

void sg_json_push(cJSON *array, cJSON *take_value) {
    cJSON_AddItemToArray(array, take_value);
}

cJSON *sg_json_copy(const cJSON *value) {
    if (!cJSON_IsObject(value) && !cJSON_IsArray(value))
        return cJSON_IsNumber(value) ? number_item(value->valuedouble) : cJSON_Duplicate(value, true);
    cJSON *out = cJSON_IsObject(value) ? cJSON_CreateObject() : cJSON_CreateArray();
    const cJSON *item;
    cJSON_ArrayForEach(item, value) {
        if (cJSON_IsObject(value))
            sg_json_set(out, item->string, sg_json_copy(item));
        else
            sg_json_push(out, sg_json_copy(item));
    }
    return out;
}

void sg_json_push_number(cJSON *array, double value) {
    sg_json_push(array, number_item(value));
}

void sg_json_push_string(cJSON *array, const char *value) {
    SG_ASSERT(value);
    sg_json_push(array, cJSON_CreateString(value));
}

cJSON *sg_json_numbers(const double *x, size_t n) {
    SG_ASSERT(x || n == 0);
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++)
        sg_json_push_number(array, x[i]);
    return array;
}

const cJSON *sg_json_get(const cJSON *object, const char *path) {
    while (object && *path) {
        char key[128];
        size_t length = strcspn(path, ".");
        if (length >= sizeof key)
            return NULL;
        memcpy(key, path, length);
        key[length] = '\0';
        object = cJSON_GetObjectItemCaseSensitive(object, key);
        path += length + (path[length] == '.');
    }
    return object;
}

double sg_json_number(const cJSON *object, const char *path, double fallback) {
    const cJSON *item = sg_json_get(object, path);
    if (cJSON_IsNumber(item))
        return item->valuedouble;
    return cJSON_IsRaw(item) ? strtod(item->valuestring, NULL) : fallback;
}

const char *sg_json_string(const cJSON *object, const char *path, const char *fallback) {
    const cJSON *item = sg_json_get(object, path);
    return cJSON_IsString(item) ? item->valuestring : fallback;
}

bool sg_json_bool(const cJSON *object, const char *path, bool fallback) {
    const cJSON *item = sg_json_get(object, path);
    return cJSON_IsBool(item) ? cJSON_IsTrue(item) : fallback;
}

/* cJSON indents arrays of numbers on one line already; its text is kept. */
char *sg_json_text(const cJSON *value, bool pretty) {
    SG_ASSERT(value);
    char *text = pretty ? cJSON_Print(value) : cJSON_PrintUnformatted(value);
    const size_t length = strlen(text);
    text = sg_realloc(text, length + 2);
    memcpy(text + length, "\n", 2);
    return text;
}

static sg_status fail_at(struct sg_error *err, const char *name, const char *text, const char *at, const char *what) {
    int line = 1, column = 1;
    for (const char *c = text; c < at; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    return sg_fail(err, SG_ERR_FORMAT, "%s:%d:%d: %s", name, line, column, what);
}

/* Looks through text that may be hostile before cJSON sees it. cJSON recurses once per level, and its strings end at
 * the first NUL, so that two names could become one. */
static sg_status check_text(const char *text, size_t length, const char *name, struct sg_error *err) {
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (c == '\0' || (quoted && c == '\\' && length - i >= 6 && memcmp(text + i, "\\u0000", 6) == 0))
            return fail_at(err, name, text, text + i, "a NUL character: it is not supported in text");
        if (quoted) {
            if (c == '\\')
                i++;
            else if (c == '"')
                quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '[' || c == '{') {
            if (++depth > MAX_DEPTH)
                return sg_fail(err, SG_ERR_FORMAT, "%s: nested deeper than %d levels", name, MAX_DEPTH);
        } else if (c == ']' || c == '}') {
            depth--;
        }
    }
    return SG_OK;
}

/* The members of one object after another, to be sorted. */
struct members {
    const cJSON **of;
    size_t room;
};

static int by_key(const void *a, const void *b) {
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

/* *twice <- a member whose key another member of its object has, too; unchanged = there is none. */
static void find_twice(const cJSON **twice, const cJSON *value, struct members *m) {
    const cJSON *item;
    size_t n = 0;
    for (item = cJSON_IsObject(value) ? value->child : NULL; item; item = item->next) {
        if (n == m->room)
            m->of = sg_realloc(m->of, (m->room = 2 * m->room + 64) * sizeof *m->of);
        m->of[n++] = item;
    }
    if (n > 1)
        qsort(m->of, n, sizeof *m->of, by_key);
    for (size_t i = 1; i < n && !*twice; i++)
        if (by_key(&m->of[i - 1], &m->of[i]) == 0)
            *twice = m->of[i];
    for (item = value->child; item && !*twice; item = item->next)
        find_twice(twice, item, m);
}

/* Counts keys in the order of the text, up to and with that of `wanted`. Returns whether it was there. */
static bool count_keys(const cJSON *value, const cJSON *wanted, size_t *count) {
    const cJSON *item;
    cJSON_ArrayForEach(item, value) {
        *count += cJSON_IsObject(value) != 0;
        if (item == wanted || count_keys(item, wanted, count))
            return true;
    }
    return false;
}

/* The key number `count`, counted from 1, in text that is valid: a string before a colon. */
static const char *find_key(const char *text, size_t length, size_t count) {
    const char *begin = text;
    bool quoted = false;
    for (const char *c = text; c < text + length && count > 0; c++) {
        if (quoted && *c == '\\') {
            c++;
        } else if (*c == '"') {
            begin = quoted ? begin : c;
            quoted = !quoted;
        } else if (!quoted && *c == ':') {
            count--;
        }
    }
    return begin;
}

/* Refuses an object with a key twice, because programs differ in which of both they take. */
static sg_status check_keys(const cJSON *value, const char *text, size_t length, const char *name,
                            struct sg_error *err) {
    struct members members = {0};
    const cJSON *twice = NULL;
    find_twice(&twice, value, &members);
    free(members.of);
    if (twice) {
        char what[96], key[SG_EXCERPT];
        size_t count = 0;
        count_keys(value, twice, &count);
        snprintf(what, sizeof what, "the key '%s' comes twice in its object", sg_excerpt(key, twice->string));
        return fail_at(err, name, text, find_key(text, length, count), what);
    }
    return SG_OK;
}

sg_status sg_json_parse(cJSON **out, const char *text, size_t length, const char *name, struct sg_error *err) {
    SG_ASSERT(text && name);
    if (length > MAX_RESULT_BYTES)
        return sg_fail(err, SG_ERR_FORMAT, "%s: larger than %d MiB", name, MAX_RESULT_BYTES >> 20);
    sg_status status = check_text(text, length, name, err);
    if (status != SG_OK)
        return status;
    const char *end = text;
    cJSON *value = cJSON_ParseWithLengthOpts(text, length, &end, false);
    if (!value)
        return fail_at(err, name, text, end && end >= text && end <= text + length ? end : text,
                       length == 0 ? "empty, expected JSON" : "not JSON here, or cut short");
    for (const char *c = end; c < text + length; c++)
        if (*c != ' ' && *c != '\t' && *c != '\n' && *c != '\r') {
            cJSON_Delete(value);
            return fail_at(err, name, text, c, "something follows the JSON value");
        }
    status = check_keys(value, text, length, name, err);
    if (status == SG_OK)
        *out = value;
    else
        cJSON_Delete(value);
    return status;
}

sg_status sg_json_read(cJSON **out, const char *path, struct sg_error *err) {
    char *text;
    size_t length;
    sg_status status = sg_file_read(&text, &length, path, MAX_RESULT_BYTES, err);
    if (status != SG_OK)
        return status;
    status = sg_json_parse(out, text, length, strcmp(path, "-") == 0 ? "<stdin>" : path, err);
    free(text);
    return status;
}
