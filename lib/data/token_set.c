/* token_set.c: a text for training and one for testing as numbers of words, from files or from the generator. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset_parts.h"
#include "sg_debug.h"
#include "sg_file.h"
#include "sg_json.h"
#include "token_text.h"

static const char stand_in_name[] = "text-like";
enum { TRAIN, TEST, PARTS };

/* What the stand-in replaces: WikiText-2, with the vocabulary of the paper's model. */
static const size_t generated_words = 28869, generated_tokens[PARTS] = {2088628, 217646};

static size_t at_most(size_t count, size_t most) {
    return most && most < count ? most : count;
}

/* ---- numbers by frequency ---------------------------------------------------------------------------------------- */

struct rank {
    uint64_t count;
    uint32_t number;
};

static int more_frequent(const void *a, const void *b) {
    const struct rank *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : (x->number > y->number) - (x->number < y->number);
}

/* id [words] of every word of the lexicon: its place, or SG_TOKEN_UNKNOWN beyond the first `most`. */
static sg_status number_words(uint32_t **id, size_t *vocabulary, const struct lexicon *l, size_t most,
                              struct sg_error *err) {
    SG_ASSERT(most == 0 || most >= 2);
    static const char *const special[] = {[SG_TOKEN_UNKNOWN] = "<unk>", [SG_TOKEN_END] = "<eos>"};
    struct rank *rank = malloc(l->words * sizeof *rank + 1);
    *id = malloc(l->words * sizeof **id + 1);
    if (!rank || !*id) {
        free(rank);
        return sg_fail_memory(err, "the vocabulary");
    }
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
    return SG_OK;
}

static void renumber(struct sg_tokens *tokens, const uint32_t *id, size_t most) {
    tokens->count = at_most(tokens->count, most);
    for (size_t i = 0; i < tokens->count; i++)
        tokens->id[i] = tokens->id[i] == LEXICON_NONE ? SG_TOKEN_UNKNOWN : id[tokens->id[i]];
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static sg_status read_texts(struct sg_token_set *out, const struct dataset_part *part,
                            const struct sg_token_request *request, struct sg_error *err) {
    struct lexicon l = {0};
    struct sg_tokens *const tokens[PARTS] = {&out->train, &out->test};
    uint32_t *id = NULL;
    sg_status status = SG_OK;
    for (size_t p = 0; p < PARTS && status == SG_OK; p++)
        status = token_text_read(tokens[p], &l, p == TRAIN, request->lower_case, part[p].text.at, part[p].text.length,
                                 part[p].path, err);
    SG_DO(status, number_words(&id, &out->vocabulary, &l, request->most_words, err));
    if (status == SG_OK) {
        renumber(&out->train, id, request->most_train);
        renumber(&out->test, id, request->most_test);
    }
    free(id);
    lexicon_free(&l);
    return status;
}

static sg_status load_files(struct sg_token_set *out, struct dataset_part part[PARTS],
                            const struct sg_token_request *request, struct sg_error *err) {
    struct descriptor descriptor;
    const char *set = request->set.name;
    sg_status status = descriptor_find(&descriptor, set, err);
    if (status == SG_OK && descriptor.format[0] && strcmp(descriptor.format, "tokens") != 0)
        status =
            sg_fail(err, SG_ERR_ARGUMENT, "data set '%s' has format %s, not tokens: it is for another kind of task",
                    set, descriptor.format);
    for (size_t p = 0; p < PARTS && status == SG_OK; p++) {
        status = data_text_open(&part[p].text, part[p].path, err);
        SG_DO(status, dataset_part_verify(&part[p], set, &descriptor, err));
    }
    SG_DO(status, read_texts(out, part, request, err));
    return status == SG_OK ? dataset_parts_describe(&out->from, part, PARTS, err) : status;
}

static sg_status load_generated(struct sg_token_set *out, const struct sg_token_request *request,
                                struct sg_error *err) {
    const uint64_t seed = request->set.seed;
    out->vocabulary = at_most(generated_words, request->most_words);
    sg_status status = sg_tokens_generate(&out->train, at_most(generated_tokens[TRAIN], request->most_train),
                                          out->vocabulary, seed, TRAIN, err);
    SG_DO(status, sg_tokens_generate(&out->test, at_most(generated_tokens[TEST], request->most_test), out->vocabulary,
                                     seed, TEST, err));
    if (status != SG_OK)
        return status;
    sg_sha256 all;
    sg_sha256_start(&all);
    sg_sha256_add(&all, out->train.id, out->train.count * sizeof *out->train.id);
    sg_sha256_add(&all, out->test.id, out->test.count * sizeof *out->test.id);
    sg_sha256_end(&all, out->from.sha256);
    dataset_generated_identify(&out->from, stand_in_name);
    return SG_OK;
}

/* Checks what is asked for, and names the set's files in `set` and `part`; file is their room. */
static sg_status name_files(struct sg_token_set *set, struct dataset_part part[PARTS],
                            char file[PARTS][sizeof set->train_file + 4], const struct sg_token_request *request,
                            struct sg_error *err) {
    const char *stand_in = request->set.stand_in;
    if (stand_in && strcmp(stand_in, stand_in_name) != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "unknown stand-in '%s' for text: there is %s", stand_in, stand_in_name);
    if (request->most_words == 1)
        return sg_fail(err, SG_ERR_ARGUMENT, "a vocabulary of 1 word: it holds <unk> and <eos>, 2 at least");
    snprintf(set->from.name, sizeof set->from.name, "%s", request->set.name);
    snprintf(set->train_file, sizeof set->train_file, "%s", request->train_file);
    snprintf(set->test_file, sizeof set->test_file, "%s", request->test_file);
    for (size_t p = 0; p < PARTS; p++) {
        snprintf(file[p], sizeof file[p], "%s.txt", p == TRAIN ? set->train_file : set->test_file);
        part[p].file = file[p];
    }
    return SG_OK;
}

sg_status sg_token_set_load(struct sg_token_set *out, const struct sg_token_request *request, struct sg_error *err) {
    struct dataset_part part[PARTS] = {0};
    struct sg_token_set set = {0};
    char file[PARTS][sizeof set.train_file + 4];
    sg_status status = name_files(&set, part, file, request, err);
    SG_DO(status, dataset_parts_find(part, PARTS, &request->set, stand_in_name, err));
    SG_DO(status, part[TRAIN].path ? load_files(&set, part, request, err) : load_generated(&set, request, err));
    if (status == SG_OK)
        *out = set;
    else
        sg_token_set_free(&set);
    dataset_parts_free(part, PARTS);
    return status;
}

sg_status sg_token_set_identify(struct sg_provenance *from, const struct sg_token_request *request,
                                struct sg_error *err) {
    struct dataset_part part[PARTS] = {0};
    struct sg_token_set set = {0};
    char file[PARTS][sizeof set.train_file + 4];
    sg_status status = name_files(&set, part, file, request, err);
    SG_DO(status, dataset_parts_identify(&set.from, part, PARTS, &request->set, stand_in_name, err));
    if (status == SG_OK)
        *from = set.from;
    dataset_parts_free(part, PARTS);
    return status;
}

void sg_token_set_free(struct sg_token_set *set) {
    sg_tokens_free(&set->train);
    sg_tokens_free(&set->test);
    sg_provenance_free(&set->from);
    *set = (struct sg_token_set){0};
}

cJSON *sg_token_set_json(const struct sg_token_set *set) {
    cJSON *object = sg_provenance_json(&set->from);
    sg_json_set_string(object, "train_file", set->train_file);
    sg_json_set_string(object, "test_file", set->test_file);
    sg_json_set_number(object, "train_tokens", (double)set->train.count);
    sg_json_set_number(object, "test_tokens", (double)set->test.count);
    sg_json_set_number(object, "vocabulary", (double)set->vocabulary);
    return object;
}
