/* train_buckets.c: the exchange of a bucket of layers while the gradients of the layers before it are computed.
 *
 * A task says during its backward pass which parts of a gradient are complete. When all layers of a bucket are, the
 * worker's message of these is made at once and put into an exchange of the bucket's own. A thread beside ends these
 * exchanges from the last bucket to the first, as soon as all workers of this rank have put theirs, so that sums arrive
 * while gradients are computed. In the end every worker has its message of all layers, which an exchange that moves
 * nothing counts. Sums run over the same workers in the same order as without buckets, so no bit changes. Of several
 * workers that take turns on a thread, only the last one computes while the exchange is under way. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "sg_clock.h"
#include "sg_debug.h"
#include "sg_memory.h"
#include "sg_text.h"
#include "train_private.h"

static const size_t SENT = SIZE_MAX; /* in place of what is missing */
enum { FIRST_BYTES = 1 << 20 }; /* the first bucket has at most about so many, to be on its way early, as in PyTorch */

struct buckets {
    size_t count;            /* of buckets; 0 = the messages of this cell travel as a whole */
    size_t *layer, *element; /* [count + 1] where each begins */
    sg_comm **lane;          /* [count] its exchange */
    size_t *missing;         /* [workers of this rank][count] elements of the gradient that are not there */
    struct sg_error *failed; /* [workers of this rank] what was wrong with a message of a bucket */

    /* Of a step that goes by buckets. The lock guards these, except for what only one thread has. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool active, begun;    /* gradients are being computed; the thread runs */
    bool broken;           /* a worker of this rank failed, so that messages are missing */
    size_t *put, expected; /* [count] how many workers have put their message, and how many will */
    struct sg_error error; /* of the thread */
};

bool train_wants_buckets(const struct train *t) {
    return t->options->recipe && sg_node_get(&t->options->recipe->root, "exchange.buckets");
}

/* ---- set-up ---- */

/* Cuts the layers, from the last one on, where a bucket has the bytes that the recipe names. */
static void cut_layers(struct buckets *b, const struct sg_layout *layout, double bytes) {
    size_t *from_end = b->layer, end = layout->n_layers;
    for (size_t l = layout->n_layers; l-- > 0;) {
        const double most = b->count == 0 && bytes > FIRST_BYTES ? FIRST_BYTES : bytes;
        if (l > 0 && (double)((layout->offset[end] - layout->offset[l]) * sizeof(float)) < most)
            continue;
        from_end[b->count++] = end = l;
    }
    for (size_t i = 0; i < b->count / 2; i++) {
        const size_t other = b->layer[i];
        b->layer[i] = b->layer[b->count - 1 - i];
        b->layer[b->count - 1 - i] = other;
    }
    b->layer[b->count] = layout->n_layers;
    for (size_t i = 0; i <= b->count; i++)
        b->element[i] = layout->offset[b->layer[i]];
}

/* Why messages of this cell travel as a whole; NULL = they need not. */
static const char *reason_of(const struct train *t) {
    return t->device.gpu                             ? "they lie on a GPU"
           : t->buckets->count < 2                   ? "one bucket has all layers (scope: layer and a smaller size cut)"
           : t->comm && !sg_comm_has_beside(t->comm) ? "this MPI is for one thread of a process"
           : t->of_workers                           ? "every worker's optimizer goes on from its whole gradient"
           : !t->info->by_parts ? "the task does not say during its backward pass which gradients are complete"
                                : sg_method_whole_reason(&t->config);
}

sg_status train_buckets_choose(struct train *t, struct sg_error *err) {
    (void)err;
    train_buckets_close(t);
    t->config.ranges = 0;
    if (!train_wants_buckets(t) || (t->comm && sg_comm_size(t->comm) == 1))
        return SG_OK;
    const size_t layers = t->config.layout.n_layers;
    struct buckets *b = t->buckets = sg_calloc(1, sizeof *b);
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    b->layer = sg_calloc(2 * (layers + 1), sizeof *b->layer);
    b->element = b->layer + layers + 1;
    cut_layers(b, &t->config.layout, sg_node_number(&t->options->recipe->root, "exchange.buckets", 1));
    const char *reason = reason_of(t);
    if (t->lead && reason)
        sg_notify(t->options->notice, "exchange.buckets: messages of '%s' travel as a whole, because %s",
                  t->options->cell->label, reason);
    else if (t->lead)
        sg_notify(t->options->notice,
                  "exchange.buckets: layers in %zu buckets, which ranks exchange during the backward pass", b->count);
    b->count = reason ? 0 : b->count;
    t->config.range = b->layer;
    t->config.ranges = b->count;
    return SG_OK;
}

sg_status train_buckets_open(struct train *t, struct sg_error *err) {
    struct buckets *b = t->buckets;
    if (!b || b->count == 0)
        return SG_OK;
    b->lane = sg_calloc(b->count, sizeof *b->lane);
    b->put = sg_calloc(b->count, sizeof *b->put);
    b->missing = sg_calloc(t->count * b->count, sizeof *b->missing);
    b->failed = sg_calloc(t->count, sizeof *b->failed);
    sg_status status = SG_OK;
    for (size_t i = 0; i < b->count && status == SG_OK; i++) {
        status = sg_comm_open_beside(&b->lane[i], t->comm, err);
        if (status == SG_OK)
            sg_comm_set_encoding(b->lane[i], t->encoding);
    }
    return status;
}

void train_buckets_close(struct train *t) {
    struct buckets *b = t->buckets;
    if (!b)
        return;
    for (size_t i = 0; b->lane && i < b->count; i++)
        sg_comm_close(b->lane[i]);
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->changed);
    free(b->layer);
    free(b->lane);
    free(b->put);
    free(b->missing);
    free(b->failed);
    free(b);
    t->buckets = NULL;
}

/* ---- the thread ---- */

/* Waits until all workers of this rank have put their message of a bucket. Returns whether one of them failed. */
static bool await(struct buckets *b, size_t bucket) {
    pthread_mutex_lock(&b->lock);
    while (b->put[bucket] < b->expected)
        pthread_cond_wait(&b->changed, &b->lock);
    const bool broken = b->broken;
    pthread_mutex_unlock(&b->lock);
    return broken;
}

/* Every rank ends the exchange of every bucket, even if a rank has failed, because the others wait for it. */
static void *exchange_buckets(void *of) {
    struct buckets *b = of;
    struct sg_outcome outcome;
    for (size_t i = b->count; i-- > 0;) {
        const struct sg_control mine = {.status = await(b, i) ? SG_ERR_ARGUMENT : SG_OK};
        if (sg_comm_end(b->lane[i], &mine, &outcome, &b->error) != SG_OK)
            break;
    }
    return NULL;
}

/* ---- a step ---- */

bool train_buckets_begin(struct train *t) {
    struct buckets *b = t->buckets;
    const struct sg_exec exec = {.threads = 1};
    if (!b || b->count == 0 || !sg_method_sends_ranges(t->method))
        return false;
    b->expected = b->broken = 0;
    b->error.status = SG_OK;
    for (size_t w = 0; w < t->count; w++) {
        b->expected += !t->absent[t->first + w] && t->mine.status == SG_OK;
        b->failed[w].status = SG_OK;
        for (size_t i = 0; i < b->count; i++)
            b->missing[w * b->count + i] = b->element[i + 1] - b->element[i];
    }
    b->broken = t->mine.status != SG_OK;
    for (size_t i = 0; i < b->count; i++) {
        b->put[i] = 0;
        sg_comm_begin(b->lane[i], t->sum + b->element[i], b->element[i + 1] - b->element[i], t->kernels, &exec);
        if (!sg_method_is_exact(t->method)) /* joining moves what the parts of all other messages have */
            sg_comm_copy(b->lane[i]);
        for (size_t w = 0; w < t->count; w++)
            if (t->absent[t->first + w])
                sg_comm_skip(b->lane[i], t->first + w);
    }
    b->active = true;
    b->begun = pthread_create(&b->thread, NULL, exchange_buckets, b) == 0;
    return true;
}

/* Counts a worker's message of a bucket as put, or as one that will not come. */
static void count(struct buckets *b, size_t bucket, bool failed) {
    pthread_mutex_lock(&b->lock);
    b->put[bucket]++;
    b->broken |= failed;
    pthread_cond_signal(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

/* The last failure stays: buckets come from the last one to the first, and the first layer that is wrong is named. */
static void send_bucket(struct train *t, size_t w, size_t bucket) {
    struct buckets *b = t->buckets;
    struct worker *worker = &t->worker[w];
    struct sg_message message;
    struct sg_error err;
    const double start_s = sg_clock_s();
    b->missing[w * b->count + bucket] = SENT;
    sg_status status =
        sg_method_send_range(t->method, t->first + w, bucket, worker->g, worker->residual, &message, &err);
    SG_DO(status, sg_comm_put(b->lane[bucket], t->first + w, &message, &err));
    if (status != SG_OK)
        b->failed[w] = err;
    count(b, bucket, status != SG_OK);
    worker->spent[PHASE_COMPRESSION] += sg_clock_s() - start_s;
}

void train_buckets_part(void *train, size_t worker, const float *gradient, size_t n) {
    struct train *t = train;
    struct buckets *b = t->buckets;
    if (!b || !b->active)
        return;
    const size_t w = worker - t->first, at = (size_t)(gradient - t->worker[w].g);
    size_t bucket = b->count - 1;
    while (b->element[bucket] > at)
        bucket--;
    size_t *missing = &b->missing[w * b->count + bucket];
    SG_ASSERT(at + n <= b->element[bucket + 1] && *missing != SENT && n <= *missing);
    *missing -= n;
    if (*missing == 0)
        send_bucket(t, w, bucket);
}

void train_buckets_gradient(struct train *t, size_t w) {
    struct buckets *b = t->buckets;
    struct worker *worker = &t->worker[w];
    if (!b || !b->active)
        return;
    for (size_t i = b->count; i-- > 0;) {
        if (b->missing[w * b->count + i] == SENT)
            continue;
        if (worker->error.status == SG_OK)
            send_bucket(t, w, i);
        else
            count(b, i, true);
    }
    if (worker->error.status == SG_OK && b->failed[w].status != SG_OK)
        worker->error = b->failed[w];
}

sg_status train_buckets_end(struct train *t, struct sg_error *err) {
    struct buckets *b = t->buckets;
    const double start_s = sg_clock_s();
    b->active = false;
    if (b->begun)
        pthread_join(b->thread, NULL);
    else
        exchange_buckets(b);
    t->worker[0].spent[PHASE_EXCHANGE] += sg_clock_s() - start_s;
    if (b->error.status == SG_OK)
        return SG_OK;
    *err = b->error;
    sg_comm_abort(t->comm, 1); /* the other ranks may not have this failure */
    return err->status;
}
