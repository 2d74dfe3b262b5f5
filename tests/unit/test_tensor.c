/* Tensors: values and derivatives that can be worked out by hand, and failures. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_tensor.h"
#include "tap.h"

static struct sg_error err;

/* AddressSanitizer asks for it: too large an allocation is to fail as it does without. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

static bool reads(sg_scope *s, sg_tensor *x, const float *wanted, size_t count) {
    float value[64];
    return sg_tensor_read(s, x, value, count, &err) == SG_OK && memcmp(value, wanted, count * sizeof *value) == 0;
}

static void images(sg_scope *s) {
    /* One 2 x 2 image of two channels: memory has the channels innermost, values are read channel by channel. */
    static const float pixels[8] = {1, 10, 2, 20, 3, 30, 4, 40};
    sg_scope_begin(s, 1, false);
    sg_tensor *x = sg_tensor_images(s, pixels, (const int64_t[]){1, 2, 2, 2});
    ok(reads(s, x, (float[]){1, 2, 3, 4, 10, 20, 30, 40}, 8), "images: channels lie innermost");
    float w[2] = {1, 0.5F}, b = 7;
    sg_tensor *weight = sg_tensor_view(s, w, (const int64_t[]){1, 2, 1, 1}, 4);
    sg_tensor *bias = sg_tensor_view(s, &b, (const int64_t[]){1}, 1);
    ok(reads(s, sg_conv2d(s, x, weight, bias, 1, 0), (float[]){13, 19, 25, 31}, 4), "a convolution with a bias");
    ok(reads(s, sg_conv2d(s, x, weight, NULL, 2, 0), (float[]){6}, 1), "one of stride 2 without");
    ok(reads(s, sg_avg_pool(s, x, 2, 2), (float[]){2.5F, 25}, 2), "the mean of each channel");
    ok(reads(s, sg_max_pool(s, x, 3, 1, 1), (float[]){4, 4, 4, 4, 40, 40, 40, 40}, 8), "the maximum around each pixel");
    sg_tensor *parts[2] = {x, sg_conv2d(s, x, weight, NULL, 1, 0)};
    ok(reads(s, sg_cat(s, parts, 2), (float[]){1, 2, 3, 4, 10, 20, 30, 40, 6, 12, 18, 24}, 12),
       "channels side by side");
    /* The same two channels as bytes, a plane after the other, each with its row of the table. */
    static const uint8_t bytes[8] = {0, 1, 2, 255, 0, 1, 2, 255};
    float table[2][256] = {{1, 2, 3, [255] = 4}, {10, 20, 30, [255] = 40}};
    sg_tensor *same = sg_tensor_image_bytes(s, bytes, (const int64_t[]){1, 2, 2, 2}, table[0]);
    ok(reads(s, same, (float[]){1, 2, 3, 4, 10, 20, 30, 40}, 8) &&
           reads(s, sg_conv2d(s, same, weight, bias, 1, 0), (float[]){13, 19, 25, 31}, 4),
       "images of bytes: what the table says");
}

static void norms(sg_scope *s) {
    float pixels[4] = {1, 2, 3, 6}, weight[1] = {2}, bias[1] = {1}, mean[1] = {0}, var[1] = {1}, out[4];
    for (int training = 1; training >= 0; training--) {
        sg_scope_begin(s, 1, false);
        const int64_t one = 1;
        sg_tensor *x =
            sg_batch_norm(s, sg_tensor_images(s, pixels, (const int64_t[]){4, 1, 1, 1}),
                          sg_tensor_view(s, weight, &one, 1), sg_tensor_view(s, bias, &one, 1),
                          sg_tensor_view(s, mean, &one, 1), sg_tensor_view(s, var, &one, 1), training, 0.25, 0);
        const sg_status status = sg_tensor_read(s, x, out, 4, &err);
        /* mean 3, variance 14/4, unbiased 14/3; then the running 0.75 and 0.75 + 0.25 14/3 */
        const double m = training ? 3 : 0.75, v = training ? 3.5 : 0.75 + 3.5 / 3;
        const double wanted = 2 * (6 - m) / sqrt(v) + 1;
        ok(status == SG_OK && fabs((double)out[3] - wanted) <= 1e-6 * wanted, "batch-norm, training %d: %g", training,
           (double)out[3]);
        ok(fabs((double)mean[0] - 0.75) <= 1e-6 && fabs((double)var[0] - (0.75 + 3.5 / 3)) <= 1e-6,
           "its running mean and variance: %g, %g", (double)mean[0], (double)var[0]);
    }
}

/* What a watch was called with. */
struct watched {
    const float *gradient;
    size_t n, number, calls;
    float first; /* of the gradient at that time */
};

static void watch(void *of, size_t number, const float *gradient, size_t n) {
    struct watched *w = of;
    *w = (struct watched){gradient, n, number, w->calls + 1, gradient[0]};
}

static void derivatives(sg_scope *s) {
    float w[6] = {1, 2, 3, -1, -2, -3}, b[2] = {0, 0}, g[6] = {100, 0, 0, 0, 0, 0}, rows[3] = {1, 1, 1};
    const int64_t shape[2] = {2, 3}, label = 1;
    sg_scope_begin(s, 1, true);
    sg_tensor *x = sg_tensor_view(s, rows, (const int64_t[]){1, 3}, 2);
    sg_tensor *logits = sg_linear(s, x, sg_tensor_parameter(s, w, g, shape, 2), sg_tensor_view(s, b, shape, 1));
    ok(reads(s, logits, (float[]){6, -6}, 2), "a linear layer");
    sg_tensor *loss = sg_cross_entropy(s, logits, sg_tensor_ids(s, &label, (const int64_t[]){1}, 1));
    ok(sg_backward(s, loss, &err) == SG_OK, "backward");
    /* d loss / d logits = softmax - one-hot = (p, -p), p = 1 / (1 + e^-12) */
    const float p = (float)(1 / (1 + exp(-12)));
    ok(fabsf(g[0] - 100 - p) <= 1e-5F && fabsf(g[2] - p) <= 1e-6F && fabsf(g[3] + p) <= 1e-6F,
       "gradients are added to what is there");

    float gate[2] = {0, 0}, slope[2] = {0, 0}, pixels[4] = {1, -2, 3, 4};
    struct watched seen = {0};
    sg_scope_begin(s, 1, true);
    sg_scope_watch(s, watch, &seen, 5);
    sg_tensor *open = sg_sigmoid(s, sg_tensor_parameter(s, gate, slope, (const int64_t[]){1, 2, 1, 1}, 4));
    sg_tensor *image = sg_tensor_images(s, pixels, (const int64_t[]){1, 2, 1, 2}); /* channels (1, 3) and (-2, 4) */
    sg_tensor *y = sg_relu(s, sg_mul(s, image, open));
    ok(reads(s, y, (float[]){0.5F, 1.5F, 0, 2}, 4), "gates spread over an image, then a ReLU");
    float ones[4] = {1, 1, 1, 1};
    sg_tensor *row = sg_reshape(s, y, (const int64_t[]){1, 4}, 2);
    sg_tensor *sum = sg_linear(s, row, sg_tensor_view(s, ones, (const int64_t[]){1, 4}, 2),
                               sg_tensor_view(s, b, (const int64_t[]){1}, 1));
    const sg_status status = sg_backward(s, sum, &err);
    ok(status == SG_OK && slope[0] == 1 && slope[1] == 1, "their derivatives: %g, %g", (double)slope[0],
       (double)slope[1]); /* sigmoid'(0) = 1/4, times 1 + 3, and 4 without the dead -2 */
    ok(seen.calls == 1 && seen.gradient == slope && seen.n == 2 && seen.number == 5 && seen.first == 1,
       "a watch is called once, when the gradient is complete");
}

static void masks(sg_scope *s) {
    enum { N = 10000 };
    static float x[N], y[N];
    for (size_t i = 0; i < N; i++)
        x[i] = 1;
    const int64_t n = N;
    size_t kept = 0, wrong = 0;
    sg_rng rng = sg_rng_open(1, SG_RNG_DROPOUT, 0, 0), again = rng;
    sg_scope_begin(s, 1, false);
    const sg_status status = sg_tensor_read(s, sg_dropout(s, sg_tensor_view(s, x, &n, 1), 0.4, &rng), y, N, &err);
    for (size_t i = 0; i < N; i++) {
        const bool keeps = sg_rng_u32(&again) >= 0.4 * 0x1p32;
        kept += keeps;
        wrong += y[i] != (keeps ? (float)(1 / 0.6) : 0);
    }
    ok(status == SG_OK && wrong == 0, "dropout's masks are the generator's");
    ok(memcmp(&rng, &again, sizeof rng) == 0, "the generator is as if they had been drawn one by one");
    ok(labs((long)kept - 6000) <= 5 * 49, "%zu of 10000 kept at rate 0.4", kept); /* deviation sqrt(2400) */
}

/* Masks of three tensors, each whole: those that chunk after chunk of their rows gets. */
static void masks_of_chunks(sg_scope *s) {
    enum { ROWS = 23, CHUNK = 5, TENSORS = 3, MOST = 9 };
    static const size_t width[TENSORS] = {7, 4, 9};
    float ones[ROWS * MOST], chunked[TENSORS][ROWS * MOST], whole[ROWS * MOST];
    sg_rng rng = sg_rng_open(2, SG_RNG_DROPOUT, 1, 3), start;
    struct sg_chunks chunks = {.rows = CHUNK, .all = 7 + 4 + 9};
    sg_status status = SG_OK;
    size_t wrong = 0;
    for (size_t i = 0; i < ROWS * MOST; i++)
        ones[i] = 1;
    sg_scope_begin(s, 1, false);
    for (size_t i = 0; i < 6; i++)
        sg_rng_u32(&rng);
    start = rng;
    for (size_t at = 0; at < ROWS; at += CHUNK)
        for (size_t t = 0; t < TENSORS && status == SG_OK; t++) {
            const size_t now = ROWS - at < CHUNK ? ROWS - at : CHUNK;
            sg_tensor *x = sg_tensor_view(s, ones, (const int64_t[]){(int64_t)now, (int64_t)width[t]}, 2);
            status = sg_tensor_read(s, sg_dropout(s, x, 0.5, &rng), chunked[t] + at * width[t], now * width[t], &err);
        }
    for (size_t t = 0; t < TENSORS && status == SG_OK; chunks.before += width[t++]) {
        sg_tensor *x = sg_tensor_view(s, ones, (const int64_t[]){ROWS, (int64_t)width[t]}, 2);
        status = sg_tensor_read(s, sg_dropout_chunks(s, x, 0.5, &start, &chunks), whole, ROWS * width[t], &err);
        for (size_t i = 0; i < ROWS * width[t]; i++)
            wrong += whole[i] != chunked[t][i];
    }
    ok(status == SG_OK && wrong == 0, "masks of whole tensors are those of their chunks: %zu of %d wrong", wrong,
       ROWS * (7 + 4 + 9));
}

static void failures(sg_scope *s) {
    float data[6] = {1, 2, 3, 4, 5, 6};
    sg_scope_begin(s, 1, false);
    sg_tensor *a = sg_tensor_view(s, data, (const int64_t[]){2, 3}, 2),
              *b = sg_tensor_view(s, data, (const int64_t[]){6}, 1);
    sg_tensor *bad = sg_linear(s, a, b, sg_reshape(s, a, (const int64_t[]){4}, 1));
    ok(bad == NULL, "shapes that do not fit");
    ok(sg_relu(s, bad) == NULL && sg_relu(s, a) == NULL && sg_backward(s, bad, &err) == SG_ERR_ARGUMENT,
       "a failure sticks: what follows does nothing");
    ok(sg_scope_status(s, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "libtorch: ") && strstr(err.msg, "shape"),
       "its words: %s", err.msg);
    ok(!strchr(err.msg, '\n'), "in one line");
    ok(data[0] == 1 && data[5] == 6, "nothing was written");
    sg_scope_begin(s, 1, false);
    a = sg_tensor_view(s, data, (const int64_t[]){2, 3}, 2);
    ok(sg_scope_status(s, &err) == SG_OK, "forgotten with the next begin");
    float out[6];
    ok(sg_tensor_read(s, a, out, 5, &err) == SG_ERR_ARGUMENT, "a read of another size");
    sg_scope_begin(s, 1, false);
    sg_tensor *huge = sg_tensor_view(s, data, (const int64_t[]){1, 1}, 2);
    float *weight = data;
    huge = sg_linear(s, sg_reshape(s, huge, (const int64_t[]){1, 1}, 2),
                     sg_tensor_view(s, weight, (const int64_t[]){(int64_t)1 << 50, 1}, 2),
                     sg_tensor_view(s, weight, (const int64_t[]){(int64_t)1 << 50}, 1));
    ok(huge == NULL && sg_scope_status(s, &err) == SG_ERR_MEMORY, "out of memory is told as such: %s", err.msg);
    sg_scope *other = NULL;
    ok(sg_scope_open(&other, "abacus", "fp32", &err) == SG_ERR_ARGUMENT && !other, "an unknown device: %s", err.msg);
    ok(sg_scope_open(&other, "cpu", "tf32", &err) == SG_OK, "a CPU takes any precision");
    sg_scope_close(other);
    other = NULL;
    if (sg_scope_open(&other, "cuda", "fp32", &err) == SG_OK)
        skip("there is a CUDA device");
    else
        ok(err.status == SG_ERR_UNSUPPORTED && strstr(err.msg, "TORCH_DIR") && !other, "no CUDA device: %s", err.msg);
    sg_scope_close(other);
}

/* A linear layer with a weight [2, 3]. */
struct layer {
    sg_scope *scope;
    float weight[6], g[6];
    bool drops, reads_host;
};

static sg_tensor *layer_loss(void *of, sg_tensor *const *input) {
    struct layer *l = of;
    static const int64_t label[2] = {0, 1};
    static float zero[2];
    sg_rng rng = sg_rng_open(1, SG_RNG_TEST, 0, 0);
    sg_tensor *weight = sg_tensor_parameter(l->scope, l->weight, l->g, (const int64_t[]){2, 3}, 2);
    sg_tensor *zeros = sg_tensor_view(l->scope, zero, (const int64_t[]){2}, 1);
    sg_tensor *x = l->drops ? sg_dropout(l->scope, input[0], 0.5, &rng) : input[0];
    sg_tensor *wanted = l->reads_host ? sg_tensor_ids(l->scope, label, (const int64_t[]){2}, 1) : input[1];
    return sg_cross_entropy(l->scope, sg_linear(l->scope, x, weight, zeros), wanted);
}

/* The loss of a pass over `rows` rows that begin with `first`; NaN if it failed. */
static float pass(struct layer *l, float first, int64_t rows) {
    float data[6] = {first, 2, 3, -1, 0.5F, first}, loss = NAN;
    const int64_t label[2] = {1, 0};
    memset(l->g, 0, sizeof l->g);
    sg_scope_begin(l->scope, 1, true);
    sg_tensor *const input[] = {sg_tensor_view(l->scope, data, (const int64_t[]){rows, 3}, 2),
                                sg_tensor_ids(l->scope, label, &rows, 1)};
    sg_tensor *mean = sg_pass(l->scope, layer_loss, l, input, 2, l->g);
    return sg_tensor_read(l->scope, mean, &loss, 1, &err) == SG_OK ? loss : NAN;
}

/* A CPU records nothing, but a scope can do what comes before: passes read inputs that stay at their places. */
static void graphs(sg_scope *s) {
    static const float first[] = {1, -2, 4};
    struct layer plain = {.scope = s, .weight = {1, 2, 3, -1, 0, 1}}, fixed = plain;
    ok(sg_scope_use_graph(s, 2, &err) == SG_ERR_UNSUPPORTED && strstr(err.msg, "GPU"), "no graph on a CPU: %s",
       err.msg);
    if (!ok(sg_scope_open(&fixed.scope, "cpu", "fp32", &err) == SG_OK &&
                sg_scope_use_graph(fixed.scope, SIZE_MAX, &err) == SG_OK,
            "a scope whose passes prepare one"))
        return;
    sg_scope_use(fixed.scope, sg_kernels_cpu(NULL), NULL);
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        const float loss = pass(&plain, first[i], 2), again = pass(&fixed, first[i], 2);
        ok(loss == again && memcmp(plain.g, fixed.g, sizeof plain.g) == 0 && plain.g[0] != 0,
           "pass %zu from fixed places: loss %g, the same gradient", i, (double)again);
    }
    const float loss = pass(&plain, 5, 1), again = pass(&fixed, 5, 1);
    ok(loss == again && memcmp(plain.g, fixed.g, sizeof plain.g) == 0, "a smaller batch, as without a graph");
    fixed.drops = true;
    ok(isnan(pass(&fixed, 1, 2)) && strstr(err.msg, "dropout"), "masks would be repeated: %s", err.msg);
    ok(!isnan(pass(&fixed, 1, 1)), "but not in a smaller batch");
    fixed.drops = false, fixed.reads_host = true;
    ok(isnan(pass(&fixed, 1, 2)) && strstr(err.msg, "host"), "memory of the host is not read again: %s", err.msg);
    fixed.reads_host = false;
    ok(pass(&fixed, 1, 2) == pass(&plain, 1, 2), "a failure is forgotten with the next pass");
    sg_scope_close(fixed.scope);
}

enum { THREADS = 4, N = 64, ROUNDS = 20 };
static float factor[2][N * N], bias[N];

static bool product(sg_scope *s, float *out) {
    const int64_t shape[2] = {N, N};
    struct sg_error mine;
    sg_scope_begin(s, 1, false);
    sg_tensor *y = sg_linear(s, sg_tensor_view(s, factor[0], shape, 2), sg_tensor_view(s, factor[1], shape, 2),
                             sg_tensor_view(s, bias, shape, 1));
    return sg_tensor_read(s, y, out, N * N, &mine) == SG_OK;
}

/* Scopes of several threads at once: each computes what it computes alone. */
static void together(sg_scope *first) {
    static float alone[N * N];
    sg_rng rng = sg_rng_open(1, SG_RNG_TEST, 0, 0);
    for (size_t i = 0; i < 2 * N * N; i++)
        factor[i / (N * N)][i % (N * N)] = (float)sg_rng_normal(&rng);
    int same = 0;
    bool once = product(first, alone);
#pragma omp parallel num_threads(THREADS) reduction(+ : same)
    {
        struct sg_error mine;
        sg_scope *s = NULL;
        float out[N * N];
        if (sg_scope_open(&s, "cpu", "fp32", &mine) == SG_OK)
            for (int i = 0; i < ROUNDS; i++)
                same += product(s, out) && memcmp(out, alone, sizeof out) == 0;
        sg_scope_close(s);
    }
    ok(once && same == THREADS * ROUNDS, "four scopes at once: %d of %d products are the same bits", same,
       THREADS * ROUNDS);
}

int main(void) {
    sg_scope *s;
    if (!ok(sg_scope_open(&s, "cpu", "fp32", &err) == SG_OK, "libtorch %s", sg_tensor_library()))
        return tap_done();
    sg_scope_use(s, sg_kernels_cpu(NULL), NULL);
    images(s);
    norms(s);
    derivatives(s);
    masks(s);
    masks_of_chunks(s);
    failures(s);
    graphs(s);
    together(s);
    sg_scope_close(s);
    sg_scope_close(NULL);
    return tap_done();
}
