/* plot_names.c: what a legend calls its curves: λ for lambda, numbers as a person writes them, and what is true. */
/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "plot_private.h"
#include "sg_memory.h"
#include "sg_text.h"

static const struct {
    const char *parameter, *symbol;
} symbols[] = {{"lambda", "λ"}, {"density", "k/d"}, {"tau", "τ"}, {"gamma", "γ"}, {"alpha", "α"}, {"delta", "δ"}};

/* "0.0794" of 0.07938, "1.19×10⁴" of 11940. */
static void put_number(FILE *out, double x, int digits) {
    char power[SG_POWER_CHARS], text[32];
    snprintf(text, sizeof text, "%.*e", digits - 1, x);
    const int exponent = atoi(strchr(text, 'e') + 1);
    if (x == 0 || (exponent >= -3 && exponent <= 3)) {
        fprintf(out, "%.*g", digits > exponent + 1 ? digits : exponent + 1, strtod(text, NULL));
        return;
    }
    fprintf(out, "%.*g%s", digits, strtod(text, NULL) / pow(10, exponent), sg_plot_power(power, exponent));
}

/* "1/(2√(0.001d))" of "1/(2*sqrt(0.001*d))". A product with a number behind it keeps a dot. */
static void put_expression(FILE *out, const char *text, size_t length) {
    static const char root[] = "sqrt(";
    for (size_t at = 0; at < length; at++)
        if (length - at >= strlen(root) && strncmp(text + at, root, strlen(root)) == 0) {
            fputs("√(", out);
            at += strlen(root) - 1;
        } else if (text[at] != '*') {
            fputc(text[at], out);
        } else if (at + 1 < length && !isalpha((unsigned char)text[at + 1])) {
            fputs("·", out);
        }
}

bool sg_plot_has_value(const char *word, size_t length, const char *value) {
    const size_t n = strlen(value);
    return length > n && word[length - n - 1] == '=' && strncmp(word + length - n, value, n) == 0;
}

static size_t count_values(const char *label, const char *value) {
    size_t n = 0;
    for (size_t length; *label; label += length + (label[length] == ' ')) {
        length = strcspn(label, " ");
        n += sg_plot_has_value(label, length, value);
    }
    return n;
}

/* "λ=0.0794" of "lambda=0.07938", "layers" of "layers=true"; other words stay. */
static void put_word(FILE *out, const char *word, size_t length, int digits) {
    if (sg_plot_has_value(word, length, "true")) {
        fwrite(word, 1, length - strlen("=true"), out);
        return;
    }
    const char *equals = memchr(word, '=', length);
    const size_t name = equals ? (size_t)(equals - word) : 0, n = sizeof symbols / sizeof *symbols;
    char *end = NULL;
    const double value = equals ? strtod(equals + 1, &end) : NAN;
    const bool is_number = equals && end == word + length && end != equals + 1 && isfinite(value);
    size_t i = 0;
    while (i < n && (strlen(symbols[i].parameter) != name || strncmp(symbols[i].parameter, word, name) != 0))
        i++;
    if (!is_number && (!equals || i == n || name + 1 == length)) {
        fwrite(word, 1, length, out);
        return;
    }
    if (i < n)
        fputs(symbols[i].symbol, out);
    else
        fwrite(word, 1, name, out);
    fputc('=', out);
    if (is_number)
        put_number(out, value, digits);
    else
        put_expression(out, equals + 1, length - name - 1);
}

/* False values show only where nothing is true: "no shuffle" of one, "none" of several. */
char *sg_plot_name(const char *label, int digits) {
    const size_t n_false = count_values(label, "false");
    bool some = count_values(label, "true") > 0;
    char *text = NULL;
    const char *before = "";
    size_t size;
    FILE *out = sg_memstream(&text, &size);
    for (size_t length; *label; label += length + (label[length] == ' ')) {
        length = strcspn(label, " ");
        if (!sg_plot_has_value(label, length, "false")) {
            fputs(before, out);
            put_word(out, label, length, digits);
        } else if (!some) {
            const int name = (int)(length - strlen("=false"));
            fprintf(out, "%s%s%.*s", before, n_false > 1 ? "none" : "no ", n_false > 1 ? 0 : name, label);
            some = true;
        }
        before = " ";
    }
    return sg_stream_text(out, &text);
}

static bool are_distinct(const struct sg_figure *f) {
    for (size_t i = 0; i < f->n_legend; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(f->legend[i].text, f->legend[j].text) == 0)
                return false;
    return true;
}

/* Three digits, or as many as tell the entries apart. */
void sg_plot_choose_names(struct sg_figure *f) {
    for (int digits = 3; digits == 3 || (digits < 18 && !are_distinct(f)); digits++)
        for (size_t i = 0; i < f->n_legend; i++) {
            char *whole = sg_format("%s%s", f->legend[i].label, f->legend[i].tuned);
            char *text = whole ? sg_plot_name(whole, digits) : NULL;
            free(whole);
            free(f->legend[i].text);
            f->legend[i].text = text;
        }
}
