/* grid_tolerance.c: how far a number of a network may be off when it comes from another processor.
 *
 * What another processor changes was measured by telling the libraries below libtorch 1.13 to be on one: the kernels
 * that they choose on an AMD EPYC with AVX-512 (OpenBLAS: Haswell, ATen: AVX2) against those for SkylakeX and ATen's
 * without vectors. These runs were compared, each column by its largest difference as a share of its largest magnitude:
 *   lstm    recipes/mini/why-errors-lstm.yaml, seed 1: SGD to step 360, hard-threshold to step 300 of 400
 *   resnet  recipes/mini/compressors.yaml, seed 1: Top-k, density 0.1136, two epochs of five (62 steps), and
 *           hard-threshold, lambda 0.02397, all of five (155 steps)
 * SGD of the LSTM stays within 9e-5. Compression and convolutions make the difference grow: the shares below are those
 * of hard-threshold on the LSTM and the larger of the two on ResNet-8. A tolerance is three times the larger one,
 * rounded up; rows without a measurement have that of the column they are nearest to. For a network whose path is
 * chaotic that is loose: "within tolerance" says that a run is of the same kind, "same bits" that it is the same. It
 * does not cover decisions: ACCORDION (recipes/mini/table1.yaml), which switches k by a norm, is off by 0.16 of its
 * volume and by 0.49 of error_norm. */
/* SPDX-License-Identifier: MIT */
#include "sg_audit.h"
#include "sg_json.h"
#include "sg_task.h"

static const struct {
    const char *column;
    double share;
} tolerance[] = {
    {"step", 0},
    {"epoch", 0},
    {"learning_rate", 0},
    {"lambda", 0.25},           /* of controllers, which go by what was sent or by a norm */
    {"test_accuracy", 0.16},    /* resnet 0.051 */
    {"test_perplexity", 0.08},  /* lstm 0.025 */
    {"test_loss", 0.17},        /* lstm 0.009; of a ResNet as the training loss */
    {"train_loss", 0.17},       /* lstm 0.009, resnet 0.054 */
    {"gradient_norm", 1},       /* lstm 0.30: single steps */
    {"error_norm", 0.25},       /* lstm 0.002, resnet 0.077 */
    {"total_error", 0.04},      /* lstm 4e-5, resnet 0.013 */
    {"error_relative", 0.04},   /* lstm 0.003 */
    {"compression_error", 0.3}, /* resnet 0.099 */
    {"error_lag", 0.4},         /* lstm 0.12 */
    {"error_curvature", 0.7},   /* lstm 0.23 */
    {"average_density", 0.13},  /* lstm 0.0007, resnet 0.043: a threshold's volume follows the gradients */
    {"bits", 0.05},             /* lstm 0.0005, resnet 0.016 */
    {"bits_values", 0.05},
    {"bytes_sent", 0.05}, /* resnet 0.016 */
    {"other", 0.25},
};

cJSON *sg_audit_tolerance_json(const char *task) {
    const struct sg_task_kind *kind = sg_task_kind_find(task);
    if (!kind || kind->ops) /* it is not in the plug-in of libtorch tasks */
        return NULL;
    cJSON *out = cJSON_CreateObject();
    for (size_t i = 0; i < sizeof tolerance / sizeof *tolerance; i++)
        sg_json_set_number(out, tolerance[i].column, tolerance[i].share);
    return out;
}
