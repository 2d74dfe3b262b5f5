/* plot_labels.c: headings and axis labels of columns, in plain text and in TeX. */
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"

/* Columns that have a formula: what they are called in a heading and on an axis, and the formula for both kinds of text. */
static const struct {
    const char *name, *brief, *words, *formula, *latex;
} known[] = {
    {"suboptimality", "suboptimality", "suboptimality", "f(x) − f*", "$f(x)-f^\\star$"},
    {"relative_suboptimality", "relative suboptimality", "suboptimality", "(f(x) − f*) / (f(x⁰) − f*)",
     "$(f(x)-f^\\star)/(f(x^0)-f^\\star)$"},
    {"loss", "loss", "loss", "f(x)", "$f(x)$"},
    {"distance_squared", "squared distance", "distance", "‖x − x*‖²", "$\\Vert x-x^\\star\\Vert^2$"},
    {"bits", "bits per worker", "bits per worker", "", ""},
    {"bits_values", "bits per worker (values only)", "bits per worker (values only)", "", ""},
    {"bytes_sent", "bytes per worker", "bytes per worker", "", ""},
    {"error_norm", "error norm", "error norm", "‖e‖²", "$\\Vert e\\Vert^2$"},
    {"total_error", "total error", "total error", "Σ‖e‖²", "$\\sum_t\\Vert e_t\\Vert^2$"},
    {"error_max", "largest error", "largest error", "‖e‖∞", "$\\Vert e\\Vert_\\infty$"},
    {"compression_error", "compression error", "compression error", "‖p − C(p)‖² / ‖p‖²",
     "$\\Vert p-C(p)\\Vert^2/\\Vert p\\Vert^2$"},
    {"train_loss", "training loss", "training loss", "", ""},
    {"learning_rate", "learning rate", "learning rate", "γ", "$\\gamma$"},
    {"lambda", "threshold", "threshold", "λ", "$\\lambda$"},
    {"density", "density", "density", "k/d", "$k/d$"},
    {"average_density", "average density", "average density", "", ""},
    {"density_padded", "density, padded to the largest", "density, padded to the largest", "", ""},
};

/* UTF-8 that pdflatex does not know by itself, and TeX's own characters. */
static const struct {
    const char *text, *latex;
} tex[] = {
    {"\\", "\\textbackslash{}"},
    {"{", "\\{"},
    {"}", "\\}"},
    {"$", "\\$"},
    {"&", "\\&"},
    {"%", "\\%"},
    {"#", "\\#"},
    {"_", "\\_"},
    {"^", "\\textasciicircum{}"},
    {"~", "\\textasciitilde{}"},
    {"<", "\\textless{}"},
    {">", "\\textgreater{}"},
    {"−", "$-$"},
    {"±", "$\\pm$"},
    {"×", "$\\times$"},
    {"⁰", "$^0$"},
    {"¹", "$^1$"},
    {"²", "$^2$"},
    {"³", "$^3$"},
    {"⁴", "$^4$"},
    {"⁵", "$^5$"},
    {"⁶", "$^6$"},
    {"⁷", "$^7$"},
    {"⁸", "$^8$"},
    {"⁹", "$^9$"},
    {"⁻", "$^-$"},
    {"‖", "$\\Vert$"},
    {"∇", "$\\nabla$"},
    {"∞", "$\\infty$"},
    {"Σ", "$\\Sigma$"},
    {"λ", "$\\lambda$"},
    {"γ", "$\\gamma$"},
    {"δ", "$\\delta$"},
    {"Δ", "$\\Delta$"},
    {"ζ", "$\\zeta$"},
    {"σ", "$\\sigma$"},
    {"η", "$\\eta$"},
    {"≤", "$\\le$"},
    {"≥", "$\\ge$"},
    {"≈", "$\\approx$"},
};

char *sg_plot_tex_escape(const char *text) {
    size_t size = 0;
    char *out = NULL;
    FILE *stream = open_memstream(&out, &size);
    if (!stream)
        return NULL;
    while (*text) {
        size_t i = 0, n = sizeof tex / sizeof *tex;
        while (i < n && strncmp(text, tex[i].text, strlen(tex[i].text)) != 0)
            i++;
        if (i < n) {
            fputs(tex[i].latex, stream);
            text += strlen(tex[i].text);
        } else {
            fputc((unsigned char)*text < ' ' ? ' ' : *text, stream);
            text++;
        }
    }
    if (fclose(stream) != 0) {
        free(out);
        return NULL;
    }
    return out;
}

static size_t find_known(const char *column) {
    size_t i = 0;
    while (i < sizeof known / sizeof *known && strcmp(known[i].name, column) != 0)
        i++;
    return i;
}

/* "hit rate (%)" of hit_rate; malloc'ed, NULL = no memory. */
static char *name_with_unit(const cJSON *document, const char *column) {
    const cJSON *unit = cJSON_GetObjectItemCaseSensitive(sg_json_get(document, "units"), column);
    bool named = cJSON_IsString(unit) && unit->valuestring[0];
    char *out;
    if (asprintf(&out, named ? "%s (%s)" : "%s", column, named ? unit->valuestring : "") < 0)
        return NULL;
    for (size_t i = 0; i < strlen(column); i++)
        if (out[i] == '_')
            out[i] = ' ';
    return out;
}

static char *two_words(const char *a, const char *b) {
    char *out;
    return asprintf(&out, "%s%s%s", a, b[0] ? " " : "", b) < 0 ? NULL : out;
}

sg_status sg_plot_label(char **plain, char **latex, const cJSON *document, const char *column, struct sg_error *err) {
    const size_t i = find_known(column);
    const bool is_known = i < sizeof known / sizeof *known;
    char *a = is_known ? two_words(known[i].words, known[i].formula) : name_with_unit(document, column);
    char *b = is_known ? two_words(known[i].words, known[i].latex) : a ? sg_plot_tex_escape(a) : NULL;
    if (!a || !b) {
        free(a);
        free(b);
        return sg_fail_memory(err, column);
    }
    *plain = a;
    *latex = b;
    return SG_OK;
}

char *sg_plot_heading(const cJSON *document, const char *column, const char **formula, const char **latex) {
    const size_t i = find_known(column);
    const bool is_known = i < sizeof known / sizeof *known;
    *formula = is_known ? known[i].formula : "";
    *latex = is_known ? known[i].latex : "";
    return is_known ? strdup(known[i].brief) : name_with_unit(document, column);
}

const char *sg_plot_power(char out[SG_POWER_CHARS], int exponent) {
    static const char *const digit[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    char plain[16];
    snprintf(plain, sizeof plain, "%d", exponent);
    size_t used = (size_t)snprintf(out, SG_POWER_CHARS, "×10");
    for (const char *c = plain; *c; c++)
        used += (size_t)snprintf(out + used, SG_POWER_CHARS - used, "%s", *c == '-' ? "⁻" : digit[*c - '0']);
    return out;
}

/* Writes into out [size] what a title must not hide from its reader: that data are generated, or that a run trained on
 * a file that is not the set's for training. "" = neither. */
static void data_warning(const cJSON *document, char *out, size_t size) {
    const char *train = sg_json_string(document, "dataset.train_file", "train");
    out[0] = '\0';
    if (strcmp(sg_json_string(document, "dataset.source", ""), "generated") == 0)
        snprintf(out, size, "generated data (%s)",
                 sg_json_string(document, "dataset.generator", sg_json_string(document, "dataset.name", "")));
    else if (strcmp(train, "train") != 0)
        snprintf(out, size, "trained on its file '%s'", train);
}

static bool same_key(const char *a, const char *b) {
    size_t n = strcspn(a, "=");
    return n == strcspn(b, "=") && strncmp(a, b, n) == 0;
}

/* Is this the last change of its key, and does more than the name of the result depend on it? */
static bool is_change(const cJSON *item) {
    if (!cJSON_IsString(item) || same_key(item->valuestring, "title=") || same_key(item->valuestring, "name="))
        return false;
    for (const cJSON *later = item->next; later; later = later->next)
        if (cJSON_IsString(later) && same_key(later->valuestring, item->valuestring))
            return false;
    return true;
}

/* What --set changed, of a result of either program. */
static const cJSON *changes_of(const cJSON *document) {
    const cJSON *set = sg_json_get(document, "recipe.set");
    return cJSON_IsArray(set) ? set : sg_json_get(document, "run.recipe.set");
}

static bool sets_title(const cJSON *document) {
    const cJSON *item;
    cJSON_ArrayForEach(item, changes_of(document)) if (cJSON_IsString(item) &&
                                                       same_key(item->valuestring, "title=")) return true;
    return false;
}

/* "workers=8, seeds=[1,2]" after `before`, nothing where nothing was changed. */
static void put_changes(FILE *out, const cJSON *document, const char *before) {
    const cJSON *item;
    cJSON_ArrayForEach(item, changes_of(document)) if (is_change(item)) {
        fprintf(out, "%s%s", before, item->valuestring);
        before = ", ";
    }
}

char *sg_plot_title(const cJSON *document, const char *override) {
    const char *title = sg_json_string(document, "recipe.title", sg_json_string(document, "title", ""));
    char warning[128], *out = NULL, *own = override ? sg_plot_clean(override) : NULL;
    if (override && !own)
        return NULL;
    title = own ? own : title;
    size_t size;
    FILE *stream = open_memstream(&out, &size);
    data_warning(document, warning, sizeof warning);
    if (stream) {
        fputs(title, stream);
        if (!own && title[0] && !sets_title(document)) /* the recipe's title may no longer be true */
            put_changes(stream, document, " — ");
        fprintf(stream, "%s%s", title[0] && warning[0] ? " — " : "", warning);
    }
    free(own);
    if (!stream || fclose(stream) == 0)
        return stream ? out : NULL;
    free(out);
    return NULL;
}

char *sg_plot_source(const cJSON *document) {
    size_t size;
    char *out = NULL;
    const char *hash = sg_json_string(document, "recipe.sha256", sg_json_string(document, "run.recipe.sha256", NULL));
    FILE *stream = open_memstream(&out, &size);
    if (!stream)
        return NULL;
    fprintf(stream, "recipe %s", sg_json_string(document, "recipe.name", sg_json_string(document, "name", "?")));
    put_changes(stream, document, ", ");
    if (hash)
        fprintf(stream, " (sha256 %.12s)", hash);
    fprintf(stream, ", dataset %s (%s), sparsegrad %s (%s%s)", sg_json_string(document, "dataset.name", "?"),
            sg_json_string(document, "dataset.source", "?"), sg_json_string(document, "program.version", "?"),
            sg_json_string(document, "program.commit", "?"),
            sg_json_bool(document, "program.dirty", false) ? ", dirty" : "");
    if (fclose(stream) != 0) {
        free(out);
        return NULL;
    }
    return out;
}

const char *sg_plot_color(const struct sg_legend *entry) {
    /* Okabe and Ito's colours without yellow, which cannot be seen on white, with the strongest contrast first. */
    static const char *const palette[SG_PLOT_COLORS] = {"#0072B2", "#D55E00", "#009E73",
                                                        "#CC79A7", "#E69F00", "#56B4E9"};
    return entry->baseline ? "#000000" : palette[entry->style % SG_PLOT_COLORS];
}

size_t sg_plot_grid_columns(size_t n_panels) {
    return n_panels == 4 ? 2 : n_panels < 3 ? n_panels : 3;
}

char *sg_plot_caption(const struct sg_figure *figure, size_t i) {
    const char *title = figure->panel[i].title;
    char letter[8] = "", *out;
    if (figure->n_panels > 1 && !(title && title[0] == '(')) /* recipes may give their panels letters themselves */
        snprintf(letter, sizeof letter, "(%c)%s", (int)('a' + (int)i), title ? " " : "");
    return asprintf(&out, "%s%s", letter, title ? title : "") < 0 ? NULL : out;
}
