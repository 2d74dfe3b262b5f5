/* Tables: what lines of a width show of them, and what stands in markup. */
/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#include "sg_markup.h"
#include "sg_table.h"
#include "sg_text.h"
#include "sg_memory.h"

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
    char *text = NULL;
    size_t size;
    FILE *out = sg_memstream(&text, &size);
    sg_table_write_lines(out, take_table, &how);
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
    fprintf(out, "<b>%s</b>", text);
}

/* A table with all that markup has: names, numbers of their own sort, what unfolds, a column with its own writer. */
static sg_table *marked(void) {
    static const struct sg_table_column column[] = {
        {.head = "a_b & c", .names = true},
        {.head = "loss", .align = SG_TABLE_NUMBER, .tex = "f(x)"},
        {.head = "time", .unit = "ms", .align = SG_TABLE_RIGHT},
        {.head = "verdict", .html = put_loud, .kind = "words", .share = 0.4, .unfolds = "each"},
    };
    sg_table *t = sg_table_open(column, sizeof column / sizeof *column);
    sg_table_cell(t, "<x>|_", NULL);
    sg_table_cell(t, "-12.5", " ± 0.5");
    sg_table_value(t, -12.5);
    sg_table_number(t, "%.1f", 1.5);
    sg_table_cell(t, "holds", NULL);
    sg_table_more(t, "seed 1 ≤ 2");
    sg_table_more(t, "seed 2 & on");
    sg_table_cell(t, "λ", NULL);
    sg_table_cell(t, "(1.20 ± 0.30)e-12", NULL);
    sg_table_number(t, "%.1f", 0.0 / 0.0);
    sg_table_cell(t, "fails", NULL);
    return t;
}

enum markup { MARKDOWN, LATEX, HTML };

static char *markup(sg_table *take_table, enum markup kind) {
    char *text = NULL;
    size_t size;
    FILE *out = sg_memstream(&text, &size);
    if (kind == MARKDOWN)
        sg_table_write_markdown(out, take_table);
    else if (kind == LATEX)
        sg_table_write_latex(out, take_table, "both & all");
    else
        sg_table_write_html(out, take_table, "two & more");
    sg_table_free(take_table);
    return sg_stream_text(out, &text);
}

static void test_markup(void) {
    expect(markup(marked(), MARKDOWN),
           "| a\\_b & c | loss | time | verdict |\n"
           "|:--|--:|--:|:--|\n"
           "| \\<x>\\|\\_ | -12.5 ± 0.5 | 1.5 | holds; seed 1 ≤ 2; seed 2 & on |\n"
           "| λ | (1.20 ± 0.30)e-12 | - | fails |\n",
           "Markdown");
    expect(markup(marked(), LATEX),
           "\\begin{table}\n\\centering\n\\caption{both \\& all}\n\\medskip\\small\\setlength{\\tabcolsep}{3pt}\n"
           "\\sbox0{\\begin{tabular}{lrrp{0.4\\linewidth}}\n\\toprule\n"
           "a\\_b \\& c & \\begin{tabular}[b]{@{}r@{}}loss\\\\$f(x)$\\end{tabular} & "
           "\\begin{tabular}[b]{@{}r@{}}time\\end{tabular} & verdict \\\\\n\\midrule\n"
           "\\textless{}x\\textgreater{}|\\_ & $-12.5 \\pm 0.5$ & $1.5$ & holds; seed 1 $\\le$ 2; seed 2 \\& on \\\\\n"
           "$\\lambda$ & $(1.20 \\pm 0.30) \\times 10^{-12}$ & -- & fails \\\\\n"
           "\\bottomrule\n\\end{tabular}}\n"
           "\\ifdim\\wd0>\\linewidth \\resizebox{\\linewidth}{!}{\\usebox0}\\else\\usebox0\\fi\n\\end{table}\n",
           "LaTeX: signs and powers of numbers are mathematics");
    expect(
        markup(marked(), HTML),
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"two &amp; more\">"
        "<table class=\"sortable\"><caption><span>two &amp; more</span></caption>\n"
        "<thead><tr><th scope=\"col\">a_b &amp; c</th><th scope=\"col\" colspan=\"2\" class=\"n\">loss</th>"
        "<th scope=\"col\" class=\"n\">time (ms)</th><th scope=\"col\">verdict</th></tr></thead>\n<tbody>\n"
        "<tr><th scope=\"row\">&lt;x&gt;|_</th><td class=\"n\" data-v=\"-12.5\">-12.5</td><td class=\"d\"> ± 0.5</td>"
        "<td class=\"n\" data-v=\"1.5\">1.5</td><td class=\"words\"><b>holds</b><details><summary>each</summary>"
        "<ul><li>seed 1 ≤ 2</li><li>seed 2 &amp; on</li></ul></details></td></tr>\n"
        "<tr><th scope=\"row\">λ</th><td class=\"n\">(1.20 ± 0.30)e-12</td><td class=\"d\"></td>"
        "<td class=\"n\">–</td><td class=\"words\"><b>fails</b></td></tr>\n"
        "</tbody></table></div>\n",
        "HTML");
}

static void test_tex(void) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out)
        sg_put_tex(out, "50 % of a_b\n{λ} \\ ‖e‖² ½");
    expect(sg_stream_text(out, &text), "50 \\% of a\\_b \\{$\\lambda$\\} \\textbackslash{} $\\Vert$e$\\Vert$$^2$ ½",
           "words in TeX");
    out = open_memstream(&text, &size);
    if (out)
        sg_put_tex_title(out, "error_norm", "‖x − f*‖∞ / γ x⁰");
    expect(sg_stream_text(out, &text), "error\\_norm $\\Vert x - f^\\star\\Vert_\\infty / \\gamma x^0$",
           "a formula behind words");
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
    test_lines();
    test_markup();
    test_tex();
    test_wrapping();
    sg_table_free(NULL);
    return tap_done();
}
