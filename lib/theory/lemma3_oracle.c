/* lemma3_oracle.c: the least error that a recorded run's volume allows (Lemma 3), and what methods would have left. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_drive.h"
#include "sg_json.h"
#include "sg_lemma3_oracle.h"
#include "sg_memory.h"
#include "sg_recording.h"
#include "sg_replay.h"

struct oracle_state {
    struct sg_oracle *out;
    const struct sg_oracle_options *options;
    struct sg_recording recording;
    const struct sg_kernels *kernels;
    sg_method **method;              /* [n_methods] */
    struct sg_oracle_method *played; /* the one that is played, and of which `take` learns what it sends */
    float *a, *lost;                 /* [workers][d] of this step; lost: a - C(a) */
    uint64_t *sent;                  /* [workers] by the recorded method */
    struct sg_message *message;      /* [workers] */
    sg_magnitudes *magnitudes;
};

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

static sg_status find_recorded(struct oracle_state *k, const struct sg_cell *cells, size_t count,
                               struct sg_error *err) {
    const cJSON *h = k->recording.header;
    const char *key = sg_json_string(h, "cell_key", "");
    char names[512];
    for (size_t i = 0; i < count && !k->out->cell; i++)
        if (strcmp(cells[i].key, key) == 0)
            k->out->cell = &cells[i];
    return k->out->cell
               ? SG_OK
               : sg_fail(err, SG_ERR_MISMATCH,
                         "%s does not belong to this recipe: it is of method '%s', seed %s, of another recipe or "
                         "an earlier state of this one, which has %s",
                         k->out->recording, sg_json_string(h, "method", "?"), sg_json_string(h, "seed", "?"),
                         sg_cell_labels(names, sizeof names, cells, count));
}

/* Opens a method. With decay 0 the residual is what was lost of this step's input alone. */
static sg_status open_method(sg_method **out, const struct oracle_state *k, const struct sg_cell *cell,
                             struct sg_error *err) {
    const struct sg_recording *r = &k->recording;
    struct sg_replay_room room = {0};
    struct sg_method_config config = {.layout = {.n_layers = r->n_layers, .offset = r->offset},
                                      .count = r->workers,
                                      .steps_per_epoch = r->steps_per_epoch,
                                      .steps = r->steps,
                                      .kernels = k->kernels,
                                      .exec = {.threads = k->options->threads}};
    sg_status status = sg_replay_method(&config, &room, cell, sg_json_get(r->header, "constants"), err);
    config.feedback = (struct sg_feedback){.rule = &sg_feedback_gradient, .decay = 0};
    SG_DO(status, sg_method_open(out, &config, err));
    if (status == SG_OK && sg_method_rounds(*out) > 1)
        status = sg_fail(err, SG_ERR_UNSUPPORTED, "the oracle compresses in one round, and it takes more");
    return status == SG_OK ? SG_OK : sg_prefix(err, "method '%s': ", cell->label);
}

static sg_status open_methods(struct oracle_state *k, const struct sg_cell *cells, size_t count, struct sg_error *err) {
    struct sg_oracle *out = k->out;
    sg_status status = SG_OK;
    for (size_t i = 0; i < count && status == SG_OK; i++)
        if (cells[i].seed == out->cell->seed) {
            const size_t m = out->n_methods++;
            out->method[m].cell = &cells[i];
            status = open_method(&k->method[m], k, &cells[i], err);
        }
    return status;
}

/* count: of the cells, of which the methods are some. */
static sg_status allocate(struct oracle_state *k, size_t count, struct sg_error *err) {
    const struct sg_recording *r = &k->recording;
    const size_t all = r->workers * r->d;
    k->out->method = sg_calloc(count, sizeof *k->out->method);
    k->method = sg_calloc(count, sizeof *k->method);
    k->a = sg_malloc(all * sizeof *k->a);
    k->lost = sg_calloc(all, sizeof *k->lost);
    k->sent = sg_malloc(r->workers * sizeof *k->sent);
    k->message = sg_calloc(r->workers, sizeof *k->message);
    k->kernels = sg_kernels_cpu(NULL);
    if (!k->kernels)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "SG_CPU=%s: this machine has no such kernels (c, avx2, avx512)",
                       getenv("SG_CPU"));
    sg_magnitudes_open(&k->magnitudes);
    return SG_OK;
}

/* ---- the two passes ---------------------------------------------------------------------------------------------- */

static sg_status take(void *of, size_t worker, unsigned round, const struct sg_message *message, struct sg_error *err) {
    const struct oracle_state *k = of;
    const size_t d = k->recording.d;
    (void)round, (void)err;
    SG_ASSERT(message->count <= d);
    k->played->sent += message->count;
    k->played->error += k->kernels->sum_squares(&(struct sg_exec){.threads = 1}, k->lost + worker * d, d);
    return SG_OK;
}

/* Nothing is added up: the oracle has no use for the sum. */
static sg_status apply_methods(struct oracle_state *k, double gamma, uint64_t step, struct sg_error *err) {
    for (size_t i = 0; i < k->out->n_methods; i++) {
        struct sg_play play = {.part = &k->method[i],
                               .parts = 1,
                               .d = k->recording.d,
                               .g = k->a,
                               .e = k->lost,
                               .message = k->message,
                               .sent = take,
                               .of = k};
        k->played = &k->out->method[i];
        if (sg_method_play(&play, step, gamma, err) != SG_OK)
            return sg_prefix(err, "method '%s': ", k->played->cell->label);
    }
    return SG_OK;
}

enum pass { COUNT, REFINE };

static sg_status read_through(struct oracle_state *k, enum pass pass, uint64_t *budget, struct sg_error *err) {
    const struct sg_recording *r = &k->recording;
    sg_status status = SG_OK;
    double gamma;
    for (uint64_t t = 0; status == SG_OK && t < r->steps; t++) {
        status = sg_recording_step(r, t, &gamma, k->sent, k->a, err);
        if (status == SG_OK && pass == REFINE) {
            sg_magnitudes_refine(k->magnitudes, k->a, r->workers * r->d);
        } else if (status == SG_OK) {
            sg_magnitudes_count(k->magnitudes, k->a, r->workers * r->d);
            for (size_t w = 0; w < r->workers; w++)
                *budget += k->sent[w];
            status = apply_methods(k, gamma, t, err);
        }
        if (status == SG_OK && k->options->stop && k->options->stop())
            status = sg_fail(err, SG_ERR_INTERRUPTED, "stopped at step %llu of the recording", (unsigned long long)t);
        if (k->options->progress)
            k->options->progress(pass == COUNT ? "applying methods" : "looking for the threshold", (double)(t + 1),
                                 (double)r->steps);
    }
    return status;
}

static sg_status two_passes(struct oracle_state *k, struct sg_error *err) {
    struct sg_oracle *out = k->out;
    uint64_t budget = 0, *rank = sg_malloc((out->n_methods + 1) * sizeof *rank);
    sg_status status = read_through(k, COUNT, &budget, err);
    if (status == SG_OK) {
        rank[0] = budget;
        for (size_t i = 0; i < out->n_methods; i++)
            rank[i + 1] = out->method[i].sent;
        status = sg_magnitudes_ask(k->magnitudes, rank, out->n_methods + 1, err);
    }
    SG_DO(status, read_through(k, REFINE, NULL, err));
    if (status == SG_OK) {
        out->entries = sg_magnitudes_total(k->magnitudes);
        out->best = sg_magnitudes_rank(k->magnitudes, 0);
        for (size_t i = 0; i < out->n_methods; i++)
            out->method[i].best = sg_magnitudes_rank(k->magnitudes, i + 1);
    }
    free(rank);
    return status;
}

static void oracle_state_free(struct oracle_state *k) {
    for (size_t i = 0; i < k->out->n_methods; i++)
        sg_method_close(k->method[i]);
    sg_magnitudes_close(k->magnitudes);
    sg_recording_free(&k->recording);
    void *const owned[] = {k->method, k->a, k->lost, k->sent, k->message};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
}

sg_status sg_oracle_run(struct sg_oracle *out, const char *recording, const struct sg_cell *cells, size_t count,
                        const struct sg_oracle_options *options, struct sg_error *err) {
    SG_ASSERT(options->threads >= 1);
    struct sg_oracle oracle = {.recording = sg_strdup(recording)};
    struct oracle_state k = {.out = &oracle, .options = options};
    sg_status status = sg_recording_open(&k.recording, recording, err);
    if (status == SG_OK && k.recording.gradients)
        status = sg_fail(err, SG_ERR_ARGUMENT,
                         "%s holds gradients, and the oracle goes by what compressors were given: record that with "
                         "sparsetrain --record-inputs",
                         recording);
    SG_DO(status, find_recorded(&k, cells, count, err));
    SG_DO(status, allocate(&k, count, err));
    SG_DO(status, open_methods(&k, cells, count, err));
    SG_DO(status, two_passes(&k, err));
    oracle.steps = k.recording.steps;
    oracle.workers = k.recording.workers;
    oracle.d = k.recording.d;
    oracle_state_free(&k);
    if (status == SG_OK)
        *out = oracle;
    else
        sg_oracle_free(&oracle);
    return status;
}

/* ---- what came out ----------------------------------------------------------------------------------------------- */

double sg_oracle_regret(const struct sg_oracle_method *m) {
    return fmax(0, m->error - m->best.lost);
}

cJSON *sg_oracle_json(const struct sg_oracle *o) {
    cJSON *methods = cJSON_CreateArray();
    const double entries = (double)o->entries;
    for (size_t i = 0; i < o->n_methods; i++) {
        const struct sg_oracle_method *m = &o->method[i];
        sg_json_push(methods,
                     SG_OBJECT(SG_TEXT("label", m->cell->label), SG_NUMBER("sent", m->sent),
                               SG_NUMBER("density", (double)m->sent / entries), SG_NUMBER("error", m->error),
                               SG_NUMBER("optimal_error", m->best.lost), SG_NUMBER("regret", sg_oracle_regret(m)),
                               SG_NUMBER("ratio", m->error / m->best.lost), SG_NUMBER("lambda", m->best.kept_last)));
    }
    cJSON *out =
        SG_OBJECT(SG_TEXT("recording", o->recording), SG_TEXT("method", o->cell->label), SG_NUMBER("steps", o->steps),
                  SG_NUMBER("workers", o->workers), SG_NUMBER("d", o->d), SG_NUMBER("entries", entries),
                  SG_NUMBER("budget", o->best.k), SG_NUMBER("density", (double)o->best.k / entries),
                  SG_NUMBER("lambda", o->best.kept_last), SG_NUMBER("lambda_above", o->best.lost_most),
                  SG_NUMBER("optimal_error", o->best.lost), SG_VALUE("methods", methods));
    sg_json_set_u64(out, "seed", o->cell->seed);
    return out;
}

void sg_oracle_free(struct sg_oracle *o) {
    free(o->recording);
    free(o->method);
    *o = (struct sg_oracle){0};
}
