/* task_data.h: which data a task reads, from its section of the recipe; private to lib/task. Names point into it. */
/* SPDX-License-Identifier: MIT */
#ifndef TASK_DATA_H
#define TASK_DATA_H

#include "sg_dataset.h"
#include "sg_images.h"
#include "sg_node.h"
#include "sg_ratings.h"
#include "sg_shards.h"
#include "sg_tokens.h"

struct sg_dataset_request task_request_logreg(const struct sg_node *task, const char *data_dir);
struct sg_image_request task_request_cnn(const struct sg_node *task, const char *data_dir);
struct sg_token_request task_request_lm(const struct sg_node *task, const char *data_dir);
struct sg_token_request task_request_gpt(const struct sg_node *task, const char *data_dir);
struct sg_ratings_request task_request_ncf(const struct sg_node *task, const char *data_dir);

/* The `identify` of struct sg_task_kind. */
typedef sg_status task_identify_fn(struct sg_provenance *from, const struct sg_node *task, const char *data_dir,
                                   struct sg_error *err);
task_identify_fn task_identify_logreg, task_identify_cnn, task_identify_lm, task_identify_gpt, task_identify_ncf,
    task_identify_recorded;

/* The key evaluate-on: *validation is true if the run is evaluated on the validation part. SG_ERR_ARGUMENT: there is no
 * such part. */
SG_CHECKED sg_status task_judge_read(bool *validation, const struct sg_node *task, bool has_part, struct sg_error *err);

/* The keys shards.kind and shards.alpha. */
SG_CHECKED sg_status task_shards_read(struct sg_shards *out, const struct sg_node *task, struct sg_error *err);

#endif
