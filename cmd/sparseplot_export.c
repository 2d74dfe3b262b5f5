/* sparseplot-export: results to figures and tables. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sg_file.h"
#include "sg_json.h"
#include "sg_options.h"
#include "sg_plot.h"
#include "sg_terminal.h"

static struct {
    const char *format, *output, *color;
    struct sg_plot_select select;
    int64_t panel;
    bool force, list;
} options = {.color = "auto"};

static const struct sg_option table[] = {
    {SG_OPTION_GROUP, .name = "Output"},
    {SG_OPTION_STRING, "format", 0, &options.format, .value = "NAME",
     .help = "what to write (see --list-formats); default: by the extension of FILE, else table on a terminal "
             "and csv in a pipe"},
    {SG_OPTION_STRING, "output", 'o', &options.output, .value = "FILE",
     .help = "write FILE, complete or not at all, instead of standard output"},
    {SG_OPTION_FLAG, "force", 'f', &options.force, .help = "replace FILE if it exists"},
    {SG_OPTION_FLAG, "list-formats", 0, &options.list, .help = "list the formats and exit"},
    {SG_OPTION_GROUP, .name = "What to show"},
    {SG_OPTION_STRING, "x", 0, &options.select.x, .value = "COLUMN",
     .help = "horizontal axis of every panel, instead of the recipe's"},
    {SG_OPTION_STRING, "y", 0, &options.select.y, .value = "COLUMN",
     .help = "vertical axis, or the column of a table; panels that become the same are merged"},
    {SG_OPTION_STRING, "sort", 0, &options.select.sort, .value = "COLUMN", .bare = "",
     .help = "sort the methods of a table by this column, best first; without COLUMN by the quality that the task "
             "measures"},
    {SG_OPTION_CHOICE, "log", 0, &options.select.log, .choices = "none|x|y|xy",
     .help = "logarithmic axes, instead of the recipe's"},
    {SG_OPTION_INT, "panel", 0, &options.panel, .value = "N", .min = 0, .max = 99,
     .help = "only the N-th plot of the recipe; 0 = all"},
    {SG_OPTION_STRING, "title", 0, &options.select.title, .value = "TEXT",
     .help = "title instead of the recipe's; generated data are always named in it"},
    {SG_OPTION_NUMBER, "width", 0, &options.select.width, .value = "INCHES", .min = 0, .max = 60,
     .help = "width of the figure; 0 = by the number of panels"},
    {SG_OPTION_NUMBER, "height", 0, &options.select.height, .value = "INCHES", .min = 0, .max = 60,
     .help = "height of the figure; 0 = by the number of panels"},
    {SG_OPTION_FLAG, "claims", 0, &options.select.claims,
     .help = "latex: also a table of the claims, which the other tables always have"},
    {SG_OPTION_CHOICE, "color", 0, &options.color, .choices = "auto|always|never",
     .help = "colour the verdicts of a table on standard output"},
};

static const struct sg_program program = {
    .name = "sparseplot-export",
    .usage = "[options] [RESULT...]",
    .operand = "json|ndjson",
    .summary =
        "Turn a result of sparsebench or sparsetrain (a file, or standard input), or several laid over each other, "
        "into a figure, a table or an interactive page.",
    .details = "Examples:\n"
               "  sparsebench recipes/fig1.yaml | sparseplot-export -o fig1.svg\n"
               "  sparseplot-export fig1.json                      final values and verdicts\n"
               "  sparseplot-export fig1.json --panel=2 -o bits.pdf\n"
               "  sparseplot-export before.json after.json -o both.svg\n"
               "  sparseplot-export fig1.json fig3.json -o page.html   one after the other\n"
               "  sparsetrain recipes/smoke.yaml --method SGD --json |\n"
               "      sparseplot-export --y=bits --format=csv\n\n"
               "Exit: 0 done, 1 the result could not be read or the output not written, 2 usage error.\n",
    .verbose = "say what is read and written; in tables also every seed of a claim",
    .options = table,
    .n_options = sizeof table / sizeof *table,
};

static void list_formats(void) {
    const struct sg_exporter *e;
    for (size_t i = 0; (e = sg_exporter_at(i)) != NULL; i++)
        printf("%-10s %-46s %s\n", e->name, e->summary, e->extensions ? e->extensions : "");
}

static const struct sg_exporter *choose_format(struct sg_error *err) {
    const struct sg_exporter *e, *chosen;
    char names[256] = "";
    size_t used = 0;
    for (size_t i = 0; (e = sg_exporter_at(i)) != NULL && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", e->name);
    if (options.format) {
        chosen = sg_exporter_find(options.format);
        if (!chosen)
            sg_fail(err, SG_ERR_ARGUMENT, "--format=%s: must be one of %s", options.format, names);
    } else if (options.output) {
        chosen = sg_exporter_by_path(options.output);
        if (!chosen)
            sg_fail(err, SG_ERR_ARGUMENT, "%s: its extension names no format: add --format=NAME (%s)", options.output,
                    names);
    } else {
        chosen = sg_exporter_find(sg_stdout_is_terminal() ? "table" : "csv");
    }
    return chosen;
}

/* The documents that are read, and what is made of them. */
struct input {
    struct sg_document document[SG_PAGE_RESULTS];
    size_t n;
};

/* Several results become one, but on a page each has a section of its own. */
static sg_status read_input(struct input *in, const char *const *path, size_t n, bool page, struct sg_error *err) {
    sg_status status = SG_OK;
    if (!page && n > SG_PLOT_OVERLAYS)
        return sg_fail(err, SG_ERR_ARGUMENT, "at most %d results lie over each other; --format=html shows them in turn",
                       SG_PLOT_OVERLAYS);
    if (!page) {
        status = sg_plot_read_all(&in->document[0], path, n, err);
        in->n = status == SG_OK;
    }
    for (; page && status == SG_OK && in->n < n; in->n += status == SG_OK)
        status = sg_plot_read(&in->document[in->n], path[in->n], err);
    for (size_t i = 0; status == SG_OK && i < n; i++)
        sg_log_detail("read %s", strcmp(path[i], "-") == 0 ? "<stdin>" : path[i]);
    return status;
}

static sg_status write_output(FILE *out, const struct input *in, const char *const *path,
                              const struct sg_exporter *exporter, struct sg_plot_notes *notes, struct sg_error *err) {
    struct sg_page_result result[SG_PAGE_RESULTS];
    if (!exporter->page)
        return sg_export(out, exporter, &in->document[0], &options.select, notes, err);
    for (size_t i = 0; i < in->n; i++)
        result[i] = (struct sg_page_result){&in->document[i], strcmp(path[i], "-") == 0 ? NULL : path[i]};
    return exporter->page(out, result, in->n, &options.select, notes, err);
}

static sg_status run(const char *const *path, size_t n_paths, const struct sg_exporter *exporter,
                     struct sg_error *err) {
    const bool to_stdout = !options.output;
    struct sg_file_writer writer = {0};
    struct sg_plot_notes notes = {0};
    struct input in = {.n = 0};
    sg_status status = SG_OK;
    if (to_stdout && exporter->binary && sg_stdout_is_terminal())
        return sg_fail(err, SG_ERR_ARGUMENT, "%s is binary and standard output a terminal: name a file with -o FILE",
                       exporter->name);
    if (!to_stdout) /* before the input, which may take its time */
        status = sg_file_begin(&writer, options.output, options.force, err);
    SG_DO(status, read_input(&in, path, n_paths, exporter->page != NULL, err));
    if (status == SG_OK && !options.format && to_stdout && sg_document_is_kernels(&in.document[0]))
        exporter = sg_exporter_find("table"); /* the one text they have, in a pipe as well */
    SG_DO(status, write_output(to_stdout ? stdout : writer.stream, &in, path, exporter, &notes, err));
    for (size_t i = 0; i < notes.n; i++)
        sg_log_note("%s", notes.text[i]);
    if (status == SG_OK && !to_stdout)
        status = sg_file_commit(&writer, err);
    if (status == SG_OK && !to_stdout)
        sg_log_detail("wrote %s (%s)", options.output, exporter->name);
    sg_file_abandon(&writer);
    for (size_t i = 0; i < in.n; i++)
        sg_document_free(&in.document[i]);
    return status;
}

int main(int argc, char **argv) {
    const char *path[SG_PAGE_RESULTS] = {"-"};
    size_t n_operands;
    struct sg_error err;
    sg_app_start(program.name);
    const int code = sg_options_parse(&program, argc, argv, path, SG_PAGE_RESULTS, &n_operands);
    if (code != SG_PARSE_RUN)
        return sg_app_finish(code);
    if (options.output && strcmp(options.output, "-") == 0)
        options.output = NULL;
    if (options.list) {
        list_formats();
        return sg_app_finish(SG_EXIT_OK);
    }
    if (n_operands == 0 && isatty(STDIN_FILENO)) {
        sg_log_error("which result? Name a file, or pipe one in: sparsebench recipe.yaml | sparseplot-export");
        return sg_app_finish(SG_EXIT_USAGE);
    }
    options.select.panel = (size_t)options.panel;
    options.select.seeds = sg_app_verbosity() == SG_VERBOSE;
    options.select.color = !options.output && sg_color(STDOUT_FILENO, options.color);
    options.select.columns = (size_t)sg_terminal_columns(options.output ? -1 : STDOUT_FILENO);
    const struct sg_exporter *exporter = choose_format(&err);
    sg_status status = exporter ? run(path, n_operands > 0 ? n_operands : 1, exporter, &err) : err.status;
    if (status != SG_OK)
        sg_log_error("%s", err.msg);
    return sg_app_finish(sg_exit_code(status));
}
