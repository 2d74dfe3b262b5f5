/* plot_labels.c: what tables and figures are called: headings and axis labels of columns, titles, sources, captions. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "plot_private.h"
#include "sg_memory.h"
#include "sg_task.h"
#include "sg_text.h"

/* "hit rate (%)" of hit_rate; the caller frees it. */
static char *name_with_unit(const char *column, const char *unit) {
    char *name = sg_spaced(sg_strdup(column)), *out = sg_format(unit[0] ? "%s (%s)" : "%s", name, unit);
    free(name);
    return out;
}

char *sg_plot_heading(const struct sg_document *document, const char *column, const char **formula) {
    const struct sg_metric *known = sg_column_find(column);
    const cJSON *unit = cJSON_GetObjectItemCaseSensitive(document->units, column);
    *formula = known && known->symbol ? known->symbol : "";
    if (known && known->title)
        return sg_strdup(known->title);
    return name_with_unit(column, cJSON_IsString(unit) && !*formula[0] ? unit->valuestring : "");
}

/* Axis labels of names that are no columns with a title. The titles of the panels of bursts say to what the share
 * refers. */
static const struct {
    const char *begin, *axis;
} axes[] = {{"burst_", "modelled cost added by bursts (share)"}, {"scale", "peak learning rate / γ"}};

void sg_plot_label(struct sg_axis *axis, const struct sg_document *document) {
    const struct sg_metric *known = sg_column_find(axis->name);
    char *heading = sg_plot_heading(document, axis->name, &axis->formula);
    const char *text = known && known->axis ? known->axis : heading;
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        if (strncmp(axis->name, axes[i].begin, strlen(axes[i].begin)) == 0)
            text = axes[i].axis;
    axis->words = text ? sg_strdup(text) : NULL;
    axis->label = text ? sg_format("%s%s%s", text, axis->formula[0] ? " " : "", axis->formula) : NULL;
    free(heading);
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
static void data_warning(const struct sg_document_dataset *data, char *out, size_t size) {
    const char *train = sg_or(data ? data->train_file : NULL, "train");
    out[0] = '\0';
    if (data && strcmp(sg_or(data->source, ""), "generated") == 0)
        snprintf(out, size, "generated data (%s)", sg_or(data->generator, sg_or(data->name, "")));
    else if (strcmp(train, "train") != 0)
        snprintf(out, size, "trained on the set's file '%s' in place of 'train'", train);
}

static bool same_key(const char *a, const char *b) {
    size_t n = strcspn(a, "=");
    return n == strcspn(b, "=") && strncmp(a, b, n) == 0;
}

/* The --set values of a result of sparsebench or sparsetrain. */
static struct sg_text_list changes_of(const struct sg_document *d) {
    if (d->recipe && d->recipe->set.item)
        return d->recipe->set;
    return d->run && d->run->recipe ? d->run->recipe->set : (struct sg_text_list){0};
}

/* True if item i is the last change of its key, and changes more than the name of the result. */
static bool is_change(const struct sg_text_list *set, size_t i) {
    const char *item = set->item[i];
    if (!item || same_key(item, "title=") || same_key(item, "name=") ||
        strncmp(item, "network", 7) == 0) /* which the title names by itself */
        return false;
    for (size_t later = i + 1; later < set->n; later++)
        if (set->item[later] && same_key(set->item[later], item))
            return false;
    return true;
}

static bool sets_title(const struct sg_document *document) {
    const struct sg_text_list set = changes_of(document);
    for (size_t i = 0; i < set.n; i++)
        if (set.item[i] && same_key(set.item[i], "title="))
            return true;
    return false;
}

/* "workers=8, seeds=[1,2]" after `before`, nothing where nothing was changed. */
static void put_changes(FILE *out, const struct sg_document *document, const char *before) {
    const struct sg_text_list set = changes_of(document);
    for (size_t i = 0; i < set.n; i++)
        if (is_change(&set, i)) {
            fprintf(out, "%s%s", before, set.item[i]);
            before = ", ";
        }
}

char *sg_plot_title(const struct sg_document *document, const char *override) {
    const char *title = sg_or(document->recipe ? document->recipe->title : NULL, sg_or(document->title, ""));
    char warning[128], *out = NULL, *own = override ? sg_text_clean(override) : NULL;
    if (override && !own)
        return NULL;
    title = own ? own : title;
    size_t size;
    FILE *stream = sg_memstream(&out, &size);
    data_warning(document->dataset, warning, sizeof warning);
    if (stream) {
        fputs(title, stream);
        if (!own && title[0] && !sets_title(document)) /* the recipe's title may no longer be true */
            put_changes(stream, document, " — ");
        fprintf(stream, "%s%s", title[0] && warning[0] ? " — " : "", warning);
        const char *network = document->network ? document->network->model : NULL;
        fprintf(stream, "%s%s%s", network && (title[0] || warning[0]) ? " — " : "", network ? "modelled network: " : "",
                network ? network : "");
    }
    free(own);
    return sg_stream_text(stream, &out);
}

char *sg_plot_source(const struct sg_document *d) {
    static const struct sg_document_program unknown = {0};
    static const struct sg_document_dataset none = {0};
    const struct sg_document_program *program = d->program ? d->program : &unknown;
    const struct sg_document_dataset *data = d->dataset ? d->dataset : &none;
    const char *name = d->recipe ? d->recipe->name : NULL, *hash = d->recipe ? d->recipe->sha256 : NULL;
    size_t size;
    char *out = NULL;
    FILE *stream = sg_memstream(&out, &size);
    hash = hash || !d->run || !d->run->recipe ? hash : d->run->recipe->sha256;
    fprintf(stream, "recipe %s", sg_or(name, sg_or(d->name, "?")));
    put_changes(stream, d, ", ");
    if (hash)
        fprintf(stream, " (sha256 %.12s)", hash);
    fprintf(stream, ", dataset %s (%s), sparsegrad %s (%s%s)", sg_or(data->name, "?"), sg_or(data->source, "?"),
            sg_or(program->version, "?"), sg_or(program->commit, "?"), program->dirty ? ", dirty" : "");
    return sg_stream_text(stream, &out);
}

size_t sg_plot_grid_columns(size_t n_panels) {
    return n_panels == 4 ? 2 : n_panels < 3 ? n_panels : 3;
}

char *sg_plot_caption(const struct sg_figure *figure, size_t i) {
    const char *title = figure->panel[i].title;
    const struct sg_axis *x = &figure->panel[i].x, *y = &figure->panel[i].y;
    char letter[8] = "";
    if (figure->n_panels > 1 && !title && !figure->panel[i].ranking)
        return sg_format("(%c) %s over %s", (int)('a' + (int)i), y->words, x->words);
    if (figure->n_panels > 1 && !(title && title[0] == '(')) /* recipes may give their panels letters themselves */
        snprintf(letter, sizeof letter, "(%c)%s", (int)('a' + (int)i), title ? " " : "");
    return sg_format("%s%s", letter, title ? title : "");
}
