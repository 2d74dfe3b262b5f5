/* gradients.c: gradients of any training, in files of one of three formats (sg_gradients.h). */
/* SPDX-License-Identifier: MIT */
#include "sg_gradients.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "gradients_private.h"
#include "sg_debug.h"
#include "sg_file.h"
#include "sg_memory.h"
#include "sg_recording.h"
#include "sg_text.h"
#include "sg_words.h"

enum format { FORMAT_NPY, FORMAT_SAFETENSORS, FORMAT_RECORDING };

struct sg_gradients {
    struct sg_gradients_facts facts;
    enum format format;
    struct sg_gradients_request request; /* its `files` is `own`, and it has no layers */
    char *own;
    struct gradient_files files;
    int fd;                    /* of a single file; -1 = there are many, or a recording */
    struct gradient_head head; /* of the first file */
    struct sg_recording recording;
    struct gradient_layers layers;
    char about[64];
};

/* ---- what the files hold ---- */

static sg_status check_shape(const struct sg_gradients *g, const char *path, struct sg_error *err) {
    static const char *const wanted[2][2] = {{"(steps, workers, d) or (steps, d)", "(steps, d)"},
                                             {"(workers, d) or (d)", "(d)"}};
    const unsigned least = g->files.by_step ? 1 : 2, most = g->files.by_worker ? least : least + 1;
    if (g->head.rank < least || g->head.rank > most)
        return sg_fail(err, SG_ERR_FORMAT,
                       "%s: its array must be %s: steps, workers and elements, less what the name says by {step} and "
                       "{worker}, and without workers where there is one",
                       path, wanted[g->files.by_step][g->files.by_worker]);
    return SG_OK;
}

void gradient_head_free(struct gradient_head *head) {
    for (size_t i = 0; i < head->count && head->tensor; i++)
        free(head->tensor[i].name);
    free(head->tensor);
    *head = (struct gradient_head){0};
}

/* The layers of the files are these from now on. */
static void take_layers(struct sg_gradients *g, const struct gradient_layers *l) {
    gradient_layers_free(&g->layers);
    g->layers = *l;
    g->facts.n_layers = l->n;
    g->facts.offset = l->offset;
    g->facts.rows = l->rows;
    g->facts.name = l->name;
}

/* Fills in the facts from the head: each tensor is a layer, and an array has dimensions for steps and workers. */
static void take_facts(struct sg_gradients *g) {
    const struct gradient_head *h = &g->head;
    const bool npy = g->format == FORMAT_NPY;
    struct gradient_layers layers = {0};
    gradient_layers_allocate(&layers, h->count, !npy);
    take_layers(g, &layers);
    bool mixed = false;
    for (size_t l = 0; l < h->count; l++) {
        layers.offset[l + 1] = layers.offset[l] + h->tensor[l].elements;
        layers.rows[l] = h->tensor[l].rows;
        if (!npy)
            layers.name[l] = h->tensor[l].name;
        mixed |= h->tensor[l].number != h->tensor[0].number;
    }
    g->facts.d = layers.offset[h->count];
    g->facts.steps = npy && !g->files.by_step ? h->shape[0] : 1;
    g->facts.workers =
        npy && !g->files.by_worker && h->rank == (g->files.by_step ? 2 : 3) ? (size_t)h->shape[h->rank - 2] : 1;
    snprintf(g->about, sizeof g->about, "%s %s", npy ? "npy" : "safetensors",
             mixed ? "of several types" : gradient_number_name[h->tensor[0].number]);
}

static sg_status open_recording(struct sg_gradients *g, struct sg_error *err) {
    const struct sg_recording *r = &g->recording;
    if (g->files.by_step || g->files.by_worker)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "%s: a recording of sparsetrain is one file; {step} and {worker} stand in "
                       "names that end in .npy or .safetensors",
                       g->request.files);
    sg_status status = sg_recording_open(&g->recording, g->request.files, err);
    if (status != SG_OK)
        return status != SG_ERR_FORMAT ? status
               : sg_ends_in(g->request.files, ".npz")
                   ? sg_fail(err, SG_ERR_FORMAT,
                             "%s is an archive of arrays: unpack it (unzip), and name the .npy files "
                             "in it",
                             g->request.files)
               : sg_ends_in(g->request.files, ".index.json")
                   ? sg_fail(err, SG_ERR_FORMAT,
                             "%s is the list of a model's shards: a step is one .safetensors file with "
                             "all its tensors",
                             g->request.files)
                   : sg_prefix(err, "neither .npy nor .safetensors: ");
    g->facts = (struct sg_gradients_facts){.steps = r->steps,
                                           .steps_per_epoch = r->steps_per_epoch,
                                           .workers = r->workers,
                                           .d = r->d,
                                           .n_layers = r->n_layers,
                                           .offset = r->offset,
                                           .rows = r->rows,
                                           .name = r->name,
                                           .format = g->about};
    snprintf(g->about, sizeof g->about, "recording of %s", r->gradients ? "gradients" : "inputs");
    return SG_OK;
}

static sg_status read_layers(struct sg_gradients *g, const char *shapes, const char *file, struct sg_error *err) {
    struct gradient_layers layers = {0};
    sg_status status = SG_OK;
    if (g->format != FORMAT_NPY)
        status = sg_fail(err, SG_ERR_ARGUMENT, "%s has layers of its own (leave the key out)", g->request.files);
    SG_DO(status, gradient_layers_read(&layers, shapes, file, err));
    if (status == SG_OK) {
        take_layers(g, &layers);
        if (layers.offset[layers.n] != g->facts.d)
            status = sg_fail(err, SG_ERR_ARGUMENT, "they have %zu elements, and a gradient has %zu",
                             layers.offset[layers.n], g->facts.d);
    }
    return status == SG_OK ? SG_OK : sg_prefix(err, shapes ? "layers: " : "layers-file: ");
}

static sg_status read_head(struct gradient_head *out, const struct sg_gradients *g, int fd, const char *path,
                           struct sg_error *err) {
    return g->format == FORMAT_NPY ? npy_read_head(out, fd, path, err) : safetensors_read_head(out, fd, path, err);
}

/* Opens the first file of many, or the only one. */
static sg_status look(struct sg_gradients *g, const char *path, struct sg_error *err) {
    int fd = -1;
    sg_status status = sg_file_open(&fd, path, err);
    SG_DO(status, read_head(&g->head, g, fd, path, err));
    if (status == SG_OK && g->format == FORMAT_NPY)
        status = check_shape(g, path, err);
    if (status == SG_OK)
        take_facts(g);
    if (status == SG_OK && !g->files.by_step && !g->files.by_worker) {
        g->fd = fd;
        posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    } else if (fd >= 0) {
        close(fd);
    }
    return status;
}

static sg_status open_files(struct sg_gradients *g, struct sg_error *err) {
    char *first = gradient_file(&g->request, 0, 0);
    sg_status status = look(g, first, err);
    free(first);
    g->facts.format = g->about;
    g->facts.integers = g->head.integers;
    g->facts.others = g->files.others;
    if (g->files.by_step)
        g->facts.steps = g->files.steps;
    if (g->files.by_worker)
        g->facts.workers = (size_t)g->files.workers;
    g->facts.steps_per_epoch = g->facts.steps;
    return status;
}

struct sg_gradients_request sg_gradients_requested(const struct sg_node *task) {
    return (struct sg_gradients_request){.files = sg_node_string(task, "files", ""),
                                         .layers = sg_node_string(task, "layers", NULL),
                                         .layers_file = sg_node_string(task, "layers-file", NULL),
                                         .first = (uint64_t)sg_node_number(task, "steps-at.first", 0),
                                         .every = (uint64_t)sg_node_number(task, "steps-at.every", 0)};
}

sg_status sg_gradients_open(sg_gradients **out, const struct sg_gradients_request *request, struct sg_error *err) {
    const char *files = request->files;
    struct sg_gradients *g = sg_calloc(1, sizeof *g);
    g->own = sg_strdup(files);
    g->request = (struct sg_gradients_request){.files = g->own, .first = request->first, .every = request->every};
    g->fd = -1;
    g->format = sg_ends_in(files, ".npy")           ? FORMAT_NPY
                : sg_ends_in(files, ".safetensors") ? FORMAT_SAFETENSORS
                                                    : FORMAT_RECORDING;
    sg_status status = gradient_files_find(&g->files, &g->request, err);
    if (status == SG_OK && (request->first > 0 || request->every > 0) && !g->files.by_step)
        status =
            sg_fail(err, SG_ERR_ARGUMENT, "%s: steps-at counts the numbers of {step}, which is not in the name", files);
    SG_DO(status, g->format == FORMAT_RECORDING ? open_recording(g, err) : open_files(g, err));
    if (request->layers || request->layers_file)
        SG_DO(status, read_layers(g, request->layers, request->layers_file, err));
    if (status == SG_OK)
        *out = g;
    else
        sg_gradients_close(g);
    return status;
}

const struct sg_gradients_facts *sg_gradients_look(const sg_gradients *g) {
    return &g->facts;
}

void sg_gradients_close(sg_gradients *g) {
    if (!g)
        return;
    if (g->fd >= 0)
        close(g->fd);
    gradient_head_free(&g->head);
    sg_recording_free(&g->recording);
    gradient_layers_free(&g->layers);
    free(g->own);
    free(g);
}

/* ---- reading ---- */

/* Puts the tensors of another file, found by their names, into the order of the first file's; checks that all are
 * there and are alike. */
static sg_status match_head(struct gradient_head *own, const struct sg_gradients *g, const char *path,
                            struct sg_error *err) {
    const struct gradient_head *first = &g->head;
    char name[SG_EXCERPT];
    if (own->rank != first->rank || memcmp(own->shape, first->shape, sizeof own->shape) != 0)
        return sg_fail(err, SG_ERR_FORMAT, "%s: the shape of its array is not that of the first file", path);
    for (size_t i = 0; i < first->count; i++) {
        const struct gradient_tensor *wanted = &first->tensor[i];
        const char *title = wanted->name ? wanted->name : "";
        size_t at = i;
        while (at < own->count && wanted->name && strcmp(own->tensor[at].name, wanted->name) != 0)
            at++;
        if (at >= own->count)
            return sg_fail(err, SG_ERR_FORMAT, "%s: it has no tensor '%s', which the first file has", path,
                           sg_excerpt(name, title));
        const struct gradient_tensor found = own->tensor[at];
        own->tensor[at] = own->tensor[i];
        own->tensor[i] = found;
        if (found.number != wanted->number || found.elements != wanted->elements || found.rows != wanted->rows)
            return sg_fail(err, SG_ERR_FORMAT, "%s: %s%s%s has not the %s of the first file", path,
                           *title ? "tensor '" : "its array", sg_excerpt(name, title), *title ? "'" : "",
                           found.number != wanted->number ? "type" : "shape");
    }
    return own->count == first->count
               ? SG_OK
               : sg_fail(err, SG_ERR_FORMAT, "%s: it has tensor '%s', which the first file has not", path,
                         sg_excerpt(name, own->tensor[first->count].name));
}

/* Tensors of one type that follow each other are read at once. `gradient`: which one of the file. */
static sg_status read_tensors(const struct gradient_head *head, int fd, const char *path, uint64_t gradient, float *out,
                              struct sg_error *err) {
    const struct gradient_tensor *tensor = head->tensor;
    const off_t begin = head->begin + (off_t)(gradient * tensor[head->count - 1].to);
    sg_status status = SG_OK;
    for (size_t i = 0, next; i < head->count && status == SG_OK; i = next) {
        size_t count = tensor[i].elements;
        for (next = i + 1;
             next < head->count && tensor[next].number == tensor[i].number && tensor[next].from == tensor[next - 1].to;
             next++)
            count += tensor[next].elements;
        status = gradient_read(fd, path, tensor[i].number, begin + (off_t)tensor[i].from, count, out, err);
        out += count;
    }
    return status;
}

static sg_status read_file(const sg_gradients *g, int fd, const char *path, uint64_t step, size_t worker, float *out,
                           struct sg_error *err) {
    const uint64_t gradient =
        (g->files.by_step ? 0 : step) * (g->files.by_worker ? 1 : g->facts.workers) + (g->files.by_worker ? 0 : worker);
    if (g->fd >= 0)
        return read_tensors(&g->head, fd, path, gradient, out, err);
    struct gradient_head own = {0}; /* of one of many files */
    sg_status status = read_head(&own, g, fd, path, err);
    SG_DO(status, match_head(&own, g, path, err));
    SG_DO(status, read_tensors(&own, fd, path, gradient, out, err));
    gradient_head_free(&own);
    return status;
}

sg_status sg_gradients_read(const sg_gradients *g, uint64_t step, size_t worker, float *out, struct sg_error *err) {
    SG_ASSERT(step < g->facts.steps && worker < g->facts.workers);
    int fd = -1;
    if (g->format == FORMAT_RECORDING)
        return sg_recording_read(&g->recording, step, worker, out, err);
    if (g->fd >= 0)
        return read_file(g, g->fd, g->request.files, step, worker, out, err);
    char *path = gradient_file(&g->request, step, worker);
    sg_status status = sg_file_open(&fd, path, err);
    if (status == SG_OK) {
        status = read_file(g, fd, path, step, worker, out, err);
        close(fd);
    }
    free(path);
    return status;
}
