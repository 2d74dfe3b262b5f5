/* Words: suggestions, numbers, spellings; how text of strangers is shown. */
/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_text.h"

static const char *const words[] = {"SGD", "Top-k k=4", "hard-threshold", "suboptimality", "bits"};

static const char *suggest(const char *word) {
    const char *near = sg_suggest(word, words, sizeof words / sizeof *words);
    return near != NULL ? near : "none";
}

static void test_suggestions(void) {
    ok(sg_edit_distance("kitten", "sitting") == 3 && sg_edit_distance("", "abc") == 3, "edit distance");
    ok(sg_edit_distance("form", "from") == 1, "a swap of neighbours costs 1");
    ok(strcmp(suggest("hard-treshold"), "hard-threshold") == 0, "a letter missing");
    ok(strcmp(suggest("sgd"), "SGD") == 0, "another case, however many letters differ by it");
    ok(strcmp(suggest("subopt"), "suboptimality") == 0, "the beginning of a word");
    ok(strcmp(suggest("bit"), "bits") == 0, "the nearest and the beginning");
    static const char *const links[] = {"1gbe", "10gbe-tcp", "25gbe-tcp", "100gbe-tcp", "100g-rdma"};
    ok(strcmp(sg_suggest("10GbE", links, 5), "10gbe-tcp") == 0, "the beginning before the nearest, in any case");
    ok(strcmp(sg_suggest("100g", links, 5), "100g-rdma") == 0, "the shortest of several that begin with it");
    ok(strcmp(sg_suggest("10gb-tcp", links, 5), "10gbe-tcp") == 0, "a letter missing, with the same number");
    ok(sg_suggest("40gbe", links, 5) == NULL, "another number is no misspelling");
    ok(strcmp(suggest("su"), "none") == 0, "two letters begin too many words");
    ok(strcmp(suggest("accuracy"), "none") == 0, "nothing near");
    ok(sg_suggest("x", NULL, 0) == NULL, "no candidates");
}

static void test_numbers(void) {
    double x = 7;
    int64_t i = 7;
    ok(sg_parse_number(&x, "-2.5e-3", -1, 1) && x == -2.5e-3, "a number");
    for (const char *const *bad =
             (const char *const[]){"", " 1", "1 ", "0x10", "inf", "nan", "1e999", "1,5", "2", NULL};
         *bad != NULL; bad++)
        ok(!sg_parse_number(&x, *bad, -1, 1) && x == -2.5e-3, "'%s' is no number in [-1, 1]", *bad);
    ok(sg_parse_bytes(&x, "25MB") && x == 25e6 && sg_parse_bytes(&x, "1.5 MiB") && x == 1572864 &&
           sg_parse_bytes(&x, "20kB") && x == 20000 && sg_parse_bytes(&x, "7B") && x == 7,
       "sizes with a unit");
    for (const char *const *bad = (const char *const[]){"", "25", "25M", "MB", "0MB", "-1MB", "1 2MB", "25mb", NULL};
         *bad; bad++)
        ok(!sg_parse_bytes(&x, *bad) && x == 7, "'%s' is no size", *bad);
    x = -2.5e-3;
    ok(sg_parse_integer(&i, "-12", INT64_MIN, INT64_MAX) && i == -12, "a whole number");
    for (const char *const *bad = (const char *const[]){"", "1.0", "1e3", "0x1", "9223372036854775808", NULL};
         *bad != NULL; bad++)
        ok(!sg_parse_integer(&i, *bad, INT64_MIN, INT64_MAX) && i == -12, "'%s' is no whole number", *bad);
}

static void test_spelling(void) {
    char out[8], own[] = "error-norm";
    ok(strcmp(sg_snake(out, sizeof out, "a-b-c"), "a_b_c") == 0, "dashes become underscores");
    ok(strcmp(sg_snake(out, sizeof out, "total-error"), "total_e") == 0, "cut to fit");
    ok(strcmp(sg_snake(own, sizeof own, own), "error_norm") == 0, "in place");
    ok(sg_same_name("error-norm of", 10, "error_norm") && sg_same_name("error_norm", 10, "error-norm"),
       "both spellings");
    ok(!sg_same_name("error-norm", 10, "error") && !sg_same_name("error", 5, "error-norm"), "one ends early");
}

static void test_columns(void) {
    ok(sg_text_width("") == 0 && sg_text_width("‖e‖² ½") == 6, "a character takes one column");
    ok(sg_text_cut("‖e‖", 2) == strlen("‖e") && sg_text_cut("‖e‖", 3) == strlen("‖e‖") && sg_text_cut("ab", 0) == 0,
       "cut between characters");
    ok(sg_text_line("f(x) − f* is", 9) == strlen("f(x) − f*") && sg_text_line("f(x) − f*", 8) == strlen("f(x) −"),
       "words that fit");
    ok(sg_text_line("a-long-word b", 3) == 11 && sg_text_line("", 3) == 0, "one word at least");
    char *text = sg_format("%d of %s", 3, "four");
    ok(text && strcmp(text, "3 of four") == 0, "a text of its own");
    free(text);
}

static bool shows(const char *text, const char *clean, const char *excerpt) {
    char *all = sg_text_clean(text), cut[SG_EXCERPT];
    const bool same = all && strcmp(all, clean) == 0 && strcmp(sg_excerpt(cut, text), excerpt) == 0;
    if (!same)
        printf("# %s, %s\n", all, cut);
    free(all);
    return same;
}

static void test_strangers(void) {
    char plain[32];
    ok(shows("a\nb\x1b[31m\x7f", "a b\\x1b[31m\\x7f", "a b\\x1b[31m\\x7f"), "control characters are shown");
    ok(shows("\xc2\x9b"
             "2J\xe2\x80\xae",
             "\\x9b2J\\u202e", "\\x9b2J\\u202e"),
       "C1 and marks of direction, too");
    ok(shows("\xe2\x82", "\\xe2\\x82", "\\xe2\\x82"), "a character that is cut off");
    ok(shows("sgd\xe2\x80\x8b \xc2\xa0", "sgd\xe2\x80\x8b \xc2\xa0", "sgd\\u200b \\u00a0"),
       "what nobody sees is shown in excerpts only");
    ok(shows("\xce\xbb \xe4\xb8\xad", "\xce\xbb \xe4\xb8\xad", "\xce\xbb \xe4\xb8\xad"), "letters stay");
    char *digits = "0123456789012345678901234567890123456789\x1b\x1b\x1b";
    ok(shows(digits, "0123456789012345678901234567890123456789\\x1b\\x1b\\x1b",
             "0123456789012345678901234567890123456789\\x1b…"),
       "an excerpt is cut between characters");
    char out[SG_EXCERPT];
    ok(strcmp(sg_excerpt_of(out, "abc", 2), "ab") == 0, "of a part of a text");
    ok(sg_text_plain(plain, sizeof plain,
                     "learning\xe2\x80\x91"
                     "ra\xc2\xadte") == 0x2011 &&
           strcmp(plain, "learning-rate") == 0,
       "as a reader sees it: %s", plain);
    ok(sg_text_plain(plain, sizeof plain, "learning-rate") == 0, "nothing odd");
    ok(sg_text_plain(plain, 8, "learning-rate") == 0 && strcmp(plain, "lea") == 0, "cut to fit: %s", plain);
    ok(sg_text_mark("\xef\xbb\xbfx", 4) == 3 && sg_text_mark("\xef\xbb", 2) == 0 && sg_text_mark("x", 1) == 0,
       "a byte-order mark");
    size_t spaces = 0;
    for (uint32_t c = 0; c <= 0x10ffff; c++)
        spaces += sg_is_space(c);
    ok(spaces == 29 && sg_is_space(0x1c) && sg_is_space(0x85) && sg_is_space(0x3000) && !sg_is_space(0x200b),
       "white space is Python's 29 characters: %zu", spaces);
}

int main(void) {
    test_columns();
    test_suggestions();
    test_numbers();
    test_spelling();
    test_strangers();
    return tap_done();
}
