/* sg_text.h: spelling suggestions, numbers read from whole strings, and texts that are built, measured and cut. */
#ifndef SG_TEXT_H
#define SG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sg_status.h"

/* The edit distance: to insert, delete or replace a letter or to swap two neighbours costs 1 each. Where a word is
 * longer than 63 letters, the result is the longer length. */
size_t sg_edit_distance(const char *a, const char *b);

/* What `word` was probably meant to be: the first candidate that differs in case only; else the nearest one, if its
 * edit distance is <= (length of word + 1) / 2; else the first that begins with word, if word has three letters or
 * more. NULL = none. Of equally near candidates the first wins. */
const char *sg_suggest(const char *word, const char *const *candidates, size_t n);

/* The place of `word` in `choices`, written "a|b|c", from 0 on; -1 if it is none of them, as the empty word. */
int sg_choice_of(const char *choices, const char *word);
bool sg_is_choice(const char *choices, const char *word);

/* Reads the whole string as a finite number or a whole number in [min, max]. Returns false for anything else: an empty
 * string, blanks, hex, inf, characters after the number, a number out of range. *out is then unchanged. */
bool sg_parse_number(double *out, const char *text, double min, double max);
bool sg_parse_integer(int64_t *out, const char *text, int64_t min, int64_t max);

/* Formats a text, which the caller frees. NULL = no memory. */
char *sg_format(const char *format, ...) SG_PRINTF(1, 2);
/* Closes a stream of open_memstream, which may be NULL, and hands over its text. NULL = no memory, and the text is freed.
 */
char *sg_stream_text(FILE *take_stream, char **text);

/* How many columns UTF-8 text takes on a terminal, one for each character. */
size_t sg_text_width(const char *utf8);
/* How many bytes of its characters fit into `columns`. */
size_t sg_text_cut(const char *utf8, size_t columns);
/* How many bytes of its words, between blanks, fit into `columns`; it is one word at least. */
size_t sg_text_line(const char *utf8, size_t columns);

/* Copies `name` into out [size] with '_' for '-', cut to fit, because recipes say error-norm and results error_norm.
 * Returns out, which may be name itself. */
char *sg_snake(char *out, size_t size, const char *name);

/* `text` cut to what a message can carry, at a character boundary. */
enum { SG_EXCERPT = 48 };
char *sg_excerpt(char out[SG_EXCERPT], const char *text);

#endif
