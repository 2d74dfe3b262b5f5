/* token_text.h: the words of a text, and their numbers; private to lib/data. */
/* SPDX-License-Identifier: MIT */
#ifndef TOKEN_TEXT_H
#define TOKEN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sg_status.h"
#include "sg_tokens.h"

/* Words by number, in the order in which they were first added. Zero-initialise. */
struct lexicon {
    struct lexicon_word {
        size_t at;       /* in `text` */
        uint32_t length; /* bytes */
        uint64_t count;  /* times added */
    } * word;            /* [words] */
    size_t words, word_room;
    char *text;
    size_t used, text_room;
    uint32_t *slot; /* [slots], a power of two: number + 1, 0 = free */
    size_t slots;
};

#define LEXICON_NONE UINT32_MAX
uint32_t lexicon_find(const struct lexicon *l, const char *word, size_t length); /* LEXICON_NONE: not in it */
/* Counts the word once more. */
SG_CHECKED sg_status lexicon_add(struct lexicon *l, uint32_t *number, const char *word, size_t length,
                                 struct sg_error *err);
void lexicon_free(struct lexicon *l); /* zeroes it */

/* The tokens of a text as numbers of `l`. With `grow` new words are added to it, else they are LEXICON_NONE. Errors as
 * sg_token_set_load says; `name` is for messages. */
SG_CHECKED sg_status token_text_read(struct sg_tokens *out, struct lexicon *l, bool grow, bool lower_case,
                                     const char *text, size_t length, const char *name, struct sg_error *err);

#endif
