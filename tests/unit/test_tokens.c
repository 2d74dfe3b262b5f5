/* Text as word numbers: what is read, what is refused, and where a set comes from. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sg_file.h"
#include "sg_json.h"
#include "sg_tokens.h"
#include "tap.h"
#include "temporary.h"

static struct sg_error err;

static struct sg_token_request request_of(const char *name) {
    return (struct sg_token_request){
        .set = {.name = name, .data_dir = temporary}, .train_file = "train", .test_file = "test", .lower_case = true};
}

static void write_set(const char *train, const char *test) {
    mkdir(temporary_path("words"), 0777);
    temporary_write("words/train.txt", train, strlen(train));
    temporary_write("words/test.txt", test, strlen(test));
}

static bool are(const struct sg_tokens *tokens, const uint32_t *wanted, size_t count) {
    return tokens->count == count && memcmp(tokens->id, wanted, count * sizeof *wanted) == 0;
}

#define ARE(tokens, ...)                                                                                               \
    are(tokens, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void reads(void) {
    struct sg_token_set set;
    struct sg_token_request request = request_of("words");
    write_set(" b A a \n\n c\tb  a\r\n", "a d\nB");
    if (!ok(sg_token_set_load(&set, &request, &err) == SG_OK, "a small set is read")) {
        printf("#   got '%s'\n", err.msg);
        return;
    }
    ok(set.vocabulary == 5, "<unk>, <eos> and three words");
    ok(ARE(&set.train, 3, 2, 2, 1, 1, 4, 3, 2, 1), "by frequency, then by first appearance, every line with its end");
    ok(ARE(&set.test, 2, 0, 1, 3, 1), "an unknown word is <unk>, a last line without line feed has its end");
    cJSON *json = sg_token_set_json(&set);
    ok(strcmp(sg_json_string(json, "train_file", ""), "train") == 0 && sg_json_number(json, "train_tokens", 0) == 9 &&
           sg_json_number(json, "test_tokens", 0) == 5 && sg_json_number(json, "vocabulary", 0) == 5 &&
           strcmp(sg_json_string(json, "source", ""), "file") == 0,
       "its facts as JSON");
    cJSON_Delete(json);
    sg_token_set_free(&set);

    request.lower_case = false;
    ok(sg_token_set_load(&set, &request, &err) == SG_OK && set.vocabulary == 6 &&
           ARE(&set.train, 2, 4, 3, 1, 1, 5, 2, 3, 1) && ARE(&set.test, 3, 0, 1, 0, 1),
       "letters as they are: A is not a, B unknown");
    sg_token_set_free(&set);

    request = request_of("words");
    request.most_words = 3;
    request.most_train = 4;
    request.most_test = 2;
    ok(sg_token_set_load(&set, &request, &err) == SG_OK && set.vocabulary == 3 && ARE(&set.train, 0, 2, 2, 1) &&
           ARE(&set.test, 2, 0),
       "a vocabulary and a number of tokens to keep: the words are counted in the whole file");
    sg_token_set_free(&set);

    write_set("x <unk> <unk> x x <eos> y", "<unk> z");
    request.most_words = 0;
    request.most_train = request.most_test = 0;
    ok(sg_token_set_load(&set, &request, &err) == SG_OK && set.vocabulary == 4 &&
           ARE(&set.train, 2, 0, 0, 2, 2, 1, 3, 1) && ARE(&set.test, 0, 0, 1),
       "<unk> and <eos> in the text are those");
    sg_token_set_free(&set);

    write_set("\xc3\x89t\xc3\xa9 \xc3\xa9t\xc3\xa9 \xce\xa3 \xcf\x83 \xf0\x90\x90\x80 \xf0\x90\x90\xa8\n",
              "\xc3\x89T\xc3\x89");
    ok(sg_token_set_load(&set, &request, &err) == SG_OK && ARE(&set.train, 2, 2, 3, 3, 4, 4, 1) && ARE(&set.test, 2, 1),
       "letters of two and four bytes have lower case too");
    sg_token_set_free(&set);

    /* What Python's split() takes for white space; a lone carriage return ends a line, as both together do. */
    write_set("\xef\xbb\xbf"
              "a\xc2\xa0"
              "b\xe2\x80\x83\xe3\x80\x80"
              "a\xc2\x85"
              "a\x1c\f"
              "b\r\ra\r\n\xe2\x80\x8b\xc2\xa1",
              "b\r\na\xe2\x80\xa8"
              "a\r");
    ok(sg_token_set_load(&set, &request, &err) == SG_OK && set.vocabulary == 5 &&
           ARE(&set.train, 2, 3, 2, 2, 3, 1, 1, 2, 1, 4, 1) && ARE(&set.test, 3, 1, 2, 2, 1),
       "Unicode's white space, a byte-order mark, lone carriage returns");
    sg_token_set_free(&set);
}

static void refused(void) {
    static const struct {
        const char *what, *train, *test, *message;
    } bad[] = {
        {"an empty file", "", "a", "train.txt: the text is empty"},
        {"blank lines alone", "a", " \n \t\n", "test.txt: the text is empty"},
        {"Latin-1", "a\nb\ncaf\xe9 \n", "a", "train.txt:3: byte 0xe9 is not UTF-8"},
        {"how to convert it", "\xe9t\xe9", "a", "iconv -f latin1 -t utf-8"},
        {"a character cut off by the end", "a", "a\n\xe2\x82", "test.txt:2: byte 0xe2"},
        {"an overlong character", "\xc0\xaf", "a", "train.txt:1: byte 0xc0"},
        {"half of a pair of surrogates", "\xed\xa0\x80", "a", "train.txt:1: byte 0xed"},
        {"beyond Unicode", "\xf4\x90\x80\x80", "a", "train.txt:1: byte 0xf4"},
    };
    struct sg_token_set set;
    struct sg_token_request request = request_of("words");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_set(bad[i].train, bad[i].test);
        if (!ok(sg_token_set_load(&set, &request, &err) == SG_ERR_FORMAT && strstr(err.msg, bad[i].message), "%s",
                bad[i].what))
            printf("#   got '%s'\n", err.msg);
    }
    write_set("a", "a");
    temporary_write("words/train.txt", "a\nb\0c\n", 6);
    ok(sg_token_set_load(&set, &request, &err) == SG_ERR_FORMAT && strstr(err.msg, "train.txt:2: a zero byte"),
       "a zero byte");
    char word[SG_TOKEN_BYTES + 2];
    memset(word, 'w', sizeof word);
    for (size_t extra = 0; extra < 2; extra++) {
        temporary_write("words/train.txt", word, SG_TOKEN_BYTES + extra);
        const sg_status status = sg_token_set_load(&set, &request, &err);
        ok(extra ? status == SG_ERR_FORMAT && strstr(err.msg, "train.txt:1: a word of 4097 bytes") != NULL
                 : status == SG_OK,
           "a word of %d bytes and %zu", SG_TOKEN_BYTES, extra);
        if (status == SG_OK)
            sg_token_set_free(&set);
    }
}

static void missing(void) {
    struct sg_token_set set;
    struct sg_token_request request = request_of("nowhere");
    ok(sg_token_set_load(&set, &request, &err) == SG_ERR_MISSING && strstr(err.msg, "no file train.txt") &&
           strstr(err.msg, "datasets/cache/nowhere/") && !strstr(err.msg, "datasets/fetch") &&
           strstr(err.msg, "text-like"),
       "a missing set: where to put it, and the stand-in");
    write_set("a", "a");
    remove(temporary_path("words/train.txt"));
    request = request_of("words");
    request.set.stand_in = "text-like";
    ok(sg_token_set_load(&set, &request, &err) == SG_ERR_MISSING && strstr(err.msg, "no file train.txt"),
       "half a set is no reason for a stand-in");
    request.train_file = "test";
    if (ok(sg_token_set_load(&set, &request, &err) == SG_OK && strcmp(set.train_file, "test") == 0,
           "nor needed where another file is named to train on"))
        sg_token_set_free(&set);
    request.set.stand_in = "cifar-like";
    ok(sg_token_set_load(&set, &request, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "text-like"),
       "a stand-in of another kind");
    request = request_of("words");
    request.most_words = 1;
    ok(sg_token_set_load(&set, &request, &err) == SG_ERR_ARGUMENT, "a vocabulary of one word");
    mkdir(temporary_path("gisette"), 0777);
    temporary_write("gisette/train.txt", "a", 1);
    temporary_write("gisette/test.txt", "a", 1);
    request = request_of("gisette");
    ok(sg_token_set_load(&set, &request, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "has format libsvm"),
       "a set for another kind of task");
}

static void checksums(void) {
    struct sg_token_set set;
    struct sg_token_request request = request_of("words");
    char sums[160], sum[65];
    write_set("a b", "c");
    sg_sha256_of("a b", 3, sum);
    int length = snprintf(sums, sizeof sums, "%s  train.txt\n", sum);
    temporary_write("words/SHA256SUMS", sums, (size_t)length);
    if (ok(sg_token_set_load(&set, &request, &err) == SG_OK, "files as fetched"))
        sg_token_set_free(&set);
    temporary_write("words/train.txt", "a c", 3);
    ok(sg_token_set_load(&set, &request, &err) == SG_ERR_MISMATCH && strstr(err.msg, "words/train.txt"),
       "one that has changed since");
    remove(temporary_path("words/SHA256SUMS"));
}

/* ---- the stand-in ------------------------------------------------------------------------------------------------ */

static void generated(void) {
    enum { N = 200000, V = 2000 };
    struct sg_tokens a, b, other;
    if (!ok(sg_tokens_generate(&a, N, V, 1, 0, &err) == SG_OK && sg_tokens_generate(&b, 1000, V, 1, 0, &err) == SG_OK &&
                sg_tokens_generate(&other, N, V, 1, 1, &err) == SG_OK,
            "texts are generated"))
        return;
    ok(memcmp(a.id, b.id, 1000 * sizeof *a.id) == 0, "a shorter one begins like a longer one");
    ok(memcmp(a.id, other.id, 1000 * sizeof *a.id) != 0, "another part is another text");
    static uint32_t pair[V][4], seen[V]; /* the most followers a word is given */
    size_t frequent = 0, known = 0, words = 0;
    for (size_t i = 0; i < N; i++)
        words += seen[a.id[i]]++ == 0;
    for (size_t i = 0; i < 20; i++)
        frequent += seen[i];
    ok(words > V * 9 / 10 && frequent > N / 10 && frequent < N / 2, "%zu words, %zu of %d tokens are of the first 20",
       words, frequent, N);
    /* The words that followed <eos> most in one text follow it in the other. */
    static uint32_t after[V];
    for (size_t i = 1; i < N; i++)
        after[a.id[i]] += a.id[i - 1] == SG_TOKEN_END;
    for (size_t k = 0; k < 4; k++) {
        size_t best = 0;
        for (size_t w = 0; w < V; w++)
            best = after[w] > after[best] ? w : best;
        pair[SG_TOKEN_END][k] = (uint32_t)best;
        after[best] = 0;
    }
    size_t ends = 0;
    for (size_t i = 1; i < N; i++)
        if (other.id[i - 1] == SG_TOKEN_END) {
            ends++;
            for (size_t k = 0; k < 4; k++)
                known += other.id[i] == pair[SG_TOKEN_END][k];
        }
    ok(ends > 1000 && (double)known > 0.7 * (double)ends, "%zu of %zu times a word of four follows <eos>", known, ends);
    char sum[65];
    sg_sha256_of(a.id, N * sizeof *a.id, sum);
    ok(strcmp(sum, "a1355db0b14f4cf95b8b8444d0544d25d2f25e5dc2911efb0dc849986f16ce87") == 0,
       "the same on every machine: %s", sum);
    sg_tokens_free(&a);
    sg_tokens_free(&b);
    sg_tokens_free(&other);
    ok(sg_tokens_generate(&a, 1, 1, 1, 0, &err) == SG_ERR_ARGUMENT, "a vocabulary of one word is none");

    struct sg_token_set set;
    struct sg_token_request request = request_of("nowhere");
    request.set.stand_in = "text-like";
    request.most_train = 500;
    if (ok(sg_token_set_load(&set, &request, &err) == SG_OK && set.train.count == 500 && set.test.count == 217646 &&
               set.vocabulary == 28869 && strcmp(set.from.source, "generated") == 0 &&
               strcmp(set.from.generator, "text-like") == 0 && strlen(set.from.sha256) == 64,
           "a stand-in has WikiText-2's sizes and the paper's vocabulary"))
        sg_token_set_free(&set);
}

/* The real validation and test text, where they are. */
static void wikitext(void) {
    const char *shared = getenv("SPARSE_SHARED_DATA");
    char folder[512], valid[600];
    snprintf(folder, sizeof folder, "%s", shared ? shared : "../shared/data");
    snprintf(valid, sizeof valid, "%s/wikitext-2/valid.txt.xz", folder);
    struct stat st;
    if (stat(valid, &st) != 0) {
        skip("no %s", valid);
        return;
    }
    struct sg_token_set set;
    struct sg_token_request request = request_of("wikitext-2");
    request.set.data_dir = folder;
    request.train_file = "valid";
    if (!ok(sg_token_set_load(&set, &request, &err) == SG_OK, "WikiText-2's valid.txt and test.txt")) {
        printf("#   got '%s'\n", err.msg);
        return;
    }
    ok(set.train.count == 217646 && set.test.count == 245569, "as many tokens as published");
    ok(set.vocabulary == 12051, "%zu different words in lower case, as Python counts", set.vocabulary);
    ok(set.from.verified == SG_VERIFIED_SAME, "checksums as described");
    sg_token_set_free(&set);
    request.lower_case = false;
    request.most_words = 5000;
    if (ok(sg_token_set_load(&set, &request, &err) == SG_OK && set.vocabulary == 5000, "5000 of them"))
        sg_token_set_free(&set);
}

int main(void) {
    temporary_make();
    unsetenv("SPARSE_DATA");
    reads();
    refused();
    missing();
    checksums();
    generated();
    wikitext();
    return tap_done();
}
