/* sg_text.h: small text helpers shared by recipes and options. */
#ifndef SG_TEXT_H
#define SG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Edit distance: insert, delete, replace, swap of neighbours each cost 1; words longer than 63 count as far apart. */
size_t sg_edit_distance(const char *a, const char *b);

/* What `word` was probably meant to be, or NULL: a candidate that differs in case only; else the nearest if its edit
 * distance is <= (length of word + 1) / 2; else one that begins with word, of three letters or more. First wins ties.
 */
const char *sg_suggest(const char *word, const char *const *candidates, size_t n);

/* Is `word` one of `choices`, "a|b|c"? Never the empty word. */
bool sg_is_choice(const char *choices, const char *word);

/* The whole string as a finite number / whole number in [min, max]: false otherwise (empty, blanks, hex, inf, trailing
 * characters, out of range). */
bool sg_parse_number(double *out, const char *text, double min, double max);
bool sg_parse_integer(int64_t *out, const char *text, int64_t min, int64_t max);

/* The text of a format, malloc'ed; NULL = no memory. */
char *sg_format(const char *format, ...) SG_PRINTF(1, 2);
/* Close a stream of open_memstream, which may be NULL, and hand over its text; NULL = no memory, and the text is freed. */
char *sg_stream_text(FILE *take_stream, char **text);

/* Columns of UTF-8 text on a terminal, one a character. */
size_t sg_text_width(const char *utf8);
/* Bytes of its characters that fit `columns`. */
size_t sg_text_cut(const char *utf8, size_t columns);
/* Bytes of its words, between blanks, that fit `columns`; one word at least. */
size_t sg_text_line(const char *utf8, size_t columns);

/* `name` into out [size] with '-' turned into '_', cut to fit: recipes say error-norm, results error_norm. Returns out,
 * which may be name itself. */
char *sg_snake(char *out, size_t size, const char *name);

#ifdef __cplusplus
}
#endif
#endif
