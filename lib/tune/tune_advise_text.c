/* tune_advise_text.c: the results of --advise: a sentence, its basis, JSON (its members: cmd/sparsetune.man), and a
 * table. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_memory.h"
#include "sg_text.h"
#include "tune_advise.h"

enum { ROWS = 8 };

static double dense_bytes(const struct advise *a) {
    return 4 * tune_elements(&a->network, (double)a->d);
}

/* ---- sentences ---- */

/* best: in how many of the published comparisons, results/advise-check.json, the method with the smallest such error
 * was the one that trained best. tests/cli/advise.bats compares these counts with that file. */
static const struct {
    const char *word, *text;
    int best;
} errors[ADVISE_ERRORS] = {
    [ADVISE_RELATIVE] = {"relative", "error", 12},
    [ADVISE_MEAN] = {"mean", "error in the mean over workers", 12},
    [ADVISE_LAG] = {"lag", "error along the next step's gradient", 12},
    [ADVISE_DRIFT] = {"drift", "distance from where the same gradients would have moved the parameters", 14},
};
enum { COMPARED = 27, BEST_HARD_THRESHOLD = 9 };

const char *advise_error_word(enum advise_error which) {
    return which < ADVISE_ERRORS ? errors[which].word : NULL;
}

static const struct {
    const char *word, *text; /* NULL = it has numbers */
} cautions[ADVISE_CAUTIONS] = {
    [ADVISE_BIASED] = {"biased", "biased, and nothing is kept for later steps"},
    [ADVISE_NOISE] = {"noise", "no feedback: its error stays in the steps as noise"},
    [ADVISE_GROWS] = {"grows", "the residual still grows at the end of the recording"},
    [ADVISE_STARVED] = {"starved", NULL},
    [ADVISE_UNEVEN] = {"uneven", NULL},
    [ADVISE_WORKERS] = {"workers", NULL},
    [ADVISE_GATHERED] = {"gathered", "not added up on the way: gathered volume grows with the workers"},
    [ADVISE_CONSTANT] = {"constant", "its constant is for these gradients, not for others"},
    [ADVISE_SLOW] = {"slow", "compression takes longer than the exchange"},
};

static const char *caution_word(enum advise_caution which) {
    return cautions[which].word;
}

static char *caution_text(char out[ADVISE_REASON], const struct advise_candidate *c, enum advise_caution which) {
    if (which == ADVISE_STARVED)
        snprintf(out, ADVISE_REASON, "%zu of %zu layers sent nothing", c->starved, c->layers);
    else if (which == ADVISE_UNEVEN)
        snprintf(out, ADVISE_REASON, "steps send unequal volumes (deviation %.2g of the mean)", c->uneven);
    else if (which == ADVISE_WORKERS)
        snprintf(out, ADVISE_REASON, "workers send unequal volumes (largest %.2g times the mean)", c->longest);
    else
        snprintf(out, ADVISE_REASON, "%s", cautions[which].text);
    return out;
}

static void put_place(FILE *out, const struct advise *a) {
    const struct sg_link *link = &a->network.net.between;
    if (link->byte_s == sg_link_find(link->name)->byte_s)
        fprintf(out, "with %zu workers on %s (%.3g Gbit/s usable)", a->network.net.workers, link->name,
                8e-9 / link->byte_s);
    else
        fprintf(out, "with %zu workers at %.3g Gbit/s", a->network.net.workers, 8e-9 / link->byte_s);
}

/* Among the methods within the tolerance, or among those beyond it, the one with the smallest error; with `fastest` the
 * one with the fastest steps, and of those equally fast the one with the smallest error. NULL = there is none. */
static const struct advise_candidate *find_best(const struct advise *a, bool within, bool fastest) {
    const struct advise_candidate *best = NULL;
    for (size_t i = 0; i < a->n; i++) {
        const struct advise_candidate *c = &a->candidate[i];
        if (advise_is_open(c) && c->within == within &&
            (!best || (fastest && c->step_s < best->step_s) ||
             ((!fastest || c->step_s == best->step_s) && c->error[ADVISE_RELATIVE] < best->error[ADVISE_RELATIVE])))
            best = c;
    }
    return best;
}

/* Explains an error above 1, which is not a share of a gradient. */
static void put_large_error(FILE *out, const struct advise_candidate *c) {
    const bool feedback = !c->caution[ADVISE_BIASED] && !c->caution[ADVISE_NOISE];
    fprintf(out,
            feedback ? " An error of %.2g |g|^2 means that the gradients of about %.2g steps are late at any time."
                     : " An error of %.2g |g|^2 without feedback is noise of %.2g times the gradient's square.",
            c->error[ADVISE_RELATIVE], c->error[ADVISE_RELATIVE]);
    fputs(" What that costs differs from task to task: train it before you rely on it.", out);
}

static char *answer_text(const struct advise *a) {
    const struct advise_candidate *best = a->listed > 0 ? &a->candidate[a->list[0]] : NULL,
                                  *near = find_best(a, false, false);
    const struct advise_candidate *fast = find_best(a, true, true);
    char *text = NULL, model[TUNE_MODEL_CHARS];
    size_t size;
    FILE *out = sg_memstream(&text, &size);
    fprintf(out, "For %s, ", tune_model_text(model, &a->network, (double)a->d));
    if (advise_pays(a)) {
        fprintf(out, "use %s: its steps are %.4g times faster than without compression ", best->cell->label,
                best->speedup);
        put_place(out, a);
        fprintf(out, ", it sends %.3g %% of the bytes, and its error is %.2g of |g|^2",
                100 * best->bytes / dense_bytes(a), best->error[ADVISE_RELATIVE]);
        if (isfinite(best->error_over_least))
            fprintf(out, ", %.2g times the least for its bits", best->error_over_least);
    } else if (best) {
        fputs("compression does not pay here: ", out);
        put_place(out, a);
        if (fast->speedup > 1)
            fprintf(out, " no method within the tolerance is more than %g %% faster than no compression",
                    100 * ADVISE_ALIKE);
        else
            fputs(" no method within the tolerance has faster steps than no compression", out);
        fprintf(out, "; the fastest is %s, %.4g times as fast", fast->cell->label, fast->speedup);
    } else if (near) {
        fprintf(
            out,
            "compression does not pay here: no method has an error within the tolerance, %.3g of |g|^2; the nearest is "
            "%s with %.3g",
            a->tolerance, near->cell->label, near->error[ADVISE_RELATIVE]);
    } else {
        fputs("compression does not pay here: there is no method that could be tried", out);
    }
    fputs(".", out);
    if (advise_pays(a) && best->error[ADVISE_RELATIVE] > 1)
        put_large_error(out, best);
    if (advise_times_coding(a) && a->network.compute_s > 0)
        fprintf(out,
                " Compression was timed on this machine's CPU and stands beside a forward and backward pass of %.4g s: "
                "if that is a GPU's, give network.processor.",
                a->network.compute_s);
    return sg_stream_text(out, &text);
}

/* Rounds up to one digit. */
static double above(double x) {
    const double digit = pow(10, floor(log10(x)));
    return ceil(x / digit) * digit;
}

/* Adds a sentence on the methods that the tolerance excludes from the list: their number, and the fastest. */
static void add_outside(cJSON *out, const struct advise *a) {
    const struct advise_candidate *fast = find_best(a, false, true);
    size_t all = 0, outside = 0;
    for (size_t i = 0; i < a->n; i++) {
        all += advise_is_open(&a->candidate[i]);
        outside += advise_is_open(&a->candidate[i]) && !a->candidate[i].within;
    }
    if (fast)
        tune_sentence(
            out,
            "%zu of %zu methods and settings are outside the tolerance; the fastest of them, %s, is %.4g times "
            "as fast as no compression, at an error of %.3g (--tolerance=%g takes it in).",
            outside, all, fast->cell->label, fast->speedup, fast->error[ADVISE_RELATIVE],
            above(fast->error[ADVISE_RELATIVE]));
}

static char *coding_text(const struct advise *a) {
    return !advise_times_coding(a)
               ? sg_grid_coding_text(&a->network)
               : sg_format("Compression was timed on this machine's CPU with %d thread%s, and is not another's; "
                           "network.processor and network.coding override it.",
                           a->threads, a->threads == 1 ? "" : "s");
}

static cJSON *assumptions_json(const struct advise *a) {
    const struct sg_grid_network *n = &a->network;
    cJSON *out = cJSON_CreateArray();
    const cJSON *one;
    if (a->recorded_here)
        tune_sentence(out,
                      "The gradients are those of the first %zu steps of a run without compression, %.3g %% of it.",
                      a->steps, 100 * a->share);
    else
        tune_sentence(out, "The gradients are those of %zu recorded steps of %zu workers.", a->steps, a->workers);
    tune_sentence(
        out,
        "The error is the sum over steps of |p - C(p)|^2, what is late or lost, over that of |g|^2; the tolerance is "
        "%g%s.",
        a->tolerance, isnan(a->t->tolerance) ? ", which was chosen on the tasks of results/ADVICE.md" : "");
    tune_sentence(out, "Of methods with equally fast steps the one with the smallest %s goes first.",
                  errors[a->by].text);
    tune_sentence(out,
                  "Of %d published comparisons of equal bytes the method with the smallest such error trained best in "
                  "%d, and hard-threshold in %d (results/ADVICE.md, advise-check.json): train before you rely on it.",
                  COMPARED, errors[a->by].best, BEST_HARD_THRESHOLD);
    add_outside(out, a);
    tune_sentence(out, "The least is what the largest entries of p would leave that cost as many bits, 64 each.");
    char *model = sg_grid_network_text(n);
    tune_sentence(out, "Times of steps are modelled: %zu workers, %s.", n->net.workers, model ? model : "");
    free(model);
    tune_say_network(out, n, (double)a->d, a->assumed, "so steps are compression and communication alone");
    tune_sentence_taken(out, coding_text(a));
    cJSON_ArrayForEach(one, a->left_out)
        tune_say_left_out(out, sg_json_string(one, "method", ""), sg_json_string(one, "reason", ""));
    for (size_t i = 0; i < a->n; i++)
        tune_say_left_out(out, a->candidate[i].cell->label, a->candidate[i].why);
    tune_sentence_taken(out, sg_grid_error_text(n, &a->trials.recipe));
    if (a->price)
        sg_json_push_string(out, a->price);
    return out;
}

/* ---- JSON ---- */

static cJSON *cautions_json(const struct advise_candidate *c) {
    cJSON *out = cJSON_CreateArray();
    char text[ADVISE_REASON];
    for (int i = 0; i < ADVISE_CAUTIONS && !c->baseline; i++)
        if (c->caution[i]) {
            sg_json_push(out, SG_OBJECT(SG_TEXT("caution", caution_word((enum advise_caution)i)),
                                        SG_TEXT("text", caution_text(text, c, (enum advise_caution)i))));
        }
    return out;
}

static cJSON *candidate_json(const struct advise *a, const struct advise_candidate *c) {
    char *text = advise_candidate_text(a, c);
    cJSON *out = SG_OBJECT(
        SG_TEXT("label", c->cell->label), SG_TEXT("method", c->cell->name), SG_TEXT("recipe", text),
        SG_TEXT("hook", c->hook), SG_BOOL("baseline", c->baseline), SG_TEXT("left_out", c->why[0] ? c->why : NULL),
        SG_BOOL("within", c->within), SG_NUMBER("rank", c->rank > 0 ? (double)c->rank : NAN),
        SG_NUMBER("bytes", c->bytes), SG_NUMBER("share", c->bytes / dense_bytes(a)),
        SG_NUMBER("error", c->error[ADVISE_RELATIVE]), SG_NUMBER("error_mean", c->error[ADVISE_MEAN]),
        SG_NUMBER("error_lag", c->error[ADVISE_LAG]), SG_NUMBER("error_drift", c->error[ADVISE_DRIFT]),
        SG_NUMBER("error_over_least", c->error_over_least), SG_NUMBER("encode_s", c->encode_s),
        SG_NUMBER("add_s", c->add_s), SG_NUMBER("coding_s", c->coding_s), SG_NUMBER("exposed_s", c->exposed_s),
        SG_NUMBER("step_s", c->step_s), SG_NUMBER("speedup", c->speedup), SG_VALUE("cautions", cautions_json(c)));
    free(text);
    return out;
}

static cJSON *gradients_json(const struct advise *a) {
    return SG_OBJECT(SG_TEXT("files", a->files), SG_BOOL("recorded_here", a->recorded_here),
                     SG_NUMBER("share_of_run", a->share), SG_NUMBER("steps", a->steps),
                     SG_NUMBER("workers", a->workers), SG_NUMBER("d", a->d), SG_NUMBER("square", a->square));
}

static cJSON *network_json(const struct advise *a) {
    const struct sg_grid_network *n = &a->network;
    char *text = sg_grid_network_text(n), *model = sg_format("%zu workers, %s", n->net.workers, text);
    free(text);
    cJSON *out = sg_grid_network_json(n, &a->trials.recipe, model);
    free(model);
    if (advise_times_coding(a)) {
        char *coding = coding_text(a);
        cJSON_ReplaceItemInObjectCaseSensitive(out, "processor", cJSON_CreateNull());
        cJSON_ReplaceItemInObjectCaseSensitive(out, "coding", cJSON_CreateString(coding ? coding : ""));
        free(coding);
    }
    return out;
}

/* ---- the table ---- */

static const struct sg_table_column columns[] = {
    {.head = "rank", .align = SG_TABLE_RIGHT},
    {.head = "method", .weight = SG_TABLE_ALWAYS},
    {.head = "bytes a step", .align = SG_TABLE_RIGHT, .weight = 2},
    {.head = "% of all", .align = SG_TABLE_RIGHT, .weight = 5},
    {.head = "error", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "error / least", .align = SG_TABLE_RIGHT, .weight = 1},
    {.head = "compression, ms", .align = SG_TABLE_RIGHT, .weight = 3},
    {.head = "step, ms", .align = SG_TABLE_RIGHT, .weight = 4},
    {.head = "speed-up", .align = SG_TABLE_RIGHT, .weight = SG_TABLE_ALWAYS},
    {.head = "what may go wrong", .align = SG_TABLE_WORDS, .weight = SG_TABLE_ALWAYS},
};

static void add_row(sg_table *t, const struct advise *a, const struct advise_candidate *c) {
    char words[ADVISE_REASON] = "";
    size_t used = 0;
    for (int i = 0; i < ADVISE_CAUTIONS && !c->baseline; i++)
        if (c->caution[i] && used < sizeof words)
            used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", used > 0 ? ", " : "",
                                     caution_word((enum advise_caution)i));
    if (c->rank > 0)
        sg_table_format(t, "%zu", c->rank);
    else
        sg_table_cell(t, "", NULL);
    sg_table_cell(t, c->cell->label, NULL);
    sg_table_number(t, "%.5g", c->bytes);
    sg_table_number(t, "%.4g", 100 * c->bytes / dense_bytes(a));
    sg_table_number(t, "%.3g", c->error[ADVISE_RELATIVE]);
    sg_table_number(t, "%.3g", isfinite(c->error_over_least) ? c->error_over_least : NAN);
    sg_table_number(t, "%.4g", 1e3 * c->coding_s);
    sg_table_number(t, "%.4g", 1e3 * c->step_s);
    sg_table_number(t, "%.4g", c->speedup);
    sg_table_cell(t, words, NULL);
}

/* The rows: the first methods of the list, and the fastest method if the conclusion names it. Returns how many. */
static size_t find_rows(const struct advise_candidate *row[ROWS + 1], const struct advise *a) {
    const struct advise_candidate *fast = find_best(a, true, true);
    size_t n = 0;
    while (n < a->listed && n < ROWS) {
        row[n] = &a->candidate[a->list[n]];
        n++;
    }
    if (n > 0 && !advise_pays(a) && (fast->rank == 0 || fast->rank > ROWS))
        row[n++] = fast;
    return n;
}

/* Explains the words in the last column, each with the first method in the rows to which it applies. */
static void put_legend(FILE *out, const struct advise_candidate *const *row, size_t n, const struct sg_tune *tune) {
    char text[ADVISE_REASON], line[2 * ADVISE_REASON];
    for (int which = 0; which < ADVISE_CAUTIONS; which++)
        for (size_t i = 0; i < n; i++) {
            const struct advise_candidate *c = row[i];
            if (!c->caution[which])
                continue;
            snprintf(line, sizeof line, "%s, as %s: %s.", caution_word((enum advise_caution)which), c->cell->label,
                     caution_text(text, c, (enum advise_caution)which));
            tune_put_comment(out, line, tune);
            break;
        }
}

/* Writes the lines of PyTorch that train with the first method of the list. */
static void put_hook(FILE *out, const struct advise *a) {
    const struct advise_candidate *best = advise_pays(a) ? &a->candidate[a->list[0]] : NULL;
    if (!best || !best->hook)
        return;
    fprintf(out, "\nfrom libsparsegrad.ddp import register\nregister(model, \"%s\")%s\n", best->hook,
            strcmp(sg_node_string(&best->cell->resolved, "scope", "layer"), "model") == 0
                ? "  # chooses within each layer"
                : "");
}

static void put_table(FILE *out, const struct sg_tune *t, const void *of) {
    const struct advise *a = of;
    const struct advise_candidate *row[ROWS + 1];
    const size_t n = find_rows(row, a);
    sg_table *table = sg_table_open(columns, sizeof columns / sizeof *columns);
    sg_put_wrapped(out, sg_json_string(t->evidence, "tune.answer", ""), t->columns, "", "");
    put_hook(out, a);
    fputc('\n', out);
    tune_put_assumptions(out, t);
    for (size_t i = 0; i < n; i++)
        add_row(table, a, row[i]);
    add_row(table, a, &a->candidate[a->baseline]);
    tune_put_table(out, table, t);
    if (a->listed > ROWS)
        fprintf(out, "# %zu more methods are within the tolerance: --json has them.\n", a->listed - ROWS);
    put_legend(out, row, n, t);
}

void advise_document(const struct advise *a) {
    cJSON *candidates = cJSON_CreateArray(), *list = cJSON_CreateArray();
    char *answer = answer_text(a);
    for (size_t i = 0; i < a->n; i++)
        sg_json_push(candidates, candidate_json(a, &a->candidate[i]));
    for (size_t i = 0; i < a->listed; i++)
        sg_json_push_string(list, a->candidate[a->list[i]].cell->label);
    cJSON *tune = SG_OBJECT(
        SG_TEXT("answer", answer), SG_BOOL("pays", advise_pays(a)), SG_NUMBER("tolerance", a->tolerance),
        SG_TEXT("ranked_by", advise_error_word(a->by)), SG_TEXT("candidates_from", a->own ? "recipe" : "built-in"),
        SG_VALUE("gradients", gradients_json(a)), SG_VALUE("network", network_json(a)),
        SG_BOOL("network_assumed", a->assumed), SG_BOOL("coding_measured", advise_times_coding(a)),
        SG_NUMBER("threads", a->threads), SG_VALUE("list", list), SG_VALUE("candidates", candidates),
        SG_VALUE("left_out", cJSON_Duplicate(a->left_out, true)), SG_VALUE("assumptions", assumptions_json(a)));
    free(answer);
    tune_show(a->t, tune_evidence(a->t, "advise", tune), put_table, a);
}
