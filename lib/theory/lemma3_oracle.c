/* lemma3_oracle.c: the least error that a recorded run's volume allows (Lemma 3), and what methods would have left. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_drive.h"
#include "sg_expression.h"
#include "sg_json.h"
#include "sg_lemma3_oracle.h"
#include "sg_recording.h"

enum { PARALLEL = 1 << 18 }; /* with fewer entries a step, a second thread costs more than it saves */

/* One method at work, and what its workers lose. */
struct replayed_method {
    struct sg_oracle_method *result;
    sg_method *method;
    struct oracle_state *oracle;
    double *error;  /* [workers] of this step */
    uint64_t *sent; /* [workers] of this step */
    double *bits;   /* [workers] of its messages */
};

struct oracle_state {
    struct sg_oracle *out;
    const struct sg_oracle_options *options;
    struct sg_recording recording;
    const struct sg_kernels *kernels;
    struct sg_constant *constant;
    size_t n_constants;
    size_t whole[2];                  /* offsets in `model` scope */
    struct replayed_method *replayed; /* [n_methods] */
    float *a, *lost;                  /* [workers][d] of this step; lost: a - C(a) */
    uint64_t *sent;                   /* [workers] */
    struct sg_error *trouble;         /* [workers] */
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

static sg_status read_constants(struct oracle_state *k, struct sg_error *err) {
    const cJSON *all = sg_json_get(k->recording.header, "constants"), *one;
    k->constant = calloc((size_t)cJSON_GetArraySize(all) + 1, sizeof *k->constant);
    if (!k->constant)
        return sg_fail_memory(err, "constants");
    cJSON_ArrayForEach(one, all) k->constant[k->n_constants++] =
        (struct sg_constant){one->string, cJSON_IsNumber(one) ? one->valuedouble : NAN};
    return SG_OK;
}

/* Opens a method. With decay 0 the residual is what was lost of this step's input alone. */
static sg_status open_method(struct oracle_state *k, struct replayed_method *s, struct sg_error *err) {
    const struct sg_recording *r = &k->recording;
    const struct sg_cell *cell = s->result->cell;
    const bool model = strcmp(sg_node_string(&cell->resolved, "scope", "layer"), "model") == 0;
    const struct sg_node *at;
    double room[SG_METHOD_NUMBERS];
    struct sg_method_config config = {
        .size = sizeof(struct sg_method_config),
        .layout = {.n_layers = model ? 1 : r->n_layers, .offset = model ? k->whole : r->offset},
        .seed = cell->seed,
        .count = r->workers,
        .steps_per_epoch = r->steps_per_epoch,
        .steps = r->steps,
        .kernels = k->kernels,
        .exec = {.threads = 1}};
    s->oracle = k;
    s->error = calloc(r->workers, sizeof *s->error);
    s->sent = calloc(r->workers, sizeof *s->sent);
    s->bits = calloc(r->workers, sizeof *s->bits);
    sg_status status = s->error && s->sent && s->bits ? SG_OK : sg_fail_memory(err, "the oracle");
    SG_DO(status, sg_cell_method(&config, room, cell, k->constant, k->n_constants, &at, err));
    config.feedback = (struct sg_feedback){.rule = &sg_feedback_gradient, .decay = 0};
    SG_DO(status, sg_method_open(&s->method, &config, err));
    if (status == SG_OK && sg_method_rounds(s->method) > 1)
        status = sg_fail(err, SG_ERR_UNSUPPORTED, "the oracle compresses in one round, and it takes more");
    return status == SG_OK ? SG_OK : sg_prefix(err, "method '%s': ", cell->label);
}

static sg_status open_methods(struct oracle_state *k, const struct sg_cell *cells, size_t count, struct sg_error *err) {
    struct sg_oracle *out = k->out;
    out->method = calloc(count, sizeof *out->method);
    k->replayed = calloc(count, sizeof *k->replayed);
    if (!out->method || !k->replayed)
        return sg_fail_memory(err, "the oracle");
    sg_status status = SG_OK;
    for (size_t i = 0; i < count && status == SG_OK; i++)
        if (cells[i].seed == out->cell->seed) {
            struct replayed_method *s = &k->replayed[out->n_methods];
            s->result = &out->method[out->n_methods++];
            s->result->cell = &cells[i];
            status = open_method(k, s, err);
        }
    return status;
}

static sg_status allocate(struct oracle_state *k, struct sg_error *err) {
    const struct sg_recording *r = &k->recording;
    const size_t all = r->workers * r->d;
    k->whole[1] = r->d;
    k->a = malloc(all * sizeof *k->a);
    k->lost = calloc(all, sizeof *k->lost);
    k->sent = malloc(r->workers * sizeof *k->sent);
    k->trouble = calloc(r->workers, sizeof *k->trouble);
    k->kernels = sg_kernels_cpu(NULL);
    if (!k->kernels)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "SG_CPU=%s: this machine has no such kernels (c, avx2, avx512)",
                       getenv("SG_CPU"));
    if (!k->a || !k->lost || !k->sent || !k->trouble)
        return sg_fail_memory(err, "the oracle");
    return sg_magnitudes_open(&k->magnitudes, err);
}

/* ---- the two passes ---------------------------------------------------------------------------------------------- */

static void compress_one(struct oracle_state *k, struct replayed_method *s, size_t w) {
    const size_t d = k->recording.d;
    const struct sg_exec exec = {.threads = 1};
    struct sg_message m;
    float *lost = k->lost + w * d;
    struct sg_error *err = &k->trouble[w];
    if (err->status != SG_OK ||
        (err->status = sg_method_send(s->method, w, 0, k->a + w * d, lost, NULL, &m, err)) != SG_OK)
        return;
    s->sent[w] = m.count;
    s->bits[w] = m.bits;
    SG_ASSERT(m.count <= d);
    s->error[w] = k->kernels->sum_squares(&exec, lost, d);
}

static sg_status lead(void *of, double *square, struct sg_error *err) {
    const struct replayed_method *s = of;
    (void)err;
    sg_method_lead(s->method, s->oracle->a, square);
    return SG_OK;
}

/* Nothing is exchanged: the oracle has no use for the sum. */
static sg_status compress_all(void *of, unsigned round, size_t length, const struct sg_message **all,
                              struct sg_error *err) {
    struct replayed_method *s = of;
    struct oracle_state *k = s->oracle;
    const size_t workers = k->recording.workers;
    (void)round, (void)length, (void)all;
#pragma omp parallel for schedule(static) num_threads(k->options->threads) if (workers * k->recording.d >= PARALLEL)
    for (size_t w = 0; w < workers; w++)
        compress_one(k, s, w);
    for (size_t w = 0; w < workers; w++) {
        if (k->trouble[w].status != SG_OK) {
            *err = k->trouble[w];
            return sg_prefix(err, "method '%s': ", s->result->cell->label);
        }
        s->result->sent += s->sent[w];
        s->result->error += s->error[w];
    }
    return SG_OK;
}

static void spend(void *of, struct sg_spent *spent) {
    const struct replayed_method *s = of;
    const size_t workers = s->oracle->recording.workers;
    for (size_t w = 0; w < workers; w++) {
        spent->largest = fmax(spent->largest, sg_method_note(s->method, w));
        spent->entries += (double)s->sent[w];
        spent->bits += s->bits[w];
    }
    spent->entries /= (double)workers;
    spent->bits /= (double)workers;
}

static sg_status apply_methods(struct oracle_state *k, double gamma, uint64_t step, struct sg_error *err) {
    static const struct sg_drive_hooks hooks = {.lead = lead, .exchange = compress_all, .spend = spend};
    sg_status status = SG_OK;
    for (size_t i = 0; status == SG_OK && i < k->out->n_methods; i++) {
        struct replayed_method *s = &k->replayed[i];
        const struct sg_drive drive = {.part = &s->method, .parts = 1, .hooks = &hooks, .of = s};
        status = sg_method_drive(&drive, step, gamma, err);
    }
    return status;
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
    uint64_t budget = 0, *rank = malloc((out->n_methods + 1) * sizeof *rank);
    sg_status status = rank ? read_through(k, COUNT, &budget, err) : sg_fail_memory(err, "the oracle");
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
    for (size_t i = 0; k->replayed && i < k->out->n_methods; i++) {
        sg_method_close(k->replayed[i].method);
        free(k->replayed[i].error);
        free(k->replayed[i].sent);
        free(k->replayed[i].bits);
    }
    sg_magnitudes_close(k->magnitudes);
    sg_recording_free(&k->recording);
    void *const owned[] = {k->replayed, k->constant, k->a, k->lost, k->sent, k->trouble};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
}

sg_status sg_oracle_run(struct sg_oracle *out, const char *recording, const struct sg_cell *cells, size_t count,
                        const struct sg_oracle_options *options, struct sg_error *err) {
    SG_ASSERT(options->threads >= 1);
    struct sg_oracle oracle = {.recording = strdup(recording)};
    struct oracle_state k = {.out = &oracle, .options = options};
    sg_status status =
        oracle.recording ? sg_recording_open(&k.recording, recording, err) : sg_fail_memory(err, recording);
    if (status == SG_OK && k.recording.gradients)
        status = sg_fail(err, SG_ERR_ARGUMENT,
                         "%s holds gradients, and the oracle goes by what compressors were given: record that with "
                         "sparsetrain --record-inputs",
                         recording);
    SG_DO(status, find_recorded(&k, cells, count, err));
    SG_DO(status, read_constants(&k, err));
    SG_DO(status, allocate(&k, err));
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
    cJSON *out = cJSON_CreateObject(), *methods = cJSON_CreateArray();
    const double entries = (double)o->entries;
    SG_SET(out, SG_TEXT("recording", o->recording), SG_TEXT("method", o->cell->label));
    sg_json_set_u64(out, "seed", o->cell->seed);
    SG_SET(out, SG_NUMBER("steps", o->steps), SG_NUMBER("workers", o->workers), SG_NUMBER("d", o->d),
           SG_NUMBER("entries", entries), SG_NUMBER("budget", o->best.k),
           SG_NUMBER("density", (double)o->best.k / entries), SG_NUMBER("lambda", o->best.kept_last),
           SG_NUMBER("lambda_above", o->best.lost_most), SG_NUMBER("optimal_error", o->best.lost));
    for (size_t i = 0; i < o->n_methods; i++) {
        const struct sg_oracle_method *m = &o->method[i];
        sg_json_push(methods,
                     SG_OBJECT(SG_TEXT("label", m->cell->label), SG_NUMBER("sent", m->sent),
                               SG_NUMBER("density", (double)m->sent / entries), SG_NUMBER("error", m->error),
                               SG_NUMBER("optimal_error", m->best.lost), SG_NUMBER("regret", sg_oracle_regret(m)),
                               SG_NUMBER("ratio", m->error / m->best.lost), SG_NUMBER("lambda", m->best.kept_last)));
    }
    sg_json_set(out, "methods", methods);
    return out;
}

void sg_oracle_free(struct sg_oracle *o) {
    free(o->recording);
    free(o->method);
    *o = (struct sg_oracle){0};
}
