/* export_columns.c: csv and tsv: every point of every curve in long format, with numbers that read back as the same
 * double. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "plot_private.h"

/* RFC 4180 quoting; a field that starts with # would read as a comment, and one that a spreadsheet would take for a
 * formula gets an apostrophe, which spreadsheets do not show. Tab-separated values need no quoting: no text of a
 * document has control characters. */
static void put_label(FILE *out, const char *text, bool csv) {
    const char *mark = text[0] && strchr("=+-@", text[0]) ? "'" : "";
    if (!csv || (!strpbrk(text, ",\"") && text[0] != '#')) {
        fprintf(out, "%s%s", mark, text);
        return;
    }
    fprintf(out, "\"%s", mark);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void put_number(FILE *out, double x) {
    char text[SG_NUMBER_CHARS];
    if (isfinite(x))
        fputs(sg_number_text(x, text), out);
}

static void put_comment(FILE *out, const char *text) {
    if (text[0])
        fprintf(out, "# %s\n", text);
}

static void put_header(FILE *out, const struct sg_figure *f, char separator) {
    put_comment(out, f->title);
    put_comment(out, f->source);
    put_comment(out, f->footnote);
    for (size_t p = 0; p < f->n_panels; p++) {
        const struct sg_axis *x = &f->panel[p].x, *y = &f->panel[p].y;
        fprintf(out, "# panel %c: x = %s [%s], y = %s [%s]\n", (int)('a' + (int)p), x->name, x->label, y->name,
                y->label);
    }
    fprintf(out, "panel%clabel%cx%cy%cy_std\n", separator, separator, separator, separator);
}

sg_status sg_export_columns(FILE *out, const struct sg_figure *f, const char *format, struct sg_error *err) {
    const bool csv = strcmp(format, "csv") == 0;
    const char separator = csv ? ',' : '\t';
    (void)err;
    put_header(out, f, separator);
    for (size_t p = 0; p < f->n_panels; p++)
        for (size_t c = 0; c < f->panel[p].n_curves; c++) {
            const struct sg_curve *curve = &f->panel[p].curve[c];
            for (size_t i = 0; i < curve->n; i++) {
                fprintf(out, "%c%c", (int)('a' + (int)p), separator);
                put_label(out, curve->point ? curve->point[i] : f->legend[curve->legend].label, csv);
                fputc(separator, out);
                put_number(out, curve->x[i]);
                fputc(separator, out);
                put_number(out, curve->y[i]);
                fputc(separator, out);
                put_number(out, curve->y_std ? curve->y_std[i] : NAN);
                fputc('\n', out);
            }
        }
    return SG_OK;
}
