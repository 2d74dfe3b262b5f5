/* plot_measure.c: how wide a text is, and how it is broken into lines. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "plot_private.h"

/* Hundredths of an em, of ' ' to '~'. They are DejaVu Sans's, the widest of the fonts that show the figures; a text
 * fits in any other where it fits in this one. */
static const unsigned char width[] = {32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36,  32, 34, 64, 64, 64,
                                      64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63,
                                      58, 77, 75, 29, 29, 66, 56, 86, 75, 79, 60, 79, 69, 63,  61, 73, 68, 99, 69,
                                      61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35,  63, 63, 28, 28, 58,
                                      28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82, 59, 59,  52, 64, 34, 64, 84};

static bool is_inner_byte(char c) {
    return ((unsigned char)c & 0xC0) == 0x80;
}

static double ems(const char *text, size_t length) {
    double sum = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c >= ' ' && c <= '~')
            sum += width[c - ' '] / 100.0;
        else if (!is_inner_byte(text[i])) /* −, ×, λ, ‖; those of three bytes may be as wide as an em */
            sum += c >= 0xE3 ? 1 : 0.84;
    }
    return sum;
}

double sg_plot_ems(const char *text) {
    return ems(text, strlen(text));
}

/* How many bytes of words fit, of which those within brackets stay together if `whole`; 0 = not even one. */
static size_t fitting(const char *text, double most, bool whole) {
    size_t fit = 0;
    int depth = 0;
    for (const char *at = text;; at++) {
        depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
        if (*at == '\0' || (*at == ' ' && !(whole && depth > 0))) {
            if (ems(text, (size_t)(at - text)) > most)
                return fit;
            fit = (size_t)(at - text);
        }
        if (*at == '\0')
            return fit;
    }
}

size_t sg_plot_line(const char *text, double most) {
    size_t fit = fitting(text, most, true);
    if (fit == 0)
        fit = fitting(text, most, false);
    return fit ? fit : strcspn(text, " ");
}

size_t sg_plot_lines(const char *text, double most) {
    size_t lines = 0;
    for (; *text; lines++) {
        text += sg_plot_line(text, most);
        text += *text == ' ';
    }
    return lines;
}

double sg_plot_balance(const char *text, double most) {
    const size_t lines = sg_plot_lines(text, most);
    double least = most;
    while (lines > 1 && least > 1 && sg_plot_lines(text, 0.97 * least) == lines)
        least *= 0.97;
    return least;
}
