/* token_set.c: a text for training and one for testing as numbers of words, from files or from the generator. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "dataset_walk.h"
#include "sg_debug.h"
#include "sg_file.h"
#include "sg_json.h"
#include "sg_memory.h"
#include "token_text.h"

enum { TRAIN, TEST, PARTS };
enum { BYTES = 256 }; /* of the vocabulary where tokens are bytes */

/* What the stand-in replaces: WikiText-2, with the vocabulary of the paper's model. */
static const size_t generated_words = 28869, generated_tokens[PARTS] = {2088628, 217646};

/* ---- numbers by frequency ---------------------------------------------------------------------------------------- */

struct rank {
    uint64_t count;
    uint32_t number;
};

static int more_frequent(const void *a, const void *b) {
    const struct rank *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : (x->number > y->number) - (x->number < y->number);
}

/* id [words] <- of each word in the lexicon its rank by frequency; SG_TOKEN_UNKNOWN beyond the first `most`. */
static void number_words(uint32_t **id, size_t *vocabulary, const struct lexicon *l, size_t most) {
    SG_ASSERT(most == 0 || most >= 2);
    static const char *const special[] = {[SG_TOKEN_UNKNOWN] = "<unk>", [SG_TOKEN_END] = "<eos>"};
    struct rank *rank = sg_malloc(l->words * sizeof *rank + 1);
    *id = sg_malloc(l->words * sizeof **id + 1);
    for (uint32_t i = 0; i < l->words; i++)
        rank[i] = (struct rank){l->word[i].count, i};
    qsort(rank, l->words, sizeof *rank, more_frequent);
    uint32_t number[2], next = 2;
    for (size_t s = 0; s < 2; s++)
        number[s] = lexicon_find(l, special[s], strlen(special[s]));
    for (size_t i = 0; i < l->words; i++) {
        const uint32_t w = rank[i].number;
        (*id)[w] = w == number[SG_TOKEN_END]                                 ? SG_TOKEN_END
                   : w == number[SG_TOKEN_UNKNOWN] || next == (uint32_t)most ? SG_TOKEN_UNKNOWN
                                                                             : next++;
    }
    SG_ASSERT(next >= 2 && (most == 0 || next <= most));
    *vocabulary = next;
    free(rank);
}

static void renumber(struct sg_tokens *tokens, const uint32_t *id, size_t most) {
    tokens->count = dataset_at_most(tokens->count, most);
    for (size_t i = 0; i < tokens->count; i++)
        tokens->id[i] = tokens->id[i] == LEXICON_NONE ? SG_TOKEN_UNKNOWN : id[tokens->id[i]];
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* A set while it is loaded. */
struct token_loading {
    struct dataset set;
    const struct sg_token_request *request;
    struct sg_token_set out;
};

static sg_status read_file(struct dataset *d, struct dataset_part *part, struct sg_error *err) {
    (void)d;
    return dataset_part_open(part, err);
}

/* A text and where it is from. */
struct text {
    const char *at, *path;
    size_t length;
};

/* Those of the set's files; or a single file, cut where its last tenth's first line begins. */
static void find_texts(struct text text[PARTS], const struct dataset *d) {
    for (size_t p = 0; p < d->parts; p++)
        text[p] = (struct text){d->part[p].text.at, d->part[p].path, d->part[p].text.length};
    if (d->parts == PARTS || text[TRAIN].length == 0)
        return;
    const size_t all = text[TRAIN].length, tenth = all - all / 10;
    const char *end = memchr(text[TRAIN].at + tenth - 1, '\n', all - tenth + 1);
    end = end ? end : memchr(text[TRAIN].at + tenth - 1, '\r', all - tenth + 1);
    const size_t cut = end ? (size_t)(end + 1 - text[TRAIN].at) : tenth;
    text[TEST] = (struct text){text[TRAIN].at + cut, text[TRAIN].path, all - cut};
    text[TRAIN].length = cut;
}

static void read_bytes(struct sg_tokens *out, const struct text *text, size_t most) {
    const size_t count = dataset_at_most(text->length, most);
    uint32_t *id = sg_malloc(count * sizeof *id + 1);
    for (size_t i = 0; i < count; i++)
        id[i] = (unsigned char)text->at[i];
    *out = (struct sg_tokens){id, count};
}

static sg_status read_texts(struct dataset *d, struct sg_error *err) {
    struct token_loading *t = (struct token_loading *)d;
    const struct sg_token_request *request = t->request;
    struct lexicon l = {0};
    struct sg_tokens *const tokens[PARTS] = {&t->out.train, &t->out.test};
    struct text text[PARTS] = {{0}};
    uint32_t *id = NULL;
    sg_status status = SG_OK;
    find_texts(text, d);
    if (request->bytes) {
        t->out.vocabulary = BYTES;
        read_bytes(tokens[TRAIN], &text[TRAIN], request->most_train);
        read_bytes(tokens[TEST], &text[TEST], request->most_test);
        return SG_OK;
    }
    for (size_t p = 0; p < PARTS && status == SG_OK; p++)
        status = token_text_read(tokens[p], &l, p == TRAIN, request->lower_case, text[p].at, text[p].length,
                                 text[p].path, err);
    if (status == SG_OK) {
        number_words(&id, &t->out.vocabulary, &l, t->request->most_words);
        renumber(&t->out.train, id, t->request->most_train);
        renumber(&t->out.test, id, t->request->most_test);
    }
    free(id);
    lexicon_free(&l);
    return status;
}

static sg_status generate(struct dataset *d, struct sg_error *err) {
    struct token_loading *t = (struct token_loading *)d;
    struct sg_token_set *out = &t->out;
    const size_t train = dataset_at_most(generated_tokens[TRAIN], t->request->most_train),
                 test = dataset_at_most(generated_tokens[TEST], t->request->most_test);
    out->vocabulary = t->request->bytes ? BYTES : dataset_at_most(generated_words, t->request->most_words);
    sg_status status = sg_tokens_generate(&out->train, train, out->vocabulary, d->request->seed, TRAIN, err);
    SG_DO(status, sg_tokens_generate(&out->test, test, out->vocabulary, d->request->seed, TEST, err));
    if (status != SG_OK)
        return status;
    sg_sha256 all;
    sg_sha256_start(&all);
    sg_sha256_add(&all, out->train.id, out->train.count * sizeof *out->train.id);
    sg_sha256_add(&all, out->test.id, out->test.count * sizeof *out->test.id);
    sg_sha256_end(&all, d->from.sha256);
    return SG_OK;
}

static const struct dataset_kind text_kind = {.what = "text",
                                              .format = "tokens",
                                              .stand_in = "text-like",
                                              .by_path = "a text with a '/' in it, as ./own.txt",
                                              .read = read_file,
                                              .finish = read_texts,
                                              .generate = generate};

/* Checks what is asked for, and names the set's files. */
static sg_status begin(struct token_loading *t, const struct sg_token_request *request, struct sg_error *err) {
    const char *const file[PARTS] = {request->train_file, request->test_file};
    *t = (struct token_loading){.request = request, .set.parts = PARTS};
    if (request->most_words == 1)
        return sg_fail(err, SG_ERR_ARGUMENT, "a vocabulary of 1 word: it holds <unk> and <eos>, 2 at least");
    if (request->bytes && request->most_words > 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "a vocabulary of %zu words, but tokens are bytes", request->most_words);
    snprintf(t->out.train_file, sizeof t->out.train_file, "%s", request->train_file);
    snprintf(t->out.test_file, sizeof t->out.test_file, "%s", request->test_file);
    for (size_t p = 0; p < PARTS; p++)
        snprintf(t->set.part[p].file, sizeof t->set.part[p].file, "%.31s.txt", file[p]);
    const char *slash = strrchr(request->set.name, '/');
    if (slash) {
        t->set.parts = 1;
        snprintf(t->set.part[TRAIN].file, sizeof t->set.part[TRAIN].file, "%.127s", slash + 1);
    }
    sg_status status = dataset_open(&t->set, &text_kind, &request->set, err);
    if (status == SG_OK && slash)
        t->set.part[TRAIN].path = sg_strdup(request->set.name);
    return status;
}

sg_status sg_token_set_load(struct sg_token_set *out, const struct sg_token_request *request, struct sg_error *err) {
    struct token_loading t;
    sg_status status = begin(&t, request, err);
    SG_DO(status, dataset_load(&t.set, &t.out.from, err));
    if (status == SG_OK)
        *out = t.out;
    else
        sg_token_set_free(&t.out);
    return status;
}

sg_status sg_token_set_identify(struct sg_provenance *from, const struct sg_token_request *request,
                                struct sg_error *err) {
    struct token_loading t;
    sg_status status = begin(&t, request, err);
    return status == SG_OK ? dataset_identify(&t.set, from, err) : status;
}

void sg_token_set_free(struct sg_token_set *set) {
    sg_tokens_free(&set->train);
    sg_tokens_free(&set->test);
    sg_provenance_free(&set->from);
    *set = (struct sg_token_set){0};
}

cJSON *sg_token_set_json(const struct sg_token_set *set) {
    return SG_SET(sg_provenance_json(&set->from), SG_TEXT("train_file", set->train_file),
                  SG_TEXT("test_file", set->test_file), SG_NUMBER("train_tokens", set->train.count),
                  SG_NUMBER("test_tokens", set->test.count), SG_NUMBER("vocabulary", set->vocabulary));
}
