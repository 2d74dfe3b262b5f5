/* recipe_draws.c: keys with a range in place of a value, from which each trial of a study draws one: learning-rate:
 * log 1e-3..1. The seed of a cell names its study.
 *
 * Random search as the external tuning of AlgoPerf (Dahl et al., arXiv:2306.07179, section 5.1): a study is a number of
 * trials at drawn values, and its best trial is its result. The range is cut into as many equal strata as there are
 * trials, and every stratum has one of them, so that no part of the range goes without a trial. Several keys are cut
 * each by itself (a Latin hypercube: McKay, Beckman and Conover, Technometrics 21, 1979). Deviations: AlgoPerf draws a
 * quasi-random sequence; and a draw has four digits, so that the value in a result can be given to a recipe as it
 * is. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recipe_private.h"
#include "sg_debug.h"
#include "sg_file.h"
#include "sg_rng.h"

struct range {
    bool log;
    double low, high;
};

bool sg_is_draw(const struct sg_node *raw) {
    return raw->kind == SG_NODE_STRING &&
           (strncmp(raw->string, "log ", 4) == 0 || strncmp(raw->string, "linear ", 7) == 0);
}

/* Reads "log 1e-3..1", and *high_text, the text of its upper end. */
static bool read_range(struct range *out, const char *text, const char **high_text) {
    const char *from = strchr(text, ' ') + 1, *dots = strstr(from, "..");
    char low[64];
    out->log = strncmp(text, "log ", 4) == 0;
    if (!dots || dots - from >= (ptrdiff_t)sizeof low)
        return false;
    snprintf(low, sizeof low, "%.*s", (int)(dots - from), from);
    *high_text = dots + 2;
    return sg_parse_number(&out->low, low, -HUGE_VAL, HUGE_VAL) &&
           sg_parse_number(&out->high, dots + 2, -HUGE_VAL, HUGE_VAL) && out->low < out->high &&
           isfinite(out->high - out->low) && (!out->log || out->low > 0);
}

bool sg_may_be_drawn(const char *path) {
    static const char *const may[] = {"optimizer.", "error-feedback.", "methods[]."}, *const not [] = {
                                                                                          "methods[].epochs",
                                                                                          "methods[].steps",
                                                                                          "methods[].shards."};
    bool found = false;
    for (size_t i = 0; i < sizeof may / sizeof *may; i++)
        found = found || strncmp(path, may[i], strlen(may[i])) == 0;
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++)
        found = found && strncmp(path, not [i], strlen(not [i])) != 0;
    return found;
}

/* An end of the range must be a value of the key. */
static void check_end(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *raw, double end) {
    char text[32];
    struct sg_node node = {.line = raw->line, .column = raw->column};
    sg_node_set_plain(&node, text, (size_t)snprintf(text, sizeof text, "%.15g", end));
    sg_check_scalar(c, row, &node, &node);
    sg_node_clear(&node);
}

void sg_check_draw(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *raw,
                   struct sg_node *out) {
    struct range range;
    const char *high;
    const size_t before = c->problems->count;
    if (!sg_may_be_drawn(row->path)) {
        SG_PROBLEM(c, raw,
                   "%s cannot be drawn, because all trials have the same task, workers and length (draw keys of "
                   "optimizer, error-feedback or methods)",
                   sg_row_key(row));
        return;
    }
    if (!read_range(&range, raw->string, &high)) {
        sg_note_wrong(c, row, raw, "a range of ascending numbers, log 1e-3..1 (above 0) or linear 0..1");
        return;
    }
    check_end(c, row, raw, range.low);
    check_end(c, row, raw, range.high);
    out->choices = c->problems->count == before;
    out->boolean = row->whole || row->type == SG_VALUE_INTEGER;
}

const struct sg_node *sg_find_draw(const struct sg_node *map) {
    const struct sg_node *found = NULL;
    for (size_t i = 0; !found && i < map->count; i++) {
        const struct sg_node *child = &map->child[i];
        found = child->kind == SG_NODE_STRING && child->choices ? child
                : child->kind == SG_NODE_MAP                    ? sg_find_draw(child)
                                                                : NULL;
    }
    return found;
}

/* ---- draws ---- */

/* One trial of the `trials` of a study. */
struct trial {
    uint64_t seed, number, trials;
};

/* Uniform on [0, 1) within the stratum of the trial. A trial draws twice: the order of the first draws deals the strata
 * to the trials, and the second draw is the place in the stratum. Keys of different paths have streams of their own,
 * and methods share those of a path. */
static double uniform(const struct trial *t, const char *path) {
    char hash[65];
    sg_sha256_of(path, strlen(path), hash);
    hash[6] = '\0'; /* a worker has 24 bits */
    const uint32_t key = (uint32_t)strtoul(hash, NULL, 16);
    sg_rng rng = sg_rng_open(t->seed, SG_RNG_TRIAL, key, t->number);
    const double own = sg_rng_uniform(&rng);
    uint64_t stratum = 0;
    for (uint64_t number = 1; number <= t->trials; number++) {
        sg_rng other = sg_rng_open(t->seed, SG_RNG_TRIAL, key, number);
        const double x = sg_rng_uniform(&other);
        stratum += x < own || (x == own && number < t->number);
    }
    return ((double)stratum + sg_rng_uniform(&rng)) / (double)t->trials;
}

/* Whole numbers are equally likely if the range is linear; with log, n is as likely as the real numbers from n to
 * n + 1. */
static double value_in(const struct range *r, bool whole, double u) {
    const double high = whole ? r->high + 1 : r->high;
    const double x = r->log ? r->low * pow(high / r->low, u) : r->low + u * (high - r->low);
    return fmin(whole ? floor(x) : x, r->high);
}

/* Replaces the range by the value that this trial draws. */
static void draw(struct sg_node *node, const struct trial *t, const char *path) {
    struct range range;
    const char *high;
    char text[32];
    if (!read_range(&range, node->string, &high))
        return; /* not reached: the check has read it */
    const double x = value_in(&range, node->boolean, uniform(t, path));
    snprintf(text, sizeof text, node->boolean ? "%.0f" : "%.4g", x);
    if (!node->boolean && !(strtod(text, NULL) >= range.low && strtod(text, NULL) <= range.high))
        snprintf(text, sizeof text, "%.17g", x); /* rounding must not leave the range */
    free(node->string);
    node->string = NULL;
    node->choices = node->boolean = false;
    sg_node_set_plain(node, text, strlen(text));
}

/* `section` is the path of the map with a dot at its end. */
static void draw_map(struct sg_node *map, const char *section, const struct trial *t, struct sg_node *drawn) {
    for (size_t i = 0; i < map->count; i++) {
        struct sg_node *child = &map->child[i];
        char path[96], key[96];
        snprintf(path, sizeof path, "%s%s%s", section, child->key, child->kind == SG_NODE_MAP ? "." : "");
        if (child->kind == SG_NODE_MAP) {
            draw_map(child, path, t, drawn);
        } else if (child->kind == SG_NODE_STRING && child->choices) {
            sg_snake(key, sizeof key, child->key);
            if (sg_node_member(drawn, key))
                sg_snake(key, sizeof key, path);
            draw(child, t, path);
            sg_push_copy(drawn, key, child);
        }
    }
}

void sg_draw_values(struct sg_node *resolved, uint64_t seed, size_t trial, size_t trials, struct sg_node *drawn) {
    SG_ASSERT(trial >= 1 && trial <= trials);
    const struct trial t = {seed, trial, trials};
    *drawn = (struct sg_node){.kind = SG_NODE_MAP};
    draw_map(resolved, "", &t, drawn);
}

void sg_push_trial(struct sg_node *resolved, uint64_t *seed) {
    struct sg_node *task = sg_node_member(resolved, "task");
    char text[32];
    *seed += SG_TRIAL_SEEDS;
    snprintf(text, sizeof text, "seed: %" PRIu64, *seed);
    if (sg_node_member(task, "validation") && !sg_node_member(task, "evaluate-on"))
        sg_node_push_yaml(task, "evaluate-on: validation");
    sg_node_push_yaml(resolved, text);
}

size_t sg_trials(const struct sg_node *root) {
    return (size_t)sg_node_number(root, "tune.trials", 0);
}
