/* task_data.c: which data a task reads, decided once for loading and for identifying them. */
/* SPDX-License-Identifier: MIT */
#include "task_data.h"

#include <math.h>
#include <string.h>

struct sg_dataset_request task_request_logreg(const struct sg_node *task, const char *data_dir) {
    return (struct sg_dataset_request){.name = sg_node_string(task, "dataset", ""),
                                       .stand_in = sg_node_string(task, "stand-in", NULL),
                                       .data_dir = data_dir};
}

struct sg_image_request task_request_cnn(const struct sg_node *task, const char *data_dir) {
    return (struct sg_image_request){.set = task_request_logreg(task, data_dir),
                                     .most_train = (size_t)sg_node_number(task, "train-images", 0),
                                     .most_test = (size_t)sg_node_number(task, "test-images", 0),
                                     .validation = (size_t)sg_node_number(task, "validation", 0)};
}

struct sg_token_request task_request_lm(const struct sg_node *task, const char *data_dir) {
    return (struct sg_token_request){.set = task_request_logreg(task, data_dir),
                                     .train_file = sg_node_string(task, "train-file", "train"),
                                     .test_file = sg_node_string(task, "test-file", "valid"),
                                     .lower_case = sg_node_bool(task, "lower-case", true),
                                     .most_words = (size_t)sg_node_number(task, "vocabulary", 0),
                                     .most_train = (size_t)sg_node_number(task, "train-tokens", 0),
                                     .most_test = (size_t)sg_node_number(task, "test-tokens", 0)};
}

struct sg_token_request task_request_gpt(const struct sg_node *task, const char *data_dir) {
    struct sg_token_request request = task_request_lm(task, data_dir);
    request.bytes = strcmp(sg_node_string(task, "tokens", "words"), "bytes") == 0;
    return request;
}

struct sg_ratings_request task_request_ncf(const struct sg_node *task, const char *data_dir) {
    return (struct sg_ratings_request){.set = task_request_logreg(task, data_dir),
                                       .most_users = (size_t)sg_node_number(task, "users", 0),
                                       .validation = sg_node_bool(task, "validation", false)};
}

sg_status task_judge_read(bool *validation, const struct sg_node *task, bool has_part, struct sg_error *err) {
    *validation = strcmp(sg_node_string(task, "evaluate-on", "test"), "validation") == 0;
    return !*validation || has_part
               ? SG_OK
               : sg_fail(err, SG_ERR_ARGUMENT, "task.evaluate-on: there is no validation part (add task.validation)");
}

sg_status task_shards_read(struct sg_shards *out, const struct sg_node *task, struct sg_error *err) {
    const char *kind = sg_node_string(task, "shards.kind", "iid");
    const double alpha = sg_node_number(task, "shards.alpha", NAN);
    *out = (struct sg_shards){.kind = strcmp(kind, "sorted") == 0      ? SG_SHARD_SORTED
                                      : strcmp(kind, "dirichlet") == 0 ? SG_SHARD_DIRICHLET
                                                                       : SG_SHARD_IID,
                              .alpha = alpha};
    if ((out->kind == SG_SHARD_DIRICHLET) == isnan(alpha))
        return sg_fail(err, SG_ERR_ARGUMENT, "task.shards: 'alpha' goes with kind 'dirichlet', and only with it");
    return SG_OK;
}

#define IDENTIFY(kind, request_type, identify)                                                                         \
    sg_status task_identify_##kind(struct sg_provenance *from, const struct sg_node *task, const char *data_dir,       \
                                   struct sg_error *err) {                                                             \
        const struct request_type request = task_request_##kind(task, data_dir);                                       \
        return identify(from, &request, err);                                                                          \
    }
IDENTIFY(logreg, sg_dataset_request, sg_dataset_identify)
IDENTIFY(cnn, sg_image_request, sg_image_set_identify)
IDENTIFY(lm, sg_token_request, sg_token_set_identify)
IDENTIFY(gpt, sg_token_request, sg_token_set_identify)
IDENTIFY(ncf, sg_ratings_request, sg_ratings_identify)
