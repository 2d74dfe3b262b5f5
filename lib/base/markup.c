/* markup.c: text as HTML, Markdown and LaTeX. */
/* SPDX-License-Identifier: MIT */
#include "sg_markup.h"

#include <ctype.h>
#include <string.h>

void sg_put_html(FILE *out, const char *text) {
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fputc(*text, out);
        }
}

void sg_put_element(FILE *out, const char *open, const char *text, const char *close) {
    fputs(open, out);
    sg_put_html(out, text);
    fputs(close, out);
}

void sg_put_markdown(FILE *out, const char *text) {
    for (; *text; text++) {
        if (strchr("|\\*_`<#[]", *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

/* ---- LaTeX ---- */

struct symbol {
    const char *text, *command;
};
/* The special characters of TeX that a backslash in front does not escape. */
static const struct symbol escapes[] = {
    {"\n", " "},           {"\\", "\\textbackslash{}"}, {"^", "\\textasciicircum{}"}, {"~", "\\textasciitilde{}"},
    {"<", "\\textless{}"}, {">", "\\textgreater{}"}};
/* UTF-8 characters that pdflatex does not define; their commands stand between dollars. */
static const struct symbol mathematics[] = {
    {"−", "-"},        {"±", "\\pm"},        {"×", "\\times"},      {"≤", "\\le"},     {"≥", "\\ge"},
    {"≈", "\\approx"}, {"←", "\\leftarrow"}, {"→", "\\rightarrow"}, {"⁰", "^0"},       {"¹", "^1"},
    {"²", "^2"},       {"³", "^3"},          {"⁴", "^4"},           {"⁵", "^5"},       {"⁶", "^6"},
    {"⁷", "^7"},       {"⁸", "^8"},          {"⁹", "^9"},           {"⁻", "^-"},       {"‖∞", "\\Vert_\\infty"},
    {"‖", "\\Vert"},   {"∞", "\\infty"},     {"⟨", "\\langle"},     {"⟩", "\\rangle"}, {"∇", "\\nabla"},
    {"Σ", "\\sum"},    {"λ", "\\lambda"},    {"γ", "\\gamma"},      {"δ", "\\delta"},  {"Δ", "\\Delta"},
    {"ζ", "\\zeta"},   {"σ", "\\sigma"},     {"η", "\\eta"}};
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The symbol that the text begins with; NULL = none of these. */
static const struct symbol *find_symbol(const struct symbol *symbol, size_t n, const char *text) {
    for (size_t i = 0; i < n; i++)
        if (strncmp(text, symbol[i].text, strlen(symbol[i].text)) == 0)
            return &symbol[i];
    return NULL;
}

/* `dollar` is what a command of mathematics needs around it: "" within a formula. */
static void put_tex(FILE *out, const char *text, const char *dollar) {
    while (*text) {
        const struct symbol *escape = find_symbol(escapes, COUNT(escapes), text);
        const struct symbol *sign = find_symbol(mathematics, COUNT(mathematics), text);
        if (sign)
            fprintf(out, "%s%s%s", dollar, sign->command, dollar);
        else if (*text == '*' && !dollar[0])
            fputs("^\\star", out);
        else if (escape)
            fputs(escape->command, out);
        else
            fprintf(out, strchr("{}$&%#_", *text) ? "\\%c" : "%c", *text);
        text += sign ? strlen(sign->text) : 1;
        if (sign && !dollar[0] && isalpha((unsigned char)*text))
            fputc(' ', out); /* the letter would belong to the command */
    }
}

void sg_put_tex(FILE *out, const char *text) {
    put_tex(out, text, "$");
}

void sg_put_tex_formula(FILE *out, const char *text) {
    put_tex(out, text, "");
}

void sg_put_tex_title(FILE *out, const char *words, const char *formula) {
    sg_put_tex(out, words);
    if (!formula[0])
        return;
    fputs(" $", out);
    sg_put_tex_formula(out, formula);
    fputs("$", out);
}
