/* sg_words.h: spelling suggestions, words of a list, and numbers read from whole strings; not installed. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_WORDS_H
#define SG_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The edit distance: to insert, delete or replace a letter or to swap two neighbours costs 1 each. Where a word is
 * longer than 63 letters, the result is the longer length. */
size_t sg_edit_distance(const char *a, const char *b);

/* The candidate that `word` probably means: the first one that differs in case only; else the shortest that begins
 * with word, in any case, if word has three letters or more; else the nearest one, if its edit distance is
 * <= (length of word + 1) / 2 and it does not begin with another number (25gbe is no 1gbe). Ties go to the first
 * candidate. NULL = none. */
const char *sg_suggest(const char *word, const char *const *candidates, size_t n);

/* True if `word` is one of `choices`, written "a|b|c"; false if it is empty. */
bool sg_is_choice(const char *choices, const char *word);

/* Returns whether the text ends with `ending`. */
bool sg_ends_in(const char *text, const char *ending);

/* Reads the whole string as a finite number or a whole number in [min, max]. Returns false for anything else: an empty
 * string, blanks, hex, inf, characters after the number, a number out of range. *out is then unchanged. */
bool sg_parse_number(double *out, const char *text, double min, double max);
bool sg_parse_integer(int64_t *out, const char *text, int64_t min, int64_t max);
/* Reads the whole string as a number above 0 with a unit of bytes: B, kB, MB, GB, KiB, MiB or GiB, perhaps behind a
 * blank. Returns false for anything else; *out is then unchanged. */
bool sg_parse_bytes(double *out, const char *text);

#endif
