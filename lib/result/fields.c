/* fields.c: reads and writes structures by the tables of their members. */
/* SPDX-License-Identifier: MIT */
#include "sg_fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_text.h"

/* A member of a structure, for the types that tables name. */
#define AT(type, object, offset) (*(type *)((char *)(object) + (offset)))
#define OF(type, object, offset) (*(type const *)((const char *)(object) + (offset)))

static size_t key_length(const struct sg_field *f) {
    const size_t n = strlen(f->key);
    return n - (f->key[n - 1] == '_');
}

static bool has_key(const struct sg_field *f, const char *key) {
    const size_t length = key_length(f);
    return strncmp(f->key, key, length) == 0 && key[length] == '\0';
}

static const struct sg_field *find(const struct sg_shape *shape, const char *key) {
    for (size_t i = 0; i < shape->n; i++)
        if (has_key(&shape->field[i], key))
            return &shape->field[i];
    return NULL;
}

/* ---- in ---- */

static struct sg_number_list read_numbers(const cJSON *list, struct sg_arena *arena) {
    struct sg_number_list out = {0};
    const cJSON *item;
    if (!cJSON_IsArray(list))
        return out;
    out.x = sg_arena_get(arena, (size_t)cJSON_GetArraySize(list) * sizeof *out.x);
    cJSON_ArrayForEach(item, list) out.x[out.n++] = sg_json_number(item, "", NAN);
    return out;
}

static struct sg_text_list read_texts(const cJSON *list, struct sg_arena *arena) {
    struct sg_text_list out = {0};
    const cJSON *item;
    if (!cJSON_IsArray(list))
        return out;
    out.item = sg_arena_get(arena, (size_t)cJSON_GetArraySize(list) * sizeof *out.item);
    cJSON_ArrayForEach(item, list) out.item[out.n++] = cJSON_GetStringValue(item);
    return out;
}

/* A list of objects, or with `named` an object of them. */
static void *read_list(const struct sg_shape *of, size_t *n, const cJSON *list, bool named, struct sg_arena *arena) {
    const cJSON *item;
    if (named ? !cJSON_IsObject(list) : !cJSON_IsArray(list))
        return NULL;
    char *out = sg_arena_get(arena, (size_t)cJSON_GetArraySize(list) * of->size);
    cJSON_ArrayForEach(item, list) {
        void *object = out + (*n)++ * of->size;
        sg_fields_read(of, object, item, arena);
        if (named)
            AT(const char *, object, sizeof(const cJSON *)) = item->string;
    }
    return out;
}

static void read_field(const struct sg_field *f, void *object, const cJSON *json, struct sg_arena *arena) {
    switch (f->kind) {
    case SG_FIELD_TEXT:
        AT(const char *, object, f->at) = cJSON_GetStringValue(json);
        break;
    case SG_FIELD_NUMBER:
        AT(double, object, f->at) = sg_json_number(json, "", NAN);
        break;
    case SG_FIELD_BOOL:
        AT(bool, object, f->at) = cJSON_IsTrue(json);
        break;
    case SG_FIELD_FLAG:
        AT(enum sg_flag, object, f->at) = !cJSON_IsBool(json)  ? SG_FLAG_UNKNOWN
                                          : cJSON_IsTrue(json) ? SG_FLAG_YES
                                                               : SG_FLAG_NO;
        break;
    case SG_FIELD_TREE:
        AT(const cJSON *, object, f->at) = cJSON_IsNull(json) ? NULL : json;
        break;
    case SG_FIELD_NUMBERS:
        AT(struct sg_number_list, object, f->at) = read_numbers(json, arena);
        break;
    case SG_FIELD_TEXTS:
        AT(struct sg_text_list, object, f->at) = read_texts(json, arena);
        break;
    case SG_FIELD_OBJECT:
        AT(void *, object, f->at) = sg_fields_new(f->of, json, arena);
        break;
    case SG_FIELD_LIST:
    case SG_FIELD_NAMED:
        AT(void *, object, f->at) =
            read_list(f->of, &AT(size_t, object, f->count), json, f->kind == SG_FIELD_NAMED, arena);
        break;
    case SG_FIELD_MADE:
        break;
    }
}

void sg_fields_read(const struct sg_shape *shape, void *object, const cJSON *json, struct sg_arena *arena) {
    const cJSON *item;
    AT(const cJSON *, object, 0) = json;
    for (size_t i = 0; i < shape->n; i++) /* what is absent */
        read_field(&shape->field[i], object, NULL, arena);
    if (cJSON_IsObject(json))
        cJSON_ArrayForEach(item, json) {
            const struct sg_field *f = find(shape, item->string);
            if (f)
                read_field(f, object, item, arena);
        }
}

void *sg_fields_new(const struct sg_shape *shape, const cJSON *json, struct sg_arena *arena) {
    if (!json || cJSON_IsNull(json))
        return NULL;
    void *object = sg_arena_get(arena, shape->size);
    sg_fields_read(shape, object, json, arena);
    return object;
}

/* ---- out ---- */

cJSON *sg_text_list_json(const struct sg_text_list *texts) {
    cJSON *out = texts->item ? cJSON_CreateArray() : NULL;
    for (size_t i = 0; i < texts->n; i++)
        sg_json_push(out, texts->item[i] ? cJSON_CreateString(texts->item[i]) : cJSON_CreateNull());
    return out;
}

static cJSON *list_json(const struct sg_field *f, const void *object) {
    const char *item = OF(const char *, object, f->at);
    const size_t n = OF(size_t, object, f->count);
    const bool named = f->kind == SG_FIELD_NAMED;
    if (!item)
        return NULL;
    cJSON *out = named ? cJSON_CreateObject() : cJSON_CreateArray();
    for (size_t i = 0; i < n; i++, item += f->of->size)
        if (named)
            sg_json_set(out, OF(const char *, item, sizeof(const cJSON *)), sg_fields_json(f->of, item));
        else
            sg_json_push(out, sg_fields_json(f->of, item));
    return out;
}

/* The value of a member; NULL = null. */
static cJSON *value_json(const struct sg_field *f, const void *object) {
    char number[SG_NUMBER_CHARS];
    switch (f->kind) {
    case SG_FIELD_TEXT: {
        const char *text = OF(const char *, object, f->at);
        return text ? cJSON_CreateString(text) : NULL;
    }
    case SG_FIELD_NUMBER: {
        const double x = OF(double, object, f->at);
        return isfinite(x) ? cJSON_CreateRaw(sg_number_text(x, number)) : NULL;
    }
    case SG_FIELD_BOOL:
        return cJSON_CreateBool(OF(bool, object, f->at));
    case SG_FIELD_FLAG: {
        const enum sg_flag flag = OF(enum sg_flag, object, f->at);
        return flag == SG_FLAG_UNKNOWN ? NULL : cJSON_CreateBool(flag == SG_FLAG_YES);
    }
    case SG_FIELD_TREE:
        return sg_json_copy(OF(const cJSON *, object, f->at));
    case SG_FIELD_NUMBERS: {
        const struct sg_number_list *numbers = &OF(struct sg_number_list, object, f->at);
        return numbers->x ? sg_json_numbers(numbers->x, numbers->n) : NULL;
    }
    case SG_FIELD_TEXTS:
        return sg_text_list_json(&OF(struct sg_text_list, object, f->at));
    case SG_FIELD_OBJECT: {
        const void *of = OF(const void *, object, f->at);
        return of ? sg_fields_json(f->of, of) : NULL;
    }
    case SG_FIELD_LIST:
    case SG_FIELD_NAMED:
        return list_json(f, object);
    case SG_FIELD_MADE:
        return f->make(object);
    }
    return NULL;
}

static void set_field(cJSON *out, const struct sg_field *f, cJSON *take_value) {
    char key[64];
    snprintf(key, sizeof key, "%.*s", (int)key_length(f), f->key);
    sg_json_set(out, key, take_value);
}

/* True if a member says something: false and null do not. */
static bool is_known(const struct sg_field *f, const void *object, const cJSON *value) {
    return value && !(f->kind == SG_FIELD_BOOL && !OF(bool, object, f->at));
}

static bool has_field(const cJSON *from, const struct sg_field *f) {
    const cJSON *item;
    cJSON_ArrayForEach(item, from) if (has_key(f, item->string)) return true;
    return false;
}

/* Adds what became known of an object that was read: the members from field i on, up to the next one that it had. */
static void add_known(cJSON *out, const struct sg_shape *shape, const void *object, const cJSON *from, size_t i) {
    for (; i < shape->n && !has_field(from, &shape->field[i]); i++) {
        cJSON *value = value_json(&shape->field[i], object);
        if (is_known(&shape->field[i], object, value))
            set_field(out, &shape->field[i], value);
        else
            cJSON_Delete(value);
    }
}

cJSON *sg_fields_json(const struct sg_shape *shape, const void *object) {
    const cJSON *from = OF(const cJSON *, object, 0), *item;
    cJSON *out = from && !cJSON_IsObject(from) ? sg_json_copy(from) : cJSON_CreateObject();
    bool last = false;
    for (size_t i = 0; !from && i < shape->n; i++) {
        const struct sg_field *f = &shape->field[i];
        cJSON *value = value_json(f, object);
        last = f->rule == SG_ALWAYS || (f->rule == SG_WITH_LAST ? last : is_known(f, object, value));
        if (last)
            set_field(out, f, value);
        else
            cJSON_Delete(value);
    }
    if (!cJSON_IsObject(from))
        return out;
    cJSON_ArrayForEach(item, from) {
        const struct sg_field *f = find(shape, item->string);
        sg_json_set(out, item->string, f ? value_json(f, object) : sg_json_copy(item));
        if (f)
            add_known(out, shape, object, from, (size_t)(f - shape->field) + 1);
    }
    add_known(out, shape, object, from, 0); /* before the first that it had */
    return out;
}

/* ---- texts that are fit to be shown ---- */

static const char *clean_text(const char *text, struct sg_arena *arena) {
    return text ? sg_arena_take_text(arena, sg_text_clean(text)) : NULL;
}

const cJSON *sg_arena_clean(struct sg_arena *arena, const cJSON *value) {
    cJSON *copy = sg_arena_take(arena, cJSON_Duplicate(value, true));
    sg_json_clean(copy);
    return copy;
}

void sg_fields_clean(const struct sg_shape *shape, void *object, struct sg_arena *arena) {
    for (size_t i = 0; i < shape->n; i++) {
        const struct sg_field *f = &shape->field[i];
        if (f->kind == SG_FIELD_TEXT) {
            AT(const char *, object, f->at) = clean_text(AT(const char *, object, f->at), arena);
        } else if (f->kind == SG_FIELD_TEXTS) {
            struct sg_text_list *texts = &AT(struct sg_text_list, object, f->at);
            const char **item = texts->item ? sg_arena_get(arena, texts->n * sizeof *item) : NULL;
            for (size_t k = 0; k < texts->n; k++)
                item[k] = clean_text(texts->item[k], arena);
            texts->item = item;
        } else if (f->kind == SG_FIELD_TREE) {
            AT(const cJSON *, object, f->at) = sg_arena_clean(arena, AT(const cJSON *, object, f->at));
        } else if (f->kind == SG_FIELD_OBJECT && AT(void *, object, f->at)) {
            sg_fields_clean(f->of, AT(void *, object, f->at), arena);
        } else if (f->kind == SG_FIELD_LIST || f->kind == SG_FIELD_NAMED) {
            for (size_t k = 0; k < AT(size_t, object, f->count); k++)
                sg_fields_clean(f->of, AT(char *, object, f->at) + k * f->of->size, arena);
        }
    }
}

static void clean_in_place(char **text) {
    if (!*text)
        return;
    char *clean = sg_text_clean(*text);
    free(*text);
    *text = clean;
}

void sg_json_clean(cJSON *value) {
    for (cJSON *item = value; item; item = item->next) { /* the parser bounds the depth */
        if (!(item->type & (cJSON_StringIsConst | cJSON_IsReference)))
            clean_in_place(&item->string);
        if (cJSON_IsString(item) && !(item->type & cJSON_IsReference))
            clean_in_place(&item->valuestring);
        if (cJSON_IsRaw(item)) {
            item->valuedouble = strtod(item->valuestring, NULL);
            item->type = (item->type & ~cJSON_Raw) | cJSON_Number;
            free(item->valuestring);
            item->valuestring = NULL;
        }
        sg_json_clean(item->child);
    }
}
