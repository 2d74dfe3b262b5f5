/* export_html.c: results as one page in HTML that needs no other file. Titles, tables, claims, provenance and the recipe
 * are markup and figures are SVG, so that they can be read without script; page.js switches and reads the figures.
 * page_files.h has the bytes of script and style. */
#include <stdlib.h>
#include <string.h>

#include "html_private.h"
#include "page_files.h"
#include "sg_file.h"
#include "sg_text.h"

/* What a result is called: its recipe's name, else its method. */
static const char *name_of(const cJSON *document) {
    return sg_json_string(document, "recipe.name",
                          sg_json_string(document, "name", sg_json_string(document, "method", "result")));
}

void html_put_name(FILE *out, const struct sg_page_result *result) {
    const char *slash = result->name ? strrchr(result->name, '/') : NULL;
    char *name = strdup(slash ? slash + 1 : result->name ? result->name : name_of(result->document));
    char *dot = name && result->name ? strrchr(name, '.') : NULL;
    if (dot && dot > name)
        *dot = '\0';
    sg_put_html(out, sg_plot_made(name));
    free(name);
}

/* ---- a section ---- */

static void put_recipe(const struct html_section *s) {
    const cJSON *recipe = sg_json_get(s->document, "recipe.resolved");
    if (!recipe)
        return;
    html_begin_part(s, "recipe", "Recipe");
    const char *path = sg_json_string(s->document, "recipe.path", NULL);
    if (path) {
        sg_put_element(s->out, "<p><code>", path, "</code>, SHA-256 <code>");
        sg_put_element(s->out, "", sg_json_string(s->document, "recipe.sha256", "?"), "</code></p>\n");
    }
    fputs("<p>What every key was, without those that were not set.</p>\n", s->out);
    fputs("<details><summary>The recipe as text</summary><pre tabindex=\"0\">", s->out);
    html_put_yaml(s->out, recipe);
    fputs("</pre></details></section>\n", s->out);
}

static void put_links(const struct html_section *s, const struct sg_summary *summary, bool figures) {
    const bool kernels = sg_plot_is_kernels(s->document);
    const struct {
        const char *id, *text;
        bool there;
    } part[] = {{"figures", "Figures", figures},
                {"finals", kernels ? "Times" : "Final values", kernels || summary->n_metrics > 0},
                {"claims", "Claims", sg_plot_claims_shown(summary) > 0},
                {"cells", "Cells", html_count_cells(s->document) > 0},
                {"provenance", "Provenance", true},
                {"recipe", "Recipe", sg_json_get(s->document, "recipe.resolved") != NULL},
                {"data", "Data", true}};
    fprintf(s->out, "<nav aria-label=\"Parts of result %d\"><ul>", s->number);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (part[i].there)
            fprintf(s->out, "<li><a href=\"#r%d-%s\">%s</a></li>", s->number, part[i].id, part[i].text);
    fputs("</ul></nav>\n", s->out);
}

static void put_header(const struct html_section *s, const struct sg_page_result *result, const char *title,
                       const char *source, const char *finding, const struct sg_plot_notes *notes) {
    const int heading = s->level - 1;
    fputs("<header>\n", s->out);
    fputs("<p class=\"kicker\">", s->out);
    html_put_name(s->out, result);
    fputs("</p>\n", s->out);
    fprintf(s->out, "<h%d id=\"r%d-title\">", heading, s->number);
    sg_put_html(s->out, title[0] ? title : name_of(s->document));
    fprintf(s->out, "</h%d>\n", heading);
    sg_put_element(s->out, "<p class=\"source\">", source, "</p>\n");
    if (finding)
        sg_put_element(s->out, "<p class=\"lead\">", finding, ".</p>\n");
    fputs(notes->n ? "<ul class=\"notes\">" : "", s->out);
    for (size_t i = 0; i < notes->n; i++)
        sg_put_element(s->out, "<li>", notes->text[i], "</li>");
    fputs(notes->n ? "</ul>\n" : "", s->out);
}

static sg_status put_section(const struct html_section *s, const struct sg_page_result *result,
                             const struct sg_plot_select *select, struct sg_plot_notes *all, struct sg_error *err) {
    const bool kernels = sg_plot_is_kernels(s->document);
    struct sg_summary summary = {0};
    bool figures = false;
    char *title = sg_plot_title(s->document, select->title), *source = sg_plot_source(s->document);
    sg_status status = title && source ? SG_OK : sg_fail_memory(err, "the page");
    if (status == SG_OK && !kernels)
        status = sg_summary_read(&summary, s->document, select, err);
    struct sg_plot_notes notes = summary.notes;
    struct html_figures at = {.document = s->document, .select = select, .notes = &notes};
    for (bool found = status == SG_OK; found && status == SG_OK; figures |= found) { /* their notes stand above them */
        struct sg_figure figure;
        status = html_next_figure(&figure, &found, &at, err);
        if (status == SG_OK && found)
            sg_figure_free(&figure);
    }
    if (status != SG_OK)
        goto out;
    for (size_t i = 0; i < notes.n; i++)
        sg_plot_note(all, "%s", notes.text[i]);
    fprintf(s->out, "<article id=\"r%d\" data-result=\"%d\" aria-labelledby=\"r%d-title\">\n", s->number, s->number,
            s->number);
    put_header(s, result, title, source, summary.finding, &notes);
    put_links(s, &summary, figures);
    fputs("</header>\n", s->out);
    status = html_put_figures(s, select, err);
    SG_DO(status, kernels ? html_put_kernels(s, err) : html_put_finals(s, &summary, err));
    SG_DO(status, html_put_claims(s, &summary, err));
    SG_DO(status, html_put_cells(s, err));
    html_put_provenance(s);
    put_recipe(s);
    html_begin_part(s, "data", "Data");
    fputs("<p>All numbers are in this page as JSON, a result that sparseplot-export reads. <button type=\"button\" "
          "class=\"download\" data-name=\"",
          s->out);
    sg_put_element(s->out, "", name_of(s->document), ".json\">Save the JSON</button></p></section>\n");
    fprintf(s->out, "<script type=\"application/json\" id=\"r%d-document\">", s->number);
    html_put_json(s->out, s->document);
    fputs("</script>\n</article>\n", s->out);
out:
    sg_summary_free(&summary);
    free(title);
    free(source);
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
        status = sg_json_string(result[i].document, "status", "ok");
    return strspn(status, "abcdefghijklmnopqrstuvwxyz_") == strlen(status) ? status : "unknown";
}

sg_status sg_page_write(FILE *out, const struct sg_page_result *result, size_t n, const struct sg_plot_select *select,
                        struct sg_plot_notes *notes, struct sg_error *err) {
    struct sg_plot_notes unused, *all = notes ? notes : &unused;
    all->n = 0;
    struct sg_plot_select section = *select;
    char *title = n == 1 ? sg_plot_title(result[0].document, select->title)
                         : sg_format("%s", select->title ? select->title : "Results of sparsegrad");
    sg_status status = title ? SG_OK : sg_fail_memory(err, "the page");
    if (status != SG_OK)
        return status;
    put_head(out, title[0] ? title : name_of(result[0].document), worst_status(result, n));
    if (n > 1) {
        section.title = NULL; /* it is the page's */
        sg_put_element(out, "<header class=\"page\"><h1>", title, "</h1>\n");
        status = html_put_front(out, result, n, &section, err);
        fputs("</header>\n", out);
    }
    fputs("<main id=\"main\">\n", out);
    for (size_t i = 0; i < n && status == SG_OK; i++) {
        const struct html_section s = {
            .out = out, .document = result[i].document, .number = (int)i + 1, .level = n > 1 ? 3 : 2};
        status = put_section(&s, &result[i], &section, all, err);
    }
    if (status == SG_OK && sg_json_is_lost())
        status = sg_fail_memory(err, "the page");
    fputs("</main>\n<script>\n", out);
    fwrite(page_js, 1, sizeof page_js, out);
    fputs("</script>\n</body>\n</html>\n", out);
    free(title);
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
