/* Texts from hostile hands: what is read is whole, and says the same again where all words are known. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "token_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (int lower = 0; lower < 2; lower++) {
        struct lexicon lexicon = {0};
        struct sg_tokens first = {0}, again = {0};
        struct sg_error err;
        const char *text = (const char *)data;
        if (token_text_read(&first, &lexicon, true, lower, text, size, "fuzz", &err) == SG_OK) {
            uint64_t counted = 0;
            for (size_t i = 0; i < lexicon.words; i++) {
                const struct lexicon_word *w = &lexicon.word[i];
                counted += w->count;
                if (w->length == 0 || lexicon_find(&lexicon, lexicon.text + w->at, w->length) != i)
                    abort();
            }
            if (counted != first.count ||
                token_text_read(&again, &lexicon, false, lower, text, size, "fuzz", &err) != SG_OK ||
                again.count != first.count || memcmp(again.id, first.id, first.count * sizeof *first.id) != 0)
                abort();
        }
        sg_tokens_free(&first);
        sg_tokens_free(&again);
        lexicon_free(&lexicon);
    }
    return 0;
}
