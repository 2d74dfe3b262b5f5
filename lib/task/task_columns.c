/* task_columns.c: the columns and constants that runs of every task have, beside those of task_table.c. The trainer
 * fills them in; recipes, their key reference and the trainer all read this list. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sg_task.h"

const struct sg_metric sg_common_metrics[SG_COLUMNS] = {
    [SG_COLUMN_BITS] = {"bits", "bit per worker", "nominal bits so far: 32 a value, and 32 a position if sparse",
                        .title = "bits per worker"},
    [SG_COLUMN_BITS_VALUES] = {"bits_values", "bit per worker", "the same without positions",
                               .title = "bits per worker (values only)"},
    [SG_COLUMN_DENSITY] = {"density", "", "entries sent / d, mean over workers", .of_step = true, .symbol = "k/d"},
    [SG_COLUMN_AVERAGE_DENSITY] = {"average_density", "", "mean of density so far", .of_step = true},
    [SG_COLUMN_DENSITY_PADDED] = {"density_padded", "", "entries of the largest message / d", .of_step = true,
                                  .title = "density, padded to the largest"},
    [SG_COLUMN_AVERAGE_DENSITY_PADDED] = {"average_density_padded", "", "mean of density_padded so far",
                                          .of_step = true, .title = "average density, padded to the largest"},
    [SG_COLUMN_BYTES_SENT] = {"bytes_sent", "byte per worker", "messages so far", .title = "bytes per worker"},
    [SG_COLUMN_ERROR_NORM] = {"error_norm", "", "(1/n) sum_i |e_i|^2", .symbol = "‖e‖²"},
    [SG_COLUMN_TOTAL_ERROR] = {"total_error", "", "sum of error_norm so far; null without a residual",
                               .symbol = "Σ‖e‖²"},
    [SG_COLUMN_ERROR_MAX] = {"error_max", "", "(1/n) sum_i max_j |e_ij|", .title = "largest error", .symbol = "‖e‖∞"},
    [SG_COLUMN_COMPRESSION_ERROR] = {"compression_error", "", "(1/n) sum_i |p_i - C(p_i)|^2 / |p_i|^2", .of_step = true,
                                     .symbol = "‖p − C(p)‖² / ‖p‖²"},
    [SG_COLUMN_TRAIN_LOSS] = {"train_loss", "", "loss of this step's batch, mean over workers", .of_step = true,
                              .quantity = SG_QUANTITY_LOSS, .title = "training loss"},
    [SG_COLUMN_LEARNING_RATE] = {"learning_rate", "", "gamma_t", .of_step = true, .symbol = "γ"},
    [SG_COLUMN_LAMBDA] = {"lambda", "", "the threshold; null without one", .of_step = true, .title = "threshold",
                          .symbol = "λ"},
    [SG_COLUMN_AVERAGE_COMPRESSION_ERROR] =
        {"average_compression_error", "",
         "mean of compression_error over records so far: nu^2 if C is unbiased, else 1 - delta", .of_step = true},
    [SG_COLUMN_COMPRESSION_BIAS] =
        {"compression_bias", "",
         "mean over records so far of (1/n) sum_i <C(p_i) - p_i, p_i> / |p_i|^2; near 0 if C is unbiased",
         .of_step = true, .symbol = "⟨C(p) − p, p⟩ / ‖p‖²", .quantity = SG_QUANTITY_SIGNED},
    [SG_COLUMN_COMPRESSION_BIAS_SIGMA] = {"compression_bias_sigma", "", "standard error of compression_bias",
                                          .of_step = true},
    [SG_COLUMN_GRADIENT_NORM] = {"gradient_norm", "", "(1/n) sum_i |g_i|^2", .of_step = true, .symbol = "‖g‖²"},
    [SG_COLUMN_ERROR_RELATIVE] = {"error_relative", "",
                                  "total_error / the sum of gradient_norm so far, on the residual's scale",
                                  .of_step = true, .symbol = "Σ‖e‖² / Σ‖g‖²"},
    [SG_COLUMN_ERROR_MEAN_NORM] = {"error_mean_norm", "", "|(1/n) sum_i e_i|^2", .symbol = "‖ē‖²"},
    [SG_COLUMN_ERROR_COMMON] = {"error_common", "",
                                "(n error_mean_norm - error_norm) / (n - 1): |E e_i|^2 if residuals are independent",
                                .of_step = true, .title = "what residuals have in common",
                                .quantity = SG_QUANTITY_SIGNED},
    [SG_COLUMN_ERROR_BY_LAYER] = {"error_by_layer", "",
                                  "mean over parameters of their layer's sum |e_l|^2 / sum |g_l|^2 over records so far",
                                  .of_step = true, .symbol = "Σ (n_l / d) Σ‖e_l‖² / Σ‖g_l‖²"},
    [SG_COLUMN_ERROR_WEIGHED] = {"error_weighed", "",
                                 "sum over layers of v_l^2 |e_l|^2, e on the scale of x, v_l = |g_l|^2 / n_l",
                                 .of_step = true, .symbol = "Σ v_l² ‖γ e_l‖²"},
    [SG_COLUMN_ERROR_LAG] = {"error_lag", "", "<ē, g> / |g|^2: steps of gradient that wait in the mean residual",
                             .of_step = true, .symbol = "⟨ē, ḡ⟩ / ‖ḡ‖²", .quantity = SG_QUANTITY_SIGNED},
    [SG_COLUMN_ERROR_CURVATURE] =
        {"error_curvature", "", "|(1/n) sum_i (g_i(x) - g_i(x - ē))|^2 on this step's batches; costs a second gradient",
         .of_step = true, .symbol = "‖ḡ(x) − ḡ(x − ē)‖²"},
};

const struct sg_metric *sg_task_metric(const struct sg_task_kind *kind, const char *name) {
    for (size_t i = 0; kind && i < kind->n_metrics; i++)
        if (strcmp(kind->metric[i].name, name) == 0)
            return &kind->metric[i];
    return NULL;
}

const struct sg_metric *sg_column_find(const char *name) {
    const struct sg_task_kind *kind;
    const struct sg_metric *found = NULL;
    for (size_t i = 0; i < SG_COLUMNS; i++)
        if (strcmp(sg_common_metrics[i].name, name) == 0)
            return &sg_common_metrics[i];
    for (size_t i = 0; !found && (kind = sg_task_kind_at(i)) != NULL; i++)
        found = sg_task_metric(kind, name);
    return found;
}

const struct sg_constant_kind sg_common_constants[SG_COMMON_CONSTANTS] = {
    [SG_CONSTANT_GAMMA] = {"gamma", "the base learning rate, optimizer.learning-rate"},
    [SG_CONSTANT_ERROR_BOUND] = {"error_bound",
                                 "bound on error-norm of an absolute compressor: nu^2, in the form update (gamma nu)^2 "
                                 "with the largest gamma; hard-threshold has nu^2 = d lambda^2"},
};

bool sg_task_records(const struct sg_task_kind *kind, enum sg_column column) {
    if (!kind->ops)
        return true;
    return column == SG_COLUMN_TRAIN_LOSS        ? kind->ops->batch_loss != NULL
           : column == SG_COLUMN_ERROR_CURVATURE ? !kind->ops->replays
                                                 : true;
}
