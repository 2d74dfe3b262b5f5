/* words.c: what people write: suggestions for misspelt words, words of a list, numbers read from whole strings. */
/* SPDX-License-Identifier: MIT */
#include "sg_words.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sg_debug.h"

enum { WORD_MAX = 63 };

static size_t min3(size_t a, size_t b, size_t c) {
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

size_t sg_edit_distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    if (n > WORD_MAX || m > WORD_MAX)
        return n > m ? n : m;
    /* Rows i-2, i-1 and i of the dynamic programme (optimal string alignment). */
    size_t row[3][WORD_MAX + 1];
    for (size_t j = 0; j <= m; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
    }
    return row[n % 3][m];
}

/* Returns whether both begin with numbers that differ. Then neither is a misspelling of the other. */
static bool counts_otherwise(const char *a, const char *b) {
    const size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
    return n > 0 && m > 0 && (n != m || memcmp(a, b, n) != 0);
}

const char *sg_suggest(const char *word, const char *const *candidates, size_t n) {
    const char *best = NULL, *longer = NULL;
    const size_t length = strlen(word);
    size_t best_distance = (length + 1) / 2 + 1;
    for (size_t i = 0; i < n; i++) {
        if (strcasecmp(word, candidates[i]) == 0)
            return candidates[i];
        if (length >= 3 && strncasecmp(word, candidates[i], length) == 0 &&
            (!longer || strlen(candidates[i]) < strlen(longer)))
            longer = candidates[i];
        size_t distance = sg_edit_distance(word, candidates[i]);
        if (distance < best_distance && !counts_otherwise(word, candidates[i])) {
            best_distance = distance;
            best = candidates[i];
        }
    }
    return longer ? longer : best;
}

bool sg_is_choice(const char *choices, const char *word) {
    size_t length = strlen(word);
    for (const char *s = choices; length > 0; s++) {
        size_t part = strcspn(s, "|");
        if (part == length && memcmp(s, word, part) == 0)
            return true;
        s += part;
        if (*s == '\0')
            break;
    }
    return false;
}

bool sg_ends_in(const char *text, const char *ending) {
    const size_t length = strlen(text), less = strlen(ending);
    return length >= less && strcmp(text + length - less, ending) == 0;
}

/* Allows digits, sign, point and exponent only, because strtod also takes hex, inf, nan and blanks. */
static bool looks_decimal(const char *text) {
    return text[0] != '\0' && strspn(text, "0123456789+-.eE") == strlen(text);
}

bool sg_parse_number(double *out, const char *text, double min, double max) {
    SG_ASSERT(min <= max);
    if (!looks_decimal(text))
        return false;
    char *end;
    double x = strtod(text, &end);
    if (*end != '\0' || !isfinite(x) || !(x >= min && x <= max))
        return false;
    *out = x;
    return true;
}

bool sg_parse_integer(int64_t *out, const char *text, int64_t min, int64_t max) {
    SG_ASSERT(min <= max);
    if (!looks_decimal(text))
        return false;
    char *end;
    errno = 0;
    long long x = strtoll(text, &end, 10);
    if (*end != '\0' || errno != 0 || x < min || x > max)
        return false;
    *out = x;
    return true;
}

bool sg_parse_bytes(double *out, const char *text) {
    static const struct {
        const char *name;
        double bytes;
    } unit[] = {{"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}};
    char number[32];
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
        size_t length = strlen(text) - (sg_ends_in(text, unit[i].name) ? strlen(unit[i].name) : 0);
        if (text[length] == '\0' || length >= sizeof number)
            continue;
        memcpy(number, text, length);
        number[length > 0 && number[length - 1] == ' ' ? length - 1 : length] = '\0';
        double value;
        if (!sg_parse_number(&value, number, 0, 1e300) || !(value > 0))
            return false;
        *out = value * unit[i].bytes;
        return true;
    }
    return false;
}
