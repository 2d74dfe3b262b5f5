/* plot_table.c: the table of export formats. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "plot_private.h"
#include "sg_bench.h"
#include "sg_text.h"

/* The formats, and what each needs of a document. */
static const struct sg_exporter exporters[] = {
    {"table", "final values and verdicts, plain text", "txt", false, false, NULL, sg_export_table},
    {"csv", "every point: panel,label,x,y,y_std", "csv", false, true, sg_export_columns, NULL},
    {"tsv", "the same, tab-separated", "tsv|dat", false, true, sg_export_columns, NULL},
    {"svg", "figure for the web", "svg", false, false, sg_export_svg, NULL},
    {"png", "figure as pixels (rsvg-convert)", "png", true, false, sg_export_image, NULL},
    {"pdf", "figure for print (rsvg-convert)", "pdf", true, false, sg_export_image, NULL},
    {"pgfplots", "stand-alone LaTeX document with PGFPlots", "tex", false, false, sg_export_pgfplots, NULL},
    {"pgfplots-axis", "the same, to \\input into a tikzpicture", NULL, false, false, sg_export_pgfplots, NULL},
    {"markdown", "final values and verdicts, Markdown", "md", false, false, NULL, sg_export_markdown},
    {"latex", "final values and verdicts, LaTeX with booktabs", NULL, false, false, NULL, sg_export_latex},
    {"html", "interactive page, a section for each result", "html|htm", false, false, NULL, NULL, sg_page_write},
};

enum { N_EXPORTERS = sizeof exporters / sizeof *exporters };

const struct sg_exporter *sg_exporter_at(size_t i) {
    return i < N_EXPORTERS ? &exporters[i] : NULL;
}

const struct sg_exporter *sg_exporter_find(const char *name) {
    for (size_t i = 0; i < N_EXPORTERS; i++)
        if (strcmp(exporters[i].name, name) == 0)
            return &exporters[i];
    return NULL;
}

const struct sg_exporter *sg_exporter_by_path(const char *path) {
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    for (size_t i = 0; dot && i < N_EXPORTERS; i++)
        if (exporters[i].extensions && sg_is_choice(exporters[i].extensions, dot + 1))
            return &exporters[i];
    return NULL;
}

static sg_status export_tables(FILE *out, const struct sg_exporter *exporter, const struct sg_document *document,
                               const struct sg_plot_select *select, struct sg_plot_notes *notes, struct sg_error *err) {
    struct sg_summary summary;
    sg_status status = sg_summary_read(&summary, document, select, err);
    if (status != SG_OK)
        return status;
    if (notes)
        *notes = summary.notes;
    exporter->tables(out, &summary);
    sg_summary_free(&summary);
    return SG_OK;
}

static sg_status export_figure(FILE *out, const struct sg_exporter *exporter, const struct sg_document *document,
                               const struct sg_plot_select *select, struct sg_plot_notes *notes, struct sg_error *err) {
    struct sg_figure figure;
    struct sg_plot_select own = *select;
    own.recorded = exporter->data;
    sg_status status = sg_figure_read(&figure, document, &own, err);
    if (status != SG_OK)
        return status;
    if (figure.hidden && !exporter->data)
        sg_plot_note(&figure.notes, "%zu value%s without a place on a log axis (zero or negative) left out",
                     figure.hidden, figure.hidden == 1 ? "" : "s");
    if (notes)
        *notes = figure.notes;
    status = exporter->data ? SG_OK : sg_figure_drawable(&figure, err);
    SG_DO(status, exporter->figure(out, &figure, exporter->name, err));
    sg_figure_free(&figure);
    return status;
}

sg_status sg_export(FILE *out, const struct sg_exporter *exporter, const struct sg_document *document,
                    const struct sg_plot_select *select, struct sg_plot_notes *notes, struct sg_error *err) {
    sg_status status;
    if (notes)
        notes->n = 0;
    if (select->sort && ((!exporter->page && !exporter->tables) || sg_document_is_kernels(document)))
        return sg_fail(err, SG_ERR_ARGUMENT, "--sort is for tables of methods");
    if (exporter->page)
        return exporter->page(out, &(struct sg_page_result){document, NULL}, 1, select, notes, err);
    if (sg_document_is_kernels(document)) {
        if (exporter->tables != sg_export_table)
            return sg_fail(err, SG_ERR_ARGUMENT, "times of kernels are tables only: --format=table or html");
        struct sg_summary summary;
        const size_t width = select->columns ? select->columns : SG_PLOT_WIDTH;
        status = sg_summary_read(&summary, document, select, err);
        if (status != SG_OK)
            return status;
        sg_bench_table(out, document->rows, width);
        sg_plot_put_claims(out, &summary);
        sg_summary_free(&summary);
        return status;
    }
    return (exporter->tables ? export_tables : export_figure)(out, exporter, document, select, notes, err);
}
