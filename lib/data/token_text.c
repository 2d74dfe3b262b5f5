/* token_text.c: splits text into words at white space, as Python's split() does. The C library's tables of Unicode turn
 * letters to lower case, one to one. */
/* SPDX-License-Identifier: MIT */
#include "token_text.h"

#include <locale.h>
#include <string.h>
#include <wctype.h>

#include "sg_memory.h"
#include "sg_text.h"

static const char end_word[] = "<eos>";

struct reader {
    struct lexicon *lexicon;
    bool grow;
    locale_t locale; /* 0 = letters stay as they are */
    const char *name;
    size_t line;
    struct sg_tokens out;
    size_t room;
    struct sg_error *err;
};

static size_t encode(char out[4], uint32_t c) {
    const size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = bytes - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(bytes == 1 ? c : (0xf00u >> bytes & 0xf0) | c);
    return bytes;
}

/* The bytes of the white space that text [length > 0] begins with; 0 = none. */
static size_t white_space(const char *text, size_t length) {
    const unsigned char first = (unsigned char)text[0];
    uint32_t c = first;
    if (first < 0x80)
        return sg_is_space(c);
    if (first != 0xc2 && (first < 0xe1 || first > 0xe3)) /* no white space begins so */
        return 0;
    const size_t bytes = sg_character(&c, text, length);
    return bytes > 0 && sg_is_space(c) ? bytes : 0;
}

static sg_status append(struct reader *r, const char *word, size_t length) {
    uint32_t number;
    if (r->grow) {
        sg_status status = lexicon_add(r->lexicon, &number, word, length, r->err);
        if (status != SG_OK)
            return status;
    } else {
        number = lexicon_find(r->lexicon, word, length);
    }
    if (r->out.count == r->room) {
        const size_t room = r->room ? 2 * r->room : 1 << 14;
        uint32_t *id = sg_realloc(r->out.id, room * sizeof *id);
        r->out.id = id;
        r->room = room;
    }
    r->out.id[r->out.count++] = number;
    return SG_OK;
}

/* One word, checked, in the wanted case. */
static sg_status read_word(struct reader *r, const char *word, size_t length) {
    char lower[4 * SG_TOKEN_BYTES];
    size_t used = 0;
    if (length > SG_TOKEN_BYTES)
        return sg_fail(r->err, SG_ERR_FORMAT, "%s:%zu: a word of %zu bytes (at most %d): not a text of words", r->name,
                       r->line, length, SG_TOKEN_BYTES);
    for (size_t i = 0, bytes; i < length; i += bytes) {
        uint32_t c;
        bytes = sg_character(&c, word + i, length - i);
        if (bytes == 0)
            return sg_fail(r->err, SG_ERR_FORMAT,
                           "%s:%zu: byte 0x%02x is not UTF-8; if the text is Latin-1: iconv -f latin1 -t utf-8",
                           r->name, r->line, (unsigned char)word[i]);
        if (c == 0)
            return sg_fail(r->err, SG_ERR_FORMAT, "%s:%zu: a zero byte: not a text", r->name, r->line);
        used += encode(lower + used, r->locale ? (uint32_t)towlower_l(c, r->locale) : c);
    }
    return append(r, lower, used);
}

/* Every line's words and its end; a last line without a line feed has an end too. A line ends in a line feed, a
 * carriage return, or both. */
static sg_status read_lines(struct reader *r, const char *text, size_t length) {
    bool words = false;
    for (size_t at = sg_text_mark(text, length), space; at < length; at += space) {
        const size_t begin = at;
        sg_status status = SG_OK;
        for (space = 0; at < length && (space = white_space(text + at, length - at)) == 0;)
            at++;
        if (at > begin) {
            words = true;
            status = read_word(r, text + begin, at - begin);
        }
        if (status == SG_OK && at + 1 < length && text[at] == '\r' && text[at + 1] == '\n')
            space = 2;
        if (status == SG_OK && (at == length || text[at] == '\n' || text[at] == '\r')) {
            r->line++;
            status = append(r, end_word, sizeof end_word - 1);
        }
        if (status != SG_OK)
            return status;
    }
    return words ? SG_OK : sg_fail(r->err, SG_ERR_FORMAT, "%s: the text is empty: not one word", r->name);
}

sg_status token_text_read(struct sg_tokens *out, struct lexicon *l, bool grow, bool lower_case, const char *text,
                          size_t length, const char *name, struct sg_error *err) {
    struct reader r = {.lexicon = l, .grow = grow, .name = name, .line = 1, .err = err};
    if (lower_case && (r.locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0)) == (locale_t)0)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "%s: lower case needs the locale C.UTF-8 (apt-get install libc-bin)",
                       name);
    sg_status status = read_lines(&r, text, length);
    if (r.locale)
        freelocale(r.locale);
    if (status == SG_OK)
        *out = r.out;
    else
        sg_tokens_free(&r.out);
    return status;
}
