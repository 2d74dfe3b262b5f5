/* plot_clean.c: makes every text of a document fit to be shown: UTF-8 on one line, in which nothing can steer a
 * terminal or mislead a reader. */
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"

/* The character at s and its bytes; 0 = not UTF-8: cut off, overlong, a surrogate or beyond U+10FFFF. */
static size_t decode(const unsigned char *s, unsigned long *out) {
    static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    unsigned long c = n == 1 ? s[0] : n ? s[0] & (0xffU >> (n + 1)) : 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    *out = c;
    return c < least[n] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff ? 0 : n;
}

/* True for a control character, an end of a line or paragraph, a mark that reorders a line, or one that XML forbids. */
static bool is_unfit(unsigned long c) {
    return c < ' ' || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069) || c == 0x200e || c == 0x200f || c == 0xfeff || (c & 0xfffe) == 0xfffe;
}

static bool is_fit(const char *text) {
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        unsigned long c;
        size_t n = decode(s, &c);
        if (n == 0 || is_unfit(c))
            return false;
        s += n;
    }
    return true;
}

char *sg_plot_clean(const char *text) {
    enum { LONGEST = 8 }; /* "\u10ffff" for one byte or more */
    char *out = malloc(LONGEST * strlen(text) + 1), *at = out;
    if (!out)
        return NULL;
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        unsigned long c = *s;
        size_t n = decode(s, &c);
        if (n == 0)
            at += sprintf(at, "\\x%02x", *s);
        else if (c == '\n' || c == '\r' || c == '\t')
            *at++ = ' ';
        else if (is_unfit(c))
            at += sprintf(at, c < 0x100 ? "\\x%02lx" : "\\u%04lx", c);
        else
            at = (char *)memcpy(at, s, n) + n;
        s += n ? n : 1;
    }
    *at = '\0';
    return out;
}

/* Clean one text of the document in its place; false = no memory. */
static bool clean_in_place(char **text) {
    if (!*text || is_fit(*text))
        return true;
    char *clean = sg_plot_clean(*text);
    if (!clean)
        return false;
    free(*text);
    *text = clean;
    return true;
}

sg_status sg_plot_clean_document(cJSON *document, const char *name, struct sg_error *err) {
    for (cJSON *item = document; item; item = item->next) { /* the parser bounds the depth */
        bool fixed = item->type & (cJSON_StringIsConst | cJSON_IsReference);
        if ((!fixed && !clean_in_place(&item->string)) || (cJSON_IsString(item) && !clean_in_place(&item->valuestring)))
            return sg_fail_memory(err, name);
        sg_status status = item->child ? sg_plot_clean_document(item->child, name, err) : SG_OK;
        if (status != SG_OK)
            return status;
    }
    return SG_OK;
}
