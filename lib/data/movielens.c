/* movielens.c: parses the text of the MovieLens sets. */
/* SPDX-License-Identifier: MIT */
#include "movielens.h"

#include <string.h>

#include "dataset_walk.h"
#include "sg_memory.h"
#include "sg_ratings.h"
#include "sg_text.h"

static const struct movielens_format formats[] = {
    {"ml-100k", "u.data", "\t", false, 943, 1682, 100000},
    {"ml-1m", "ratings.dat", "::", false, 6040, 3706, 1000209},
    {"ml-20m", "ratings.csv", ",", true, 138493, 26744, 20000263},
    {"ml-25m", "ratings.csv", ",", true, 162541, 59047, 25000095},
};

const struct movielens_format *movielens_find(const char *set) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (dataset_is_like(set, formats[i].name))
            return &formats[i];
    return NULL;
}

enum column { USER, ITEM, RATING, TIME, COLUMNS };
enum { MOST_COLUMNS = 16, NOT_USED = COLUMNS };
static const char *const column_name[COLUMNS] = {"userId", "movieId", "rating", "timestamp"};

struct reader {
    const char *name, *separator;
    size_t separator_length;
    enum column column[MOST_COLUMNS]; /* the meaning of each column */
    size_t columns;                   /* up to the last one used */
    bool more;                        /* lines may have more columns than these */
    size_t line;
    struct sg_error *err;
};

/* A whole number of at most 18 digits that fills at..end-1; -1: it is none. */
static int64_t whole(const char *at, const char *end) {
    int64_t value = 0;
    if (at == end || end - at > 18)
        return -1;
    for (; at < end; at++) {
        const unsigned digit = (unsigned)*at - '0';
        if (digit > 9)
            return -1;
        value = 10 * value + digit;
    }
    return value;
}

/* True if it is a decimal number from 0.5 to 5. */
static bool is_rating(const char *at, const char *end) {
    const char *point = memchr(at, '.', (size_t)(end - at));
    const int64_t above = whole(at, point ? point : end), below = point ? whole(point + 1, end) : 0;
    if (above < 0 || below < 0)
        return false;
    return above == 0 ? point && point[1] >= '5' : above < 5 || (above == 5 && below == 0);
}

static sg_status fail_field(const struct reader *r, enum column column, const char *at, const char *end) {
    static const char *const wanted[COLUMNS] = {
        [USER] = "a whole number from 1 to 16777215",
        [ITEM] = "a whole number from 1 to 16777215",
        [RATING] = "a number from 0.5 to 5",
        [TIME] = "a whole number of seconds",
    };
    char shown[SG_EXCERPT];
    return sg_fail(r->err, SG_ERR_FORMAT, "%s:%zu: %s '%s' is not %s", r->name, r->line, column_name[column],
                   sg_excerpt_of(shown, at, (size_t)(end - at)), wanted[column]);
}

static sg_status read_field(const struct reader *r, struct sg_rating *out, enum column column, const char *at,
                            const char *end) {
    int64_t value;
    switch (column) {
    case RATING:
        return is_rating(at, end) ? SG_OK : fail_field(r, column, at, end);
    case TIME:
        out->time = value = whole(at, end);
        return value >= 0 ? SG_OK : fail_field(r, column, at, end);
    case USER:
    case ITEM:
        value = whole(at, end);
        if (value < 1 || value > SG_RATINGS_MOST_ID)
            return fail_field(r, column, at, end);
        *(column == USER ? &out->user : &out->item) = (uint32_t)value;
        return SG_OK;
    default:
        return SG_OK;
    }
}

/* Where the column that begins at `at` ends. */
static const char *column_end(const struct reader *r, const char *at, const char *end) {
    for (; at < end; at++)
        if (*at == r->separator[0] && (r->separator_length == 1 || (at + 1 < end && at[1] == r->separator[1])))
            return at;
    return end;
}

static sg_status read_line(const struct reader *r, struct sg_rating *out, const char *at, const char *end) {
    for (size_t c = 0; c < r->columns; c++) {
        if (c > 0 && at == end)
            return sg_fail(r->err, SG_ERR_FORMAT, "%s:%zu: %zu columns, but there must be %zu", r->name, r->line, c,
                           r->columns);
        at += c > 0 ? r->separator_length : 0;
        const char *stop = column_end(r, at, end);
        sg_status status = read_field(r, out, r->column[c], at, stop);
        if (status)
            return status;
        at = stop;
    }
    return at == end || r->more
               ? SG_OK
               : sg_fail(r->err, SG_ERR_FORMAT, "%s:%zu: more than %zu columns", r->name, r->line, r->columns);
}

static sg_status read_header(struct reader *r, const char *at, const char *end) {
    bool found[COLUMNS + 1] = {false};
    const char *const first = at += sg_text_mark(at, (size_t)(end - at));
    for (size_t c = 0; c < MOST_COLUMNS; c++) {
        const char *stop = column_end(r, at, end);
        const size_t quote = stop - at >= 2 && at[0] == '"' && stop[-1] == '"',
                     length = (size_t)(stop - at) - 2 * quote;
        enum column column = 0;
        while (column < COLUMNS &&
               (strlen(column_name[column]) != length || memcmp(column_name[column], at + quote, length) != 0))
            column++;
        r->column[c] = column;
        if (column < COLUMNS && found[column])
            return sg_fail(r->err, SG_ERR_FORMAT, "%s:1: column '%s' comes twice", r->name, column_name[column]);
        found[column] = true;
        if (column < COLUMNS)
            r->columns = c + 1;
        if (stop == end)
            break;
        at = stop + r->separator_length;
    }
    char shown[SG_EXCERPT];
    for (size_t i = 0; i < COLUMNS; i++)
        if (!found[i])
            return sg_fail(r->err, SG_ERR_FORMAT, "%s:1: no column '%s' among those that the first line names: '%s'",
                           r->name, column_name[i], sg_excerpt_of(shown, first, (size_t)(end - first)));
    return SG_OK;
}

static size_t count_lines(const char *text, size_t length) {
    size_t lines = 0;
    for (const char *at = text, *end = text + length; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
        lines++;
    return lines;
}

static sg_status read_lines(struct reader *r, struct sg_rating *out, const char *text, const char *end, bool header) {
    sg_status status = SG_OK;
    for (const char *at = text, *next; at < end && status == SG_OK; at = next + 1) {
        next = memchr(at, '\n', (size_t)(end - at));
        const char *stop = next > at && next[-1] == '\r' ? next - 1 : next;
        r->line++;
        status = header && r->line == 1 ? read_header(r, at, stop) : read_line(r, out++, at, stop);
    }
    return status;
}

sg_status sg_ratings_parse(struct sg_rating **out, size_t *count, const char *text, size_t length, const char *format,
                           const char *name, struct sg_error *err) {
    const struct movielens_format *f = movielens_find(format);
    if (!f)
        return sg_fail(err, SG_ERR_ARGUMENT, "unknown format '%s' of ratings", format);
    const size_t lines = length > 0 ? count_lines(text, length) : 0;
    if (lines <= f->header)
        return sg_fail(err, SG_ERR_FORMAT, "%s: there are no ratings in it", name);
    if (text[length - 1] != '\n')
        return sg_fail(err, SG_ERR_FORMAT, "%s:%zu: the last line has no end: the file is truncated", name, lines + 1);
    struct sg_rating *rating = sg_malloc((lines - f->header) * sizeof *rating);
    struct reader r = {.name = name,
                       .separator = f->separator,
                       .separator_length = strlen(f->separator),
                       .column = {USER, ITEM, RATING, TIME},
                       .columns = COLUMNS,
                       .more = f->header,
                       .err = err};
    sg_status status = read_lines(&r, rating, text, text + length, f->header);
    if (status == SG_OK) {
        *out = rating;
        *count = lines - f->header;
    } else {
        free(rating);
    }
    return status;
}
