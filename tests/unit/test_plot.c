/* Thinning, views, ticks and formats of the exporters; reading of odd documents. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"
#include "sg_text.h"
#include "tap.h"

static void test_thinning(void) {
    enum { N = 6001 };
    static double x[N], y[N];
    static size_t index[N];
    struct sg_curve curve = {.n = N, .x = x, .y = y};
    struct sg_panel panel = {.y = {.log = true}};
    for (size_t i = 0; i < N; i++) {
        x[i] = (double)i;
        y[i] = i == 0 || i == 17 ? 0 : 1;
    }
    y[5] = NAN;
    size_t n = sg_plot_visible(&panel, &curve, N, index);
    ok(n == N - 3 && index[0] == 1 && index[n - 1] == N - 1, "zero on a log axis and NaN are no points");
    for (size_t max = 2; max <= 7000; max = max * 3 + 1) {
        n = sg_plot_visible(&panel, &curve, max, index);
        bool equal = true;
        for (size_t i = 0; i < n; i++)
            equal = equal && sg_plot_can_show(&panel, &curve, index[i]) && (i == 0 || index[i] > index[i - 1]);
        ok(n <= max && n >= (max < N - 3 ? (max + 1) / 2 : N - 3) && equal && index[0] == 1 && index[n - 1] == N - 1,
           "at most %zu points: %zu, first and last among them", max, n);
    }
    curve.n = 0;
    ok(sg_plot_visible(&panel, &curve, 10, index) == 0, "an empty curve");
}

static void fit(struct sg_panel *panel, double *x, double *y, double *std, size_t n, bool log) {
    static struct sg_curve curve;
    curve = (struct sg_curve){.n = n, .x = x, .y = y, .y_std = std};
    *panel = (struct sg_panel){
        .n_curves = 1, .curve = &curve, .x = {.min = NAN, .max = NAN}, .y = {.log = log, .min = NAN, .max = NAN}};
    sg_plot_fit(panel);
}

static void test_views(void) {
    struct sg_panel p;
    double x[] = {0, 1, 2}, y[] = {8, 0.1, 0.001}, std[] = {0, 0.05, 0.002}, low, high;
    fit(&p, x, y, std, 3, true);
    ok(p.x.min == 0 && p.x.max == 2, "curves fill the width");
    ok(p.y.min > 0.001 / 6 && p.y.min < 0.001 && p.y.max > 8 && p.y.max < 16,
       "a band below zero does not squeeze a log axis");
    sg_plot_band(&p, p.curve, 2, &low, &high);
    ok(low == p.y.min && high == 0.003, "its lower end is the axis");
    sg_plot_band(&p, p.curve, 1, &low, &high);
    ok(low == 0.1 - 0.05 && high == 0.1 + 0.05, "elsewhere the band is mean - std to mean + std");
    fit(&p, x, y, std, 3, false);
    ok(p.y.min == 0 && p.y.max > 8, "values that are never negative start at zero, whatever their band");
    double mixed[] = {-1, 0, 1};
    fit(&p, x, mixed, std, 3, false);
    ok(p.y.min < -1 && p.y.max > 1.002, "values of both signs");
    double flat[] = {3, 3, 3};
    fit(&p, x, flat, NULL, 3, true);
    ok(p.y.min < 3 && p.y.max > 3, "a flat line has room, log");
    fit(&p, x, flat, NULL, 3, false);
    ok(p.y.min < 3 && p.y.max > 3, "a flat line has room, linear");
    double zero[] = {0, 0, 0};
    fit(&p, x, zero, NULL, 3, false);
    ok(p.y.min < p.y.max && isfinite(p.y.max), "so does a line at zero");
    fit(&p, x, zero, NULL, 3, true);
    ok(isnan(p.y.min) && isnan(p.x.max), "nothing positive: no view");
    double huge[] = {1e308, -1e308, 5e-324};
    fit(&p, x, huge, NULL, 3, false);
    ok(isfinite(p.y.min) && isfinite(p.y.max) && p.y.min < p.y.max, "values at the ends of double");
    double far[] = {1e-300, 1, 1e300};
    fit(&p, x, far, NULL, 3, true);
    ok(p.y.min > 0 && p.y.min < 1e-300 && p.y.max > 1e300 && isfinite(p.y.max), "600 decades on a log axis");
    const struct sg_ticks ticks = sg_plot_ticks(&p.y);
    ok(ticks.kind == SG_TICKS_DECADES && ticks.step == 88, "a tick every 88 of them");
}

static void test_ticks(void) {
    static const struct {
        struct sg_axis axis;
        double step;
        int exponent;
        enum sg_tick_kind kind;
    } table[] = {
        {{.min = 0, .max = 10}, 2, 0, SG_TICKS_EVEN},
        {{.min = 0, .max = 1.92e6}, 5e5, 6, SG_TICKS_EVEN},
        {{.min = 0, .max = 3000}, 500, 0, SG_TICKS_EVEN},
        {{.min = 0, .max = 3.2e-4}, 5e-5, -6, SG_TICKS_EVEN},
        {{.min = 91.3, .max = 94.7}, 0.5, 0, SG_TICKS_EVEN},
        {{.log = true, .min = 1e-4, .max = 10}, 1, 0, SG_TICKS_DECADES},
        {{.log = true, .min = 1e-12, .max = 10}, 2, 0, SG_TICKS_DECADES},
        {{.log = true, .min = 5e-4, .max = 9e-3}, 0, 0, SG_TICKS_DIGITS},
        {{.log = true, .min = 3, .max = 4}, 0.2, 0, SG_TICKS_EVEN},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct sg_ticks t = sg_plot_ticks(&table[i].axis);
        ok(fabs(t.step - table[i].step) <= 1e-12 * table[i].step && t.exponent == table[i].exponent &&
               t.kind == table[i].kind,
           "ticks of [%g, %g]: every %g, exponent %d", table[i].axis.min, table[i].axis.max, t.step, t.exponent);
    }
}

static void test_formats(void) {
    const struct sg_exporter *e;
    for (size_t i = 0; (e = sg_exporter_at(i)) != NULL; i++)
        ok(!!e->figure + !!e->tables + !!e->page == 1 && sg_exporter_find(e->name) == e && (!e->data || e->figure),
           "format %s", e->name);
    ok(!sg_exporter_find("excel") && !sg_exporter_find(""), "unknown formats");
    ok(sg_exporter_by_path("a.b/fig.svg") == sg_exporter_find("svg"), "by extension");
    ok(sg_exporter_by_path("fig.gp") == sg_exporter_by_path("fig.gnuplot"), "several extensions of one format");
    ok(!sg_exporter_by_path("a.svg/fig") && !sg_exporter_by_path("fig.sv") && !sg_exporter_by_path("fig."),
       "no or an unknown extension");
    size_t size;
    char *tex = NULL;
    FILE *out = open_memstream(&tex, &size);
    sg_plot_put_tex(out, "50 % of a_b\n{λ} \\ ‖e‖² ½");
    tex = sg_stream_text(out, &tex);
    ok(tex && strcmp(tex, "50 \\% of a\\_b \\{$\\lambda$\\} \\textbackslash{} $\\Vert$e$\\Vert$$^2$ ½") == 0, "TeX: %s",
       tex);
    free(tex);
}

/* SG_OK, or the status and its message. */
static sg_status read_figure(const char *text, const struct sg_plot_select *select, char *title, size_t size,
                             struct sg_error *err) {
    cJSON *document;
    struct sg_figure figure;
    sg_status status = sg_plot_parse(&document, text, strlen(text), "r.json", err);
    if (status != SG_OK)
        return status;
    status = sg_figure_read(&figure, document, select, err);
    if (status == SG_OK) {
        snprintf(title, size, "%s|%zu|%s", figure.title, figure.n_panels, figure.panel[0].y.label);
        sg_figure_free(&figure);
    }
    cJSON_Delete(document);
    return status;
}

static void test_reading(void) {
    static const char two[] =
        "{\"schema\":\"sparsebench/"
        "1\",\"recipe\":{\"title\":\"T\"},\"dataset\":{\"source\":\"generated\",\"generator\":\"g\"},"
        "\"results\":[{\"label\":\"a\",\"series\":{\"step\":[1,2],\"hit_rate\":[1,2],\"loss\":[1,2]}}],"
        "\"units\":{\"hit_rate\":\"%\"},"
        "\"plots\":[{\"x\":\"step\",\"y\":\"hit-rate\"},{\"x\":\"step\",\"y\":\"loss\",\"log\":\"y\"}]}";
    char title[256];
    struct sg_error err;
    struct sg_plot_select s = {0};
    ok(read_figure(two, &s, title, sizeof title, &err) == SG_OK &&
           strcmp(title, "T — generated data (g)|2|hit rate (%)") == 0,
       "title, panels and label: %s", title);
    s = (struct sg_plot_select){.y = "loss", .title = "mine"};
    ok(read_figure(two, &s, title, sizeof title, &err) == SG_OK &&
           strcmp(title, "mine — generated data (g)|1|loss f(x)") == 0,
       "panels that become the same are merged: %s", title);
    s = (struct sg_plot_select){.y = "los"};
    ok(read_figure(two, &s, title, sizeof title, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "did you mean 'loss'?") &&
           strstr(err.msg, "step, hit_rate, loss"),
       "%s", err.msg);
    s = (struct sg_plot_select){.panel = 3};
    ok(read_figure(two, &s, title, sizeof title, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "has 2 plots"), "%s",
       err.msg);
    s = (struct sg_plot_select){0};
    ok(read_figure("{\"schema\":\"sparsebench/2\"}", &s, title, sizeof title, &err) == SG_ERR_UNSUPPORTED &&
           strstr(err.msg, "newer"),
       "%s", err.msg);
    ok(read_figure("{\"schema\":\n \"sparsebench/1\",,}", &s, title, sizeof title, &err) == SG_ERR_FORMAT &&
           strstr(err.msg, "r.json:2:"),
       "%s", err.msg);
    ok(read_figure("{\"schema\":\"sparsebench/1\",\"results\":[]}", &s, title, sizeof title, &err) == SG_ERR_ARGUMENT &&
           strstr(err.msg, "--x=NAME and --y=NAME"),
       "%s", err.msg);
    ok(read_figure(
           "{\"schema\":\"sparsebench/1\",\"results\":[{\"label\":\"a\",\"series\":{\"step\":[1,2],\"loss\":[1]}}],"
           "\"plots\":[{\"x\":\"step\",\"y\":\"loss\"}]}",
           &s, title, sizeof title, &err) == SG_ERR_FORMAT &&
           strstr(err.msg, "differ in length"),
       "%s", err.msg);
}

int main(void) {
    test_thinning();
    test_views();
    test_ticks();
    test_formats();
    test_reading();
    return tap_done();
}
