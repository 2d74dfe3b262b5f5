/* table_markup.c: a table in Markdown, LaTeX and HTML. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_json.h"
#include "sg_markup.h"
#include "sg_memory.h"
#include "sg_text.h"
#include "table_private.h"

/* Characters in a line of a head in LaTeX. */
enum { TEX_HEAD = 10 };

static bool is_number(const struct table_column *column) {
    return column->as.align == SG_TABLE_NUMBER || column->as.align == SG_TABLE_RIGHT;
}

/* A number cell shows a missing number as a dash. */
static bool has_digits(const char *text) {
    return strpbrk(text, "0123456789") != NULL;
}

static bool is_last(const sg_table *t, size_t c) {
    return c + 1 == t->n_columns;
}

/* Writes each line of a text between `before` and `after`. */
static void put_lines(FILE *out, const char *text, const char *before, void (*put)(FILE *out, const char *line),
                      const char *after) {
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        char *line = sg_strndup(text, n = strcspn(text, "\n"));
        fputs(before, out);
        put(out, line);
        fputs(after, out);
        free(line);
    }
}

/* ---- Markdown ---- */

static void put_markdown(FILE *out, const sg_table *t, size_t c, const struct table_cell *cell) {
    fputs(c > 0 ? " | " : "| ", out);
    sg_put_markdown(out, cell->text);
    sg_put_markdown(out, cell->deviation);
    put_lines(out, cell->more, "; ", sg_put_markdown, "");
    fputs(is_last(t, c) ? " |\n" : "", out);
}

void sg_table_write_markdown(FILE *out, const sg_table *t) {
    for (size_t c = 0; c < t->n_columns; c++)
        put_markdown(out, t, c, &(struct table_cell){t->column[c].head, "", "", NAN});
    for (size_t c = 0; c < t->n_columns; c++)
        fprintf(out, "%s%s%s", c > 0 ? "" : "|", is_number(&t->column[c]) ? "--:|" : ":--|", is_last(t, c) ? "\n" : "");
    for (size_t r = 0; r < table_rows(t); r++)
        for (size_t c = 0; c < t->n_columns; c++)
            put_markdown(out, t, c, table_cell_at(t, r, c));
}

/* ---- LaTeX ---- */

/* Writes a number with its signs and power of ten as mathematics, and a missing one as a dash. */
static void put_tex_number(FILE *out, const struct table_cell *cell) {
    char *front = sg_strdup(cell->text), *power = strchr(front, 'e');
    if (power)
        *power++ = '\0';
    if (!has_digits(cell->text)) {
        fputs("--", out);
    } else {
        fputc('$', out);
        sg_put_tex_formula(out, front);
        fprintf(out, power ? " \\times 10^{%s}" : "%s", power ? power : "");
        sg_put_tex_formula(out, cell->deviation);
        fputc('$', out);
    }
    free(front);
}

/* Writes a head in lines of a column's width, with its formula as the last. */
static void put_tex_head(FILE *out, const struct table_column *column) {
    const char *text = column->head;
    const bool number = is_number(column);
    fputs(number ? "\\begin{tabular}[b]{@{}r@{}}" : "", out);
    while (*text) {
        const size_t n = number ? sg_text_line(text, TEX_HEAD) : strlen(text);
        char *line = sg_strndup(text, n);
        sg_put_tex(out, line);
        free(line);
        text += n;
        text += strspn(text, " ");
        fputs(*text ? "\\\\" : "", out);
    }
    if (column->tex[0]) {
        fputs(number ? "\\\\$" : " $", out);
        sg_put_tex_formula(out, column->tex);
        fputc('$', out);
    }
    fputs(number ? "\\end{tabular}" : "", out);
}

void sg_table_write_latex(FILE *out, const sg_table *t, const char *caption) {
    fputs("\\begin{table}\n\\centering\n\\caption{", out);
    sg_put_tex(out, caption);
    fputs("}\n\\medskip\\small\\setlength{\\tabcolsep}{3pt}\n\\sbox0{\\begin{tabular}{", out);
    for (size_t c = 0; c < t->n_columns; c++)
        if (t->column[c].as.share > 0)
            fprintf(out, "p{%g\\linewidth}", t->column[c].as.share);
        else
            fputc(is_number(&t->column[c]) ? 'r' : 'l', out);
    fputs("}\n\\toprule\n", out);
    for (size_t c = 0; c < t->n_columns; c++) {
        put_tex_head(out, &t->column[c]);
        fputs(is_last(t, c) ? " \\\\\n\\midrule\n" : " & ", out);
    }
    for (size_t r = 0; r < table_rows(t); r++)
        for (size_t c = 0; c < t->n_columns; c++) {
            const struct table_cell *cell = table_cell_at(t, r, c);
            if (is_number(&t->column[c])) {
                put_tex_number(out, cell);
            } else {
                sg_put_tex(out, cell->text);
                put_lines(out, cell->more, "; ", sg_put_tex, "");
            }
            fputs(is_last(t, c) ? " \\\\\n" : " & ", out);
        }
    fputs("\\bottomrule\n\\end{tabular}}\n"
          "\\ifdim\\wd0>\\linewidth \\resizebox{\\linewidth}{!}{\\usebox0}\\else\\usebox0\\fi\n\\end{table}\n",
          out);
}

/* ---- HTML ---- */

static void put_html_head(FILE *out, const struct table_column *column) {
    fprintf(out, "<th scope=\"col\"%s%s>", column->as.align == SG_TABLE_NUMBER ? " colspan=\"2\"" : "",
            is_number(column) ? " class=\"n\"" : "");
    sg_put_html(out, column->head);
    if (column->unit[0])
        sg_put_element(out, " (", column->unit, ")");
    fputs("</th>", out);
}

static void put_html_cell(FILE *out, const struct table_column *column, const struct table_cell *cell) {
    char number[SG_NUMBER_CHARS];
    const char *kind = is_number(column) ? "n" : column->as.kind;
    fputs(column->as.names ? "<th scope=\"row\"" : "<td", out);
    if (kind)
        fprintf(out, " class=\"%s\"", kind);
    if (isfinite(cell->value))
        fprintf(out, " data-v=\"%s\"", sg_number_text(cell->value, number));
    fputc('>', out);
    (column->as.html ? column->as.html : sg_put_html)(out,
                                                      is_number(column) && !has_digits(cell->text) ? "–" : cell->text);
    if (cell->more[0]) {
        sg_put_element(out, "<details><summary>", column->as.unfolds, "</summary><ul>");
        put_lines(out, cell->more, "<li>", sg_put_html, "</li>");
        fputs("</ul></details>", out);
    }
    fputs(column->as.names ? "</th>" : "</td>", out);
    if (column->as.align == SG_TABLE_NUMBER) /* a column of their own, so that both are aligned */
        sg_put_element(out, "<td class=\"d\">", cell->deviation, "</td>");
}

void sg_table_write_html(FILE *out, const sg_table *t, const char *caption) {
    sg_put_element(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", caption,
                   "\"><table class=\"sortable\"><caption><span>");
    sg_put_element(out, "", caption, "</span></caption>\n<thead><tr>");
    for (size_t c = 0; c < t->n_columns; c++)
        put_html_head(out, &t->column[c]);
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t r = 0; r < table_rows(t); r++) {
        fputs("<tr>", out);
        for (size_t c = 0; c < t->n_columns; c++)
            put_html_cell(out, &t->column[c], table_cell_at(t, r, c));
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}
