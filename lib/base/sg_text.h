/* sg_text.h: texts that are built, measured and cut, and the words and numbers of sg_words.h. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_TEXT_H
#define SG_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sg_status.h"
#include "sg_words.h"

/* Formats a text, which the caller frees. */
char *sg_format(const char *format, ...) SG_PRINTF(1, 2);
char *sg_vformat(const char *format, va_list args) SG_PRINTF(1, 0);
/* Calls `notice`, if there is one, with the formatted text. */
void sg_notify(void (*notice)(const char *message), const char *format, ...) SG_PRINTF(2, 3);
/* Closes a stream of sg_memstream and returns its text. */
char *sg_stream_text(FILE *take_stream, char **text);

/* The width of UTF-8 text on a terminal in columns, one for each character. */
size_t sg_text_width(const char *utf8);
/* How many bytes of the text, in whole characters, fit into `columns`. */
size_t sg_text_cut(const char *utf8, size_t columns);
/* How many bytes of the text, in whole words between blanks, fit into `columns`; at least one word. */
size_t sg_text_line(const char *utf8, size_t columns);

/* Copies `name` into out [size] with '_' for '-', cut to fit, because recipes say error-norm and results error_norm.
 * Returns out, which may be name itself. */
char *sg_snake(char *out, size_t size, const char *name);
/* Writes a blank for each '_' of a name, so that readers see words. Returns the name. */
char *sg_spaced(char *name);
/* True if a [length], which has no NUL in it, equals b, where '-' equals '_'. */
bool sg_same_name(const char *a, size_t length, const char *b);

/* The character at text [length > 0] and its bytes; 0 = not UTF-8: cut off, overlong, a surrogate or beyond
 * U+10FFFF. */
size_t sg_character(uint32_t *out, const char *text, size_t length);
/* The bytes of the byte-order mark that text [length] begins with; 0 = there is none. */
size_t sg_text_mark(const char *text, size_t length);
/* True for white space, as Python's split() has it. */
bool sg_is_space(uint32_t character);

/* What text of strangers becomes before it is shown. */
/* The text on one line, in which nothing can steer a terminal or mislead a reader: control characters, marks that
 * reorder a line and bytes that are not UTF-8 are shown as \x1b or \u202e. The caller frees it. */
char *sg_text_clean(const char *text);
/* The same, with characters that nobody sees or tells apart (blanks that are none, hyphens that are no '-') shown, too,
 * cut to what a message can carry, at a character boundary. */
enum { SG_EXCERPT = 48 };
char *sg_excerpt(char out[SG_EXCERPT], const char *text);
char *sg_excerpt_of(char out[SG_EXCERPT], const char *text, size_t length);
/* out [size] <- the text as a reader sees it, without such characters, cut to fit. Returns the first of them, 0 = there
 * is none. */
uint32_t sg_text_plain(char *out, size_t size, const char *text);

#endif
