/* MG-WFBP's buckets against a twin that was written from the released code (HKBU-HPML/MG-WFBP, commit 5b8ad54,
 * distributed_optimizer.py): it computes all starts anew after every merge, as that code does. */
#include "tap.h"

#include <math.h>
#include <string.h>

#include "net_models.h"
#include "sg_net.h"
#include "sg_rng.h"

enum { MOST = 512 };

/* Layer indices as there: 0 is the first layer of the model, L - 1 the one whose gradient is ready first. */
struct twin {
    size_t layers;
    double backward_s[MOST], backward_start_s[MOST], start_s[MOST], took_s[MOST], bytes[MOST];
    double alpha_s, byte_s;
};

static double twin_took(const struct twin *t, double bytes) {
    return bytes == 0 ? 0 : t->alpha_s + t->byte_s * bytes;
}

static void twin_starts(struct twin *t) {
    const size_t last = t->layers - 1;
    t->start_s[last] = t->backward_start_s[last] + t->backward_s[last];
    for (size_t l = last; l-- > 0;)
        t->start_s[l] = fmax(t->start_s[l + 1] + t->took_s[l + 1], t->backward_start_s[l] + t->backward_s[l]);
}

static void twin_merge(struct twin *t, size_t l) {
    t->took_s[l] = 0;
    t->bytes[l - 1] += t->bytes[l];
    t->bytes[l] = 0;
    t->took_s[l - 1] = twin_took(t, t->bytes[l - 1]);
    twin_starts(t);
}

/* bucket [layers] is in the order of the backward pass. */
static size_t twin_buckets(struct twin *t, size_t *bucket, const double *backward_s, const double *bytes,
                           double smallest) {
    size_t at = 0;
    const size_t layers = t->layers;
    for (size_t l = 0; l < layers; l++) {
        t->backward_s[l] = backward_s[layers - 1 - l];
        t->bytes[l] = bytes[layers - 1 - l];
        t->took_s[l] = twin_took(t, t->bytes[l]);
    }
    t->backward_start_s[layers - 1] = 0;
    for (size_t l = layers - 1; l-- > 0;)
        t->backward_start_s[l] = t->backward_start_s[l + 1] + t->backward_s[l + 1];
    twin_starts(t);
    for (size_t l = layers - 1; l > 0; l--) {
        bucket[layers - 1 - l] = at;
        const double next_s = t->backward_start_s[l - 1] + t->backward_s[l - 1];
        int merges = 0;
        if (next_s < t->start_s[l] + t->took_s[l])
            merges = t->start_s[l] > next_s || next_s - t->start_s[l] < t->alpha_s;
        if (!merges && t->bytes[l] < smallest)
            merges = 1;
        if (merges)
            twin_merge(t, l);
        else
            at++;
    }
    bucket[layers - 1] = at;
    return at + 1;
}

static struct net_model model;

/* alpha and beta that the released code has for its two clusters, and one that merges nothing. */
static const struct {
    const char *name;
    double alpha_s, byte_s;
} line[] = {
    {"56 Gbit/s, 16 workers", 0.00023583677659915685, 4.0594787739537565e-10},
    {"56 Gbit/s, 8 workers", 9.75367204301171e-05, 3.0568230536676206e-10},
    {"10 Gbit/s, 16 workers", 0.0009080981007148093, 7.395651186836712e-10},
    {"10 Gbit/s, 8 workers", 0.0005230272768511732, 8.570746975492128e-10},
    {"4 workers", 4.204298980348825e-05, 2.0589360830118177e-10},
    {"2 workers", 2.554691138304671e-06, 9.837548167872609e-11},
};
enum { LINES = sizeof line / sizeof line[0] };

static void test_models(void) {
    for (int kind = 0; kind < 3; kind++) {
        if (kind == 0)
            net_resnet50(&model);
        else
            net_bert(&model, kind == 1 ? "BERT-Base" : "BERT-Large", kind == 1 ? 12 : 24, kind == 1 ? 768 : 1024);
        net_backward(&model, 0.17);
        for (size_t i = 0; i < LINES; i++)
            for (int small = 0; small < 2; small++) {
                static struct twin twin;
                size_t ours[MOST], theirs[MOST];
                const double smallest = small ? 4 * 8192 : 0;
                twin = (struct twin){.layers = model.layers, .alpha_s = line[i].alpha_s, .byte_s = line[i].byte_s};
                const size_t n = sg_net_merge(ours, model.layers, model.backward_s, model.bytes, line[i].alpha_s,
                                              line[i].byte_s, smallest);
                const size_t m = twin_buckets(&twin, theirs, model.backward_s, model.bytes, smallest);
                ok(n == m && memcmp(ours, theirs, model.layers * sizeof *ours) == 0, "%s, %s%s: %zu of %zu buckets",
                   model.name, line[i].name, small ? ", tiny layers merged" : "", n, model.layers);
            }
    }
}

/* The twin agrees with the library on lists that no model has: equal times, empty layers, one layer. */
static void test_random(void) {
    static struct twin twin;
    size_t wrong = 0, buckets = 0, lists = 20000;
    sg_rng rng = sg_rng_open(7, SG_RNG_GENERATE, 0, 0);
    for (size_t i = 0; i < lists; i++) {
        double backward_s[64], bytes[64];
        size_t ours[64], theirs[64];
        const size_t layers = 1 + (size_t)(sg_rng_uniform(&rng) * 64);
        twin = (struct twin){.layers = layers,
                             .alpha_s = sg_rng_uniform(&rng) < 0.1 ? 0 : 1e-3 * sg_rng_uniform(&rng),
                             .byte_s = 1e-9 * sg_rng_uniform(&rng)};
        for (size_t l = 0; l < layers; l++) {
            backward_s[l] = floor(8 * sg_rng_uniform(&rng)) * 2.5e-4;
            bytes[l] = sg_rng_uniform(&rng) < 0.1 ? 0 : floor(ldexp(1, (int)(24 * sg_rng_uniform(&rng))));
        }
        const double smallest = i % 2 ? 4096 : 0;
        const size_t n = sg_net_merge(ours, layers, backward_s, bytes, twin.alpha_s, twin.byte_s, smallest);
        const size_t m = twin_buckets(&twin, theirs, backward_s, bytes, smallest);
        wrong += n != m || memcmp(ours, theirs, layers * sizeof *ours) != 0;
        buckets += n;
    }
    ok(wrong == 0, "%zu random lists have the twin's %zu buckets", lists, buckets);
}

int main(void) {
    test_models();
    test_random();
    return tap_done();
}
