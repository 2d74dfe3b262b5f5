/* batches.c: batches of images, which a thread prepares ahead of their use. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "images_private.h"
#include "sg_debug.h"
#include "sg_images.h"
#include "sg_memory.h"
#include "sg_rng.h"
#include "sg_shards.h"

/* Batches are numbered in the order (step, worker): their turn. Turn t is prepared in slot t % SLOTS. The caller holds
 * turn `held`; held..ready-1 are prepared; the thread prepares turn `ready` while ready < held + SLOTS, so never the
 * slot of the one that is held. Both change under the lock only. A seek sets both and counts `seeks`, so that the
 * thread drops the batch that it was preparing. Only the thread writes to slots. */
enum { SLOTS = 4 };

struct sg_batches {
    struct sg_batches_config config;
    uint64_t steps; /* an epoch */
    struct sg_image_table table;
    void *pixel;    /* [SLOTS][batch][SG_IMAGE_VALUES] floats, or bytes */
    int64_t *label; /* [SLOTS][batch] */

    pthread_t thread;
    bool started, stop;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t held, ready, seeks;

    uint32_t *order; /* the thread's own: permutation of the images in epoch `epoch` */
    uint64_t epoch;
};

uint64_t sg_batches_steps(size_t images, size_t workers, size_t batch) {
    return workers && batch ? images / workers / batch : 0;
}

/* Where a worker's images begin in `order`. */
static size_t block_begin(const sg_batches *b, size_t worker) {
    SG_ASSERT(worker < b->config.workers);
    const size_t count = b->config.images->count, workers = b->config.workers;
    return b->config.shards ? sg_shards_cut(count, worker, workers) : worker * (count / workers);
}

static void shuffle(sg_batches *b, uint64_t epoch) {
    if (epoch == b->epoch)
        return;
    const struct sg_batches_config *c = &b->config;
    b->epoch = epoch;
    if (!c->shards) {
        sg_rng rng = sg_rng_open(c->seed, SG_RNG_SHARD, 0, epoch);
        sg_rng_permutation(&rng, b->order, c->images->count);
        return;
    }
    for (size_t w = c->first; w < c->first + c->count; w++) { /* the stream of step 0 has dealt the shards */
        const size_t from = block_begin(b, w), to = sg_shards_cut(c->images->count, w + 1, c->workers);
        sg_rng rng = sg_rng_open(c->seed, SG_RNG_SHARD, (uint32_t)w + 1, epoch + 1);
        sg_rng_permutation(&rng, b->order + from, to - from);
        for (size_t i = from; i < to; i++)
            b->order[i] = c->shards[from + b->order[i]];
    }
}

static void prepare(sg_batches *b, uint64_t turn) {
    const struct sg_batches_config *c = &b->config;
    const uint64_t step = turn / c->count, worker = c->first + turn % c->count;
    const size_t at = (size_t)(turn % SLOTS) * c->batch;
    SG_TRACE(2, "step %llu, worker %llu: batch into slot %d", (unsigned long long)step, (unsigned long long)worker,
             (int)(turn % SLOTS));
    shuffle(b, step / b->steps);
    const uint32_t *index = b->order + block_begin(b, (size_t)worker) + (size_t)(step % b->steps) * c->batch;
    for (size_t i = 0; i < c->batch; i++) {
        SG_ASSERT(index[i] < c->images->count);
        const size_t to = (at + i) * SG_IMAGE_VALUES;
        uint8_t room[SG_IMAGE_VALUES], *augmented = c->bytes ? (uint8_t *)b->pixel + to : room;
        image_augment(augmented, c->images->pixel + (size_t)index[i] * SG_IMAGE_VALUES, c->augmentation, c->seed,
                      b->epoch, index[i]);
        if (!c->bytes)
            image_convert((float *)b->pixel + to, augmented, &b->table);
        b->label[at + i] = c->images->label[index[i]];
    }
}

static void *work(void *argument) {
    sg_batches *b = argument;
    pthread_mutex_lock(&b->lock);
    while (!b->stop) {
        if (b->ready == b->held + SLOTS) {
            pthread_cond_wait(&b->changed, &b->lock);
            continue;
        }
        const uint64_t turn = b->ready, seeks = b->seeks;
        SG_ASSERT(b->ready >= b->held && b->ready < b->held + SLOTS);
        pthread_mutex_unlock(&b->lock);
        prepare(b, turn);
        pthread_mutex_lock(&b->lock);
        if (seeks == b->seeks) {
            b->ready++;
            pthread_cond_broadcast(&b->changed);
        }
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

/* Starts the thread with all signals blocked: they are for the program's own threads. */
static sg_status start(sg_batches *b, struct sg_error *err) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&b->thread, NULL, work, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        return sg_fail(err, SG_ERR_MEMORY, "cannot start the thread that prepares batches: %s", strerror(failed));
    b->started = true;
    return SG_OK;
}

static sg_status check(const struct sg_batches_config *c, struct sg_error *err) {
    if (c->count == 0 || c->first >= c->workers || c->count > c->workers - c->first)
        return sg_fail(err, SG_ERR_ARGUMENT, "workers %zu to %zu are not among %zu", c->first, c->first + c->count,
                       c->workers);
    if (sg_batches_steps(c->images->count, c->workers, c->batch) == 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "%zu workers with a batch of %zu need %zu images or more, there are %zu",
                       c->workers, c->batch, c->workers * c->batch, c->images->count);
    return SG_OK;
}

size_t sg_batches_bytes(const struct sg_batches_config *config) {
    const size_t image = SG_IMAGE_VALUES * (config->bytes ? sizeof(uint8_t) : sizeof(float)) + sizeof(int64_t);
    return SLOTS * config->batch * image + config->images->count * sizeof(uint32_t);
}

sg_status sg_batches_open(sg_batches **out, const struct sg_batches_config *config, struct sg_error *err) {
    sg_status status = check(config, err);
    if (status)
        return status;
    sg_batches *b = sg_calloc(1, sizeof *b);
    b->config = *config;
    b->steps = sg_batches_steps(config->images->count, config->workers, config->batch);
    b->epoch = UINT64_MAX;
    sg_image_table_fill(&b->table, &config->scale);
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    b->pixel = sg_calloc(SLOTS * config->batch, SG_IMAGE_VALUES * (config->bytes ? sizeof(uint8_t) : sizeof(float)));
    b->label = sg_calloc(SLOTS * config->batch, sizeof *b->label);
    b->order = sg_calloc(config->images->count, sizeof *b->order);
    status = start(b, err);
    if (status == SG_OK)
        *out = b;
    else
        sg_batches_close(b);
    return status;
}

/* Waits for the batch. Returns which one of all slots' images and labels is its first. */
static size_t hold(sg_batches *b, size_t worker, uint64_t step) {
    SG_ASSERT(worker >= b->config.first && worker - b->config.first < b->config.count);
    const uint64_t turn = step * b->config.count + (worker - b->config.first);
    pthread_mutex_lock(&b->lock);
    if (turn < b->held || turn > b->ready) {
        b->ready = turn;
        b->seeks++;
    }
    b->held = turn;
    pthread_cond_broadcast(&b->changed);
    while (b->ready <= turn)
        pthread_cond_wait(&b->changed, &b->lock);
    SG_ASSERT(b->held == turn && b->ready <= turn + SLOTS);
    pthread_mutex_unlock(&b->lock);
    return (size_t)(turn % SLOTS) * b->config.batch;
}

void sg_batches_get(sg_batches *b, size_t worker, uint64_t step, const float **pixel, const int64_t **label) {
    SG_ASSERT(!b->config.bytes);
    const size_t first = hold(b, worker, step);
    *pixel = (const float *)b->pixel + first * SG_IMAGE_VALUES;
    *label = b->label + first;
}

void sg_batches_get_bytes(sg_batches *b, size_t worker, uint64_t step, const uint8_t **pixel, const int64_t **label) {
    SG_ASSERT(b->config.bytes);
    const size_t first = hold(b, worker, step);
    *pixel = (const uint8_t *)b->pixel + first * SG_IMAGE_VALUES;
    *label = b->label + first;
}

void sg_batches_close(sg_batches *b) {
    if (!b)
        return;
    if (b->started) {
        pthread_mutex_lock(&b->lock);
        b->stop = true;
        pthread_cond_broadcast(&b->changed);
        pthread_mutex_unlock(&b->lock);
        pthread_join(b->thread, NULL);
    }
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    free(b->order);
    free(b->label);
    free(b->pixel);
    free(b);
}
