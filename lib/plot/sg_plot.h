/* sg_plot.h: results JSON to tables and figures. Nothing is computed here that is not in the JSON. */
#ifndef SG_PLOT_H
#define SG_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "sg_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One curve: y mean with a standard-deviation band over x. Borrowed from the sg_figure. */
struct sg_curve {
    char *label;
    bool baseline;     /* drawn dashed black, as the paper's no-compression line */
    size_t n;
    double *x, *y, *y_std; /* [n]; NaN = no point; y_std NULL = no band */
};

struct sg_panel {
    char *title;               /* "(a)" … or the plot's own title */
    char *x_name, *y_name;     /* columns: "epoch", "suboptimality" */
    char *x_label, *y_label;   /* with units: "bits per worker" */
    bool log_x, log_y;
    bool points;               /* one point per label (final against density) instead of curves */
    double x_min, x_max, y_min, y_max; /* NaN = automatic */
    size_t n_curves;
    struct sg_curve *curve;
};

struct sg_figure {
    char *title;          /* with "(generated data: …)" when it is */
    size_t n_panels;
    struct sg_panel *panel;
};

struct sg_plot_select { /* overrides of the JSON's "plots"; all may be NULL / false */
    const char *x, *y, *log;
    size_t panel;         /* 1-based; 0 = all */
};

/* From a sparsebench result, a sparsetrain result or a series. */
SG_CHECKED sg_status sg_figure_read(struct sg_figure *out, const cJSON *result, const struct sg_plot_select *select,
                                    struct sg_error *err);
void sg_figure_free(struct sg_figure *figure);

/* An export format. Adding one = one file + one row in plot_table.c. */
struct sg_exporter {
    const char *name, *summary;
    bool binary;     /* not for a terminal */
    bool needs_gnuplot;
    /* figure NULL for formats made from the whole result (tables): they use `result`. */
    sg_status (*write)(FILE *out, const struct sg_figure *figure, const cJSON *result, struct sg_error *err);
    bool from_result;
};
const struct sg_exporter *sg_exporter_at(size_t i);
const struct sg_exporter *sg_exporter_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
