/* export_html.c: results as one page in HTML that needs no other file. Titles, tables, claims, provenance and the
 * recipe are markup and figures are SVG, so that they can be read without script; page.js and page_axes.js switch,
 * read and draw the figures. page_files.h has the bytes of script and style. */
/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <string.h>

#include "html_private.h"
#include "page_files.h"
#include "sg_file.h"
#include "sg_memory.h"
#include "sg_text.h"

/* What a result is called: its recipe's name, else its method. */
static const char *name_of(const struct sg_document *d) {
    return sg_or(d->recipe ? d->recipe->name : NULL, sg_or(d->name, sg_or(d->method, "result")));
}

/* What tells the result from others on the page: its file's name without folder and ending, else its own. */
static void put_name(FILE *out, const struct sg_page_result *result) {
    const char *slash = result->name ? strrchr(result->name, '/') : NULL;
    char *name = sg_strdup(slash ? slash + 1 : result->name ? result->name : name_of(result->document));
    char *dot = name && result->name ? strrchr(name, '.') : NULL;
    if (dot && dot > name)
        *dot = '\0';
    sg_put_html(out, name);
    free(name);
}

/* What was found, in a sentence: against no compression, or else how the first claim was judged. */
static void put_sentence(FILE *out, const struct sg_document *d) {
    const char *finding = d->summary ? d->summary->text : NULL;
    const char *text = d->n_claims > 0 ? d->claims[0].text : NULL;
    const char *verdict = d->n_claims > 0 ? d->claims[0].verdict : NULL;
    if (finding) {
        sg_put_element(out, "<p>", finding, ".</p>");
    } else if (text && verdict && verdict[0]) {
        fprintf(out, "<p>%c", toupper((unsigned char)verdict[0]));
        sg_put_element(out, "", verdict + 1, ": ");
        sg_put_element(out, "", text, ".</p>");
    }
}

/* The entry of a section in the contents of a page of several: its finding, a thumbnail of its first panel, and how its
 * claims were judged. */
static void put_entry(FILE *out, const struct html_section *s, const struct sg_page_result *result) {
    char *title = sg_plot_title(result->document, NULL);
    fprintf(out, "<li><a href=\"#r%d\">", s->number);
    if (s->n_figures > 0)
        fprintf(out,
                "<svg class=\"thumb\" viewBox=\"%s\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><use "
                "href=\"#r%df1curves1\"/></svg>",
                s->view, s->number);
    fputs("<b>", out);
    put_name(out, result);
    fputs("</b></a>", out);
    put_sentence(out, result->document);
    sg_put_element(out, "<p class=\"note\">", title, "</p>");
    fputs("<span class=\"verdicts\">", out);
    html_put_verdicts(out, result->document);
    fputs("</span></li>\n", out);
    free(title);
}

/* ---- groups of results ---- */

/* A page of more results has them in groups with an index, and shows what is below their headings on demand. */
enum { MOST_UNFOLDED = 8 };

/* By what was trained. The last has all others. */
static const struct {
    const char *task, *heading;
} groups[] = {{"logreg", "Logistic regression"}, {"cnn", "Images"},         {"lm", "Language: LSTM"},
              {"gpt", "Language: GPT"},          {"ncf", "Recommendation"}, {"recorded", "Recorded gradients"},
              {"", "Times and others"}};
enum { GROUPS = sizeof groups / sizeof *groups };

static size_t group_of(const struct sg_document *document) {
    size_t i = 0;
    while (i + 1 < GROUPS && strcmp(sg_document_task(document), groups[i].task) != 0)
        i++;
    return i;
}

/* The entries of the contents, in the order of the groups. */
struct contents {
    FILE *out[GROUPS];
    char *text[GROUPS];
    size_t size[GROUPS], n[GROUPS];
};

/* Writes the contents of n results: in one list, or in groups behind an index of them. */
static void put_contents(FILE *out, const struct contents *c, size_t n) {
    const bool grouped = n > MOST_UNFOLDED;
    fputs("<nav class=\"contents\" aria-label=\"Results\">\n", out);
    fputs(grouped ? "<ul class=\"index\">" : "<ol>\n", out);
    for (size_t i = 0; grouped && i < GROUPS; i++)
        if (c->n[i] > 0)
            fprintf(out, "<li><a href=\"#g%zu\">%s</a> %zu</li>", i + 1, groups[i].heading, c->n[i]);
    fputs(grouped ? "</ul>\n" : "", out);
    for (size_t i = 0; i < GROUPS; i++)
        if (grouped && c->n[i] > 0)
            fprintf(out, "<h2 id=\"g%zu\">%s</h2>\n<ol>\n%s</ol>\n", i + 1, groups[i].heading, c->text[i]);
        else
            fputs(c->text[i], out);
    fputs(grouped ? "</nav>\n" : "</ol>\n</nav>\n", out);
}

/* ---- a section ---- */

static void put_recipe(struct html_section *s) {
    const struct sg_document_recipe *recipe = s->document->recipe;
    if (!recipe || !recipe->resolved)
        return;
    html_begin_part(s, "recipe", "Recipe");
    if (recipe->path) {
        sg_put_element(s->out, "<p><code>", recipe->path, "</code>, SHA-256 <code>");
        sg_put_element(s->out, "", sg_or(recipe->sha256, "?"), "</code></p>\n");
    }
    fputs("<p>What every key was, without those that were not set.</p>\n", s->out);
    fputs("<details><summary>The recipe as text</summary><pre tabindex=\"0\">", s->out);
    html_put_yaml(s->out, recipe->resolved);
    fputs("</pre></details></section>\n", s->out);
}

static void put_header(FILE *out, const struct html_section *s, const struct sg_page_result *result, const char *title,
                       const char *source, const char *finding) {
    const int heading = s->level - 1;
    const char *shown = title[0] ? title : name_of(s->document);
    fprintf(out, "<article id=\"r%d\" data-result=\"%d\" aria-labelledby=\"r%d-title\">\n<header>\n", s->number,
            s->number, s->number);
    fputs("<p class=\"kicker\">", out);
    put_name(out, result);
    fprintf(out, "</p>\n<h%d id=\"r%d-title\">", heading, s->number);
    sg_put_html(out, shown);
    fprintf(out, "</h%d>\n", heading);
    sg_put_element(out, "<p class=\"source\">", source, "</p>\n");
    if (finding)
        sg_put_element(out, "<p class=\"lead\">", finding, ".</p>\n");
    fputs(s->notes.n ? "<ul class=\"notes\">" : "", out);
    for (size_t i = 0; i < s->notes.n; i++)
        sg_put_element(out, "<li>", s->notes.text[i], "</li>");
    fputs(s->notes.n ? "</ul>\n" : "", out);
    fprintf(out, "<nav aria-label=\"Parts of result %d\"><ul>", s->number);
    for (size_t i = 0; i < s->n_parts; i++)
        fprintf(out, "<li><a href=\"#r%d-%s\">%s</a></li>", s->number, s->part[i].id, s->part[i].heading);
    fprintf(out, "</ul></nav>\n</header>\n%s",
            s->folded
                ? "<details class=\"folded\"><summary>Figures, values, claims and where they come from</summary>\n"
                : "");
}

static void put_data(struct html_section *s) {
    html_begin_part(s, "data", "Data");
    fputs("<p>All numbers are in this page as JSON, a result that sparseplot-export reads. <button type=\"button\" "
          "class=\"download\" data-name=\"",
          s->out);
    sg_put_element(s->out, "", name_of(s->document), ".json\">Save the JSON</button></p></section>\n");
    fprintf(s->out, "<script type=\"application/json\" id=\"r%d-document\">", s->number);
    html_put_json(s->out, s->json);
    fprintf(s->out, "</script>\n%s</article>\n", s->folded ? "</details>\n" : "");
}

/* Writes a section to `out`. */
static sg_status put_section(FILE *out, struct html_section *s, const struct sg_page_result *result,
                             const struct sg_plot_select *select, struct sg_error *err) {
    const bool kernels = sg_document_is_kernels(s->document);
    struct sg_summary summary = {0};
    char *title = sg_plot_title(s->document, select->title), *source = sg_plot_source(s->document), *parts = NULL;
    size_t size;
    s->out = sg_memstream(&parts, &size);
    sg_status status = sg_summary_read(&summary, s->document, select, err);
    s->notes = summary.notes;
    SG_DO(status, html_put_figures(s, select, err));
    if (status == SG_OK) {
        if (kernels)
            html_put_kernels(s);
        else
            html_put_finals(s, &summary);
        html_put_claims(s, &summary);
        html_put_cells(s);
        html_put_provenance(s);
        put_recipe(s);
        put_data(s);
    }
    parts = sg_stream_text(s->out, &parts);
    if (status == SG_OK) {
        put_header(out, s, result, title, source, summary.finding);
        fputs(parts, out);
    }
    sg_summary_free(&summary);
    free(title);
    free(source);
    free(parts);
    return status;
}

/* ---- the page ---- */

static void put_head(FILE *out, const char *title, const char *status) {
    fprintf(out, "<!doctype html>\n<!-- %s%s -->\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n", SG_PAGE_MARK,
            status);
    sg_put_element(out, "<title>", title, "</title>\n");
    fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
          "script-src 'unsafe-inline'; img-src data:\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n",
          out);
    fputs("<style>\n", out);
    fwrite(page_css, 1, sizeof page_css, out);
    fputs("</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the results</a>\n", out);
}

/* The first status that is not "ok". */
static const char *worst_status(const struct sg_page_result *result, size_t n) {
    const char *status = "ok";
    for (size_t i = 0; i < n && strcmp(status, "ok") == 0; i++)
        status = sg_or(result[i].document->status, "ok");
    return strspn(status, "abcdefghijklmnopqrstuvwxyz_") == strlen(status) ? status : "unknown";
}

/* Writes the sections to `out`, and their entries in the contents to `contents`. */
static sg_status put_sections(FILE *out, struct contents *contents, const struct sg_page_result *result, size_t n,
                              const struct sg_plot_select *select, struct sg_plot_notes *notes, struct sg_error *err) {
    sg_status status = SG_OK;
    for (size_t i = 0; i < n && status == SG_OK; i++) {
        cJSON *json = sg_document_json(result[i].document);
        struct html_section s = {.document = result[i].document,
                                 .json = json,
                                 .number = (int)i + 1,
                                 .level = n > 1 ? 3 : 2,
                                 .folded = n > MOST_UNFOLDED};
        const size_t group = n > MOST_UNFOLDED ? group_of(result[i].document) : 0;
        sg_json_clean(json);
        status = put_section(out, &s, &result[i], select, err);
        cJSON_Delete(json);
        for (size_t k = 0; k < s.notes.n; k++)
            sg_plot_note(notes, "%s", s.notes.text[k]);
        put_entry(contents->out[group], &s, &result[i]);
        contents->n[group]++;
    }
    return status;
}

sg_status sg_page_write(FILE *out, const struct sg_page_result *result, size_t n, const struct sg_plot_select *select,
                        struct sg_plot_notes *notes, struct sg_error *err) {
    struct sg_plot_notes unused, *all = notes ? notes : &unused;
    all->n = 0;
    struct sg_plot_select section = *select;
    section.title = n > 1 ? NULL : select->title; /* it is the page's */
    char *title = n == 1 ? sg_plot_title(result[0].document, select->title)
                         : sg_format("%s", select->title ? select->title : "Results of sparsegrad");
    char *sections = NULL;
    size_t size;
    struct contents contents = {0};
    for (size_t i = 0; i < GROUPS; i++)
        contents.out[i] = sg_memstream(&contents.text[i], &contents.size[i]);
    FILE *body = sg_memstream(&sections, &size);
    sg_status status = put_sections(body, &contents, result, n, &section, all, err);
    sections = sg_stream_text(body, &sections);
    for (size_t i = 0; i < GROUPS; i++)
        contents.text[i] = sg_stream_text(contents.out[i], &contents.text[i]);
    if (status == SG_OK) {
        put_head(out, title[0] ? title : name_of(result[0].document), worst_status(result, n));
        if (n > 1) {
            sg_put_element(out, "<header class=\"page\"><h1>", title, "</h1>\n");
            put_contents(out, &contents, n);
            fputs("</header>\n", out);
        }
        fprintf(out, "<main id=\"main\">\n%s</main>\n<script>\n", sections);
        fwrite(page_js, 1, sizeof page_js, out);
        fputs("</script>\n</body>\n</html>\n", out);
    }
    free(title);
    free(sections);
    for (size_t i = 0; i < GROUPS; i++)
        free(contents.text[i]);
    return status;
}

bool sg_page_is_partial(const char *path) {
    char line[128] = "", word[32] = "";
    struct sg_error unused;
    bool partial = false;
    FILE *file;
    if (sg_file_stream(&file, path, &unused) != SG_OK)
        return false;
    if (fgets(line, sizeof line, file) && fgets(line, sizeof line, file))
        partial = sscanf(line, "<!-- " SG_PAGE_MARK "%31[a-z_]", word) == 1 && strcmp(word, "ok") != 0 &&
                  strcmp(word, "diverged") != 0;
    fclose(file);
    return partial;
}
