/* sg_tokens.h: text as a row of word numbers, for language models.
 *
 * A set has the files train.txt, valid.txt and test.txt in UTF-8, looked for as sg_dataset.h says. Words stand between
 * white space, and every line ends with the token <eos>. The vocabulary is that of the whole training file. Number 0 is
 * <unk>, which stands for every word that is not in it, and 1 is <eos>. The other words follow by falling frequency,
 * and words of equal frequency in the order in which they first appear. Or each byte of the texts is a token.
 *
 * The path of a text, with a '/' in it, may take the place of a set's name. Its last tenth, from the start of a line
 * on, is the test text, and the rest the training text. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_TOKENS_H
#define SG_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "sg_dataset.h"
#include "sg_status.h"

enum { SG_TOKEN_UNKNOWN = 0, SG_TOKEN_END = 1 };

struct sg_tokens {
    uint32_t *id; /* [count], owned */
    size_t count;
};

struct sg_token_set {
    struct sg_tokens train, test;
    size_t vocabulary;                  /* V: every id is below it; 2 or more */
    char train_file[32], test_file[32]; /* "train", "valid" */
    struct sg_provenance from; /* path: the training file; sha256: of the lines that sha256sum prints for both files */
};

struct sg_token_request {
    struct sg_dataset_request set;
    const char *train_file, *test_file; /* names without ".txt" */
    bool bytes;                   /* each byte is a token, and the vocabulary has 256; the next two are not used */
    bool lower_case;              /* make every letter lower case before the vocabulary is made */
    size_t most_words;            /* of the vocabulary, with <unk> and <eos>; 0 = all */
    size_t most_train, most_test; /* use at most so many tokens from the start; 0 = all */
};

/* Loads training and test text. A missing set with a stand-in is generated in the sizes of WikiText-2, with 28,869
 * words; without one it is SG_ERR_MISSING, and the message names every remedy. A set of which only one file is there is
 * an error either way. SG_ERR_FORMAT with file:line: the text is not UTF-8, holds NUL or a word longer than
 * SG_TOKEN_BYTES, or has no word. */
enum { SG_TOKEN_BYTES = 4096 };
SG_CHECKED sg_status sg_token_set_load(struct sg_token_set *out, const struct sg_token_request *request,
                                       struct sg_error *err);
/* Identifies what would be loaded, like sg_dataset_identify. */
SG_CHECKED sg_status sg_token_set_identify(struct sg_provenance *from, const struct sg_token_request *request,
                                           struct sg_error *err);
void sg_token_set_free(struct sg_token_set *set); /* zeroes it */

/* The provenance, "train_file", "test_file", "train_tokens", "test_tokens" and "vocabulary", for a result's header. */
cJSON *sg_token_set_json(const struct sg_token_set *set);

/* ---- stand-in ------------------------------------------------------------------------------------------------------
 * "text-like": a Markov chain. Every word has a few followers of its own, drawn from Zipf's law as all words are (the
 * weight of a number is 1 over the number, shifted). Three times out of four the next word is one of the followers,
 * else any word. So a model can learn from the last word, and <eos> follows a rhythm. Token i is a function of (seed,
 * part, all tokens before it), the same on every machine. `part` tells texts of the same chain apart (0 training, 1
 * test). vocabulary >= 2. */
enum { SG_TOKEN_GENERATOR_REVISION = 1 };
SG_CHECKED sg_status sg_tokens_generate(struct sg_tokens *out, size_t count, size_t vocabulary, uint64_t seed,
                                        unsigned part, struct sg_error *err);
void sg_tokens_free(struct sg_tokens *tokens); /* zeroes it */

#endif
