/* train_vectors.c: where the vectors of all workers lie: in memory, or in a file (`residuals`). */
#include <stdlib.h>
#include <string.h>

#include "sg_file_memory.h"
#include "sg_host_memory.h"
#include "sg_text.h"
#include "train_state.h"

/* The recipe's word: memory, file, or a folder. */
static const char *place_of(const struct train *t) {
    return t->options->recipe ? sg_node_string(&t->options->recipe->root, "residuals", "memory") : "memory";
}

bool train_vectors_in_file(const struct train *t) {
    return strcmp(place_of(t), "memory") != 0;
}

/* By default the file lies beside the checkpoint, which stands beside the result. */
static char *folder_of(const struct train *t) {
    const char *place = place_of(t), *checkpoint = t->options->checkpoint;
    const char *slash = checkpoint ? strrchr(checkpoint, '/') : NULL;
    return strcmp(place, "file") != 0 ? strdup(place)
           : slash                    ? sg_format("%.*s", (int)(slash - checkpoint + 1), checkpoint)
                                      : strdup(".");
}

sg_status train_vectors_open(struct train *t, struct sg_error *err) {
    if (!train_vectors_in_file(t))
        return SG_OK;
    char *folder = folder_of(t);
    sg_status status = folder ? sg_file_memory_open(&t->file, folder, err) : sg_fail_memory(err, "a path");
    free(folder);
    return status == SG_OK ? SG_OK : sg_prefix(err, "residuals: ");
}

void train_vectors_close(struct train *t) {
    sg_file_memory_close(t->file);
}

float *train_vector(void *train, size_t n) {
    const struct train *t = train;
    return t->file ? sg_file_memory_take(t->file, n * sizeof(float)) : calloc(n + 1, sizeof(float));
}

bool train_keep_gradients(struct train *t) {
    bool whole = true;
    for (size_t w = 0; whole && w < t->count; w++) {
        if (!t->worker[w].recorded)
            t->worker[w].recorded = train_vector(t, t->d);
        whole = t->worker[w].recorded;
    }
    return whole;
}

void train_vector_free(const struct train *t, float *vector) {
    if (!t->file)
        free(vector);
}

sg_status train_vectors_status(const struct train *t, sg_status status, struct sg_error *err) {
    struct sg_error why;
    if (status == SG_OK || !t->file || sg_file_memory_status(t->file, &why) == SG_OK)
        return status;
    char needed[24];
    return sg_fail(
        err, why.status,
        "residuals: the vectors of %zu workers take %s: name a folder with more room (residuals: FOLDER), or "
        "use ranks on more hosts: %s",
        t->count, sg_memory_text(needed, t->memory.file), why.msg);
}
