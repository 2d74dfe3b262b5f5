/* train_ranks.c: checks that all ranks run the same and end with the same parameters. A rank with another program or
 * recipe would take part in every exchange, and the result would be a mixture under the name of rank 0's run. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "sg_dataset.h"
#include "sg_file.h"
#include "sg_json.h"
#include "sg_plugins.h"
#include "sg_version.h"
#include "sg_result.h"
#include "train_private.h"

enum { CELL, PROGRAM, DATA, DEVICE, FACTS, FACT_CHARS = 160 };

/* The strings mine [n] must be those of rank 0; `what` [n] names what a rank has that differs. */
static sg_status compare(struct train *t, const char *const what[], char mine[][FACT_CHARS], size_t n,
                         const char *advice, struct sg_error *err) {
    char lead[FACTS][FACT_CHARS];
    memcpy(lead, mine, n * sizeof *lead);
    sg_status status = sg_comm_broadcast(t->comm, lead, n * sizeof *lead, err);
    for (size_t i = 0; i < n && status == SG_OK; i++)
        if (strcmp(lead[i], mine[i]) != 0)
            status = sg_fail(err, SG_ERR_MISMATCH, "rank %d has %s than rank 0 (%s, and rank 0 %s): %s",
                             sg_comm_rank(t->comm), what[i], mine[i], lead[i], advice);
    return status;
}

/* What identifies the code of this rank, compiler and flags included. */
static void describe_program(char out[FACT_CHARS], const struct sg_cell *cell) {
    char identity[SG_CELL_IDENTITY], build[65] = "";
    cJSON *program = sg_version_json("", sg_node_string(&cell->resolved, "task.kind", NULL));
    char *text = sg_json_text(program, false);
    sg_sha256_of(text, strlen(text), build);
    snprintf(out, FACT_CHARS, "%s, build %.12s", sg_cell_identity(identity, cell), build);
    free(text);
    cJSON_Delete(program);
}

sg_status train_ranks_agree(struct train *t, struct sg_error *err) {
    static const char *const what[FACTS] = {"another recipe, method or seed", "another build or other plug-ins",
                                            "other data", "another kind of device"};
    char mine[FACTS][FACT_CHARS], data[SG_DATASET_IDENTITY];
    cJSON *facts = sg_task_describe(t->task);
    snprintf(mine[CELL], FACT_CHARS, "key %.12s", t->options->cell->key);
    describe_program(mine[PROGRAM], t->options->cell);
    snprintf(mine[DATA], FACT_CHARS, "%s %.12s", sg_dataset_identity(data, sg_json_get(facts, "dataset")),
             sg_json_string(facts, "dataset.sha256", ""));
    snprintf(mine[DEVICE], FACT_CHARS, "%.*s", (int)strcspn(t->device.name, ":"), t->device.name);
    cJSON_Delete(facts);
    return compare(t, what, mine, FACTS, "start every rank with the same command, program and files", err);
}

sg_status train_ranks_verify(struct train *t, struct sg_error *err) {
    static const char *const what[] = {"other parameters"};
    char mine[1][FACT_CHARS], hex[65];
    sg_status status = sg_comm_agree(t->comm, train_x_hash(t, hex, err), err);
    snprintf(mine[0], FACT_CHARS, "SHA-256 %.12s after step %llu", status == SG_OK ? hex : "",
             (unsigned long long)t->step);
    SG_DO(status, compare(t, what, mine, 1, "a bug or broken memory, so that no number of it can be trusted", err));
    return sg_comm_agree(t->comm, status, err);
}
