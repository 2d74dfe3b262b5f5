/* libsvm.c: the parser of the LIBSVM text format, which reports every mistake with its line and column. */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "matrix_layout.h"
#include "sg_debug.h"
#include "sg_matrix.h"
#include "sg_text.h"

struct parser {
    const char *at, *end; /* the text not yet read; at <= end */
    const char *line_start;
    size_t line; /* from 1 */
    const char *name;
    struct sg_error *err;
    char *spent; /* start of what is read but not yet given back to the system; NULL = it is not ours to give */
};

/* What a first pass over the text finds: enough to make the matrix in its final size. */
struct census {
    size_t rows, entries, largest_index;
};

/* Fails with a message about a position in the text; the column counts bytes from 1. */
SG_PRINTF(3, 4) static sg_status fail_at(struct parser *p, const char *place, const char *format, ...) {
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return sg_fail(p->err, SG_ERR_FORMAT, "%s:%zu:%zu: %s", p->name, p->line, (size_t)(place - p->line_start) + 1,
                   what);
}

static bool is_digit(char c) {
    return (unsigned char)(c - '0') < 10;
}

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n');
}

static bool ends_token(const struct parser *p, const char *at) {
    return at == p->end || is_blank(*at) || *at == '\n' || *at == '#';
}

static int token_length(const struct parser *p, const char *at) {
    const char *from = at;
    while (at - from < 40 && !ends_token(p, at))
        at++;
    return (int)(at - from);
}

static const double power_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Parses what the fast path below cannot round: long mantissas and large exponents. */
static sg_status slow_number(struct parser *p, const char *from, const char *to, double *out) {
    char copy[512];
    size_t length = (size_t)(to - from);
    if (length >= sizeof copy)
        return fail_at(p, from, "a number of %zu characters: at most %zu are read", length, sizeof copy - 1);
    memcpy(copy, from, length);
    copy[length] = '\0';
    *out = strtod(copy, NULL);
    if (!isfinite(*out))
        return fail_at(p, from, "the value '%.40s' is not finite in double precision", copy);
    return SG_OK;
}

static sg_status bad_number(struct parser *p, const char *from) {
    int length = token_length(p, from);
    if (memchr(from, '\0', (size_t)length))
        return fail_at(p, from, "a NUL byte: this is not text");
    int sign = length > 0 && (*from == '-' || *from == '+');
    const char *word = from + sign;
    if (length - sign >= 3 && (strncasecmp(word, "nan", 3) == 0 || strncasecmp(word, "inf", 3) == 0))
        return fail_at(p, from, "the value '%.*s' is not finite", length, from);
    if (length == 0)
        return fail_at(p, from, "a number is missing");
    return fail_at(p, from, "malformed number '%.*s'", length, from);
}

_Static_assert(FLT_EVAL_METHOD == 0, "the fast path rounds once");

/* A decimal number that fills its token: [+-] digits [. digits] [e [+-] digits].
 * Fast path: a mantissa below 2^53 and a power of ten up to 10^22 are both exact doubles, so one multiplication or
 * division rounds correctly (Clinger 1990). Everything else goes through strtod. */
static sg_status read_number(struct parser *p, double *out) {
    const char *from = p->at, *at = from, *end = p->end;
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    uint64_t mantissa = 0;
    const char *digits = at;
    while (at < end && is_digit(*at))
        mantissa = mantissa * 10 + (uint64_t)(*at++ - '0');
    ptrdiff_t n_digits = at - digits, exponent = 0;
    if (at < end && *at == '.') {
        const char *fraction = ++at;
        while (at < end && is_digit(*at))
            mantissa = mantissa * 10 + (uint64_t)(*at++ - '0');
        exponent = fraction - at;
        n_digits += at - fraction;
    }
    if (n_digits == 0)
        return bad_number(p, from);
    bool fast = n_digits <= 15; /* with more digits the mantissa may have wrapped */
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        bool minus = at < end && *at == '-';
        if (at < end && (*at == '-' || *at == '+'))
            at++;
        const char *power = at;
        ptrdiff_t value = 0;
        for (; at < end && is_digit(*at); at++)
            value = value < 100000 ? value * 10 + (*at - '0') : value;
        if (at == power)
            return bad_number(p, from);
        exponent += minus ? -value : value;
    }
    if (!ends_token(p, at))
        return bad_number(p, from);
    p->at = at;
    if (!fast || exponent < -22 || exponent > 22)
        return slow_number(p, from, at, out);
    double value = (double)mantissa;
    value = exponent < 0 ? value / power_of_ten[-exponent] : value * power_of_ten[exponent];
    *out = negative ? -value : value;
    return SG_OK;
}

static void skip_blanks(struct parser *p) {
    while (p->at < p->end && is_blank(*p->at))
        p->at++;
}

static sg_status bad_index(struct parser *p, const char *from) {
    int length = token_length(p, from);
    if (memchr(from, '\0', (size_t)length))
        return fail_at(p, from, "a NUL byte: this is not text");
    if (length >= 4 && memcmp(from, "qid:", 4) == 0)
        return fail_at(p, from, "'%.*s' is of a ranking's queries, which are not read: remove qid from every row",
                       length, from);
    return fail_at(p, from, "expected index:value, found '%.*s'", length, from);
}

/* "index:" of an entry, and blanks behind it; LIBSVM's own reader takes these, and a plus in front. */
static sg_status read_index(struct parser *p, size_t previous, size_t limit, size_t *out) {
    const char *const from = p->at, *at = from + (*from == '+'), *const digits = at;
    size_t index = 0;
    for (; at < p->end && is_digit(*at) && at - digits < 18; at++)
        index = index * 10 + (size_t)(*at - '0');
    if (at == digits || at == p->end || *at != ':')
        return bad_index(p, from);
    if (index == 0)
        return fail_at(p, from, "index 0: indices start at 1");
    if (index == previous)
        return fail_at(p, from, "index %zu is repeated", index);
    if (index < previous)
        return fail_at(p, from, "index %zu after %zu: indices ascend in a row", index, previous);
    if (index > limit)
        return fail_at(p, from, "index %zu is beyond the %zu features", index, limit);
    p->at = at + 1;
    skip_blanks(p);
    if (p->at > at + 1 && memchr(p->at, ':', (size_t)token_length(p, p->at)))
        return fail_at(p, at + 1, "a number is missing");
    *out = index;
    return SG_OK;
}

/* Labels seen so far as bits: -1, 0, 1, 2. */
static sg_status read_label(struct parser *p, unsigned *seen, double *out) {
    const char *from = p->at;
    sg_status status = read_number(p, out);
    if (status)
        return status;
    if (*out != -1 && *out != 0 && *out != 1 && *out != 2)
        return fail_at(p, from, "label %.*s: classes are -1 and +1, 0 and 1, or 1 and 2", token_length(p, from), from);
    unsigned now = *seen | 1u << ((int)*out + 1);
    if ((now & ~5u) != 0 && (now & ~6u) != 0 && (now & ~12u) != 0)
        return fail_at(p, from,
                       "label %.*s does not go with the labels before: classes are -1 and +1, 0 and 1, or 1 and 2",
                       token_length(p, from), from);
    *seen = now;
    return SG_OK;
}

/* Past a comment to the end of the line. */
static void skip_comment(struct parser *p) {
    if (p->at < p->end && *p->at == '#') {
        const char *newline = memchr(p->at, '\n', (size_t)(p->end - p->at));
        p->at = newline ? newline : p->end;
    }
}

static void next_line(struct parser *p) {
    SG_ASSERT(p->at < p->end && *p->at == '\n');
    p->at++;
    p->line++;
    p->line_start = p->at;
}

/* Counts rows and colons outside comments, and takes the index before the last colon of each line, which is the largest
 * in well-formed text because indices ascend. In malformed text the numbers may be wrong; the parser proper then finds
 * the fault. */
static void take_census(const char *text, size_t length, struct census *out) {
    *out = (struct census){0};
    for (const char *at = text, *end = text + length; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end, *next = newline ? newline + 1 : end;
        const char *comment = memchr(at, '#', (size_t)(stop - at));
        if (comment)
            stop = comment;
        while (at < stop && is_blank(*at))
            at++;
        if (at < stop)
            out->rows++;
        size_t colons = 0;
        for (const char *c = at; c < stop; c++)
            colons += *c == ':';
        out->entries += colons;
        const char *digit = colons ? memrchr(at, ':', (size_t)(stop - at)) : NULL;
        size_t index = 0, place = 1;
        for (int i = 0; digit && i < 18 && --digit >= at && is_digit(*digit); i++, place *= 10)
            index += place * (size_t)(*digit - '0');
        out->largest_index = index > out->largest_index ? index : out->largest_index;
        at = next;
    }
}

/* Where the entries of one row go: either to `dense` [d], filled with zeros, or behind one another to column and value.
 */
struct row_sink {
    double *dense;
    uint32_t *column;
    double *value;
    size_t stored, nonzero; /* entries in column and value; non-zero values of the whole matrix */
    bool whole, exact;      /* every value so far is exactly a 16-bit integer, a float */
};

/* limit >= d. An index between the two shows that the row is malformed further on (see take_census). It is skipped
 * here, and the fault is reported at its own position. */
static sg_status read_row(struct parser *p, size_t d, size_t limit, struct row_sink *sink) {
    SG_ASSERT(limit >= d);
    size_t previous = 0;
    sg_status status;
    for (;;) {
        skip_blanks(p);
        if (ends_token(p, p->at))
            break;
        double value;
        if ((status = read_index(p, previous, limit, &previous)) != SG_OK || (status = read_number(p, &value)) != SG_OK)
            return status;
        sink->exact &= (double)(float)value == value;
        sink->whole &= fabs(value) <= INT16_MAX && trunc(value) == value && !(value == 0 && signbit(value));
        sink->nonzero += value != 0;
        if (previous > d)
            continue;
        SG_ASSERT(previous >= 1);
        if (sink->dense) {
            sink->dense[previous - 1] = value;
        } else if (value != 0) {
            sink->column[sink->stored] = (uint32_t)(previous - 1);
            sink->value[sink->stored++] = value;
        }
    }
    skip_comment(p);
    return SG_OK;
}

/* From time to time releases whole pages of parsed text to the system, because memory is short while the matrix
 * grows. */
static void give_back(struct parser *p) {
    enum { WORTH = 16 << 20 };
    if (p->spent && p->at - p->spent >= WORTH) {
        madvise(p->spent, WORTH, MADV_DONTNEED);
        p->spent += WORTH;
    }
}

/* `sink` is where the first row goes; dense rows follow one another. */
static sg_status read_rows(struct parser *p, size_t d, size_t limit, const struct sg_matrix_room *room,
                           struct row_sink *sink) {
    unsigned seen = 0;
    size_t row = 0;
    for (; p->at < p->end; p->at < p->end ? next_line(p) : (void)0) {
        skip_blanks(p);
        skip_comment(p);
        if (p->at == p->end)
            break;
        if (*p->at == '\n')
            continue;
        sg_status status = read_label(p, &seen, &room->label[row]);
        if (status || (status = read_row(p, d, limit, sink)) != SG_OK)
            return status;
        row++;
        if (sink->dense)
            sink->dense += d;
        else
            room->csr_start[row] = sink->stored;
        give_back(p);
    }
    bool two_is_positive = seen & 8;
    for (size_t i = 0; i < row; i++)
        room->label[i] = room->label[i] > (two_is_positive ? 1 : 0) ? 1 : -1;
    return SG_OK;
}

static sg_status parse(struct sg_matrix *out, const char *text, size_t length, size_t d, const char *name, char *spent,
                       struct sg_error *err) {
    const size_t mark = sg_text_mark(text, length);
    text += mark;
    length -= mark;
    struct parser p = {
        .at = text, .end = text + length, .line_start = text, .line = 1, .name = name, .err = err, .spent = spent};
    struct census census;
    take_census(text, length, &census);
    if (census.rows == 0)
        return sg_fail(err, SG_ERR_FORMAT, "%s: no rows: the file is empty", name);
    size_t limit = d ? d : UINT32_MAX;
    if (d > UINT32_MAX)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: %zu features: at most %u are possible", name, d, UINT32_MAX);
    if (d == 0)
        d = census.largest_index < UINT32_MAX ? census.largest_index : UINT32_MAX;

    /* Entries bound the non-zero values from above, so this choice is final for CSR and checked again for dense. It
     * also bounds the memory by a multiple of the text's length. */
    bool sparse = (double)census.entries < (double)census.rows * (double)d / 4;
    struct sg_matrix a;
    struct sg_matrix_room room;
    sg_status status =
        sg_matrix_allocate(&a, &room, sparse ? SG_STORAGE_CSR : SG_STORAGE_F64, census.rows, d, census.entries, err);
    if (status)
        return sg_prefix(err, "%s: ", name);
    struct row_sink sink = {
        .dense = room.f64, .column = room.csr_column, .value = room.csr_value, .whole = true, .exact = true};
    status = read_rows(&p, d, limit, &room, &sink);
    if (status == SG_OK && d == 0)
        status = sg_fail(err, SG_ERR_FORMAT, "%s: no row has a value", name);
    if (status == SG_OK && !sparse && (double)sink.nonzero < (double)a.m * (double)a.d / 4)
        status = sg_matrix_compress(&a, sink.nonzero, err);
    else if (status == SG_OK && !sparse && sink.exact)
        sg_matrix_narrow(&a, sink.whole ? SG_STORAGE_I16 : SG_STORAGE_F32);
    if (status)
        sg_matrix_free(&a);
    else
        *out = a;
    return status;
}

sg_status sg_libsvm_parse(struct sg_matrix *out, const char *text, size_t length, size_t d, const char *name,
                          struct sg_error *err) {
    return parse(out, text, length, d, name, NULL, err);
}

sg_status sg_libsvm_consume(struct sg_matrix *out, char *text, size_t length, size_t d, const char *name,
                            struct sg_error *err) {
    return parse(out, text, length, d, name, text, err);
}
