/* table_lines.c: a table in lines that people read: where its columns stand, which of them fit, and its text. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sg_debug.h"
#include "sg_memory.h"
#include "sg_text.h"
#include "table_private.h"

enum { GAP = 2, LEAST_WORDS = 24, WORDS_INSET = 4 };

/* ---- where the columns stand ---- */

struct place {
    bool shown;
    size_t lead, body; /* of its cells: before a deviation, and all */
    size_t at, width;  /* as laid out */
};

struct layout {
    const sg_table *t;
    const struct sg_table_lines *how;
    struct place *place; /* [n_columns] */
    size_t width;        /* of the longest line */
    bool below;          /* the last column, of words, does not fit: its words stand below their row */
};

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t longest_word(const char *text) {
    size_t longest = 0, n = 0;
    for (; *text; text++) {
        n = *text == ' ' ? 0 : n + (((unsigned char)*text & 0xc0) != 0x80);
        longest = larger(longest, n);
    }
    return longest;
}

/* The indent of a column's head: that of the first begins after the mark. */
static size_t mark_of(const struct layout *l, size_t c) {
    return c == 0 && !l->how->inset ? strlen(l->how->mark) : 0;
}

static void measure(struct layout *l) {
    for (size_t c = 0; c < l->t->n_columns; c++) {
        size_t rest = 0;
        struct place *p = &l->place[c];
        for (size_t r = 0; r < table_rows(l->t); r++) {
            p->lead = larger(p->lead, sg_text_width(table_cell_at(l->t, r, c)->text));
            rest = larger(rest, sg_text_width(table_cell_at(l->t, r, c)->deviation));
        }
        p->body = p->lead + rest;
        p->shown = true;
    }
}

static bool is_words(const struct layout *l, size_t c) {
    return l->t->column[c].as.align == SG_TABLE_WORDS;
}

/* Lays the columns out with lines of heads of at most `most` characters, unless a word is longer. */
static void lay_out(struct layout *l, size_t most) {
    size_t at = l->how->inset ? strlen(l->how->mark) : 0;
    l->width = 0;
    for (size_t c = 0; c < l->t->n_columns; c++) {
        struct place *p = &l->place[c];
        const struct table_column *column = &l->t->column[c];
        if (!p->shown)
            continue;
        const size_t limit = column->as.head_most ? smaller(most, column->as.head_most) : most;
        const size_t lines = smaller(sg_text_width(column->head), larger(limit, longest_word(column->head)));
        p->at = at;
        p->width = larger(p->body, mark_of(l, c) + larger(lines, sg_text_width(column->unit)));
        if (is_words(l, c) && l->how->width > 0) {
            const size_t room = l->how->width > at ? l->how->width - at : 0;
            p->width = l->below ? 0 : smaller(p->width, larger(room, LEAST_WORDS));
        }
        l->width = larger(l->width, p->width > 0 ? at + p->width : 0);
        at += p->width + GAP;
    }
}

static size_t widest_head(const sg_table *t) {
    size_t most = 0;
    for (size_t c = 0; c < t->n_columns; c++) {
        const size_t own = sg_text_width(t->column[c].head), limit = t->column[c].as.head_most;
        most = larger(most, limit ? smaller(own, limit) : own);
    }
    return most;
}

/* True if there are several rows and all have the same cell in this column. */
static bool is_same(const sg_table *t, size_t c) {
    bool same = table_rows(t) > 1;
    for (size_t r = 1; same && r < table_rows(t); r++)
        same = strcmp(table_cell_at(t, r, c)->text, table_cell_at(t, 0, c)->text) == 0 &&
               strcmp(table_cell_at(t, r, c)->deviation, table_cell_at(t, 0, c)->deviation) == 0;
    return same;
}

/* The shown column to leave out next: least weight, those of equal cells before others; n_columns = none. */
static size_t lightest(const struct layout *l) {
    size_t found = l->t->n_columns;
    int least = SG_TABLE_ALWAYS;
    for (size_t c = 1; c < l->t->n_columns; c++) {
        const int own = l->t->column[c].as.weight, weight = is_same(l->t, c) ? own - SG_TABLE_ALWAYS : own;
        if (l->place[c].shown && own < SG_TABLE_ALWAYS && weight <= least) {
            least = weight;
            found = c;
        }
    }
    return found;
}

/* Fits the table into its width. Returns the width of the whole table with its widest heads. */
static size_t fit(struct layout *l) {
    const size_t best = widest_head(l->t);
    measure(l);
    lay_out(l, best);
    size_t wanted = l->width, next;
    while (l->how->width > 0 && l->width > l->how->width) {
        for (size_t most = best; most-- > 0 && l->width > l->how->width;)
            lay_out(l, most);
        if (l->width <= l->how->width)
            break;
        if ((next = lightest(l)) < l->t->n_columns)
            l->place[next].shown = false;
        else if (!l->below && is_words(l, l->t->n_columns - 1))
            l->below = true;
        else
            break;
        lay_out(l, best);
    }
    return wanted;
}

/* ---- writing ---- */

struct line {
    FILE *out;
    size_t at;
};

/* The width in columns of the first `bytes` of a text. */
static size_t width_of(const char *text, size_t bytes) {
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

/* Writes a text at a column of the line; no line ends in blanks. */
static void put_at(struct line *line, size_t at, const char *text, size_t bytes) {
    if (bytes == 0)
        return;
    fprintf(line->out, "%*s%.*s", at > line->at ? (int)(at - line->at) : 0, "", (int)bytes, text);
    line->at = larger(at, line->at) + width_of(text, bytes);
}

static void end_line(struct line *line) {
    fputc('\n', line->out);
    line->at = 0;
}

/* Writes the next line of a text within its column, left or right. Returns what is left of it. */
static const char *put_part(struct line *line, const struct place *p, size_t mark, const char *text, bool right) {
    const size_t room = p->width - mark, bytes = *text ? sg_text_line(text, room) : 0, own = width_of(text, bytes);
    put_at(line, p->at + mark + (right && own < room ? room - own : 0), text, bytes);
    text += bytes;
    return text + (*text == ' ');
}

static void put_heads(struct line *line, const struct layout *l, const char **left) {
    for (size_t c = 0; c < l->t->n_columns; c++)
        left[c] = l->t->column[c].head;
    for (bool more = true; more;) {
        more = false;
        put_at(line, 0, l->how->mark, strlen(l->how->mark));
        for (size_t c = 0; c < l->t->n_columns; c++) {
            const struct place *p = &l->place[c];
            if (!p->shown || (l->below && is_words(l, c)))
                continue;
            left[c] = put_part(line, p, mark_of(l, c), left[c], l->t->column[c].as.align == SG_TABLE_RIGHT);
            more = more || *left[c];
        }
        end_line(line);
    }
}

static void put_units(struct line *line, const struct layout *l) {
    bool any = false;
    for (size_t c = 0; c < l->t->n_columns; c++)
        any = any || (l->place[c].shown && l->t->column[c].unit[0]);
    if (!any)
        return;
    put_at(line, 0, l->how->mark, strlen(l->how->mark));
    for (size_t c = 0; c < l->t->n_columns; c++)
        if (l->place[c].shown)
            put_part(line, &l->place[c], mark_of(l, c), l->t->column[c].unit,
                     l->t->column[c].as.align == SG_TABLE_RIGHT);
    end_line(line);
}

/* Writes the head of words that stand below their row. */
static void put_head_below(struct line *line, const struct layout *l) {
    const char *head = l->t->column[l->t->n_columns - 1].head;
    put_at(line, 0, l->how->mark, strlen(l->how->mark));
    put_at(line, WORDS_INSET, head, strlen(head));
    end_line(line);
}

/* Writes the remaining words of a row below it. */
static void put_words(struct line *line, const struct layout *l, const char *text) {
    const struct place *last = &l->place[l->t->n_columns - 1];
    const struct place own = {.at = l->below ? WORDS_INSET : last->at,
                              .width = l->below ? l->how->width - WORDS_INSET : last->width};
    while (*text) {
        text = put_part(line, &own, 0, text, false);
        end_line(line);
    }
}

static void put_row(struct line *line, const struct layout *l, size_t r) {
    const char *words = "";
    for (size_t c = 0; c < l->t->n_columns; c++) {
        const struct place *p = &l->place[c];
        const struct table_cell *cell = table_cell_at(l->t, r, c);
        const enum sg_table_align align = l->t->column[c].as.align;
        const size_t room = align == SG_TABLE_RIGHT ? p->width : p->lead, own = sg_text_width(cell->text);
        if (!p->shown)
            continue;
        if (is_words(l, c)) {
            words = l->below ? cell->text : put_part(line, p, 0, cell->text, false);
        } else {
            put_at(line, p->at + (align == SG_TABLE_LEFT ? 0 : room - own), cell->text, strlen(cell->text));
            put_at(line, line->at, cell->deviation, strlen(cell->deviation));
        }
    }
    end_line(line);
    put_words(line, l, words);
}

/* Writes which columns were left out, and how to see them. */
static void put_left_out(FILE *out, const struct layout *l, size_t wanted) {
    char *text = NULL;
    size_t size;
    FILE *stream = sg_memstream(&text, &size);
    const char *before = "no room for: ";
    for (size_t c = 0; c < l->t->n_columns; c++)
        if (!l->place[c].shown) {
            fprintf(stream, "%s%s", before, l->t->column[c].head);
            if (l->t->column[c].unit[0])
                fprintf(stream, ", %s", l->t->column[c].unit);
            if (is_same(l->t, c))
                fprintf(stream, " (all %s)", table_cell_at(l->t, 0, c)->text);
            before = "; ";
        }
    if (before[0] == ';')
        fprintf(stream, " (COLUMNS=%zu shows all)", wanted);
    if (sg_stream_text(stream, &text)[0])
        sg_put_wrapped(out, text, l->how->width, "# ", "#   ");
    free(text);
}

void sg_table_write_lines(FILE *out, const sg_table *t, const struct sg_table_lines *how) {
    SG_ASSERT(t->n_columns > 0 && t->n_cells % t->n_columns == 0);
    struct layout l = {.t = t, .how = how, .place = sg_calloc(t->n_columns, sizeof *l.place)};
    const char **left = sg_calloc(t->n_columns, sizeof *left);
    struct line line = {.out = out};
    const size_t wanted = fit(&l);
    put_heads(&line, &l, left);
    put_units(&line, &l);
    if (l.below)
        put_head_below(&line, &l);
    for (size_t r = 0; r < table_rows(t); r++)
        put_row(&line, &l, r);
    put_left_out(out, &l, wanted);
    free(l.place);
    free(left);
}
