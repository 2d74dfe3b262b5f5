/* feedback_local.c: rules whose workers have parameters of their own.
 *
 * CSER (Xie, Zheng, Koyejo, Gupta, Li, Lin, NeurIPS 2020): what a worker does not send it applies to its own
 * parameters, and the residual e says how far these are from what all workers share. e is not fed back into the next
 * message.
 *
 *     p = gamma u,  u <- m u + g        the gradient g is taken at x - e
 *     x <- x - mean C(p)                e <- e + p - C(p)
 *
 * At every H-th step the errors are reset: x <- x - mean C(e), and e <- e - C(e), with the knob `reset` of C. The
 * authors write the worker's own x - e as x and the negative of e as e.
 *
 * Local steps (Qsparse-local-SGD of Basu, Data, Karakus, Diggavi, NeurIPS 2019; with a compressor that sends
 * everything, local SGD): a worker steps by itself, and every H-th step it sends how far it came. l is that way since
 * the last message.
 *
 *     l <- l + gamma g                  the gradient g is taken at x - l
 *     every H-th step: p = e + l        e <- p - C(p)        x <- x - mean C(p)        l <- 0
 *
 * g may be what an optimizer of the worker's own makes of its gradient, and an outer optimizer may take the mean of
 * C(p) for its gradient. With AdamW within and Nesterov's momentum without that is DiLoCo (Douillard et al., arXiv
 * 2311.08105, algorithm 1), whose outer gradient x - x_i is l. The trainer has both optimizers. To compress l, and to
 * keep what was not sent, is not in that publication; SparseLoCo (Sarfi et al., arXiv 2508.15706, algorithm 1) does it,
 * with a decay of e in the place of the outer momentum.
 *
 * Streaming DiLoCo (Douillard et al., arXiv 2501.18512, algorithm 2) is both of these with P fragments of layers, which
 * send l at steps of their own (method_fragments.c). The mean of a fragment moves x a delay of tau steps later, and
 * there x_i <- alpha x_i + (1 - alpha) x, which is l <- alpha (l - the step of x). As in torchft, l counts from the x
 * that all workers share; the publication writes x_i of the fragment's last message in its place, which with alpha = 0
 * and tau = 0 is the same.
 *
 * Dynamic averaging: the same, but all workers send when they have come far enough. After every step they add up
 * |l|^2, one float each, and send if its mean exceeds threshold^2. This is Federated Dynamic Averaging (Theologitis,
 * Frangias, Anestis, Samoladas, Deligiannakis, arXiv 2405.20988, after Kamp et al., ECML PKDD 2018) in its variant
 * NaiveFDA, as the authors' code has it (github.com/miketheologitis/TFD-FedL-Sync-FDA, fdavg/strategies/naive.py).
 * The publication decides by the variance of the workers' parameters, which that mean bounds from above. To compress
 * what is sent is our addition: the publication sends all of l. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "method_private.h"

enum { RESET, INTERVAL, MOMENTUM, PARAMS };
enum { U, OLD }; /* vectors of a worker: its momentum, and e while a message is made */

/* ---- CSER ---- */

/* to [d] <- to + factor x. */
static void add(const struct sg_feedback_state *s, float *to, float factor, const float *x) {
    s->kernels->mix(s->exec, to, 1, to, factor, x, s->d);
}

static const float *before(const struct sg_feedback_state *s, const float *g) {
    if (s->e) {
        memcpy(s->vector[OLD], s->e, s->d * sizeof *g);
        memset(s->e, 0, s->d * sizeof *g);
    }
    method_combine(s, s->vector[U], (float)s->param[MOMENTUM], g);
    return s->vector[U];
}

static void keep(const struct sg_feedback_state *s) {
    if (s->e)
        add(s, s->e, (float)s->shared->feedback.decay, s->vector[OLD]);
}

static const float *offset(const struct sg_feedback_state *s) {
    return s->e;
}

static bool resets(const double *param, uint64_t step) {
    return (step + 1) % (uint64_t)param[INTERVAL] == 0;
}

static const struct sg_parameter params[PARAMS] = {
    [RESET] = {"reset", 0, 1e18, NAN, false, "the compressor's knob for residuals, by default the method's own"},
    [INTERVAL] = {"interval", 1, 1e9, 8, true, "steps between messages of residuals"},
    [MOMENTUM] = {"momentum", 0, 1, 0, false, "factor m on the old momentum"},
};

const struct sg_feedback_rule sg_feedback_cser = {
    .name = "cser",
    .summary = "p = gamma g; a worker applies its unsent part to its x; sends C(e) at intervals",
    .source = "Xie et al., NeurIPS 2020",
    .params = params,
    .n_params = PARAMS,
    .n_knobs = 1,
    .keeps = true,
    .in_updates = true,
    .every_step = true, /* every worker's residual is reset at the same step */
    .worker_vectors = 1,
    .worker_room = 1,
    .before = before,
    .keep = keep,
    .offset = offset,
    .resets = resets,
};

/* ---- local steps ---- */

enum { STEPS, FRAGMENTS, DELAY, MIXING, STRIDED, LOCAL_PARAMS };
enum { THRESHOLD, DYNAMIC_PARAMS };

static const float *step_alone(const struct sg_feedback_state *s, const float *g) {
    add(s, s->vector[0], (float)s->unit, g);
    return s->vector[0];
}

static void start_again(const struct sg_feedback_state *s, const float *g, const struct sg_message *sent) {
    (void)sent;
    memset(s->vector[0], 0, s->d * sizeof *g);
}

static const float *way(const struct sg_feedback_state *s) {
    return s->vector[0];
}

static double given(double value, double otherwise) {
    return isnan(value) ? otherwise : value;
}

static void stream(const double *param, struct sg_stream *out) {
    *out = (struct sg_stream){.interval = (uint64_t)param[STEPS],
                              .fragments = (size_t)given(param[FRAGMENTS], 1),
                              .delay = (uint64_t)given(param[DELAY], 0),
                              .mixing = given(param[MIXING], 0),
                              .strided = given(param[STRIDED], 1) > 0};
}

static void merge(const struct sg_feedback_state *s, size_t begin, size_t end, double mixing, const float *step) {
    float *const l = s->vector[0] + begin, alpha = (float)mixing;
    if (mixing > 0)
        s->kernels->mix(s->exec, l, alpha, l, -alpha, step + begin, end - begin);
    else
        memset(l, 0, (end - begin) * sizeof *l);
}

static double squared_way(const struct sg_feedback_state *s) {
    return s->kernels->sum_squares(s->exec, s->vector[0], s->d);
}

static bool is_far(const double *param, double mean) {
    return mean > param[THRESHOLD] * param[THRESHOLD];
}

#define STREAM_PARAMS                                                                                                  \
    [FRAGMENTS] =                                                                                                      \
        {"fragments", 1, 1e9, NAN, true, "sets of layers that send in turn, by default 1 (Streaming DiLoCo)"},         \
    [DELAY] = {"delay", 0, 1e9, NAN, true, "steps until a message moves x, by default 0"},                             \
    [MIXING] = {"mixing", 0, 1, NAN, false, "share of its own x that a worker keeps there, by default 0"},             \
    [STRIDED] = {"strided", 0, 1, NAN, true, "1, the default: blocks are dealt to fragments in turn; 0: in runs"}

static const struct sg_parameter local_params[LOCAL_PARAMS] = {
    [STEPS] = {"steps", 1, 1e9, 4, true, "a worker's steps between messages"},
    STREAM_PARAMS,
};

#define STEPS_ALONE                                                                                                    \
    .keeps = true, .in_updates = true, .scaled = true, .worker_vectors = 1, .before = step_alone, .offset = way,       \
    .steps_alone = true

const struct sg_feedback_rule sg_feedback_local_steps = {
    .name = "local-steps",
    .summary = "workers step alone and at intervals send C(e + their way) (Qsparse-local-SGD)",
    .source = "Basu et al., NeurIPS 2019",
    .params = local_params,
    .n_params = LOCAL_PARAMS,
    STEPS_ALONE,
    .stream = stream,
    .merge = merge,
};

static const struct sg_parameter diloco_params[LOCAL_PARAMS] = {
    [STEPS] = {"steps", 1, 1e9, 500, true, "a worker's steps between messages"},
    STREAM_PARAMS,
};

const struct sg_feedback_rule sg_feedback_diloco = {
    .name = "diloco",
    .summary = "local-steps with Nesterov's momentum outside; `optimizer` is usually adamw",
    .source = "Douillard et al. (DiLoCo), arXiv 2311.08105",
    .params = diloco_params,
    .n_params = LOCAL_PARAMS,
    STEPS_ALONE,
    .stream = stream,
    .merge = merge,
};

static const struct sg_parameter dynamic_params[DYNAMIC_PARAMS] = {
    [THRESHOLD] = {"threshold", 0, 1e18, 0, false,
                   "root mean square of the workers' ways, in units of x, above which they send"},
};

const struct sg_feedback_rule sg_feedback_dynamic_averaging = {
    .name = "dynamic-averaging",
    .summary = "local-steps that send when the workers' ways exceed a threshold",
    .source = "Theologitis et al. (NaiveFDA), arXiv 2405.20988; Kamp et al., ECML PKDD 2018",
    .params = dynamic_params,
    .n_params = DYNAMIC_PARAMS,
    STEPS_ALONE,
    .after = start_again,
    .measure = squared_way,
    .decides = is_far,
    .every_step = true, /* all workers decide together */
};
