/* lexicon.c: an open hash table of words that lie one behind the other in memory. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sg_debug.h"
#include "sg_memory.h"
#include "token_text.h"

static uint64_t hash(const char *word, size_t length) {
    uint64_t h = 0xcbf29ce484222325; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)word[i]) * 0x100000001b3;
    return h ^ h >> 32;
}

static bool is(const struct lexicon *l, uint32_t number, const char *word, size_t length) {
    const struct lexicon_word *w = &l->word[number];
    return w->length == length && memcmp(l->text + w->at, word, length) == 0;
}

/* Where the word is, or the free slot where it would be. slots > 0. */
static uint32_t *slot_of(const struct lexicon *l, const char *word, size_t length) {
    SG_ASSERT(l->slots > 0 && (l->slots & (l->slots - 1)) == 0 && l->words < l->slots);
    size_t i = hash(word, length) & (l->slots - 1);
    while (l->slot[i] != 0 && !is(l, l->slot[i] - 1, word, length))
        i = (i + 1) & (l->slots - 1);
    return &l->slot[i];
}

uint32_t lexicon_find(const struct lexicon *l, const char *word, size_t length) {
    return l->slots ? *slot_of(l, word, length) - 1 : LEXICON_NONE; /* a free slot is 0, and 0 - 1 is LEXICON_NONE */
}

/* Doubles the slots when half of them are used. */
static void widen(struct lexicon *l) {
    if (2 * (l->words + 1) <= l->slots)
        return;
    const size_t slots = l->slots ? 2 * l->slots : 1 << 12;
    uint32_t *slot = sg_calloc(slots, sizeof *slot);
    free(l->slot);
    l->slot = slot;
    l->slots = slots;
    for (uint32_t i = 0; i < l->words; i++)
        *slot_of(l, l->text + l->word[i].at, l->word[i].length) = i + 1;
}

static void make_room(struct lexicon *l, size_t length) {
    if (l->words == l->word_room) {
        const size_t room = l->word_room ? 2 * l->word_room : 1 << 11;
        l->word = sg_realloc(l->word, room * sizeof *l->word);
        l->word_room = room;
    }
    if (l->used + length > l->text_room) {
        const size_t room = 2 * l->text_room + length + (1 << 14);
        l->text = sg_realloc(l->text, room);
        l->text_room = room;
    }
    widen(l);
}

sg_status lexicon_add(struct lexicon *l, uint32_t *number, const char *word, size_t length, struct sg_error *err) {
    uint32_t found = lexicon_find(l, word, length);
    if (found == LEXICON_NONE) {
        if (l->words + 1 == LEXICON_NONE)
            return sg_fail(err, SG_ERR_FORMAT, "more than %u different words", LEXICON_NONE - 1);
        make_room(l, length);
        found = (uint32_t)l->words++;
        memcpy(l->text + l->used, word, length);
        l->word[found] = (struct lexicon_word){.at = l->used, .length = (uint32_t)length};
        l->used += length;
        *slot_of(l, word, length) = found + 1;
    }
    SG_ASSERT(found < l->words && 2 * l->words <= l->slots && l->used <= l->text_room);
    l->word[found].count++;
    *number = found;
    return SG_OK;
}

void lexicon_free(struct lexicon *l) {
    free(l->word);
    free(l->text);
    free(l->slot);
    *l = (struct lexicon){0};
}
