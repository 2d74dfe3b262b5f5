/* sg_text.h: spelling suggestions, and numbers read from whole strings, for recipes and options. */
#ifndef SG_TEXT_H
#define SG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The edit distance: to insert, delete or replace a letter or to swap two neighbours costs 1 each. Where a word is
 * longer than 63 letters, the result is the longer length. */
size_t sg_edit_distance(const char *a, const char *b);

/* What `word` was probably meant to be: the first candidate that differs in case only; else the nearest one, if its
 * edit distance is <= (length of word + 1) / 2; else the first that begins with word, if word has three letters or
 * more. NULL = none. Of equally near candidates the first wins. */
const char *sg_suggest(const char *word, const char *const *candidates, size_t n);

/* Is `word` one of `choices`, written "a|b|c"? False for the empty word. */
bool sg_is_choice(const char *choices, const char *word);

/* Reads the whole string as a finite number or a whole number in [min, max]. Returns false for anything else: an empty
 * string, blanks, hex, inf, characters after the number, a number out of range. *out is then unchanged. */
bool sg_parse_number(double *out, const char *text, double min, double max);
bool sg_parse_integer(int64_t *out, const char *text, int64_t min, int64_t max);

/* Copies `name` into out [size] with '_' for '-', cut to fit, because recipes say error-norm and results error_norm.
 * Returns out, which may be name itself. */
char *sg_snake(char *out, size_t size, const char *name);

/* `text` cut to what a message can carry, at a character boundary. */
enum { SG_EXCERPT = 48 };
char *sg_excerpt(char out[SG_EXCERPT], const char *text);

#ifdef __cplusplus
}
#endif
#endif
