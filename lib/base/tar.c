/* tar.c: writes and reads tar archives that are the same bytes for the same members. */
#include "sg_tar.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512, SIZE_AT = 124, SIZE_CHARS = 12, SUM_AT = 148, SUM_CHARS = 8, MEMBER_MOST = 100000 };
static const unsigned long long MOST_BYTES = 077777777777; /* what eleven octal digits can say */

static void put(char *header, size_t at, const char *text) {
    memcpy(header + at, text, strlen(text)); /* the NUL behind is there already */
}

/* The header of a plain file. The checksum is the sum of all bytes, of which its own count as blanks. */
static void make_header(char header[BLOCK], const char *name, size_t length) {
    char number[SIZE_CHARS + 1];
    unsigned sum = 0;
    memset(header, 0, BLOCK);
    put(header, 0, name);
    put(header, 100, "0000644");
    put(header, 108, "0000000"); /* user and group */
    put(header, 116, "0000000");
    snprintf(number, sizeof number, "%011llo", (unsigned long long)length);
    put(header, SIZE_AT, number);
    put(header, 136, "00000000000"); /* time */
    put(header, 156, "0");           /* a plain file */
    put(header, 257, "ustar");
    put(header, 263, "00");
    put(header, 329, "0000000"); /* device */
    put(header, 337, "0000000");
    memset(header + SUM_AT, ' ', SUM_CHARS);
    for (size_t i = 0; i < BLOCK; i++)
        sum += (unsigned char)header[i];
    snprintf(header + SUM_AT, SUM_CHARS, "%06o", sum);
}

static size_t padding(size_t length) {
    return (BLOCK - length % BLOCK) % BLOCK;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct sg_tar_member *)a)->name, ((const struct sg_tar_member *)b)->name);
}

sg_status sg_tar_write(FILE *out, struct sg_tar_member *member, size_t n, struct sg_error *err) {
    static const char zeros[2 * BLOCK];
    char header[BLOCK];
    qsort(member, n, sizeof *member, by_name);
    for (size_t i = 0; i < n; i++) {
        const struct sg_tar_member *m = &member[i];
        if (i > 0 && strcmp(member[i - 1].name, m->name) == 0)
            return sg_fail(err, SG_ERR_ARGUMENT, "two files of an archive are called '%s'", m->name);
        if (m->length > MOST_BYTES)
            return sg_fail(err, SG_ERR_ARGUMENT, "%s is too large for an archive", m->name);
        make_header(header, m->name, m->length);
        fwrite(header, 1, BLOCK, out);
        fwrite(m->data, 1, m->length, out);
        fwrite(zeros, 1, padding(m->length), out);
    }
    fwrite(zeros, 1, sizeof zeros, out);
    return SG_OK;
}

static bool is_zero(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (text[i] != 0)
            return false;
    return true;
}

/* Reads the member at *at and moves *at behind it. False: it is not what sg_tar_write makes. */
static bool take_member(struct sg_tar_member *m, size_t *at, const char *text, size_t length) {
    const char *header = text + *at;
    char expected[BLOCK], digits[SIZE_CHARS + 1] = "";
    const size_t left = length - *at - BLOCK;
    memcpy(m->name, header, sizeof m->name);
    if (!memchr(m->name, 0, sizeof m->name))
        return false;
    memcpy(digits, header + SIZE_AT, SIZE_CHARS);
    m->length = strtoull(digits, NULL, 8);
    m->data = header + BLOCK;
    make_header(expected, m->name, m->length);
    if (m->name[0] == '\0' || memcmp(expected, header, BLOCK) != 0 || m->length > left ||
        padding(m->length) > left - m->length || !is_zero(m->data + m->length, padding(m->length)))
        return false;
    *at += BLOCK + m->length + padding(m->length);
    return true;
}

sg_status sg_tar_parse(struct sg_tar_member **out, size_t *n, const char *text, size_t length, const char *path,
                       struct sg_error *err) {
    struct sg_tar_member *member = NULL;
    size_t count = 0, at = 0;
    while (length - at >= BLOCK && !is_zero(text + at, BLOCK) && count < MEMBER_MOST) {
        struct sg_tar_member *longer = realloc(member, (count + 1) * sizeof *member);
        if (!longer) {
            free(member);
            return sg_fail_memory(err, path);
        }
        member = longer;
        if (!take_member(&member[count], &at, text, length) ||
            (count > 0 && by_name(&member[count - 1], &member[count]) >= 0))
            break;
        count++;
    }
    if (length - at != 2 * BLOCK || !is_zero(text + at, 2 * BLOCK)) {
        sg_fail(err, SG_ERR_FORMAT, "%s: byte %zu, behind '%s', is not that of a bundle: it is damaged or cut, or none",
                path, at, count > 0 ? member[count - 1].name : "");
        free(member);
        return SG_ERR_FORMAT;
    }
    *out = member;
    *n = count;
    return SG_OK;
}
