/* method_fragments.c: messages of fragments, which are sets of layers with steps of their own to send (Streaming
 * DiLoCo, Douillard et al., arXiv 2501.18512). A fragment's numbers are packed into one vector, and compressors see a
 * model of its layers alone. Its sum may wait some steps before it moves x.
 *
 * Fragments consist of blocks. A block is a run of layers whose names are alike up to their first number, as the layers
 * of "h.3." are; a layer without a number in its name is a block. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "method_private.h"
#include "sg_debug.h"

/* ---- which fragment ---- */

/* Fragment p sends where step + 1 is p interval / fragments, and every interval from there on. */
size_t method_stream_at(const struct sg_stream *s, uint64_t step) {
    const uint64_t turn = (step + 1) % s->interval, p = (turn * s->fragments + s->interval - 1) / s->interval;
    return p < s->fragments && p * s->interval / s->fragments == turn ? (size_t)p : s->fragments;
}

const struct method_fragment *method_fragment_sent(const sg_method *m) {
    return &m->fragment[method_stream_at(&m->stream, m->facts.step)];
}

/* The fragment whose layers of x move at this step. */
static const struct method_fragment *moving(const sg_method *m) {
    return &m->fragment[method_stream_at(&m->stream, m->facts.step - m->stream.delay)];
}

static size_t layers_of(const struct method_fragment *f) {
    return f->shared.layout.n_layers;
}

size_t sg_method_fragments(const sg_method *m) {
    return m->stream.fragments > 1 ? m->stream.fragments : 1;
}

bool sg_method_moves_layer(const sg_method *m, size_t layer) {
    if (m->stream.fragments <= 1)
        return true;
    const struct method_fragment *f = moving(m);
    size_t i = 0;
    while (i < layers_of(f) && f->layer[i] < layer)
        i++;
    return i < layers_of(f) && f->layer[i] == layer;
}

/* ---- set-up ---- */

sg_status method_stream_check(const sg_method *m, bool sampled, bool copies, struct sg_error *err) {
    const struct sg_stream *s = &m->stream;
    const struct sg_compressor_ops *ops = m->compressor;
    const char *why = !(s->fragments > 1)   ? NULL
                      : ops->rounds         ? "exchanges something of all layers first"
                      : ops->worker_doubles ? "goes by what it kept of all layers"
                      : copies              ? "copies the k of all layers"
                                            : NULL;
    if (s->fragments > s->interval)
        return sg_fail(err, SG_ERR_ARGUMENT, "error-feedback.fragments: %zu fragments do not take turns in %llu steps",
                       s->fragments, (unsigned long long)s->interval);
    if (s->interval > 0 && s->delay >= s->interval)
        return sg_fail(err, SG_ERR_ARGUMENT, "error-feedback.delay: a fragment sends again before its mean moves x");
    if (why)
        return sg_fail(err, SG_ERR_ARGUMENT, "error-feedback.fragments: %s %s", ops->name, why);
    if (sampled && (s->fragments > 1 || s->delay > 0 || s->mixing > 0))
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "participation: with fragments, delay or mixing every worker takes part in every step");
    return SG_OK;
}

/* Returns whether layer l begins a block. */
static bool begins_block(const struct sg_layout *layout, size_t l) {
    static const char digits[] = "0123456789";
    if (l == 0 || !layout->name)
        return true;
    const char *before = layout->name[l - 1], *name = layout->name[l];
    const size_t text = strcspn(name, digits), length = text + strspn(name + text, digits);
    return text == length || strncmp(before, name, length) != 0 || strspn(before + length, digits) > 0;
}

/* of_layer [n_layers] <- the fragment of each layer; false if there are more fragments than blocks. */
static bool deal(size_t *of_layer, const struct sg_layout *layout, const struct sg_stream *s) {
    size_t blocks = 0, block = 0;
    for (size_t l = 0; l < layout->n_layers; l++)
        blocks += begins_block(layout, l);
    for (size_t l = 0; l < layout->n_layers; l++) {
        block += l > 0 && begins_block(layout, l);
        of_layer[l] = s->strided ? block % s->fragments : block * s->fragments / blocks;
    }
    return blocks >= s->fragments;
}

/* Fills a fragment with the layers that are dealt to it. One allocation has all its arrays. */
static sg_status open_fragment(const sg_method *m, struct method_fragment *f, size_t number, const size_t *of_layer,
                               struct sg_error *err) {
    const struct sg_layout *all = &m->shared.layout;
    const size_t n = all->n_layers;
    size_t *const layer = f->layer =
        calloc(1, (3 * n + 1) * sizeof *layer + n * sizeof *f->knob + n * sizeof(const char *));
    if (!layer)
        return sg_fail_memory(err, "fragments of layers");
    size_t *const offset = layer + n, *const rows = offset + n + 1, count = 0;
    f->knob = (double *)(rows + n);
    const char **const name = (const char **)(f->knob + n);
    for (size_t l = 0; l < n; l++)
        if (of_layer[l] == number) {
            layer[count] = l;
            rows[count] = all->rows ? all->rows[l] : 1;
            name[count] = all->name ? all->name[l] : NULL;
            offset[count + 1] = offset[count] + all->offset[l + 1] - all->offset[l];
            count++;
        }
    f->shared.layout = (struct sg_layout){
        .n_layers = count, .offset = offset, .rows = all->rows ? rows : NULL, .name = all->name ? name : NULL};
    return SG_OK;
}

static sg_status open_parts(const sg_method *m, struct method_worker *w, struct sg_error *err) {
    sg_status status = SG_OK;
    if ((w->of_fragment = calloc(m->stream.fragments, sizeof *w->of_fragment)) == NULL)
        return sg_fail_memory(err, "fragments of layers");
    for (size_t p = 0; p < m->stream.fragments && status == SG_OK; p++)
        status = method_part_open(m, &w->of_fragment[p], w, &m->fragment[p].shared, w->room, w->count, err);
    return status;
}

sg_status method_fragments_open(sg_method *m, struct sg_error *err) {
    const struct sg_stream *s = &m->stream;
    sg_status status = SG_OK;
    if (s->fragments <= 1 && s->delay == 0 && !(s->mixing > 0))
        return SG_OK;
    size_t *of_layer = calloc(m->shared.layout.n_layers, sizeof *of_layer);
    m->fragment = calloc(s->fragments, sizeof *m->fragment);
    if (!of_layer || !m->fragment)
        status = sg_fail_memory(err, "fragments of layers");
    else if (!deal(of_layer, &m->shared.layout, s))
        status = sg_fail(err, SG_ERR_ARGUMENT,
                         "error-feedback.fragments: %zu fragments of %zu layers: there are fewer blocks", s->fragments,
                         m->shared.layout.n_layers);
    for (size_t p = 0; p < s->fragments && status == SG_OK; p++)
        status = open_fragment(m, &m->fragment[p], p, of_layer, err);
    free(of_layer);
    method_fragments_begin(m);
    for (size_t w = 0; w < m->count && s->fragments > 1 && status == SG_OK; w++)
        status = open_parts(m, &m->worker[w], err);
    return status;
}

void method_fragments_begin(sg_method *m) {
    for (size_t p = 0; m->fragment && p < m->stream.fragments; p++) {
        struct method_fragment *f = &m->fragment[p];
        const struct sg_layout layout = f->shared.layout;
        f->shared = m->shared;
        f->shared.layout = layout;
        f->shared.knob = f->knob;
        for (size_t i = 0; i < layout.n_layers; i++)
            f->knob[i] = m->shared.knob[f->layer[i]];
    }
}

void method_fragments_close(sg_method *m) {
    for (size_t w = 0; m->worker && w < m->count; w++) {
        for (size_t p = 0; m->worker[w].of_fragment && p < m->stream.fragments; p++)
            free(m->worker[w].of_fragment[p].seen.scratch);
        free(m->worker[w].of_fragment);
    }
    for (size_t p = 0; m->fragment && p < m->stream.fragments; p++)
        free(m->fragment[p].layer);
    free(m->fragment);
}

/* ---- a message ---- */

/* A layer of a fragment: its first number in the model and in the fragment, and how many it has. */
struct place {
    size_t begin, packed, n;
};

static struct place place_of(const sg_method *m, const struct method_fragment *f, size_t i) {
    const size_t *offset = f->shared.layout.offset;
    return (struct place){m->shared.layout.offset[f->layer[i]], offset[i], offset[i + 1] - offset[i]};
}

static void pack(const sg_method *m, const struct method_fragment *f, float *to, const float *x) {
    for (size_t i = 0; i < layers_of(f); i++) {
        const struct place l = place_of(m, f, i);
        memcpy(to + l.packed, x + l.begin, l.n * sizeof *to);
    }
}

static void unpack(const sg_method *m, const struct method_fragment *f, float *to, const float *packed) {
    for (size_t i = 0; i < layers_of(f); i++) {
        const struct place l = place_of(m, f, i);
        memcpy(to + l.begin, packed + l.packed, l.n * sizeof *to);
    }
}

/* From the last layer on: every number moves towards the end. */
void method_spread(const sg_method *m, float *x) {
    const struct method_fragment *f = method_fragment_sent(m);
    size_t end = m->d;
    for (size_t i = layers_of(f); i-- > 0;) {
        const struct place l = place_of(m, f, i);
        memset(x + l.begin + l.n, 0, (end - l.begin - l.n) * sizeof *x);
        memmove(x + l.begin, x + l.packed, l.n * sizeof *x);
        end = l.begin;
    }
    memset(x, 0, end * sizeof *x);
}

static void spread_counts(const sg_method *m, const struct method_fragment *f, size_t *count) {
    size_t end = m->shared.layout.n_layers;
    for (size_t i = layers_of(f); i-- > 0;) {
        const size_t own = count[i];
        memset(count + i, 0, (end - i) * sizeof *count);
        count[f->layer[i]] = own;
        end = f->layer[i];
    }
}

int method_fragment_message(sg_method *m, struct method_worker *w, float *e, struct sg_message *out,
                            struct sg_error *err) {
    const struct method_fragment *f = method_fragment_sent(m);
    struct method_worker *part = &w->of_fragment[f - m->fragment];
    pack(m, f, w->packed_g, w->g);
    if (e)
        pack(m, f, w->packed_e, e);
    part->input = w->input;
    if (method_prepare(m, part, e, err) != SG_OK) /* as it was for the worker */
        return SG_KERNEL_DEVICE;
    const struct sg_select s = method_step_selection(m, part, w->packed_g, e ? w->packed_e : NULL);
    const int status = method_message(m, part, 0, &s, out);
    w->fault = part->fault;
    if (status == SG_KERNEL_NONFINITE)
        w->count[0] = f->layer[w->count[0]];
    if (status != SG_KERNEL_OK)
        return status;
    if (e)
        unpack(m, f, e, w->packed_e);
    if (w->input)
        method_spread(m, w->input);
    spread_counts(m, f, w->count);
    return SG_KERNEL_OK;
}

/* ---- what the sum does ---- */

/* The worker takes over a fragment of x, or part of it. */
static void merge(const sg_method *m, struct method_worker *w, const struct method_fragment *f, const float *step) {
    for (size_t i = 0; i < layers_of(f); i++) {
        const struct place l = place_of(m, f, i);
        m->shared.feedback.rule->merge(&w->feedback, l.begin, l.begin + l.n, m->stream.mixing, step);
    }
}

/* Where x moves at the step of the message, and all of x is taken over, nobody needs to know how far it moves. */
static bool merges_at_once(const sg_method *m) {
    return m->stream.delay == 0 && !(m->stream.mixing > 0);
}

void method_merge_now(const sg_method *m, struct method_worker *w) {
    if (!m->fragment)
        m->shared.feedback.rule->merge(&w->feedback, 0, m->d, 0, NULL);
    else if (merges_at_once(m))
        merge(m, w, method_fragment_sent(m), NULL);
}

void sg_method_merge(sg_method *m, size_t worker, const float *step) {
    SG_ASSERT(sg_method_moves(m));
    if (m->fragment && !merges_at_once(m))
        merge(m, method_worker_at(m, worker), moving(m), step);
}

static void copy_layers(const sg_method *m, const struct method_fragment *f, float *to, const float *from) {
    for (size_t i = 0; i < layers_of(f); i++) {
        const struct place l = place_of(m, f, i);
        memcpy(to + l.begin, from + l.begin, l.n * sizeof *to);
    }
}

void method_hold(const sg_method *m, float *sum) {
    if (sg_method_sends(m))
        copy_layers(m, method_fragment_sent(m), m->pending, sum);
    memset(sum, 0, m->d * sizeof *sum);
    if (sg_method_moves(m))
        copy_layers(m, moving(m), sum, m->pending);
}
