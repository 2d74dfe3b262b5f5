/* safetensors.c: reads the head of a .safetensors file, which gives names, types, shapes and offsets of its tensors.
 *
 * The format is that of huggingface/safetensors: the length of the header in 8 bytes, low ones first; a JSON object
 * {"NAME":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},…}, where "__metadata__" is free text; then the tensors,
 * which cover the rest of the file without gaps. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "gradients_private.h"
#include "sg_file.h"
#include "sg_json.h"
#include "sg_memory.h"
#include "sg_text.h"

enum { MOST_HEADER = 100 << 20 }; /* as the format's own reader has it */
static const uint64_t MOST_ELEMENTS = UINT32_MAX;

/* A whole number from 0 to 2^53; false = it is not. */
static bool whole(uint64_t *out, const cJSON *number) {
    const double x = cJSON_IsNumber(number) ? number->valuedouble : -1;
    *out = x >= 0 && x <= 9007199254740992.0 && x == floor(x) ? (uint64_t)x : UINT64_MAX;
    return *out != UINT64_MAX;
}

static sg_status take_type(struct gradient_tensor *s, const cJSON *entry, const char *path, struct sg_error *err) {
    static const char *const type[GRADIENT_NUMBERS] = {"F32", "F16", "BF16"};
    const char *dtype = sg_json_string(entry, "dtype", "?");
    char name[SG_EXCERPT];
    for (size_t i = 0; i < GRADIENT_NUMBERS; i++)
        if (strcmp(dtype, type[i]) == 0) {
            s->number = (enum gradient_number)i;
            return SG_OK;
        }
    const bool counts = dtype[0] == 'I' || dtype[0] == 'U' || strcmp(dtype, "BOOL") == 0;
    return sg_fail(err, SG_ERR_UNSUPPORTED, "%s: tensor '%s' is of type '%.16s'; F32, F16 and BF16 are read: %s", path,
                   sg_excerpt(name, entry->string), dtype,
                   counts ? "integers are no gradient, leave it out" : "convert it, as with .float()");
}

static sg_status fail_entry(const cJSON *entry, const char *path, struct sg_error *err) {
    char name[SG_EXCERPT];
    return sg_fail(err, SG_ERR_FORMAT, "%s: type, shape or place of tensor '%s' makes no sense: it is damaged", path,
                   sg_excerpt(name, entry->string));
}

static sg_status take_tensor(struct gradient_tensor *s, const cJSON *entry, const char *path, struct sg_error *err) {
    const cJSON *shape = sg_json_get(entry, "shape"), *place = sg_json_get(entry, "data_offsets"), *one;
    if (!cJSON_IsArray(shape) || !cJSON_IsArray(place) || cJSON_GetArraySize(place) != 2 ||
        !whole(&s->from, place->child) || !whole(&s->to, place->child->next))
        return fail_entry(entry, path, err);
    sg_status status = take_type(s, entry, path, err);
    if (status != SG_OK)
        return status;
    uint64_t elements = 1, first = 1, size;
    cJSON_ArrayForEach(one, shape) {
        if (!whole(&size, one) || (size > 0 && elements > MOST_ELEMENTS / size))
            return fail_entry(entry, path, err);
        if (one == shape->child)
            first = size;
        elements *= size;
    }
    if (s->from > s->to || s->to - s->from != elements * gradient_number_bytes(s->number))
        return fail_entry(entry, path, err);
    s->elements = (size_t)elements;
    s->rows = cJSON_GetArraySize(shape) > 1 && elements > 0 ? (size_t)first : 1;
    s->name = sg_strdup(entry->string);
    return SG_OK;
}

static int by_place(const void *a, const void *b) {
    const struct gradient_tensor *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Checks that the tensors cover all bytes after the header, each byte once. */
static sg_status check_cover(struct gradient_head *h, uint64_t bytes, const char *path, struct sg_error *err) {
    uint64_t at = 0, elements = 0;
    char name[SG_EXCERPT];
    qsort(h->tensor, h->count, sizeof *h->tensor, by_place);
    for (size_t i = 0; i < h->count; i++) {
        if (h->tensor[i].from != at)
            return sg_fail(err, SG_ERR_FORMAT, "%s: tensor '%s' overlaps another, or a gap is before it: it is damaged",
                           path, sg_excerpt(name, h->tensor[i].name));
        at = h->tensor[i].to;
        elements += h->tensor[i].elements;
    }
    if (at != bytes)
        return sg_fail(err, SG_ERR_FORMAT,
                       "%s: %" PRIu64 " bytes of numbers, and its header makes %" PRIu64 ": it was cut or is damaged",
                       path, bytes, at);
    if (elements == 0 || elements > MOST_ELEMENTS)
        return sg_fail(err, SG_ERR_FORMAT, "%s: it holds %s elements", path,
                       elements == 0 ? "no" : "more than 2^32 - 1");
    return SG_OK;
}

static sg_status take_tensors(struct gradient_head *h, const cJSON *all, uint64_t bytes, const char *path,
                              struct sg_error *err) {
    const cJSON *entry;
    sg_status status = SG_OK;
    h->tensor = sg_calloc((size_t)cJSON_GetArraySize(all) + 1, sizeof *h->tensor);
    for (entry = all->child; entry && status == SG_OK; entry = entry->next) {
        struct gradient_tensor *s = &h->tensor[h->count];
        if (strcmp(entry->string, "__metadata__") == 0)
            continue;
        status = cJSON_IsObject(entry) ? take_tensor(s, entry, path, err) : fail_entry(entry, path, err);
        if (status == SG_OK && s->elements == 0)
            free(s->name);
        else if (status == SG_OK)
            h->count++;
    }
    return status == SG_OK ? check_cover(h, bytes, path, err) : status;
}

sg_status safetensors_read_head(struct gradient_head *out, int fd, const char *path, struct sg_error *err) {
    struct stat st;
    unsigned char start[8];
    uint64_t length = 0;
    if (fstat(fd, &st) != 0)
        return sg_fail_errno(err, SG_ERR_IO, "cannot read %s", path);
    if (st.st_size < 8)
        return sg_fail(err, SG_ERR_FORMAT, "%s: %lld bytes are no .safetensors file", path, (long long)st.st_size);
    sg_status status = sg_file_read_at(fd, start, sizeof start, 0, path, err);
    if (status != SG_OK)
        return status;
    for (size_t i = 0; i < sizeof start; i++)
        length |= (uint64_t)start[i] << 8 * i;
    if (length > MOST_HEADER || length > (uint64_t)st.st_size - sizeof start)
        return sg_fail(err, SG_ERR_FORMAT, "%s: its header of %" PRIu64 " bytes is not there: it was cut or is damaged",
                       path, length);
    struct gradient_head h = {.begin = (off_t)(sizeof start + length)};
    char *text = sg_malloc((size_t)length + 1);
    cJSON *all = NULL;
    status = sg_file_read_at(fd, text, (size_t)length, sizeof start, path, err);
    SG_DO(status, sg_json_parse(&all, text, (size_t)length, path, err));
    if (status == SG_OK && !cJSON_IsObject(all))
        status = sg_fail(err, SG_ERR_FORMAT, "%s: its header is no JSON object: it is damaged", path);
    SG_DO(status, take_tensors(&h, all, (uint64_t)(st.st_size - h.begin), path, err));
    cJSON_Delete(all);
    free(text);
    if (status == SG_OK)
        *out = h;
    else
        gradient_head_free(&h);
    return status;
}
