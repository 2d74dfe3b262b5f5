/* Tables: what lines of a width show of them, and what stands in markup. */
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#include "sg_table.h"
#include "sg_text.h"

/* A table of two rows: a label, numbers with deviations, plain numbers, words. */
static sg_table *example(const char *words) {
    static const struct sg_table_column column[] = {
        {.head = "method", .weight = SG_TABLE_ALWAYS},
        {.head = "relative loss", .align = SG_TABLE_NUMBER, .weight = 3, .head_most = 10},
        {.head = "step, ms", .unit = "(λ)", .align = SG_TABLE_RIGHT, .weight = 1},
        {.head = "remarks", .align = SG_TABLE_WORDS, .weight = SG_TABLE_ALWAYS},
    };
    sg_table *t = sg_table_open(column, sizeof column / sizeof *column);
    sg_table_cell(t, "Top-k", NULL);
    sg_table_cell(t, "12.5", " ± 0.5");
    sg_table_number(t, "%.3f", 1.5);
    sg_table_cell(t, words, NULL);
    sg_table_format(t, "Hard-%s", "threshold");
    sg_table_cell(t, "0.25", NULL);
    sg_table_number(t, "%.3f", 0.0 / 0.0);
    sg_table_cell(t, "", NULL);
    return t;
}

static char *lines(sg_table *take_table, size_t width, const char *mark, bool inset) {
    const struct sg_table_lines how = {.width = width, .mark = mark, .inset = inset};
    struct sg_error err;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ok(out && sg_table_write_lines(out, take_table, &how, &err) == SG_OK, "a width of %zu", width);
    sg_table_free(take_table);
    return sg_stream_text(out, &text);
}

/* Is no line longer, and does none end in a blank? */
static bool fits(const char *text, size_t width) {
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        char *one = strndup(line, strcspn(line, "\n"));
        const size_t own = one ? sg_text_width(one) : SIZE_MAX;
        const bool blank = one && own > 0 && one[strlen(one) - 1] == ' ';
        free(one);
        if (own > width || blank)
            return false;
    }
    return true;
}

static void expect(char *take_text, const char *expected, const char *what) {
    if (!ok(take_text && strcmp(take_text, expected) == 0, "%s", what))
        printf("# got:\n%s# expected:\n%s", take_text ? take_text : "(none)\n", expected);
    free(take_text);
}

static void test_lines(void) {
    expect(lines(example("as it is"), 0, "# ", false),
           "# method        relative    step, ms  remarks\n"
           "#               loss\n"
           "#                                (λ)\n"
           "Top-k           12.5 ± 0.5     1.500  as it is\n"
           "Hard-threshold  0.25               -\n",
           "any width: heads in lines of their own width, numbers by their places");
    expect(lines(example("as it is"), 0, "# ", true),
           "# method          relative    step, ms  remarks\n"
           "#                 loss\n"
           "#                                  (λ)\n"
           "  Top-k           12.5 ± 0.5     1.500  as it is\n"
           "  Hard-threshold  0.25               -\n",
           "rows that stand as far in as the mark");
    expect(lines(example("some words that go on and on"), 62, "", false),
           "method          relative    step, ms  remarks\n"
           "                loss\n"
           "                                 (λ)\n"
           "Top-k           12.5 ± 0.5     1.500  some words that go on\n"
           "                                      and on\n"
           "Hard-threshold  0.25               -\n",
           "words continue in the next line");
    expect(lines(example("as it is"), 40, "", false),
           "method          relative    remarks\n"
           "                loss\n"
           "Top-k           12.5 ± 0.5  as it is\n"
           "Hard-threshold  0.25\n"
           "# no room for: step, ms, (λ) (COLUMNS=46\n"
           "#   shows all)\n",
           "the column of least weight is left out, and its unit");
    for (size_t width = 20; width < 80; width++) {
        char *text = lines(example("some words that go on and on"), width, "", false);
        ok(text && fits(text, width), "no line is longer than %zu", width);
        free(text);
    }
    expect(lines(example("some words that go on"), 24, "", false),
           "method\n"
           "    remarks\n"
           "Top-k\n"
           "    some words that go\n"
           "    on\n"
           "Hard-threshold\n"
           "# no room for: relative\n"
           "#   loss; step, ms, (λ)\n"
           "#   (COLUMNS=59 shows\n"
           "#   all)\n",
           "words without room stand below their row");
    char *all = lines(example("some words that go on"), 59, "", false);
    ok(all && !strstr(all, "no room"), "the width that is named has room for all");
    free(all);
}

static void put_loud(FILE *out, const char *text) {
    fprintf(out, "<%s>", text);
}

static void test_markup(void) {
    const struct sg_table_markup how = {.row = "| ", .between = " | ", .end = " |\n", .put = put_loud};
    sg_table *t = example("x");
    struct sg_error err;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ok(out && sg_table_write_head(out, t, &how, &err) == SG_OK && sg_table_write_rows(out, t, &how, &err) == SG_OK,
       "a table in markup");
    sg_table_free(t);
    expect(sg_stream_text(out, &text),
           "| <method> | relative loss | <step, ms> | <remarks> |\n"
           "| <Top-k> | 12.5 ± 0.5 | <1.500> | <x> |\n"
           "| <Hard-threshold> | 0.25 | <-> | <> |\n",
           "texts are escaped, numbers are as they are");
}

static char *wrapped(const char *text, size_t width, const char *first, const char *next) {
    char *out = NULL;
    size_t size;
    FILE *stream = open_memstream(&out, &size);
    if (stream)
        sg_put_wrapped(stream, text, width, first, next);
    return sg_stream_text(stream, &out);
}

static void test_wrapping(void) {
    expect(wrapped("one two three", 9, "# ", "#   "), "# one two\n#   three\n", "a line ends at a blank");
    expect(wrapped("one two three", 11, "\033[32mok\033[0m ", "   "), "\033[32mok\033[0m one two\n   three\n",
           "colours take no room");
    expect(wrapped("extraordinary", 5, "", ""), "extraordinary\n", "a word is not broken");
    expect(wrapped("one two", 0, "", ""), "one two\n", "any width");
    expect(wrapped("", 9, "# ", "# "), "", "no text, no line");
}

int main(void) {
    struct sg_error err;
    test_lines();
    test_markup();
    test_wrapping();
    sg_table_cell(NULL, "x", NULL);
    ok(sg_table_write_lines(stdout, NULL, &(struct sg_table_lines){.mark = ""}, &err) == SG_ERR_MEMORY, "no memory");
    sg_table_free(NULL);
    return tap_done();
}
