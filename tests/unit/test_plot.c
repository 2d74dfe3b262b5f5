/* Thinning, views, ticks and formats of the exporters; reading of odd documents. */
/* SPDX-License-Identifier: MIT */
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
    double late[] = {1, 2, 9}, later[] = {5, 6, 9};
    fit(&p, late, y, NULL, 3, true);
    ok(p.x.min == 0 && p.x.max == 9, "a run begins at 0, also if its first record is of step 1");
    fit(&p, later, y, NULL, 3, true);
    ok(p.x.min == 5, "but what is shown of it may begin later");
    fit(&p, x, y, std, 3, true);
    ok(p.y.min > 0.001 / 6 && p.y.min < 0.001 && p.y.max > 8 && p.y.max < 16,
       "a band below zero does not squeeze a log axis");
    sg_plot_band(&p, p.curve, 2, &low, &high);
    ok(fabs(low - 0.001 / 3) < 1e-12 && high == 0.003, "its lower end is as far below on the axis as the upper above");
    fit(&p, x, y, std, 3, false);
    sg_plot_band(&p, p.curve, 1, &low, &high);
    ok(low == 0.1 - 0.05 && high == 0.1 + 0.05, "on a linear axis the band is mean - std to mean + std");
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
    const struct sg_tick_room room = {.inches = 2, .em = 0.12};
    struct sg_ticks ticks;
    sg_plot_ticks(&ticks, &p.y, &room);
    ok(ticks.labels >= 3 && ticks.labels <= 7, "%zu labels over 600 decades", ticks.labels);
    p.y = (struct sg_axis){.log = true, .min = 1e10, .max = 10000000000.000002};
    sg_plot_fit(&p);
    sg_plot_ticks(&ticks, &p.y, &room);
    ok(p.y.min < 1e10 && p.y.max > 1e10 && ticks.n > 0, "chosen limits of one logarithm are widened");
}

/* The labels of an axis of `inches`, as "0 2 4" or "10^-2 10^0", with the exponent that they count in. */
static void test_ticks(void) {
    static const struct {
        struct sg_axis axis;
        double inches;
        bool across;
        int exponent;
        const char *labels;
    } table[] = {
        {{.min = 0, .max = 10}, 2.5, true, 0, "0 2 4 6 8 10"},
        {{.min = 0, .max = 10}, 0.8, true, 0, "0 5 10"},
        {{.min = 0, .max = 1.92e6}, 2.5, true, 6, "0 0.5 1 1.5"},
        {{.min = 0, .max = 3000}, 2.5, true, 0, "0 500 1000 1500 2000 2500 3000"},
        {{.min = 0, .max = 3000}, 1.3, true, 0, "0 1000 2000 3000"},
        {{.min = 0, .max = 3.2e-4}, 2, false, -6, "0 50 100 150 200 250 300"},
        {{.min = 91.3, .max = 94.7}, 2, false, 0, "91.5 92 92.5 93 93.5 94 94.5"},
        {{.min = -0.3, .max = 0.3}, 1, false, 0, "-0.2 0 0.2"},
        {{.log = true, .min = 1e-4, .max = 10}, 2, false, 0, "10^-4 10^-3 10^-2 10^-1 10^0 10^1"},
        {{.log = true, .min = 1e-12, .max = 10}, 2, false, 0, "10^-12 10^-10 10^-8 10^-6 10^-4 10^-2 10^0"},
        {{.log = true, .min = 0.5, .max = 900}, 2, false, 0, "1 10 100"},
        {{.log = true, .min = 12, .max = 420}, 2, false, 0, "20 50 100 200"},
        {{.log = true, .min = 75, .max = 380}, 2, false, 0, "100 200 300"},
        {{.log = true, .min = 1.2e-3, .max = 1.3e-2}, 2.5, true, 0, "0.002 0.005 0.01"},
        {{.log = true, .min = 5e-4, .max = 9e-3}, 2, false, 0, "5×10⁻⁴ 10⁻³ 2×10⁻³ 5×10⁻³"},
        {{.log = true, .min = 1.6e6, .max = 7e6}, 2.5, true, 0, "2×10⁶ 3×10⁶ 5×10⁶ 7×10⁶"},
        {{.log = true, .min = 3e-9, .max = 4e-8}, 2.5, true, 0, "5×10⁻⁹ 10⁻⁸ 2×10⁻⁸"},
        {{.log = true, .min = 3, .max = 4}, 2, false, 0, "3 3.2 3.4 3.6 3.8 4"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct sg_tick_room room = {.inches = table[i].inches, .em = 0.125, .across = table[i].across};
        struct sg_ticks t;
        char text[256] = "";
        sg_plot_ticks(&t, &table[i].axis, &room);
        for (size_t k = 0; k < t.n; k++)
            if (t.tick[k].labelled)
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s%s", text[0] ? " " : "",
                         t.tick[k].power ? "10^" : "", t.tick[k].text);
        ok(strcmp(text, table[i].labels) == 0 && t.exponent == table[i].exponent,
           "ticks of [%g, %g] on %g inches: %s, exponent %d", table[i].axis.min, table[i].axis.max, table[i].inches,
           text, t.exponent);
    }
}

/* Names of legends, lines of texts. */
static void test_texts(void) {
    static const char *const names[][2] = {{"Top-k density=0.003", "Top-k k/d=0.003"},
                                           {"Hard-threshold lambda=0.07938", "Hard-threshold λ=0.0794"},
                                           {"Hard-threshold lambda=9.321e-05", "Hard-threshold λ=9.32×10⁻⁵"},
                                           {"Grid step=1.194e+04", "Grid step=1.19×10⁴"},
                                           {"Grid step=2263", "Grid step=2260"},
                                           {"QSGD levels=63", "QSGD levels=63"},
                                           {"H lambda=1/(2*sqrt(0.001*d))", "H λ=1/(2√(0.001d))"},
                                           {"H tau=2*0.5*d*(1+d)*sqrt(d)", "H τ=2·0.5d·(1+d)√(d)"},
                                           {"Top-k, shuffled density=0.1", "Top-k, shuffled k/d=0.1"},
                                           {"Copied layers=false steps=true workers=true", "Copied steps workers"},
                                           {"Copied layers=false steps=false k=3", "Copied none k=3"},
                                           {"Top-k shuffle=false density=0.1", "Top-k no shuffle k/d=0.1"},
                                           {"true=false untrue false", "no true untrue false"},
                                           {"a=b c= =2 lambda=", "a=b c= =2 lambda="}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *name = sg_plot_name(names[i][0], 3);
        ok(name && strcmp(name, names[i][1]) == 0, "%s is drawn as %s", names[i][0], name ? name : "nothing");
        free(name);
    }
    static const char *const without[][2] = {{"A workers workers=8 step=2", "A workers step=2"},
                                             {"A workers=8 workers", "A workers"},
                                             {"A workers step=2", "A workers step=2"}};
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        char *label = sg_plot_label_without(without[i][0], "workers");
        ok(label && strcmp(label, without[i][1]) == 0, "'%s' without workers is '%s'", without[i][0],
           label ? label : "nothing");
        free(label);
    }
    ok(sg_plot_line("one two three", sg_plot_ems("one two")) == 7, "two words fit");
    ok(sg_plot_line("one two three", 0.1) == 3, "one word is a line even if it does not fit");
    ok(sg_plot_line("f (a b) / (c d)", sg_plot_ems("f (a b) / (c ")) == 9, "brackets stay together");
    ok(sg_plot_line("(one two three)", sg_plot_ems("(one two")) == 8, "unless they are longer than a line");
    ok(sg_plot_balance("one two three four", sg_plot_ems("one two three")) < sg_plot_ems("one two thre"),
       "lines of about the same length");
    ok(sg_plot_lines("one two three", sg_plot_ems("one two")) == 2 && sg_plot_lines("", 1) == 0, "lines of a text");
}

/* The style of each of these labels, of these methods and compressors, in one panel. */
static void styles(struct sg_figure *f, struct sg_legend *legend, size_t n) {
    static struct sg_curve curve[8];
    static struct sg_panel panel;
    for (size_t i = 0; i < n; i++)
        curve[i] = (struct sg_curve){.legend = i};
    panel = (struct sg_panel){.n_curves = n, .curve = curve};
    *f = (struct sg_figure){.n_legend = n, .legend = legend, .n_panels = 1, .panel = &panel};
    sg_plot_choose_styles(f);
}

static void test_styles(void) {
    char label[][32] = {"SGD", "Hard-threshold lambda=1", "Hard-threshold lambda=2", "Top-k", "Top-k, shuffled", "DGC"};
    struct sg_legend legend[] = {
        {.label = label[0], .method = "SGD", .compressor = "none", .baseline = true},
        {.label = label[1], .method = "Hard-threshold", .compressor = "hard-threshold"},
        {.label = label[2], .method = "Hard-threshold", .compressor = "hard-threshold"},
        {.label = label[3], .method = "Top-k", .compressor = "topk"},
        {.label = label[4], .method = "Top-k, shuffled", .compressor = "topk"},
        {.label = label[5], .method = "DGC", .compressor = "topk"},
    };
    struct sg_figure f;
    styles(&f, legend, 6);
    ok(strcmp(legend[0].style.color, "#000000") == 0 && legend[0].style.n_dash > 0, "a baseline is black and dashed");
    ok(strcmp(legend[3].style.color, "#0072B2") == 0, "Top-k is blue, wherever it stands");
    ok(sg_plot_is_same_method(&legend[1], &legend[2]) && sg_plot_is_same_method(&legend[3], &legend[4]) &&
           !sg_plot_is_same_method(&legend[4], &legend[5]),
       "parameters and variants are of one method");
    ok(strcmp(legend[1].style.color, legend[2].style.color) != 0 && legend[1].style.n_dash != legend[2].style.n_dash,
       "parameters differ in shade and dash");
    ok(strcmp(legend[5].style.color, "#009E73") == 0, "another method of the compressor has the next free hue");
    styles(&f, legend + 1, 2);
    ok(strcmp(legend[1].style.color, "#8A3D00") == 0, "the hue does not depend on what is beside: %s",
       legend[1].style.color);
}

/* A method that a panel merges keeps hue and marker; booleans show in shade and dash. */
static void test_merged_styles(void) {
    char label[][48] = {"vqSGD k=100",
                        "vqSGD with feedback k=100",
                        "vqSGD k=3",
                        "vqSGD",
                        "vqSGD with feedback",
                        "Copied a=false b=false",
                        "Copied a=false b=true",
                        "Copied a=true b=true"};
    struct sg_legend l[8];
    struct sg_figure f;
    for (size_t i = 0; i < 8; i++)
        l[i] = (struct sg_legend){.label = label[i], .method = label[i], .compressor = i < 5 ? "vqsgd" : "topk"};
    for (size_t i = 5; i < 8; i++)
        l[i].method = "Copied";
    styles(&f, l, 8);
    ok(strcmp(l[3].style.color, "#D55E00") == 0 && l[3].style.n_dash == 0 && !l[3].style.hollow, "merged: %s",
       l[3].style.color);
    ok(l[0].style.marker == l[3].style.marker && l[2].style.marker == l[3].style.marker, "its marker is the method's");
    ok(l[4].style.marker == l[1].style.marker && l[4].style.hollow && l[1].style.hollow &&
           l[4].style.marker != l[3].style.marker,
       "as is that of the variant");
    ok(strcmp(l[5].style.color, l[6].style.color) == 0 && l[5].style.n_dash != l[6].style.n_dash,
       "of booleans the others differ in dash alone");
    ok(strcmp(l[6].style.color, l[7].style.color) != 0 && l[6].style.n_dash == l[7].style.n_dash,
       "and the first in shade alone");
}

static void test_formats(void) {
    const struct sg_exporter *e;
    for (size_t i = 0; (e = sg_exporter_at(i)) != NULL; i++)
        ok(!!e->figure + !!e->tables + !!e->page == 1 && sg_exporter_find(e->name) == e && (!e->data || e->figure),
           "format %s", e->name);
    ok(!sg_exporter_find("excel") && !sg_exporter_find(""), "unknown formats");
    ok(sg_exporter_by_path("a.b/fig.svg") == sg_exporter_find("svg"), "by extension");
    ok(sg_exporter_by_path("page.htm") == sg_exporter_by_path("page.html"), "several extensions of one format");
    ok(!sg_exporter_by_path("a.svg/fig") && !sg_exporter_by_path("fig.sv") && !sg_exporter_by_path("fig."),
       "no or an unknown extension");
}

/* SG_OK, or the status and its message. */
static sg_status read_figure(const char *text, const struct sg_plot_select *select, char *title, size_t size,
                             struct sg_error *err) {
    struct sg_document document;
    struct sg_figure figure;
    sg_status status = sg_plot_parse(&document, text, strlen(text), "r.json", err);
    if (status != SG_OK)
        return status;
    status = sg_figure_read(&figure, &document, select, err);
    if (status == SG_OK) {
        snprintf(title, size, "%s|%zu|%s", figure.title, figure.n_panels, figure.panel[0].y.label);
        sg_figure_free(&figure);
    }
    sg_document_free(&document);
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
    test_texts();
    test_styles();
    test_merged_styles();
    test_formats();
    test_reading();
    return tap_done();
}
