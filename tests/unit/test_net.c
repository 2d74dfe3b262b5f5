/* The network model against itself: formulas by hand, fits of exact lines, and the time lines of small steps. */
/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "sg_net_fit.h"
#include "sg_net.h"

enum { MOST = 4096 };

static int near(double got, double want) {
    return fabs(got - want) <= 1e-12 * fabs(want);
}

static double cost(const char *name, const struct sg_net *net, const double *bytes, double equal, double dense) {
    const struct sg_traffic t =
        bytes ? sg_traffic_of(bytes, net->workers, net->workers, dense) : sg_traffic_equal(equal, net->workers, dense);
    return sg_collective_find(name)->seconds(net, &t);
}

static struct sg_net network(size_t workers) {
    return (struct sg_net){.workers = workers,
                           .nodes = workers,
                           .between = {.alpha_s = 1e-5, .byte_s = 1e-9},
                           .within = {.alpha_s = 1e-6, .byte_s = 1e-10},
                           .ports = 1,
                           .servers = workers,
                           .sum_s = 1e-10};
}

static void test_formulas(void) {
    const double a = 1e-5, b = 1e-9, g = 1e-10, s = 1e6;
    const struct sg_net eight = network(8), six = network(6);
    ok(near(cost("ring", &eight, NULL, s, s), 14 * a + 14.0 / 8 * s * b + 7.0 / 8 * s * g), "ring");
    ok(near(cost("recursive-doubling", &eight, NULL, s, s), 3 * (a + s * b + s * g)), "recursive doubling");
    ok(near(cost("recursive-doubling", &six, NULL, s, s), 4 * (a + s * b) + 3 * s * g), "and for six workers");
    ok(near(cost("rabenseifner", &eight, NULL, s, s), 6 * a + 14.0 / 8 * s * b + 7.0 / 8 * s * g), "Rabenseifner");
    ok(near(cost("rabenseifner", &six, NULL, s, s), 6 * a + 3.5 * s * b + 1.75 * s * g), "and for six workers");
    ok(near(cost("tree", &six, NULL, s, s), 6 * a + 2 * s * b / 0.92 + s * g), "two trees");
    const struct sg_net pair = network(2), three = network(3);
    ok(near(cost("tree", &pair, NULL, s, s), 2 * a + s * b / 0.92 + s * g) &&
           near(cost("tree", &three, NULL, s, s), 4 * a + 1.5 * s * b / 0.92 + s * g),
       "two workers move the vector once");
    ok(near(2 * cost("reduce-scatter", &eight, NULL, s, s) - 7.0 / 8 * s * g, cost("ring", &eight, NULL, s, s)),
       "a ring is a reduce-scatter and an all-gather");
    ok(near(cost("gtopk", &eight, NULL, s, s), 6 * (a + s * b)), "gTop-k");
    ok(near(cost("ok-topk", &eight, NULL, s, s), 22 * a + 3 * 7.0 / 8 * s * b), "Ok-Topk");
    ok(near(cost("two-round", &eight, NULL, s, s), 14 * a + 14.0 / 8 * s * b), "two rounds");
    ok(near(cost("auto", &eight, NULL, s, s), 6 * a + 14.0 / 8 * s * b + 7.0 / 8 * s * g) &&
           near(cost("auto", &eight, NULL, 100, s), 3 * (a + 100 * b + 100 * g)),
       "auto: long vectors in parts, short ones by doubling");
    ok(near(cost("auto", &six, NULL, s, s), 6 * a + 10.0 / 6 * s * b + 5.0 / 6 * s * g), "and so with six workers");
    ok(near(cost("auto-gather", &eight, NULL, s, s), 3 * a + 7 * s * b) &&
           near(cost("auto-gather", &six, NULL, s, s), 3 * a + 5 * s * b),
       "all-gathers likewise");
    ok(near(cost("auto-two-round", &eight, NULL, s, s), 6 * a + 14.0 / 8 * s * b), "two rounds without sums");
    const char *const decoding[] = {"auto", "two-round", "gtopk", "auto-gather"};
    const double decoded[] = {1, 2, 3, 6};
    for (size_t i = 0; i < 4; i++)
        ok(sg_collective_decoded(sg_collective_find(decoding[i]), &six) == decoded[i], "decoded: %s", decoding[i]);
    ok(near(cost("two-rings", &eight, NULL, s, s), cost("ring", &eight, NULL, s, s) + 14 * a), "two all-reduces");
    ok(near(cost("parameter-server", &eight, NULL, s, s), cost("ring", &eight, NULL, s, s)),
       "as many servers as workers take as long as a ring");
    const struct sg_collective *server = sg_collective_find("parameter-server"), *star = sg_collective_find("star");
    struct sg_net served = network(8);
    served.servers = 2;
    ok(near(cost("parameter-server", &served, NULL, s, s), 7 * (2 * a + s / 2 * (2 * b + g))) &&
           sg_collective_decoded(server, &served) == 5 && sg_collective_encoded(server, &served) == 1.5,
       "two servers decode half of eight messages each");
    served.servers = 0;
    ok(sg_collective_decoded(server, &served) == 2 && sg_collective_encoded(server, &served) == 1.125 &&
           sg_collective_decoded(star, &served) == 9 && sg_collective_encoded(star, &served) == 2,
       "all workers are servers, but one server is no worker");
    ok(near(cost("star", &served, NULL, s, s), 2 * a + 8 * s * (2 * b + g)), "a star: all messages on one link");
    served.servers = 8;
    ok(near(cost("star", &served, NULL, s, s), 2 * a + s * (2 * b + g)), "a star whose links are the workers'");
    const double apart[] = {3000, 1000, 0, 0}, d = 1e3; /* bytes of a vector of 1000 numbers: 4000 */
    struct sg_traffic sparse = sg_traffic_of(apart, 4, 8, 4 * d);
    sparse.unions = true;
    served.sum_s = 0;
    served.servers = 4;
    const double positions = d * (1 - pow(1 - 375 / d, 2) * pow(1 - 125 / d, 2));
    ok(positions > 500 && near(star->seconds(&served, &sparse), 2 * a + (3000 + 8 * 4 * d / 4) * b),
       "up at least the longest message, down the sum, which is dense");
    const double few[] = {300, 100, 0, 0};
    sparse = sg_traffic_of(few, 4, 8, 4 * d);
    sparse.unions = true;
    ok(near(star->seconds(&served, &sparse),
            2 * a + (300 + 8.0 / 4 * 8 * d * (1 - pow(1 - 37.5 / d, 2) * pow(1 - 12.5 / d, 2))) * b),
       "down the positions of all messages");
    struct sg_net nodes = network(8);
    nodes.nodes = 2;
    const double within = 6 * 1e-6 + 6.0 / 4 * s * 1e-10 + 3.0 / 4 * s * g, between = 2 * a + s * b + s / 8 * g;
    ok(near(cost("hierarchical", &nodes, NULL, s, s), within + between), "hierarchical");
    ok(near(cost("hierarchical-pipelined", &nodes, NULL, s, s), fmax(within, between)), "hierarchical, pipelined");
    nodes.nodes = 1;
    ok(near(cost("hierarchical", &nodes, NULL, s, s), 14e-6 + 14.0 / 8 * s * 1e-10 + 7.0 / 8 * s * g),
       "hierarchical in one node is a ring within it");
    nodes.nodes = 8;
    ok(near(cost("hierarchical", &nodes, NULL, s, s), cost("ring", &eight, NULL, s, s)),
       "and without any, a flat ring");
}

static void test_unequal(void) {
    const double a = 1e-5, b = 1e-9, bytes[8] = {1e5, 0, 3e5, 1e5, 0, 0, 8e5, 1e5};
    const struct sg_net net = network(8), six = network(6);
    ok(near(cost("all-gather", &net, bytes, 0, 0), 7 * (a + 8e5 * b)), "a ring waits for the largest message");
    ok(near(cost("all-gather", &net, NULL, 1e5, 0), 7 * (a + 1e5 * b)), "equal messages");
    ok(near(cost("all-gather-padded", &net, bytes, 0, 0), 7 * (2 * a + 8 * b + 8e5 * b)), "padded: lengths first");
    ok(near(cost("all-gather-doubling", &net, NULL, 1e5, 0), 3 * a + 7e5 * b), "doubling: all bytes but one's own");
    /* Pairs: 8e5 with 1e5; fours: 9e5 with 0; all: 9e5 with 5e5. */
    ok(near(cost("all-gather-doubling", &net, bytes, 0, 0), 3 * a + (8e5 + 9e5 + 9e5) * b), "doubling, unequal");
    ok(near(cost("all-gather-doubling", &six, NULL, 1e5, 0), 4 * a + (1e5 + 2e5 + 4e5 + 6e5) * b),
       "doubling with six workers: two give theirs to others first");
    const double d = 1e6, share = 1e5 / 8 / d, dense = 4 * d;
    const double two = 8 * d * (1 - pow(1 - share, 2)), four = 8 * d * (1 - pow(1 - share, 4));
    ok(fabs(cost("sparcml", &net, NULL, 1e5, dense) / (3 * a + (1e5 + two + four) * b) - 1) < 1e-9,
       "SparCML: unions of positions drawn independently");
    ok(near(cost("sparcml", &net, NULL, 3e6, dense), 3 * a + (3e6 + 2 * dense) * b), "SparCML turns dense");
    ok(near(cost("sparcml", &net, NULL, 8e6, dense), 3 * a + 3 * dense * b), "and never sends more than that");
    const struct sg_net many = network(1024), odd = network(1500);
    ok(near(cost("all-gather-doubling", &many, NULL, 100, 0), 10 * a + 102300 * b) &&
           near(cost("all-gather-doubling", &odd, NULL, 100, 0), 12 * a + (100 + 102200 + 98800 + 150000) * b),
       "blocks of many workers");
    const double few[] = {100, 700, 400};
    const struct sg_traffic eight = sg_traffic_of(few, 3, 8, 0);
    const double all[] = {100, 700, 400, 100, 700, 400, 100, 700};
    ok(eight.most == 700 && eight.sum == 3200 &&
           sg_collective_find("all-gather-doubling")->seconds(&net, &eight) ==
               cost("all-gather-doubling", &net, all, 0, 0),
       "eight workers send what three did");
}

/* The exchanges of this program's ranks, with the algorithms of Open MPI by ranks and bytes. */
static void test_open_mpi(void) {
    const double a = 1e-5, b = 1e-9, g = 1e-10, s = 1e6;
    const struct sg_net two = network(2), four = network(4), five = network(5), eight = network(8);
    const double notes2 = a + 104 * b, notes4 = 3 * a + 1144 * b, notes5 = 3 * a + 1456 * b, notes8 = 3 * a + 2392 * b;
    ok(near(cost("open-mpi-gather", &eight, NULL, 1e5, 0), notes8 + 3 * a + 7e5 * b),
       "eight ranks: notes, Bruck's way");
    ok(near(cost("open-mpi-gather", &four, NULL, 6e3, 0), notes4 + 3 * (a + 6e3 * b)), "four: a ring");
    ok(near(cost("open-mpi-gather", &four, NULL, 1e4, 0), notes4 + 2 * a + 3e4 * b), "or neighbours");
    ok(near(cost("open-mpi-gather", &five, NULL, 1e4, 0), notes5 + 4 * (a + 1e4 * b)), "which an odd number has not");
    ok(near(cost("open-mpi", &eight, NULL, s, s), notes8 + 4 * a + 14.0 / 8 * s * b + 7.0 / 8 * s * g),
       "sums: parts at once, then the sums of parts");
    ok(near(cost("open-mpi", &two, NULL, s, s), notes2 + a + s * b), "two ranks send each other the whole");
    ok(near(cost("open-mpi", &eight, NULL, 5e3, s), cost("open-mpi-gather", &eight, NULL, 5e3, s)), "as short ones do");
    const struct sg_net_piece second = {.alpha_s = 1};
    struct sg_net given = network(8);
    given.piece = &second, given.n_pieces = 1;
    ok(near(cost("open-mpi-gather", &given, NULL, 1e5, 0), 6), "pieces take the place of the link");
}

/* Messages that repeat are as many as if each were given. */
static void test_repeated(void) {
    static const char *const name[] = {"all-gather-doubling", "sparcml"};
    static double all[3000];
    double few[5] = {100, 70000, 400, 0, 3};
    size_t alike = 0, all_of_them = 0;
    for (size_t workers = 11; workers <= 3000; workers = workers * 3 / 2 + 1)
        for (size_t senders = 1; senders <= 5; senders++)
            for (size_t c = 0; c < 2; c++) {
                const struct sg_net net = network(workers);
                for (size_t w = 0; w < workers; w++)
                    all[w] = few[w % senders];
                const struct sg_traffic t = sg_traffic_of(few, senders, workers, 1e5);
                const double s = sg_collective_find(name[c])->seconds(&net, &t);
                alike += fabs(s / cost(name[c], &net, all, 0, 1e5) - 1) < 1e-12;
                all_of_them++;
            }
    ok(alike == all_of_them, "%zu sums by doubling, of repeated messages", alike);
}

static void test_one_worker(void) {
    const struct sg_net one = {.workers = 1,
                               .nodes = 1,
                               .between = {.alpha_s = 1, .byte_s = 1},
                               .within = {.alpha_s = 1, .byte_s = 1},
                               .ports = 1,
                               .servers = 1,
                               .sum_s = 1};
    const struct sg_collective *c;
    const struct sg_link *l;
    for (size_t i = 0; (c = sg_collective_at(i)) != NULL; i++)
        ok(cost(c->name, &one, NULL, 1e6, 4e6) == 0, "%s: one worker exchanges nothing", c->name);
    for (size_t i = 0; (l = sg_link_at(i)) != NULL; i++)
        ok(sg_link_find(l->name) == l && l->alpha_s > 0 && l->byte_s > 0 && l->source[0], "link %s", l->name);
    ok(!sg_link_find("token-ring") && !sg_collective_find("") && !sg_overlap_find("all"), "unknown names");
}

/* More workers and more bytes take no less time, and no message takes less than its bytes. Libraries change the way at
 * lengths of their own, so that there a longer message may be faster. */
static void test_order(void) {
    const struct sg_collective *c;
    for (size_t i = 0; (c = sg_collective_at(i)) != NULL; i++) {
        const struct sg_net_piece piece = {0, 1e-5, 1e-9};
        const double least = strcmp(c->name, "open-mpi") == 0 ? 0.7 : 0.99;
        int grows = 1;
        double before = 0;
        for (double bytes = 0; bytes < 1e9; bytes = bytes * 3 + 100) {
            struct sg_net net = network(16);
            net.piece = &piece, net.n_pieces = 1;
            const double s = cost(c->name, &net, NULL, bytes, 4e9);
            grows = grows && s >= before * least && isfinite(s);
            before = s;
        }
        ok(grows, "%s: more bytes take no less time", c->name);
    }
}

static void test_fits(void) {
    struct sg_error err;
    struct net_fit fit;
    double bytes[6], seconds[6];
    for (size_t i = 0; i < 6; i++) {
        bytes[i] = ldexp(1024, (int)i);
        seconds[i] = 1e-5 + bytes[i] * 1e-9;
    }
    ok(net_fit_line(&fit, bytes, seconds, 6, &err) == SG_OK && fabs(fit.alpha_s - 1e-5) < 1e-14 &&
           fabs(fit.byte_s - 1e-9) < 1e-17 && fit.worst < 1e-9 && fit.alpha_error_s < 1e-13,
       "an exact line is found");
    const struct sg_net_piece piece[] = {{0, 1e-5, 1e-9}, {65536, 4e-5, 5e-10}};
    ok(near(sg_net_pieces_seconds(piece, 2, 0), 1e-5) && sg_net_pieces_seconds(piece, 2, 65536) < 8e-5,
       "pieces are used on their sides");
    /* Three points off a line by hand: t = 1, 2, 2 at 0, 1, 2, in the middle weighted by a quarter. */
    const double x[] = {0, 1, 2}, t[] = {1, 2, 2};
    ok(net_fit_line(&fit, x, t, 3, &err) == SG_OK && fit.alpha_error_s > 0 && fit.byte_error_s > 0 &&
           fabs(fit.alpha_s - 22.0 / 21) < 1e-12 && fabs(fit.byte_s - 4.0 / 7) < 1e-12,
       "relative least squares");
    const double steep[] = {1, 3, 6}, falling[] = {3, 2, 1};
    ok(net_fit_line(&fit, x + 1, steep + 1, 2, &err) == SG_OK && fit.alpha_s == 0 && near(fit.byte_s, 3),
       "a negative alpha is 0");
    ok(net_fit_line(&fit, x, falling, 3, &err) == SG_OK && fit.byte_s == 0 && fit.alpha_s > 0, "a negative beta is 0");
    ok(net_fit_line(&fit, x, steep, 1, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "two different sizes"),
       "one point is refused");
    const double same[] = {5, 5}, zero[] = {1, 0};
    ok(net_fit_line(&fit, same, steep, 2, &err) == SG_ERR_ARGUMENT, "equal sizes are refused");
    ok(net_fit_line(&fit, x, zero, 2, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "measurement 2"),
       "no time is refused");
}

/* A step of three layers: forward 1 s each, backward 2, 2 and 2 s, and messages of so many seconds on one link. */
static struct sg_step_time timed(const char *overlap, const double *message_s, const size_t *bucket,
                                 const double *code_s, struct sg_layer_time timeline[3]) {
    static const double forward_s[] = {1, 1, 1}, backward_s[] = {2, 2, 2};
    static double bytes[6], work[16];
    const struct sg_net_piece piece = {0, 0, 1};
    const struct sg_net net = {.workers = 2, .piece = &piece, .n_pieces = 1};
    for (size_t l = 0; l < 3; l++)
        bytes[2 * l] = message_s[l], bytes[2 * l + 1] = message_s[l] / 2;
    const struct sg_net_step step = {.layers = 3,
                                     .forward_s = forward_s,
                                     .backward_s = backward_s,
                                     .encode_s = code_s,
                                     .decode_s = code_s,
                                     .bytes = bytes,
                                     .senders = 2,
                                     .bucket = bucket};
    struct sg_step_time out;
    sg_net_step_time(&out, timeline, &net, sg_collective_find("measured"), sg_overlap_find(overlap), &step, work);
    return out;
}

static int adds_up(const struct sg_step_time *t) {
    return near(t->step_s, t->compute_s + t->coding_s + t->exposed_s) &&
           near(t->communication_s, t->exposed_s + t->hidden_s);
}

static void test_time_lines(void) {
    struct sg_layer_time line[3];
    const double message_s[] = {3, 1, 4}, code_s[] = {0.5, 0.5, 0.5};
    const size_t bucket[] = {0, 1, 1};
    struct sg_step_time t = timed("none", message_s, NULL, NULL, line);
    ok(t.step_s == 17 && t.exposed_s == 8 && t.hidden_s == 0 && t.exchanges == 1 && adds_up(&t) &&
           line[0].ready_s == 5 && line[0].start_s == 9 && line[2].end_s == 17,
       "none: 3 + 6 + 8 s");
    /* Ready at 5, 7, 9; layer 0 from 5 to 8, layer 1 from 8 to 9, layer 2 from 9 to 13. */
    t = timed("layer", message_s, NULL, NULL, line);
    ok(t.step_s == 13 && t.exposed_s == 4 && t.hidden_s == 4 && t.exchanges == 3 && adds_up(&t) &&
           line[1].start_s == 8 && line[2].start_s == 9,
       "layer: the first two hide");
    t = timed("fused", message_s, bucket, NULL, line);
    ok(t.step_s == 14 && t.exposed_s == 5 && t.exchanges == 2 && adds_up(&t) && line[1].start_s == 9 &&
           line[1].end_s == 14 && line[1].bucket == 1,
       "fused: the last two together");
    /* Forward goes 2, 1, 0: layer 2 arrives at 13 and runs to 14, layers 1 and 0 to 16; less the 3 s of a forward. */
    t = timed("priority", message_s, NULL, NULL, line);
    ok(t.step_s == 13 && t.exposed_s == 4 && adds_up(&t), "priority: the foremost layer's message is not hidden");
    const double heavy[] = {9, 1, 1};
    t = timed("priority", heavy, NULL, NULL, line);
    const struct sg_step_time plain = timed("layer", heavy, NULL, NULL, NULL);
    ok(plain.step_s == 16 && t.step_s == 15 && line[0].end_s == 14 && line[2].start_s == 14 && line[1].start_s == 15,
       "priority: what has started goes on, then the foremost layer");
    const double last[] = {1, 6, 3};
    t = timed("priority", last, NULL, NULL, line);
    const struct sg_step_time order = timed("layer", last, NULL, NULL, NULL);
    ok(order.step_s == 16 && t.step_s == 16 && adds_up(&t), "priority waits for the foremost layer, like layer");
    const double late[] = {1, 3, 1}, none[] = {0, 0, 0};
    t = timed("priority", (double[]){8, 4, 1}, NULL, NULL, line); /* 5-13, then layer 2 13-14, layer 1 14-18 */
    ok(t.step_s == 17 && line[2].end_s == 14 && line[1].end_s == 18, "priority: %g s, layer by layer %g s", t.step_s,
       timed("layer", (double[]){8, 4, 1}, NULL, NULL, NULL).step_s);
    t = timed("layer", none, NULL, NULL, line);
    ok(t.step_s == 9 && t.exchanges == 0 && t.exposed_s == 0, "empty layers take no time");
    /* Encoding delays all that follows, decoding comes after arrival: ready 5.5, 8, 10.5; done 6.5, 11, 12. */
    t = timed("layer", late, NULL, code_s, line);
    ok(line[1].ready_s == 8 && line[2].start_s == 11 && t.coding_s == 3 && t.step_s == 12.5 && adds_up(&t),
       "encoding delays later layers, decoding waits for messages");
}

static void test_plan(void) {
    const double backward_s[] = {1e-3, 1e-3, 1e-3, 1e-3};
    double bytes[4 * 4], work[4 + 3 * 4];
    size_t bucket[4];
    for (size_t i = 0; i < 16; i++)
        bytes[i] = i % 4 ? 1e3 : 5e3;
    struct sg_net net = network(4);
    struct sg_net_step step = {
        .layers = 4, .forward_s = backward_s, .backward_s = backward_s, .bytes = bytes, .senders = 4};
    ok(sg_net_plan(bucket, &net, sg_collective_find("ring"), &step, work) == 4, "quick links: every layer alone");
    net.between.alpha_s = 1;
    ok(sg_net_plan(bucket, &net, sg_collective_find("ring"), &step, work) == 1 && bucket[3] == 0,
       "slow starts: all layers together");
    /* Of all 2^11 ways to cut 12 layers into buckets none ends sooner. */
    enum { LAYERS = 12 };
    double pass_s[LAYERS], sent[LAYERS], room[1 + 3 * LAYERS], least_s = INFINITY;
    size_t tried[LAYERS] = {0}, best[LAYERS];
    struct sg_step_time t;
    for (size_t l = 0; l < LAYERS; l++) {
        pass_s[l] = 1e-3 * (double)(1 + l * 7 % 5);
        sent[l] = 1e6 * (double)(1 + l * l * 3 % 11);
    }
    struct sg_net_step uneven = {
        .layers = LAYERS, .forward_s = pass_s, .backward_s = pass_s, .bytes = sent, .senders = 1, .bucket = tried};
    net.between.alpha_s = 4e-4;
    for (unsigned cut = 0; cut < 1U << (LAYERS - 1); cut++) {
        for (size_t l = 1; l < LAYERS; l++)
            tried[l] = tried[l - 1] + (cut >> (l - 1) & 1);
        sg_net_step_time(&t, NULL, &net, sg_collective_find("ring"), sg_overlap_find("fused"), &uneven, room);
        least_s = fmin(least_s, t.step_s);
    }
    const size_t count = sg_net_plan(best, &net, sg_collective_find("ring"), &uneven, room);
    uneven.bucket = best;
    sg_net_step_time(&t, NULL, &net, sg_collective_find("ring"), sg_overlap_find("fused"), &uneven, room);
    ok(near(t.step_s, least_s) && best[0] == 0 && best[LAYERS - 1] == count - 1, "no buckets are faster than %zu",
       count);
}

/* Buckets of DistributedDataParallel: the first is full with 1 MiB, the others with 25. */
static void test_fill(void) {
    const double dense[] = {8e6, 20e6, 10e6, 30e6, 1e6, 1e6}, small[] = {1e5, 1e5};
    const size_t wanted[] = {0, 1, 1, 2, 3, 3};
    size_t bucket[6];
    ok(sg_net_fill(bucket, 6, dense, 25 << 20) == 4 && memcmp(bucket, wanted, sizeof wanted) == 0, "25 MiB a bucket");
    ok(sg_net_fill(bucket, 2, small, 25 << 20) == 1 && bucket[1] == 0, "a small model has one");
    ok(sg_net_fill(bucket, 2, small, 1) == 2, "and a small bucket one layer");
}

/* 4096 workers, 62 layers. 10,000 steps take as long as 100 times this. */
static void test_speed(void) {
    enum { LAYERS = 62, WORKERS = 4096, STEPS = 100 };
    static double bytes[LAYERS * WORKERS], pass_s[LAYERS], work[WORKERS + 3 * LAYERS];
    const char *const overlap[] = {"none", "layer", "fused", "priority"};
    const char *const collective[] = {"ring", "all-gather", "all-gather-doubling", "sparcml"};
    struct sg_net net = network(WORKERS);
    struct sg_net_step step = {.layers = LAYERS,
                               .forward_s = pass_s,
                               .backward_s = pass_s,
                               .bytes = bytes,
                               .senders = WORKERS,
                               .dense = pass_s};
    size_t bucket[LAYERS];
    for (size_t i = 0; i < LAYERS * WORKERS; i++)
        bytes[i] = (double)(i * 2654435761u % 100000);
    for (size_t l = 0; l < LAYERS; l++)
        pass_s[l] = 1e-3;
    sg_net_plan(bucket, &net, sg_collective_find("ring"), &step, work);
    step.bucket = bucket;
    for (size_t c = 0; c < sizeof collective / sizeof *collective; c++)
        for (size_t o = 0; o < sizeof overlap / sizeof *overlap; o++) {
            struct timespec from, to;
            struct sg_step_time out = {0};
            double sum_s = 0;
            timespec_get(&from, TIME_UTC);
            for (size_t i = 0; i < STEPS; i++) {
                bytes[i]++;
                sg_net_step_time(&out, NULL, &net, sg_collective_find(collective[c]), sg_overlap_find(overlap[o]),
                                 &step, work);
                sum_s += out.step_s;
            }
            timespec_get(&to, TIME_UTC);
            const double took_s = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
            ok(sum_s > 0 && took_s < 60, "4096 workers, 62 layers, %s, %s: 10,000 steps in %.1f s", collective[c],
               overlap[o], took_s * 10000 / STEPS);
        }
}

int main(void) {
    test_formulas();
    test_unequal();
    test_open_mpi();
    test_repeated();
    test_one_worker();
    test_order();
    test_fits();
    test_time_lines();
    test_plan();
    test_fill();
    test_speed();
    return tap_done();
}
