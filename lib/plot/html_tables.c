/* html_tables.c: the tables of a page: final values, claims, cells, where the numbers come from, times of kernels. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "html_private.h"
#include "sg_bench.h"
#include "sg_debug.h"
#include "sg_memory.h"
#include "sg_text.h"

void html_begin_part(struct html_section *s, const char *id, const char *heading) {
    fprintf(s->out, "<section class=\"part\" aria-labelledby=\"r%d-%s\"><h%d id=\"r%d-%s\">%s</h%d>\n", s->number, id,
            s->level, s->number, id, heading, s->level);
    SG_ASSERT(s->n_parts < HTML_PARTS);
    s->part[s->n_parts].id = id;
    s->part[s->n_parts++].heading = heading;
}

/* A table of a part of the page. */
static void put_table(struct html_section *s, sg_table *take_table, const char *caption) {
    sg_table_write_html(s->out, take_table, caption);
    sg_table_free(take_table);
}

/* ---- final values ---- */

static void put_places(FILE *out, const struct sg_summary *summary, const sg_table *table, const char *caption) {
    (void)summary;
    sg_table_write_html(out, table, caption);
}

void html_put_finals(struct html_section *s, const struct sg_summary *summary) {
    if (summary->n_metrics == 0)
        return;
    html_begin_part(s, "finals", "Final values");
    put_table(s, sg_plot_values_table(summary, false), summary->footnote);
    fputs(sg_plot_put_formulas(s->out, summary, "<p class=\"note\">", sg_put_html) ? "</p>\n" : "", s->out);
    sg_plot_put_places(s->out, summary, put_places);
    fputs("</section>\n", s->out);
}

/* ---- claims ---- */

/* How a verdict looks beside its word, so that colour is not all that tells it. */
static const struct verdict {
    const char *word, *kind, *sign, *plural;
} verdicts[] = {{"holds", "holds", "✓", "hold"},
                {"holds at these seeds", "undecided", "✓", "hold at these seeds"},
                {"fails", "fails", "✗", "fail"},
                {"fails at these seeds", "undecided", "✗", "fail at these seeds"},
                {"undecided", "undecided", "?", "undecided"},
                {"not judged", "unjudged", "–", "not judged"}};
enum { VERDICTS = sizeof verdicts / sizeof *verdicts };

void html_put_verdict(FILE *out, const char *word) {
    const struct verdict *v = &verdicts[VERDICTS - 1];
    for (size_t i = 0; i < VERDICTS; i++)
        v = strcmp(verdicts[i].word, word) == 0 ? &verdicts[i] : v;
    fprintf(out, "<span class=\"verdict %s\"><span class=\"sign\" aria-hidden=\"true\">%s</span> ", v->kind, v->sign);
    sg_put_element(out, "", word, "</span>");
}

void html_put_verdicts(FILE *out, const struct sg_document *document) {
    const char *before = "";
    for (size_t i = 0; i + 1 < VERDICTS; i++) {
        size_t n = 0;
        for (size_t c = 0; c < document->n_claims; c++)
            n += strcmp(sg_or(document->claims[c].verdict, ""), verdicts[i].word) == 0;
        if (n > 0)
            fprintf(out,
                    "%s<span class=\"verdict %s\"><span class=\"sign\" aria-hidden=\"true\">%s</span> %zu %s</span>",
                    before, verdicts[i].kind, verdicts[i].sign, n, n == 1 ? verdicts[i].word : verdicts[i].plural);
        before = n > 0 ? " " : before;
    }
}

void html_put_claims(struct html_section *s, const struct sg_summary *summary) {
    if (sg_plot_claims_shown(summary) == 0)
        return;
    html_begin_part(s, "claims", "Claims");
    fputs("<p>", s->out);
    html_put_verdicts(s->out, s->document);
    fputs("</p>\n", s->out);
    put_table(s, sg_plot_claims_table(summary, true), "Verdicts on the recipe's claims");
    fputs("</section>\n", s->out);
}

/* ---- cells ---- */

/* "k=4, block=50": what is set of an object of scalars; the caller frees it. */
static char *settings_of(const cJSON *object) {
    char number[SG_NUMBER_CHARS], *text = NULL;
    size_t size;
    FILE *out = sg_memstream(&text, &size);
    const char *before = "";
    const cJSON *item;
    cJSON_ArrayForEach(item, object) {
        if (!cJSON_IsString(item) && !cJSON_IsNumber(item) && !cJSON_IsBool(item))
            continue;
        fprintf(out, "%s%s=%s", before, item->string,
                cJSON_IsString(item)   ? item->valuestring
                : cJSON_IsNumber(item) ? sg_number_text(item->valuedouble, number)
                : cJSON_IsTrue(item)   ? "true"
                                       : "false");
        before = ", ";
    }
    return sg_stream_text(out, &text);
}

static void add_cell(sg_table *t, const struct sg_frame_label *label, const struct sg_document_cell *cell) {
    const char *seed = sg_or(cell->seed, "?"), *file = sg_or(cell->file, ""), *slash = strrchr(file, '/');
    char *settings = settings_of(label->parameters);
    sg_table_cell(t, label->label, NULL);
    sg_table_cell(t, sg_or(label->compressor, ""), NULL);
    sg_table_cell(t, settings, NULL);
    sg_table_cell(t, seed, NULL);
    sg_table_value(t, atof(seed));
    sg_table_cell(t, sg_or(cell->status, "?"), NULL);
    if (cell->message)
        sg_table_more(t, cell->message);
    if (cell->steps < cell->planned_steps)
        sg_table_format(t, "%.0f of %.0f", cell->steps, cell->planned_steps);
    else
        sg_table_number(t, "%.0f", cell->steps);
    sg_table_value(t, cell->steps);
    sg_table_number(t, "%.1f", cell->elapsed_s);
    sg_table_cell(t, slash ? slash + 1 : file, NULL); /* in run.folder */
    free(settings);
}

void html_put_cells(struct html_section *s) {
    static const struct sg_table_column columns[] = {{.head = "method", .names = true},
                                                     {.head = "compressor"},
                                                     {.head = "parameters"},
                                                     {.head = "seed", .align = SG_TABLE_RIGHT},
                                                     {.head = "status", .unfolds = "why"},
                                                     {.head = "steps", .align = SG_TABLE_RIGHT},
                                                     {.head = "seconds", .align = SG_TABLE_RIGHT},
                                                     {.head = "series", .kind = "path"}};
    const struct sg_frame *results = &s->document->results;
    sg_table *t = sg_table_open(columns, sizeof columns / sizeof *columns);
    size_t n = 0;
    for (size_t l = 0; l < results->n_labels; l++)
        for (size_t i = 0; i < results->label[l].n_cells; i++, n++)
            add_cell(t, &results->label[l], &results->label[l].cells[i]);
    if (n == 0) {
        sg_table_free(t);
        return;
    }
    html_begin_part(s, "cells", "Cells");
    fprintf(s->out, "<details%s><summary>%zu run%s: settings, seed, status, time</summary>\n", n > 12 ? "" : " open", n,
            n == 1 ? "" : "s");
    put_table(s, t, "One run a line: a method at a seed");
    fputs("</details></section>\n", s->out);
}

/* ---- where the numbers come from ---- */

/* A number as a person reads it: four digits, and bytes in units of a thousand. Whole numbers have all digits. */
static void put_round(FILE *out, const char *name, double x) {
    static const char *const unit[] = {"", " kB", " MB", " GB", " TB", " PB"};
    const bool bytes = sg_ends_in(name, "bytes");
    size_t i = 0;
    for (; bytes && fabs(x) >= 1000 && i + 1 < sizeof unit / sizeof *unit; i++)
        x /= 1000;
    fprintf(out, x == floor(x) && fabs(x) < 1e15 ? "%.0f%s" : "%.4g%s", x, unit[i]);
}

/* A name and its value; an object is a line for each of its members, an array its scalars one behind the other. */
static void put_fact(FILE *out, const char *before, const cJSON *item) {
    char *name = sg_format(before[0] ? "%s, %s" : "%s%s", before, item->string ? item->string : "");
    const cJSON *child;
    sg_spaced(name);
    if (cJSON_IsObject(item)) {
        cJSON_ArrayForEach(child, item) put_fact(out, name, child);
    } else if (!cJSON_IsNull(item) && !(cJSON_IsString(item) && !item->valuestring[0]) &&
               !(cJSON_IsArray(item) && !item->child)) {
        sg_put_element(out, "<dt>", name, "</dt><dd>");
        const bool command = item->string && strcmp(item->string, "argv") == 0;
        fputs(command ? "<code>" : "", out);
        const bool list = cJSON_IsArray(item);
        for (child = list ? item->child : item; child; child = list ? child->next : NULL) {
            if (cJSON_IsNumber(child))
                put_round(out, sg_or(item->string, ""), child->valuedouble);
            else
                sg_put_html(out, cJSON_IsString(child) ? child->valuestring : cJSON_IsTrue(child) ? "yes" : "no");
            fputs(list && child->next ? (command ? " " : ", ") : "", out);
        }
        fputs(command ? "</code></dd>\n" : "</dd>\n", out);
    }
    free(name);
}

/* How many cells ran for this result and how many stood ready: the time of the run is not theirs. */
static void put_reused(const struct html_section *s) {
    const struct sg_frame *results = &s->document->results;
    size_t n = 0, reused = 0;
    double seconds = 0;
    for (size_t l = 0; l < results->n_labels; l++)
        for (size_t i = 0; i < results->label[l].n_cells; i++, n++) {
            const struct sg_document_cell *cell = &results->label[l].cells[i];
            reused += cell->reused == SG_FLAG_YES;
            seconds += isfinite(cell->elapsed_s) ? cell->elapsed_s : 0;
        }
    if (n > 0)
        fprintf(s->out, "<dt>cells</dt><dd>%zu, %zu of them reused; %.3g s when they ran</dd>\n", n, reused, seconds);
}

void html_put_provenance(struct html_section *s) {
    static const char *const groups[][2] = {
        {"run", "Run"},      {"program", "Program"},     {"identities", "Programs of the cells"}, {"dataset", "Data"},
        {"host", "Machine"}, {"libraries", "Libraries"}, {"network", "Modelled network"},
    };
    html_begin_part(s, "provenance", "Provenance");
    fputs("<div class=\"facts\">\n", s->out);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const cJSON *group = sg_json_get(s->json, groups[i][0]), *item;
        if (!group || !group->child)
            continue;
        fprintf(s->out, "<div><h%d>%s</h%d><dl>\n", s->level + 1, groups[i][1], s->level + 1);
        if (cJSON_IsArray(group))
            put_fact(s->out, "", group);
        else
            cJSON_ArrayForEach(item, group) put_fact(s->out, "", item);
        if (i == 0)
            put_reused(s);
        fputs("</dl></div>\n", s->out);
    }
    fputs("</div></section>\n", s->out);
}

void html_put_kernels(struct html_section *s) {
    html_begin_part(s, "finals", "Times");
    for (int compressors = 0; compressors < 2; compressors++) {
        sg_table *t;
        if (sg_bench_rows(&t, s->document->rows, compressors) > 0)
            put_table(s, t, compressors ? sg_bench_note : "Operations");
        else
            sg_table_free(t);
    }
    fputs("</section>\n", s->out);
}
