/* plot_style.c: hue, shade, dash and marker of every entry of a figure's legend. */
/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <string.h>

#include "plot_private.h"
#include "sg_debug.h"
#include "sg_memory.h"

/* The paper's two methods come first, Top-k and hard-threshold. */
static const unsigned char hues[SG_STYLE_HUES][3] = {{0x00, 0x72, 0xB2}, {0xD5, 0x5E, 0x00}, {0x00, 0x9E, 0x73},
                                                     {0xCC, 0x79, 0xA7}, {0xE6, 0x9F, 0x00}, {0x56, 0xB4, 0xE9},
                                                     {0x7A, 0x4A, 0x1E}, {0x5B, 0x3E, 0x96}};
static const char *const own_hue[] = {"topk", "hard-threshold"};

struct dash {
    size_t n;
    double length[SG_DASH_MOST];
};
static const struct dash dashes[] = {
    {0, {0}}, {2, {5, 2}}, {2, {1.5, 1.5}}, {4, {5, 2, 1.5, 2}}, {2, {9, 3}}, {6, {5, 2, 1.5, 2, 1.5, 2}}};
static const struct dash baseline_dashes[] = {{2, {5, 3}}, {2, {1.5, 2}}, {4, {6, 2, 1.5, 2}}, {2, {10, 4}}};
enum { DASHES = sizeof dashes / sizeof *dashes, BASELINE_DASHES = sizeof baseline_dashes / sizeof *baseline_dashes };

/* The first word of a name, up to a blank or comma, without its digits: "Top-" of "Top-0.1 %". */
static bool is_same_word(const char *a, const char *b) {
    for (;;) {
        a += strspn(a, "0123456789.");
        b += strspn(b, "0123456789.");
        const bool a_ends = !*a || *a == ' ' || *a == ',', b_ends = !*b || *b == ' ' || *b == ',';
        if (a_ends || b_ends || *a != *b)
            return a_ends && b_ends;
        a++;
        b++;
    }
}

bool sg_plot_is_same_method(const struct sg_legend *a, const struct sg_legend *b) {
    return a->baseline == b->baseline && strcmp(a->compressor, b->compressor) == 0 &&
           is_same_word(a->method, b->method);
}

/* ---- methods ---- */

/* The entries of one method: variants as "Top-k" and "Top-k, shuffled", each with parameters or whole. */
struct method {
    size_t first;        /* its first entry */
    size_t hue, earlier; /* how many methods before it have the hue */
    bool chosen;
    size_t variants, parameters; /* `parameters` of the variant with the most */
};
struct entry {
    size_t method;
    size_t variant, parameter; /* which of its method and of its variant, from 0 */
    bool whole;                /* it has no parameter */
};
struct styling {
    struct sg_figure *figure;
    struct method *method; /* [n_methods] */
    size_t n_methods;
    struct entry *entry; /* [n_legend] */
    bool *beside;        /* [n_methods * n_methods] are two in one panel? */
};

/* A run without compression that is no baseline but has the name of one, as "SGD at 20" beside "SGD". */
static bool is_black(const struct sg_figure *f, size_t entry) {
    const struct sg_legend *e = &f->legend[entry];
    bool named = false;
    for (size_t i = 0; i < f->n_legend; i++)
        named = named || (f->legend[i].baseline && is_same_word(f->legend[i].method, e->method));
    return e->baseline || (named && strcmp(e->compressor, "none") == 0);
}

/* The next word of a label that is no parameter, as "k=100"; *length <- how long it is, 0 at the end. */
static const char *next_name(const char *label, size_t *length) {
    do {
        label += strspn(label, " ");
        *length = strcspn(label, " ");
        if (!memchr(label, '=', *length))
            return label;
        label += *length;
    } while (true);
}

/* True if two labels differ in parameters alone: "vqSGD", "vqSGD k=3" and "vqSGD k=100". */
static bool is_same_variant(const char *a, const char *b) {
    size_t length_a, length_b;
    for (;;) {
        a = next_name(a, &length_a);
        b = next_name(b, &length_b);
        if (length_a != length_b || memcmp(a, b, length_a) != 0)
            return false;
        if (length_a == 0)
            return true;
        a += length_a;
        b += length_b;
    }
}

/* Finds the variant and the parameter of an entry beside those before it, which are found. */
static void find_variant(struct styling *s, size_t i) {
    const struct sg_legend *legend = s->figure->legend;
    struct entry *e = &s->entry[i];
    struct method *method = &s->method[e->method];
    e->variant = method->variants;
    e->whole = strchr(legend[i].label, '=') == NULL;
    for (size_t j = 0; j < i; j++)
        if (s->entry[j].method == e->method && is_same_variant(legend[j].label, legend[i].label)) {
            e->variant = s->entry[j].variant;
            e->parameter += !s->entry[j].whole;
        }
    if (e->variant == method->variants)
        method->variants++;
    if (!e->whole && e->parameter >= method->parameters)
        method->parameters = e->parameter + 1;
}

static void find_methods(struct styling *s) {
    const struct sg_figure *f = s->figure;
    for (size_t i = 0; i < f->n_legend; i++) {
        size_t m = 0;
        while (m < s->n_methods && !sg_plot_is_same_method(&f->legend[s->method[m].first], &f->legend[i]))
            m++;
        if (m == s->n_methods)
            s->method[s->n_methods++] = (struct method){.first = i};
        s->entry[i].method = m;
        find_variant(s, i);
    }
    for (size_t p = 0; p < f->n_panels; p++)
        for (size_t a = 0; !f->panel[p].ranking && a < f->panel[p].n_curves; a++)
            for (size_t b = 0; b < f->panel[p].n_curves; b++) {
                const size_t one = s->entry[f->panel[p].curve[a].legend].method;
                s->beside[one * s->n_methods + s->entry[f->panel[p].curve[b].legend].method] = true;
            }
}

static void take_hue(struct styling *s, size_t m, size_t hue) {
    struct method *method = &s->method[m];
    method->hue = hue;
    method->earlier = 0;
    method->chosen = true;
    for (size_t i = 0; i < s->n_methods; i++)
        method->earlier += i != m && s->method[i].chosen && s->method[i].hue == hue;
}

/* The hue that the fewest methods of the same panels have, and of those the one that the fewest have at all. */
static size_t free_hue(const struct styling *s, size_t m) {
    size_t best = 0, least = SIZE_MAX;
    for (size_t hue = 0; hue < SG_STYLE_HUES; hue++) {
        size_t cost = 0;
        for (size_t i = 0; i < s->n_methods; i++)
            if (s->method[i].chosen && s->method[i].hue == hue)
                cost += s->beside[m * s->n_methods + i] ? s->n_methods + 1 : 1;
        if (cost < least) {
            least = cost;
            best = hue;
        }
    }
    return best;
}

/* The first method of the compressors that have a hue of their own takes it, also where the hue stays unused. A method
 * that is in rankings alone, whose rows have names, needs none. */
static void choose_hues(struct styling *s) {
    for (size_t hue = 0; hue < sizeof own_hue / sizeof *own_hue; hue++)
        for (size_t m = 0; m < s->n_methods; m++)
            if (strcmp(s->figure->legend[s->method[m].first].compressor, own_hue[hue]) == 0) {
                take_hue(s, m, hue);
                break;
            }
    for (size_t m = 0; m < s->n_methods; m++)
        if (!s->method[m].chosen && !is_black(s->figure, s->method[m].first) && s->beside[m * s->n_methods + m])
            take_hue(s, m, free_hue(s, m));
}

/* ---- entries ---- */

/* Mixes the hue with white, or, below 0, with black. */
static void set_color(struct sg_style *style, const unsigned char hue[3], double t) {
    int rgb[3];
    for (int i = 0; i < 3; i++)
        rgb[i] = (int)(t < 0 ? hue[i] * (1 + t) : hue[i] + (255 - hue[i]) * t);
    snprintf(style->color, sizeof style->color, "#%02X%02X%02X", (unsigned)rgb[0] & 255, (unsigned)rgb[1] & 255,
             (unsigned)rgb[2] & 255);
}

static void set_dash(struct sg_style *style, const struct dash *dash) {
    style->n_dash = dash->n;
    memcpy(style->dash, dash->length, sizeof style->dash);
}

static void set_black(struct sg_style *style, size_t earlier) {
    *style = (struct sg_style){.color = "#000000", .width = 1.1, .hollow = true};
    style->marker = (enum sg_marker)(earlier % SG_MARKERS);
    set_dash(style, &baseline_dashes[earlier % BASELINE_DASHES]);
}

/* Of variants, for strong and for light hues, which must not become paler on white; parameters go from dark to light,
 * because they have an order. */
enum { SHADES = 4 };
static const double shades[2][SHADES] = {{0, 0.35, -0.4, 0.15}, {0, -0.4, 0.2, -0.2}};

/* True if the parameters of a label are booleans, of which there are several. *first <- the first of them, *rest <- the
 * number that the others are as binary digits. */
static bool read_booleans(const char *label, bool *first, size_t *rest) {
    size_t n = 0;
    *rest = 0;
    for (size_t length; *label; label += length + (label[length] == ' ')) {
        length = strcspn(label, " ");
        const bool yes = sg_plot_has_value(label, length, "true");
        if (!memchr(label, '=', length))
            continue;
        if (!yes && !sg_plot_has_value(label, length, "false"))
            return false;
        if (n++ == 0)
            *first = yes;
        else
            *rest = 2 * *rest + yes;
    }
    return n > 1;
}

/* One thing that differs shows in shade and dash; of two, variants differ in dash and parameters in shade. Of
 * booleans, which have no order, the first shows in shade and the others in dash. */
static void set_style(const struct styling *s, const struct entry *e, const char *label, struct sg_style *style) {
    const struct method *method = &s->method[e->method];
    const unsigned char *hue = hues[method->hue];
    const bool light = hue[0] + 2 * hue[1] + hue[2] > 530, ordered = !e->whole && method->parameters > 1;
    size_t dash = ordered && method->variants < 2 ? e->parameter : e->variant, rest;
    bool first = false;
    if (!method->chosen) {
        *style = (struct sg_style){.color = "#606060", .width = 1.4};
        return;
    }
    double step = ordered ? (double)e->parameter / (double)(method->parameters - 1) : 0;
    if (ordered && read_booleans(label, &first, &rest)) {
        step = first;
        dash = rest;
    }
    *style = (struct sg_style){.width = 1.4, .hollow = e->variant % 2 == 1};
    set_color(style, hue,
              ordered ? (light ? -0.5 + 0.7 * step : -0.35 + 0.75 * step)
                      : shades[light][(e->variant + method->earlier) % SHADES]);
    set_dash(style, &dashes[(dash + method->earlier) % DASHES]);
    style->marker = (enum sg_marker)((method->hue + method->earlier + e->variant) % SG_MARKERS);
}

void sg_plot_choose_styles(struct sg_figure *figure) {
    const size_t n = figure->n_legend ? figure->n_legend : 1;
    struct styling s = {.figure = figure,
                        .method = sg_calloc(n, sizeof *s.method),
                        .entry = sg_calloc(n, sizeof *s.entry),
                        .beside = sg_calloc(n * n, sizeof *s.beside)};
    const bool fine = s.method && s.entry && s.beside;
    if (fine) {
        size_t blacks = 0;
        find_methods(&s);
        choose_hues(&s);
        for (size_t i = 0; i < figure->n_legend; i++)
            if (is_black(figure, i))
                set_black(&figure->legend[i].style, blacks++);
            else
                set_style(&s, &s.entry[i], figure->legend[i].label, &figure->legend[i].style);
    }
    free(s.method);
    free(s.entry);
    free(s.beside);
}
