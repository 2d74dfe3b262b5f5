/* markup.c: text as HTML, Markdown and LaTeX. */
#include "sg_markup.h"

#include <ctype.h>
#include <stdbool.h>
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

/* Commands of `math` stand between dollars. */
static const struct symbol {
    const char *text, *command;
    bool math;
} symbols[] = {
    {"\n", " ", false},
    {"\\", "\\textbackslash{}", false},
    {"{", "\\{", false},
    {"}", "\\}", false},
    {"$", "\\$", false},
    {"&", "\\&", false},
    {"%", "\\%", false},
    {"#", "\\#", false},
    {"_", "\\_", false},
    {"^", "\\textasciicircum{}", false},
    {"~", "\\textasciitilde{}", false},
    {"<", "\\textless{}", false},
    {">", "\\textgreater{}", false},
    {"−", "-", true},
    {"←", "\\leftarrow", true},
    {"→", "\\rightarrow", true},
    {"±", "\\pm", true},
    {"×", "\\times", true},
    {"⁰", "^0", true},
    {"¹", "^1", true},
    {"²", "^2", true},
    {"³", "^3", true},
    {"⁴", "^4", true},
    {"⁵", "^5", true},
    {"⁶", "^6", true},
    {"⁷", "^7", true},
    {"⁸", "^8", true},
    {"⁹", "^9", true},
    {"⁻", "^-", true},
    {"‖∞", "\\Vert_\\infty", true},
    {"‖", "\\Vert", true},
    {"⟨", "\\langle", true},
    {"⟩", "\\rangle", true},
    {"∇", "\\nabla", true},
    {"∞", "\\infty", true},
    {"Σ", "\\sum", true},
    {"λ", "\\lambda", true},
    {"γ", "\\gamma", true},
    {"δ", "\\delta", true},
    {"Δ", "\\Delta", true},
    {"ζ", "\\zeta", true},
    {"σ", "\\sigma", true},
    {"η", "\\eta", true},
    {"≤", "\\le", true},
    {"≥", "\\ge", true},
    {"≈", "\\approx", true},
};

static const struct symbol *find_symbol(const char *text) {
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (strncmp(text, symbols[i].text, strlen(symbols[i].text)) == 0)
            return &symbols[i];
    return NULL;
}

/* `dollar` is what a command of mathematics needs around it: "" within a formula. */
static void put_tex(FILE *out, const char *text, const char *dollar) {
    while (*text) {
        const struct symbol *symbol = find_symbol(text);
        if (!symbol) {
            fputs(*text == '*' && !dollar[0] ? "^\\star" : (const char[]){*text, '\0'}, out);
            text++;
        } else {
            text += strlen(symbol->text);
            fprintf(out, "%s%s%s", symbol->math ? dollar : "", symbol->command, symbol->math ? dollar : "");
            if (symbol->math && !dollar[0] && isalpha((unsigned char)*text))
                fputc(' ', out); /* the letter would belong to the command */
        }
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
