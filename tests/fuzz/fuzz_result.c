/* Results from hostile text, through every exporter that needs no other program. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "sg_plot.h"

static void check(sg_status status, const struct sg_error *err) {
    if (status != SG_OK && (err->msg[0] == '\0' || err->status != status))
        abort();
}

static void export_all(FILE *out, const struct sg_document *document, const struct sg_plot_select *select) {
    static const char *const formats[] = {"csv", "tsv", "pgfplots", "markdown", "latex", "table", "html"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct sg_error err = {0};
        struct sg_plot_notes notes;
        check(sg_export(out, sg_exporter_find(formats[i]), document, select, &notes, &err), &err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct sg_plot_select selects[] = {{0}, {.y = "loss", .log = "xy"}, {.x = "step", .title = "t", .width = 3}};
    struct sg_error err = {0};
    struct sg_document document;
    sg_status status = sg_plot_parse(&document, (const char *)data, size, "fuzz.json", &err);
    check(status, &err);
    FILE *out = status == SG_OK ? fopen("/dev/null", "w") : NULL;
    for (size_t i = 0; out && i < sizeof selects / sizeof *selects; i++)
        export_all(out, &document, &selects[i]);
    if (out)
        fclose(out);
    if (status == SG_OK)
        sg_document_free(&document);
    return 0;
}
