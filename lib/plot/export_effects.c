/* export_effects.c: effects of a method's lists of two values each on a final value: a factorial experiment as a table.
 *
 * A method with m such lists has 2^m cells, and a cell has the sign -1 or +1 in each list, +1 for the second value. The
 * effect of a set of lists is 2^(1-m) times the sum over cells of the product of their signs and the cell's value: of
 * one list, what the second value gains over the first, mean over the other lists; of several, half of what each adds
 * to the effect of the others (Box, Hunter and Hunter, Statistics for Experimenters). It is found at every seed. The
 * interval is that of its mean by Student's distribution, with a probability of 0.95 for normal numbers. */
#include <stdlib.h>
#include <string.h>

#include "plot_private.h"
#include "sg_stats.h"
#include "sg_text.h"

enum { FACTORS = 6, CELLS = 1 << FACTORS, WORD = 64 };

struct factor {
    char key[WORD], value[2][WORD];
};

struct experiment {
    const struct sg_frame_label *label; /* [count] of one method */
    size_t count, n_factors, n_seeds;
    struct factor factor[FACTORS];
    const double *cell[CELLS]; /* [n_seeds] values of the cell that has bit f set where list f has its second value */
};

/* Reads the next " key=value" of a label and moves past it. */
static bool next_word(const char **at, char key[WORD], char value[WORD]) {
    int length = 0;
    if (sscanf(*at, " %63[^= ]=%63[^ ]%n", key, value, &length) != 2)
        return false;
    *at += length;
    return true;
}

/* Places a label in the experiment. False: it has other lists than the first one, a list has a third value, or the cell
 * has a label already. */
static bool place(struct experiment *x, const struct sg_frame_label *label, const double *value) {
    char key[WORD], word[WORD];
    size_t f = 0, which = 0;
    if (strncmp(label->label, label->method, strlen(label->method)) != 0)
        return false;
    const char *at = label->label + strlen(label->method);
    for (; next_word(&at, key, word); f++) {
        struct factor *factor = &x->factor[f];
        if (label == x->label && f < FACTORS) {
            snprintf(factor->key, WORD, "%s", key);
            snprintf(factor->value[0], WORD, "%s", word);
            x->n_factors = f + 1;
        }
        if (f >= x->n_factors || strcmp(key, factor->key) != 0)
            return false;
        const bool second = strcmp(word, factor->value[0]) != 0;
        if (second && factor->value[1][0] == '\0')
            snprintf(factor->value[1], WORD, "%s", word);
        if (second && strcmp(word, factor->value[1]) != 0)
            return false;
        which |= (size_t)second << f;
    }
    const bool fine = f == x->n_factors && !x->cell[which];
    x->cell[which] = value;
    return fine;
}

/* Finds the experiment that begins with this label; false = there is none. Its count is that of the method's labels. */
static bool find(struct experiment *x, const struct sg_frame *frame, size_t first, const char *column) {
    const struct sg_frame_label *label = &frame->label[first];
    bool fine = true;
    *x = (struct experiment){.label = label};
    for (; first + x->count < frame->n_labels && strcmp(label[x->count].method, label->method) == 0; x->count++) {
        const struct sg_frame_column *found = sg_frame_column(&label[x->count], column);
        fine = fine && found && found->value && place(x, &label[x->count], found->value);
        x->n_seeds = found && (x->count == 0 || found->n_values < x->n_seeds) ? found->n_values : x->n_seeds;
    }
    return fine && x->n_factors > 0 && x->n_seeds > 0 && x->count == (size_t)1 << x->n_factors;
}

/* The effect of the lists in `set` at a seed. */
static double effect(const struct experiment *x, size_t set, size_t seed) {
    double sum = 0;
    for (size_t c = 0; c < x->count; c++)
        sum += __builtin_popcountl(set & ~c) % 2 ? -x->cell[c][seed] : x->cell[c][seed];
    return 2 * sum / (double)x->count;
}

/* `at` [n_seeds] is scratch. */
static void put_effect(sg_table *t, const struct experiment *x, size_t set, double *at) {
    char name[FACTORS * WORD + 3 * WORD] = "";
    for (size_t f = 0, n = 0; f < x->n_factors; f++)
        if (set >> f & 1)
            n += (size_t)snprintf(name + n, sizeof name - n, "%s%s", n > 0 ? " × " : "", x->factor[f].key);
    if ((set & (set - 1)) == 0) {
        const struct factor *of = &x->factor[__builtin_ctzl(set)];
        snprintf(name, sizeof name, "%s: %s → %s", of->key, of->value[0], of->value[1]);
    }
    for (size_t s = 0; s < x->n_seeds; s++)
        at[s] = effect(x, set, s);
    const double mean = sg_stats_mean(at, x->n_seeds), half = sg_stats_half_interval(at, x->n_seeds);
    sg_table_cell(t, name, NULL);
    sg_table_format(t, "%+.4g", mean);
    sg_table_number(t, "%+.4g", mean - half);
    sg_table_number(t, "%+.4g", mean + half);
}

static sg_status put_experiment(FILE *out, const struct experiment *x, const char *column, struct sg_error *err) {
    double *at = malloc(x->n_seeds * sizeof *at);
    if (!at)
        return sg_fail_memory(err, "the effects");
    sg_table *t = sg_table_open((const struct sg_table_column[]){{.head = x->label->method, .weight = SG_TABLE_ALWAYS},
                                                                 {.head = "effect", .align = SG_TABLE_RIGHT},
                                                                 {.head = "from", .align = SG_TABLE_RIGHT},
                                                                 {.head = "to", .align = SG_TABLE_RIGHT}},
                                4);
    fprintf(out, "# Effects on %s at the end, mean over %zu seed%s with its 95 %% interval\n", column, x->n_seeds,
            x->n_seeds == 1 ? "" : "s");
    for (size_t order = 1; order <= x->n_factors; order++)
        for (size_t set = 1; set < x->count; set++)
            if ((size_t)__builtin_popcountl(set) == order)
                put_effect(t, x, set, at);
    const sg_status status = sg_table_write_lines(out, t, &(struct sg_table_lines){.mark = "# "}, err);
    sg_table_free(t);
    free(at);
    return status;
}

static sg_status put_result(FILE *out, const cJSON *document, const struct sg_plot_select *select,
                            struct sg_error *err) {
    struct sg_frame frame = {0};
    const cJSON *plot = sg_json_get(document, "plots") ? sg_json_get(document, "plots")->child : NULL;
    const char *name =
        select->y ? select->y : sg_json_string(document, "summary.metric", sg_json_string(plot, "y", ""));
    const char *column;
    bool found = false;
    if (sg_plot_is_kernels(document))
        return sg_fail(err, SG_ERR_ARGUMENT, "times of kernels are tables only: --format=table or html");
    sg_status status = sg_frame_read(&frame, sg_json_get(document, "results"), "the result", err);
    SG_DO(status, sg_plot_resolve(&column, &frame, name, err));
    for (size_t i = 0; status == SG_OK && i < frame.n_labels;) {
        struct experiment x;
        if (find(&x, &frame, i, column)) {
            status = put_experiment(out, &x, column, err);
            found = true;
        }
        i += x.count;
    }
    sg_frame_free(&frame);
    return status == SG_OK && !found
               ? sg_fail(err, SG_ERR_ARGUMENT,
                         "no method has lists of two values each, %d at most, and '%s' at every seed: there are no "
                         "effects",
                         FACTORS, column)
               : status;
}

sg_status sg_export_effects(FILE *out, const struct sg_page_result *result, size_t n,
                            const struct sg_plot_select *select, struct sg_plot_notes *notes, struct sg_error *err) {
    sg_status status = SG_OK;
    if (notes)
        notes->n = 0;
    for (size_t i = 0; i < n && status == SG_OK; i++)
        status = put_result(out, result[i].document, select, err);
    return status;
}
