/* html_tables.c: the tables of a page: final values, claims, cells, where the numbers come from, times of kernels.
 * A cell that is sorted as a number carries it as data-v. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "html_private.h"
#include "sg_text.h"

void html_begin_part(const struct html_section *s, const char *id, const char *heading) {
    fprintf(s->out, "<section class=\"part\" aria-labelledby=\"r%d-%s\"><h%d id=\"r%d-%s\">%s</h%d>\n", s->number, id,
            s->level, s->number, id, heading, s->level);
}

static void put_number_cell(FILE *out, const char *kind, double value, const char *text) {
    char number[SG_NUMBER_CHARS];
    fprintf(out, "<td class=\"%s\"", kind);
    if (isfinite(value))
        fprintf(out, " data-v=\"%s\"", sg_number_text(value, number));
    html_put_element(out, ">", text, "</td>");
}

static void begin_table(FILE *out, const char *caption) {
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\"", out);
    html_put_element(out, " aria-label=\"", caption, "\"><table class=\"sortable\">");
    html_put_element(out, "<caption><span>", caption, "</span></caption>\n<thead><tr>");
}

/* ---- final values ---- */

static void put_final_headings(FILE *out, const struct sg_summary *summary) {
    fputs("<th scope=\"col\">method</th>", out);
    for (size_t m = 0; m < summary->n_metrics; m++) {
        const struct sg_column_style style = sg_plot_column_style(summary, m);
        char power[SG_POWER_CHARS];
        html_put_element(out, "<th scope=\"col\" colspan=\"2\" class=\"n\">", summary->metric[m].heading, "");
        if (style.exponent && !style.scientific)
            fprintf(out, " (%s)", sg_plot_power(power, style.exponent));
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

/* The mean and its deviation have a column each, so that both are aligned. */
static void put_final_row(FILE *out, const struct sg_summary *summary, const struct sg_summary_row *row) {
    html_put_element(out, "<tr><th scope=\"row\">", row->label, "</th>");
    for (size_t m = 0; m < summary->n_metrics; m++) {
        const struct sg_column_style style = sg_plot_column_style(summary, m);
        char mean[SG_CELL_CHARS], rest[SG_CELL_CHARS];
        sg_plot_cell(mean, rest, &style, row->mean[m], row->std[m], SG_TEXT_PLAIN);
        put_number_cell(out, "n", row->mean[m], mean);
        html_put_element(out, "<td class=\"d\">", rest, "</td>");
    }
    fputs("</tr>\n", out);
}

void html_put_finals(const struct html_section *s, const struct sg_summary *summary) {
    if (summary->n_metrics == 0)
        return;
    html_begin_part(s, "finals", "Final values");
    begin_table(s->out, summary->footnote);
    put_final_headings(s->out, summary);
    for (size_t r = 0; r < summary->n_rows; r++)
        put_final_row(s->out, summary, &summary->row[r]);
    fputs("</tbody></table></div>\n", s->out);
    const char *before = "<p class=\"note\">", *after = "";
    for (size_t m = 0; m < summary->n_metrics; m++)
        if (summary->metric[m].formula[0]) {
            html_put_element(s->out, before, summary->metric[m].heading, ": ");
            html_put(s->out, summary->metric[m].formula);
            before = "; ";
            after = "</p>\n";
        }
    fprintf(s->out, "%s</section>\n", after);
}

/* ---- claims ---- */

/* How a verdict looks beside its word, so that colour is not all that tells it. */
static const struct verdict {
    const char *word, *kind, *sign, *plural;
} verdicts[] = {{"holds", "holds", "✓", "hold"},
                {"fails", "fails", "✗", "fail"},
                {"undecided", "undecided", "?", "undecided"},
                {"not judged", "unjudged", "–", "not judged"}};
enum { VERDICTS = sizeof verdicts / sizeof *verdicts };

static void put_verdict(FILE *out, const char *word) {
    const struct verdict *v = &verdicts[VERDICTS - 1];
    for (size_t i = 0; i < VERDICTS; i++)
        v = strcmp(verdicts[i].word, word) == 0 ? &verdicts[i] : v;
    fprintf(out, "<span class=\"verdict %s\"><span class=\"sign\" aria-hidden=\"true\">%s</span> ", v->kind, v->sign);
    html_put_element(out, "", word, "</span>");
}

void html_put_verdicts(FILE *out, const cJSON *document) {
    const char *before = "";
    for (size_t i = 0; i + 1 < VERDICTS; i++) {
        const cJSON *claim;
        size_t n = 0;
        cJSON_ArrayForEach(claim, sg_json_get(document, "claims")) n +=
            strcmp(sg_json_string(claim, "verdict", ""), verdicts[i].word) == 0;
        if (n > 0)
            fprintf(out,
                    "%s<span class=\"verdict %s\"><span class=\"sign\" aria-hidden=\"true\">%s</span> %zu %s</span>",
                    before, verdicts[i].kind, verdicts[i].sign, n, n == 1 ? verdicts[i].word : verdicts[i].plural);
        before = n > 0 ? " " : before;
    }
}

static void put_claim(FILE *out, const struct sg_claim *claim) {
    char text[SG_NUMBERS_CHARS];
    fputs("<tr><td>", out);
    put_verdict(out, claim->verdict);
    html_put_element(out, "</td><td class=\"words\">", claim->text, "</td>");
    fputs("<td class=\"words numbers\"", out);
    if (isfinite(claim->ratio_max))
        fprintf(out, " data-v=\"%s\"", sg_number_text(claim->ratio_max, (char[SG_NUMBER_CHARS]){0}));
    sg_plot_claim_numbers(text, claim);
    html_put_element(out, ">", text, "");
    if (claim->n_seeds > 0)
        fputs("<details><summary>each seed</summary><ul>", out);
    for (size_t k = 0; k < claim->n_seeds; k++) {
        sg_plot_claim_seed(text, claim, &claim->seed[k]);
        html_put_element(out, "<li>", text, "</li>");
    }
    fputs(claim->n_seeds > 0 ? "</ul></details></td></tr>\n" : "</td></tr>\n", out);
}

size_t html_count_claims(const struct html_section *s, const struct sg_summary *summary) {
    size_t shown = 0;
    for (size_t i = 0; i < summary->n_claims; i++)
        shown += s->all_seeds || summary->claim[i].judged;
    return shown;
}

void html_put_claims(const struct html_section *s, const struct sg_summary *summary) {
    if (html_count_claims(s, summary) == 0)
        return;
    html_begin_part(s, "claims", "Claims");
    fputs("<p>", s->out);
    html_put_verdicts(s->out, s->document);
    fputs("</p>\n", s->out);
    begin_table(s->out, "Verdicts on the recipe's claims; ratio = value / bound");
    fputs("<th scope=\"col\">verdict</th><th scope=\"col\">claim</th><th "
          "scope=\"col\">numbers</th></tr></thead>\n<tbody>\n",
          s->out);
    for (size_t i = 0; i < summary->n_claims; i++)
        if (s->all_seeds || summary->claim[i].judged)
            put_claim(s->out, &summary->claim[i]);
    fputs("</tbody></table></div></section>\n", s->out);
}

/* ---- cells ---- */

/* "k=4, block=50": what is set of an object of scalars. */
static void put_settings(FILE *out, const cJSON *object) {
    const char *before = "";
    char number[SG_NUMBER_CHARS];
    const cJSON *item;
    cJSON_ArrayForEach(item, object) {
        if (!cJSON_IsString(item) && !cJSON_IsNumber(item) && !cJSON_IsBool(item))
            continue;
        html_put_element(out, before, item->string, "=");
        html_put(out, cJSON_IsString(item)   ? item->valuestring
                      : cJSON_IsNumber(item) ? sg_number_text(item->valuedouble, number)
                      : cJSON_IsTrue(item)   ? "true"
                                             : "false");
        before = ", ";
    }
}

static void put_cell(FILE *out, const cJSON *result, const cJSON *cell) {
    const double steps = sg_json_number(cell, "steps", NAN), elapsed_s = sg_json_number(cell, "elapsed_s", NAN);
    char text[64] = "–";
    html_put_element(out, "<tr><th scope=\"row\">", sg_json_string(result, "label", ""), "</th>");
    html_put_element(out, "<td>", sg_json_string(result, "compressor", ""), "</td><td>");
    put_settings(out, sg_json_get(result, "parameters"));
    fputs("</td>", out);
    const char *seed = sg_json_string(cell, "seed", "?");
    put_number_cell(out, "n", atof(seed), seed);
    html_put_element(out, "<td>", sg_json_string(cell, "status", "?"), "");
    const char *message = sg_json_string(cell, "message", NULL);
    if (message)
        html_put_element(out, "<details><summary>why</summary>", message, "</details>");
    fputs("</td>", out);
    const double planned = sg_json_number(cell, "planned_steps", steps);
    if (isfinite(steps))
        snprintf(text, sizeof text, steps < planned ? "%.0f of %.0f" : "%.0f", steps, planned);
    put_number_cell(out, "n", steps, text);
    snprintf(text, sizeof text, isfinite(elapsed_s) ? "%.1f" : "–", elapsed_s);
    put_number_cell(out, "n", elapsed_s, text);
    const char *file = sg_json_string(cell, "file", ""), *slash = strrchr(file, '/');
    html_put_element(out, "<td class=\"path\">", slash ? slash + 1 : file, "</td></tr>\n"); /* in run.folder */
}

size_t html_count_cells(const cJSON *document) {
    const cJSON *result;
    size_t n = 0;
    cJSON_ArrayForEach(result, sg_json_get(document, "results")) n +=
        (size_t)cJSON_GetArraySize(sg_json_get(result, "cells"));
    return n;
}

void html_put_cells(const struct html_section *s) {
    const cJSON *result, *cell;
    const size_t n = html_count_cells(s->document);
    if (n == 0)
        return;
    html_begin_part(s, "cells", "Cells");
    fprintf(s->out, "<details%s><summary>%zu run%s: settings, seed, status, time</summary>\n", n > 12 ? "" : " open", n,
            n == 1 ? "" : "s");
    begin_table(s->out, "One run a line: a method at a seed");
    fputs("<th scope=\"col\">method</th><th scope=\"col\">compressor</th><th scope=\"col\">parameters</th>"
          "<th scope=\"col\" class=\"n\">seed</th><th scope=\"col\">status</th><th scope=\"col\" class=\"n\">steps</th>"
          "<th scope=\"col\" class=\"n\">seconds</th><th scope=\"col\">series</th></tr></thead>\n<tbody>\n",
          s->out);
    cJSON_ArrayForEach(result, sg_json_get(s->document, "results"))
        cJSON_ArrayForEach(cell, sg_json_get(result, "cells")) put_cell(s->out, result, cell);
    fputs("</tbody></table></div></details></section>\n", s->out);
}

/* ---- where the numbers come from ---- */

/* A name and its value; an object is a line for each of its members, an array its scalars one behind the other. */
static void put_fact(FILE *out, const char *before, const cJSON *item) {
    char *name = sg_format(before[0] ? "%s, %s" : "%s%s", before, item->string ? item->string : "");
    char number[SG_NUMBER_CHARS];
    const cJSON *child;
    for (char *c = name; c && *c; c++)
        *c = *c == '_' ? ' ' : *c;
    if (cJSON_IsObject(item)) {
        cJSON_ArrayForEach(child, item) put_fact(out, sg_plot_made(name), child);
    } else if (!cJSON_IsNull(item) && !(cJSON_IsString(item) && !item->valuestring[0]) &&
               !(cJSON_IsArray(item) && !item->child)) {
        html_put_element(out, "<dt>", sg_plot_made(name), "</dt><dd>");
        const bool command = item->string && strcmp(item->string, "argv") == 0;
        fputs(command ? "<code>" : "", out);
        const bool list = cJSON_IsArray(item);
        for (child = list ? item->child : item; child; child = list ? child->next : NULL) {
            html_put(out, cJSON_IsString(child)   ? child->valuestring
                          : cJSON_IsNumber(child) ? sg_number_text(child->valuedouble, number)
                          : cJSON_IsTrue(child)   ? "yes"
                                                  : "no");
            fputs(list && child->next ? (command ? " " : ", ") : "", out);
        }
        fputs(command ? "</code></dd>\n" : "</dd>\n", out);
    }
    free(name);
}

void html_put_provenance(const struct html_section *s) {
    static const char *const groups[][2] = {
        {"run", "Run"},      {"program", "Program"},     {"identities", "Programs of the cells"}, {"dataset", "Data"},
        {"host", "Machine"}, {"libraries", "Libraries"}, {"network", "Modelled network"},
    };
    html_begin_part(s, "provenance", "Provenance");
    fputs("<div class=\"facts\">\n", s->out);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const cJSON *group = sg_json_get(s->document, groups[i][0]), *item;
        if (!group || !group->child)
            continue;
        fprintf(s->out, "<div><h%d>%s</h%d><dl>\n", s->level + 1, groups[i][1], s->level + 1);
        if (cJSON_IsArray(group))
            put_fact(s->out, "", group);
        else
            cJSON_ArrayForEach(item, group) put_fact(s->out, "", item);
        fputs("</dl></div>\n", s->out);
    }
    fputs("</div></section>\n", s->out);
}

/* ---- times of kernels ---- */

enum { MOST_COLUMNS = 64, PATH_CHARS = 96 };

/* A column that rows differ in is one of the table; what all rows share stands above it. */
struct kernel_column {
    char path[PATH_CHARS];
    const cJSON *first;
    bool differs, number;
};

static void gather_columns(struct kernel_column *column, size_t *n, const char *before, const cJSON *object) {
    const cJSON *item;
    cJSON_ArrayForEach(item, object) {
        char path[PATH_CHARS];
        snprintf(path, sizeof path, "%s%s%s", before, before[0] ? "." : "", item->string);
        if (cJSON_IsObject(item))
            gather_columns(column, n, path, item);
        if (cJSON_IsObject(item) || cJSON_IsArray(item))
            continue;
        size_t i = 0;
        while (i < *n && strcmp(column[i].path, path) != 0)
            i++;
        if (i == MOST_COLUMNS)
            continue;
        if (i == *n) {
            column[(*n)++] = (struct kernel_column){.first = item};
            memcpy(column[i].path, path, sizeof path);
        }
        column[i].differs = column[i].differs || !cJSON_Compare(column[i].first, item, true);
        column[i].number = column[i].number || cJSON_IsNumber(item);
    }
}

static void put_kernel_cell(FILE *out, const cJSON *item, bool number) {
    char text[32];
    if (cJSON_IsNumber(item)) {
        snprintf(text, sizeof text, fabs(item->valuedouble) < 1e7 ? "%.5g" : "%.3e", item->valuedouble);
        if (item->valuedouble == floor(item->valuedouble) && fabs(item->valuedouble) < 1e12)
            snprintf(text, sizeof text, "%.0f", item->valuedouble);
        put_number_cell(out, "n", item->valuedouble, text);
    } else {
        html_put_element(out, number ? "<td class=\"n\">" : "<td>",
                         cJSON_IsString(item)  ? item->valuestring
                         : cJSON_IsTrue(item)  ? "yes"
                         : cJSON_IsFalse(item) ? "no"
                                               : "–",
                         "</td>");
    }
}

void html_put_kernels(const struct html_section *s) {
    struct kernel_column column[MOST_COLUMNS];
    const cJSON *row;
    size_t n = 0;
    cJSON_ArrayForEach(row, sg_json_get(s->document, "results")) gather_columns(column, &n, "", row);
    html_begin_part(s, "finals", "Times");
    fputs("<p>The same in all rows: ", s->out);
    const char *before = "";
    for (size_t c = 0; c < n; c++)
        if (!column[c].differs && !cJSON_IsNull(column[c].first)) {
            cJSON *one = cJSON_CreateObject();
            sg_json_set(one, column[c].path, cJSON_Duplicate(column[c].first, false));
            fputs(before, s->out);
            put_settings(s->out, one);
            cJSON_Delete(one);
            before = ", ";
        }
    fputs(".</p>\n", s->out);
    begin_table(s->out, "Every kernel that was timed, as sparsebench wrote it");
    for (size_t c = 0; c < n; c++)
        if (column[c].differs)
            html_put_element(s->out, column[c].number ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">",
                             column[c].path, "</th>");
    fputs("</tr></thead>\n<tbody>\n", s->out);
    cJSON_ArrayForEach(row, sg_json_get(s->document, "results")) {
        fputs("<tr>", s->out);
        for (size_t c = 0; c < n; c++)
            if (column[c].differs)
                put_kernel_cell(s->out, sg_json_get(row, column[c].path), column[c].number);
        fputs("</tr>\n", s->out);
    }
    fputs("</tbody></table></div></section>\n", s->out);
}
