/* method_drive.c: the order of a step's calls (sg_drive.h), and the exchange of workers that live in one process. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "method_private.h"
#include "sg_debug.h"
#include "sg_drive.h"

/* ---- the order ---- */

/* Begins the step in every part. */
static sg_status begin(const struct sg_drive *d, uint64_t step, double gamma, struct sg_error *err) {
    double *square = NULL;
    if (method_leads(d->part[0], step, gamma)) {
        square = d->part[0]->lead_square;
        for (size_t l = 0; l < d->part[0]->shared.layout.n_layers; l++)
            square[l] = 1;
        if (d->hooks->lead && d->hooks->lead(d->of, square, err) != SG_OK)
            return err->status;
    }
    for (size_t p = 0; p < d->parts; p++)
        sg_method_begin(d->part[p], step, gamma, square);
    return SG_OK;
}

static sg_status play_round(const struct sg_drive *d, unsigned round, struct sg_error *err) {
    const bool sends = sg_method_sends(d->part[0]), exchanges = sg_method_exchanges(d->part[0], round);
    const struct sg_message *all = NULL;
    const size_t length = exchanges ? method_round_length(d->part[0], round) : 0;
    const sg_status status = d->hooks->exchange(d->of, round, length, &all, err);
    for (size_t p = 0; status == SG_OK && exchanges && d->sum && p < d->parts; p++) {
        if (sends && sg_method_hears(d->part[p]))
            method_hear(d->part[p], all);
        method_receive(d->part[p], round, d->sum[p]);
    }
    return status;
}

sg_status sg_method_drive(const struct sg_drive *d, uint64_t step, double gamma, struct sg_error *err) {
    struct sg_spent spent = {0};
    sg_status status = begin(d, step, gamma, err);
    if (status != SG_OK)
        return status;
    for (unsigned round = 0; round < sg_method_rounds(d->part[0]); round++)
        if ((status = play_round(d, round, err)) != SG_OK)
            return status;
    const bool sends = sg_method_sends(d->part[0]);
    if (d->hooks->arrived)
        d->hooks->arrived(d->of);
    if (sends && d->sum && d->hooks->keep && (status = d->hooks->keep(d->of, err)) != SG_OK)
        return status;
    if (d->hooks->spend)
        d->hooks->spend(d->of, &spent);
    for (size_t p = 0; p < d->parts; p++)
        method_end(d->part[p], (sends || sg_method_moves(d->part[p])) && d->optimizes && d->sum ? d->sum[p] : NULL,
                   &spent);
    return SG_OK;
}

/* ---- workers of one process ---- */

static double now(const struct sg_play *play) {
    return play->clock_s ? play->clock_s() : 0;
}

static void add(const struct sg_play *play, size_t p, const struct sg_message *m) {
    const struct sg_shared *shared = &play->part[p]->shared;
    sg_message_add_all(play->sum[p], m->n, m, 1, shared->kernels, &shared->exec);
}

static size_t workers_of(const struct sg_play *play) {
    size_t n = 0;
    for (size_t p = 0; p < play->parts; p++)
        n += play->part[p]->count;
    return n;
}

/* The method that has worker w of the play. */
static sg_method *method_of(const struct sg_play *play, size_t w) {
    size_t p = 0, first = 0;
    for (; w >= first + play->part[p]->count; p++)
        first += play->part[p]->count;
    return play->part[p];
}

/* That worker's number among all of the run. */
static size_t number_of(const struct sg_play *play, size_t w) {
    return play->part[0]->first + w;
}

static float *residual_of(const struct sg_play *play, size_t w) {
    return play->e ? play->e + w * play->d : NULL;
}

/* Between an exchange and the next hook method_receive runs, whose time counts as encoding. */
static void charge_receive(struct sg_play *play, unsigned round) {
    if (round > 0)
        play->encode_s += now(play) - play->exchanged_s;
}

/* Makes the message of worker w, adds it to the sums and passes it to the hook `sent`. It is added at once, because a
 * method whose workers share one buffer keeps only one message. */
static sg_status send_one(struct sg_play *play, size_t w, unsigned round, size_t length, struct sg_error *err) {
    const float *g = round == 0 ? play->g + w * play->d : NULL;
    struct sg_message *message = &play->message[w];
    const double start_s = now(play);
    sg_status status =
        sg_method_send(method_of(play, w), number_of(play, w), round, g, residual_of(play, w), NULL, message, err);
    const double sent_s = now(play);
    if (status != SG_OK)
        return status;
    SG_ASSERT(length == 0 || message->n == length);
    for (size_t p = 0; play->sum && p < play->parts; p++)
        add(play, p, message);
    if (w == 0) {
        play->encode_s += sent_s - start_s;
        play->decode_s += now(play) - sent_s;
    }
    play->entries += (double)message->count;
    play->bits += message->bits;
    return play->sent ? play->sent(play->of, w, round, message, err) : SG_OK;
}

static sg_status lead_play(void *of, double *square, struct sg_error *err) {
    const struct sg_play *play = of;
    (void)err;
    if (play->part[0]->first == 0)
        sg_method_lead(play->part[0], play->g, square);
    return SG_OK;
}

static sg_status exchange_play(void *of, unsigned round, size_t length, const struct sg_message **all,
                               struct sg_error *err) {
    struct sg_play *play = of;
    const size_t workers = workers_of(play), needed = play->part[0]->shared.workers;
    charge_receive(play, round);
    for (size_t p = 0; play->sum && p < play->parts; p++)
        memset(play->sum[p], 0, (length > 0 ? length : play->d) * sizeof *play->sum[p]);
    for (size_t w = 0; w < workers; w++)
        if (send_one(play, w, round, length, err) != SG_OK)
            return err->status;
    if (sg_method_sends(play->part[0]) && sg_method_hears(play->part[0]) && workers < needed)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "the messages of %zu other workers are needed", needed - workers);
    *all = play->message;
    play->exchanged_s = now(play);
    return SG_OK;
}

static void arrived_play(void *of) {
    struct sg_play *play = of;
    const struct sg_message *again = sg_method_sends(play->part[0]) ? sg_method_again(play->part[0]) : NULL;
    charge_receive(play, 1);
    play->entries += again ? (double)again->count : 0;
    play->bits += again ? again->bits : 0;
    if (play->arrived)
        play->arrived(play->of);
}

static sg_status keep_play(void *of, struct sg_error *err) {
    struct sg_play *play = of;
    (void)err;
    for (size_t w = 0; w < workers_of(play); w++) {
        const double start_s = now(play);
        sg_method_keep(method_of(play, w), number_of(play, w), residual_of(play, w), play->sum[0]);
        play->encode_s += w == 0 ? now(play) - start_s : 0;
    }
    return SG_OK;
}

static void spend_play(void *of, struct sg_spent *spent) {
    const struct sg_play *play = of;
    const size_t workers = workers_of(play);
    for (size_t w = 0; w < workers; w++)
        spent->largest = fmax(spent->largest, sg_method_note(method_of(play, w), number_of(play, w)));
    spent->entries = play->entries / (double)workers;
    spent->bits = play->bits / (double)workers;
}

sg_status sg_method_play(struct sg_play *play, uint64_t step, double gamma, struct sg_error *err) {
    static const struct sg_drive_hooks hooks = {lead_play, exchange_play, arrived_play, keep_play, spend_play};
    const struct sg_drive drive = {play->part, play->parts, play->sum, play->optimizes, &hooks, play};
    play->entries = play->bits = play->encode_s = play->decode_s = 0;
    return sg_method_drive(&drive, step, gamma, err);
}
