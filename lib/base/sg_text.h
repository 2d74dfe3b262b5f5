/* sg_text.h: small text helpers shared by recipes and options. */
#ifndef SG_TEXT_H
#define SG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* `name` into out [size] with '-' turned into '_', cut to fit: recipes say error-norm, results error_norm. Returns out,
 * which may be name itself. */
char *sg_snake(char *out, size_t size, const char *name);

/* `text` cut to what a message can carry, at a character boundary. */
enum { SG_EXCERPT = 48 };
char *sg_excerpt(char out[SG_EXCERPT], const char *text);

#ifdef __cplusplus
}
#endif
#endif
