/* recipe_compressors.c: the table of all compressors for --help-compressors: what each promises, and what it costs on an
 * example. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_drive.h"
#include "sg_recipe.h"
#include "sg_rng.h"

enum { ROWS = 64, D = ROWS * ROWS, PARAMS = 16 };

/* The bits of a worker's messages of one step, for a matrix of normal numbers, by element; NaN = they cannot be had. */
static double bits_of(const struct sg_compressor_ops *ops, float *g, float *sum) {
    static const size_t offset[] = {0, D}, rows[] = {ROWS};
    double param[PARAMS];
    sg_method *m = NULL;
    struct sg_error err;
    if (ops->n_params > PARAMS)
        return NAN;
    sg_compressor_example(ops, 0.01, 2, param);
    const struct sg_method_config config = {.compressor = ops,
                                            .param = param,
                                            .layout = {1, offset, NULL, rows},
                                            .feedback = {&sg_feedback_none, 1, {0}},
                                            .seed = 1,
                                            .count = 1,
                                            .steps_per_epoch = 1,
                                            .exec = {.threads = 1}};
    if (sg_method_open(&m, &config, &err) != SG_OK)
        return NAN;
    struct sg_message message;
    struct sg_play play = {.part = &m, .parts = 1, .workers = 1, .d = D, .g = g, .sum = &sum, .message = &message};
    const sg_status status = sg_method_play(&play, 0, 1, &err);
    sg_method_close(m);
    return status == SG_OK ? play.bits / D : NAN;
}

static const char *kind_of(const struct sg_compressor_ops *ops) {
    return ops->select != NULL ? "selector" : ops->code != NULL ? "code" : ops->rounds != NULL ? "rounds" : "coder";
}

static const char *class_of(const struct sg_compressor_ops *ops) {
    return ops->traits & SG_TRAIT_EXACT      ? "exact"
           : ops->traits & SG_TRAIT_UNBIASED ? "unbiased"
           : ops->traits & SG_TRAIT_ABSOLUTE ? "absolute"
           : ops->traits & SG_TRAIT_RELATIVE ? "relative"
                                             : "-";
}

/* "; quirk none|grace" for each parameter of words. */
static void print_words(FILE *out, const struct sg_compressor_ops *ops) {
    for (size_t i = 0; i < ops->n_params; i++)
        if (ops->params[i].words != NULL)
            fprintf(out, "; %s %s", ops->params[i].name, ops->params[i].words);
}

/* The column GPU, and what has no column. */
static void print_on_gpu(FILE *out) {
    fputs("# GPU: it runs with --device cuda, as presets are. The values of a selector may be in these codes there:\n#",
          out);
    for (size_t i = 0; sg_code_at(i) != NULL; i++)
        if (sg_code_on_gpu(sg_code_at(i)))
            fprintf(out, " %s", sg_code_at(i)->name);
    fputs("\n# and error-feedback may have these forms:\n#", out);
    for (size_t i = 0; sg_feedback_at(i) != NULL; i++)
        if (sg_feedback_at(i)->on_gpu)
            fprintf(out, " %s", sg_feedback_at(i)->name);
    fputc('\n', out);
}

sg_status sg_recipe_compressors(FILE *out, struct sg_error *err) {
    float *g = malloc(D * sizeof *g), *sum = malloc(D * sizeof *sum);
    const struct sg_compressor_ops *ops;
    if (g == NULL || sum == NULL) {
        free(g);
        free(sum);
        return sg_fail_memory(err, "the table of compressors");
    }
    sg_rng rng = sg_rng_open(1, SG_RNG_TEST, 0, 0);
    for (size_t i = 0; i < D; i++)
        g[i] = (float)sg_rng_normal(&rng);
    fprintf(out, "# compressor       kind      class     draws  feedback  bits    GPU  source\n"
                 "#                                                       /element\n");
    for (size_t i = 0; (ops = sg_compressor_at(i)) != NULL; i++) {
        const double bits = bits_of(ops, g, sum);
        fprintf(out, "%-18s %-9s %-9s %-6s %-9s ", ops->name, kind_of(ops), class_of(ops),
                ops->traits & SG_TRAIT_RANDOM ? "yes" : "no", ops->traits & SG_TRAIT_WANTS_FEEDBACK ? "wanted" : "-");
        if (isnan(bits))
            fprintf(out, "%-7s ", "-");
        else
            fprintf(out, "%-7.3g ", bits);
        fprintf(out, "%-4s %s", ops->traits & SG_TRAIT_GPU ? "yes" : "-", ops->source);
        print_words(out, ops);
        fputc('\n', out);
    }
    fprintf(
        out,
        "# A selector sends elements as they are, a code writes all of them, a coder has a message of its own, and "
        "one\n"
        "# with rounds exchanges more than that. Class: what of Definitions 2 and 3 it promises for every input of\n"
        "# normal floats below 2^127; it and draws are those of the presets.\n"
        "# Bits: of one step on 4096 normal numbers, with presets, 1 %% of the elements, and 2 for what has no "
        "preset.\n"
        "# A quirk is what released code does in place of the publication; --help-recipe describes the keys of "
        "each.\n");
    print_on_gpu(out);
    free(g);
    free(sum);
    return SG_OK;
}
