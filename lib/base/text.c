/* text.c: texts that are built, the width of text, and how names are spelt. */
/* SPDX-License-Identifier: MIT */
#include "sg_text.h"

#include <string.h>

#include "sg_debug.h"
#include "sg_memory.h"

char *sg_vformat(const char *format, va_list args) {
    char *text;
    if (vasprintf(&text, format, args) < 0)
        sg_memory_end();
    return text;
}

char *sg_format(const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = sg_vformat(format, args);
    va_end(args);
    return text;
}

void sg_notify(void (*notice)(const char *message), const char *format, ...) {
    va_list args;
    if (!notice)
        return;
    va_start(args, format);
    char *text = sg_vformat(format, args);
    va_end(args);
    notice(text);
    free(text);
}

char *sg_stream_text(FILE *take_stream, char **text) {
    if (fclose(take_stream) != 0)
        sg_memory_end();
    return *text;
}

size_t sg_text_width(const char *utf8) {
    size_t n = 0;
    for (; *utf8; utf8++)
        n += ((unsigned char)*utf8 & 0xc0) != 0x80;
    return n;
}

size_t sg_text_cut(const char *utf8, size_t columns) {
    size_t i = 0;
    for (; utf8[i] && (columns > 0 || ((unsigned char)utf8[i] & 0xc0) == 0x80); i++)
        columns -= ((unsigned char)utf8[i] & 0xc0) != 0x80;
    return i;
}

size_t sg_text_line(const char *utf8, size_t columns) {
    const size_t fits = sg_text_cut(utf8, columns);
    size_t end = strcspn(utf8, " ");
    for (size_t next; utf8[end] && (next = end + 1 + strcspn(utf8 + end + 1, " ")) <= fits;)
        end = next;
    return end;
}

char *sg_snake(char *out, size_t size, const char *name) {
    SG_ASSERT(size > 0);
    size_t i = 0;
    for (; name[i] != '\0' && i + 1 < size; i++)
        out[i] = name[i] == '-' ? '_' : name[i];
    out[i] = '\0';
    return out;
}

char *sg_spaced(char *name) {
    for (char *c = name; *c; c++)
        *c = *c == '_' ? ' ' : *c;
    return name;
}

bool sg_same_name(const char *a, size_t length, const char *b) {
    SG_ASSERT(a && b);
    for (size_t i = 0; i < length; i++)
        if ((a[i] == '-' ? '_' : a[i]) != (b[i] == '-' ? '_' : b[i])) /* also where b ends early */
            return false;
    return b[length] == '\0';
}

size_t sg_character(uint32_t *out, const char *text, size_t length) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    const size_t bytes = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
    if (bytes == 0 || bytes > length)
        return 0;
    uint32_t c = bytes == 1 ? s[0] : s[0] & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        c = c << 6 | (s[i] & 0x3fu);
    }
    *out = c;
    return c < least[bytes] || c > 0x10ffff || c >> 11 == 0x1b ? 0 : bytes;
}

size_t sg_text_mark(const char *text, size_t length) {
    return length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

bool sg_is_space(uint32_t c) {
    return (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= ' ') || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

/* True for a control character, an end of a line or paragraph, a mark that reorders a line, or one that XML forbids. */
static bool is_unfit(uint32_t c) {
    return c < ' ' || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069) || c == 0x200e || c == 0x200f || c == 0xfeff || (c & 0xfffe) == 0xfffe;
}

static bool is_hyphen(uint32_t c) {
    return (c >= 0x2010 && c <= 0x2015) || c == 0x2212 || c == 0xfe58 || c == 0xfe63 || c == 0xff0d;
}

/* True for a character that a reader takes for another one or does not see. */
static bool is_deceptive(uint32_t c) {
    return (c > ' ' && sg_is_space(c)) || is_hyphen(c) || c == 0xad || c == 0x61c || c == 0x180e ||
           (c >= 0x200b && c <= 0x200f) || (c >= 0x2060 && c <= 0x206f) || (c >= 0xfff9 && c <= 0xfffb);
}

enum { SHOWN = 12 };

/* out <- the character at `text` as it is shown; returns its bytes in `text`. */
static size_t show(char out[SHOWN], const char *text, size_t length, bool also_deceptive) {
    uint32_t c = 0;
    const size_t n = sg_character(&c, text, length);
    if (n == 0)
        snprintf(out, SHOWN, "\\x%02x", (unsigned char)*text);
    else if (c == '\n' || c == '\r' || c == '\t')
        snprintf(out, SHOWN, " ");
    else if (is_unfit(c) || (also_deceptive && is_deceptive(c)))
        snprintf(out, SHOWN, c < 0xa0 ? "\\x%02x" : "\\u%04x", c);
    else
        snprintf(out, SHOWN, "%.*s", (int)n, text);
    return n > 0 ? n : 1;
}

char *sg_text_clean(const char *text) {
    size_t length = strlen(text);
    char *out = sg_malloc(8 * length + 1), *at = out; /* "\u10ffff" for one byte or more */
    for (char shown[SHOWN]; length > 0; at += strlen(shown)) {
        const size_t n = show(shown, text, length, false);
        memcpy(at, shown, strlen(shown));
        text += n;
        length -= n;
    }
    *at = '\0';
    return out;
}

uint32_t sg_text_plain(char *out, size_t size, const char *text) {
    uint32_t first = 0;
    size_t used = 0;
    for (size_t length = strlen(text), n; length > 0 && used + 5 < size; text += n, length -= n) {
        uint32_t c = 0;
        n = sg_character(&c, text, length);
        const bool odd = n > 0 && (is_deceptive(c) || is_unfit(c));
        n = n > 0 ? n : 1;
        first = odd && first == 0 ? c : first;
        if (odd && (is_hyphen(c) || sg_is_space(c)))
            out[used++] = is_hyphen(c) ? '-' : ' ';
        else if (!odd)
            used += (size_t)snprintf(out + used, size - used, "%.*s", (int)n, text);
    }
    out[used] = '\0';
    return first;
}

char *sg_excerpt(char out[SG_EXCERPT], const char *text) {
    return sg_excerpt_of(out, text, strlen(text));
}

char *sg_excerpt_of(char out[SG_EXCERPT], const char *text, size_t length) {
    static const char dots[] = "…";
    size_t used = 0, kept = 0; /* kept: what there is room for if more follows */
    for (char shown[SHOWN]; length > 0 && used < SG_EXCERPT; used += strlen(shown)) {
        const size_t n = show(shown, text, length, true);
        if (used + sizeof dots <= SG_EXCERPT)
            kept = used;
        if (used + strlen(shown) >= SG_EXCERPT)
            break;
        memcpy(out + used, shown, strlen(shown));
        text += n;
        length -= n;
    }
    out[used] = '\0';
    if (length > 0)
        memcpy(out + kept, dots, sizeof dots);
    return out;
}
