/* npy.c: reads the head of a .npy file, which gives the type and the shape of its array.
 *
 * The format is NumPy's (numpy.lib.format, versions 1 to 3): "\x93NUMPY", two bytes of version, the length of the
 * header in 2 bytes (version 1) or 4, and a Python dictionary as
 * {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "gradients_private.h"
#include "sg_file.h"
#include "sg_memory.h"

enum { MOST_HEADER = 1 << 16 }; /* longer headers describe records */

struct text {
    const char *at, *path;
    bool bad;
};

static void skip_blanks(struct text *t) {
    t->at += strspn(t->at, " \t\n");
}

static bool take(struct text *t, const char *word) {
    skip_blanks(t);
    if (strncmp(t->at, word, strlen(word)) != 0)
        return false;
    t->at += strlen(word);
    return true;
}

static void must(struct text *t, const char *word) {
    t->bad |= t->bad || !take(t, word);
}

/* A string in single or double quotes without escapes, cut to fit. */
static void take_string(struct text *t, char *out, size_t room) {
    skip_blanks(t);
    const char quote = *t->at;
    const char *end = quote == '\'' || quote == '"' ? strchr(t->at + 1, quote) : NULL;
    out[0] = '\0';
    t->bad |= end == NULL;
    if (t->bad)
        return;
    snprintf(out, room, "%.*s", (int)(end - t->at - 1), t->at + 1);
    t->at = end + 1;
}

static void take_shape(struct text *t, struct gradient_head *h, unsigned *rank) {
    must(t, "(");
    for (*rank = 0; !t->bad && !take(t, ")"); ++*rank) {
        skip_blanks(t);
        const size_t digits = strspn(t->at, "0123456789");
        t->bad |= digits == 0 || digits > 18;
        if (t->bad)
            return;
        if (*rank < NPY_RANK)
            h->shape[*rank] = strtoull(t->at, NULL, 10);
        t->at += digits;
        t->at += *t->at == 'L'; /* a long number of Python 2 */
        if (!take(t, ",")) {
            must(t, ")");
            ++*rank;
            return;
        }
    }
}

static sg_status take_type(enum gradient_number *out, const char *descr, const char *path, struct sg_error *err) {
    /* V2 is what ml_dtypes.bfloat16 becomes in a file. */
    static const struct {
        const char *descr;
        enum gradient_number number;
    } type[] = {{"<f4", GRADIENT_FLOAT32},
                {"<f2", GRADIENT_FLOAT16},
                {"<u2", GRADIENT_BFLOAT16},
                {"<V2", GRADIENT_BFLOAT16},
                {"|V2", GRADIENT_BFLOAT16}};
    for (size_t i = 0; i < sizeof type / sizeof *type; i++)
        if (strcmp(descr, type[i].descr) == 0) {
            *out = type[i].number;
            return SG_OK;
        }
    return sg_fail(err, SG_ERR_UNSUPPORTED,
                   "%s: its numbers are of type '%s'; float32 ('<f4'), float16 ('<f2') and bfloat16 as uint16 ('<u2') "
                   "are read: convert them, as with .astype('<f4')",
                   path, descr);
}

/* The dictionary of the header, whose keys may have any order. */
static sg_status parse(struct gradient_head *h, const char *text, const char *path, struct sg_error *err) {
    struct text t = {.at = text, .path = path};
    char key[16], descr[32] = "";
    bool fortran = false, has_descr = false, has_order = false, has_shape = false;
    unsigned rank = 0;
    must(&t, "{");
    while (!t.bad && !take(&t, "}")) {
        take_string(&t, key, sizeof key);
        must(&t, ":");
        skip_blanks(&t);
        if (!t.bad && strcmp(key, "descr") == 0 && !has_descr) {
            has_descr = true;
            if (*t.at == '[')
                return sg_fail(err, SG_ERR_UNSUPPORTED, "%s: its elements are records, not plain numbers", path);
            take_string(&t, descr, sizeof descr);
        } else if (!t.bad && strcmp(key, "fortran_order") == 0 && !has_order) {
            has_order = true;
            fortran = take(&t, "True");
            if (!fortran)
                must(&t, "False");
        } else if (!t.bad && strcmp(key, "shape") == 0 && !has_shape) {
            has_shape = true;
            take_shape(&t, h, &rank);
        } else {
            t.bad = true;
        }
        if (!t.bad && !take(&t, ",")) {
            must(&t, "}");
            break;
        }
    }
    skip_blanks(&t);
    if (t.bad || *t.at != '\0' || !has_descr || !has_order || !has_shape)
        return sg_fail(err, SG_ERR_FORMAT, "%s: its header is not that of a .npy file: it is damaged", path);
    if (rank < 1 || rank > NPY_RANK)
        return sg_fail(err, SG_ERR_UNSUPPORTED,
                       "%s: its array has %u dimensions; gradients have at most %d: steps, workers, elements", path,
                       rank, NPY_RANK);
    if (fortran && rank > 1)
        return sg_fail(err, SG_ERR_UNSUPPORTED,
                       "%s: its array is in Fortran order: save numpy.ascontiguousarray(array) instead", path);
    h->rank = rank;
    h->integers = strcmp(descr, "<u2") == 0;
    if (strcmp(descr, "<i2") == 0)
        return sg_fail(err, SG_ERR_UNSUPPORTED,
                       "%s: its numbers are integers of 16 bits ('<i2'); if they are bfloat16, save array.view('<u2')",
                       path);
    return take_type(&h->tensor->number, descr, path, err);
}

static sg_status check_length(const struct gradient_head *h, off_t size, const char *path, struct sg_error *err) {
    uint64_t bytes = gradient_number_bytes(h->tensor->number);
    for (unsigned i = 0; i < h->rank; i++) {
        if (h->shape[i] == 0)
            return sg_fail(err, SG_ERR_FORMAT, "%s: its array has no elements", path);
        if (h->shape[i] > ((uint64_t)1 << 62) / bytes)
            return sg_fail(err, SG_ERR_FORMAT, "%s: its shape is larger than any file: it is damaged", path);
        bytes *= h->shape[i];
    }
    if ((uint64_t)(size - h->begin) != bytes)
        return sg_fail(err, SG_ERR_FORMAT, "%s: %lld bytes, and its header makes %" PRIu64 ": it was cut or is damaged",
                       path, (long long)size, (uint64_t)h->begin + bytes);
    return h->shape[h->rank - 1] <= UINT32_MAX
               ? SG_OK
               : sg_fail(err, SG_ERR_FORMAT, "%s: a gradient of more than 2^32 - 1 elements", path);
}

sg_status npy_read_head(struct gradient_head *out, int fd, const char *path, struct sg_error *err) {
    struct stat st;
    unsigned char start[12] = {0};
    if (fstat(fd, &st) != 0)
        return sg_fail_errno(err, SG_ERR_IO, "cannot read %s", path);
    sg_status status = sg_file_read_at(fd, start, st.st_size < 12 ? (size_t)st.st_size : 12, 0, path, err);
    if (status != SG_OK)
        return status;
    if (st.st_size < 12 || memcmp(start, "\x93NUMPY", 6) != 0 || start[6] < 1 || start[6] > 3)
        return sg_fail(err, SG_ERR_FORMAT, "%s does not begin as a .npy file of version 1, 2 or 3", path);
    const size_t before = start[6] == 1 ? 10 : 12;
    uint64_t length = start[8] | (uint64_t)start[9] << 8;
    if (start[6] > 1)
        length |= (uint64_t)start[10] << 16 | (uint64_t)start[11] << 24;
    if (length > MOST_HEADER || before + length > (uint64_t)st.st_size)
        return sg_fail(err, SG_ERR_FORMAT, "%s: its header of %" PRIu64 " bytes is not there: it was cut or is damaged",
                       path, length);
    struct gradient_head h = {.begin = (off_t)(before + length), .count = 1, .tensor = sg_calloc(1, sizeof *h.tensor)};
    char *text = sg_calloc(1, (size_t)length + 1);
    status = sg_file_read_at(fd, text, (size_t)length, (off_t)before, path, err);
    if (status == SG_OK && strlen(text) != length)
        status = sg_fail(err, SG_ERR_FORMAT, "%s: its header holds zero bytes: it is damaged", path);
    SG_DO(status, parse(&h, text, path, err));
    SG_DO(status, check_length(&h, st.st_size, path, err));
    free(text);
    if (status != SG_OK) {
        gradient_head_free(&h);
        return status;
    }
    h.tensor->rows = 1;
    h.tensor->elements = (size_t)h.shape[h.rank - 1];
    h.tensor->to = h.tensor->elements * gradient_number_bytes(h.tensor->number);
    *out = h;
    return SG_OK;
}
