/* audit_tree.c: the comparison of a result with the one that its evidence makes, node by node. */
/* SPDX-License-Identifier: MIT */
#include "audit_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid_private.h"
#include "sg_text.h"

/* ---- what is found ---- */

static cJSON *shown(const cJSON *value) {
    char text[48];
    if (!value)
        return cJSON_CreateString("absent");
    if (!cJSON_IsArray(value) && !cJSON_IsObject(value))
        return sg_json_copy(value);
    snprintf(text, sizeof text, "%s of %d", cJSON_IsArray(value) ? "a list" : "an object", cJSON_GetArraySize(value));
    return cJSON_CreateString(text);
}

/* Where a walk is: the path, and the column whose values are compared, if there is one. */
struct place {
    char path[240];
    const char *column; /* NULL = bits must be the same */
    double scale;       /* the column's largest magnitude */
    const cJSON *steps; /* of the points of a series */
    double step;
};

static void add(struct audit_tree *t, const struct place *at, const cJSON *then, const cJSON *now) {
    const cJSON *item;
    cJSON_ArrayForEach(item, t->differences) if (strcmp(sg_json_string(item, "path", ""), at->path) == 0) return;
    t->count++;
    if (!t->differences)
        t->differences = cJSON_CreateArray();
    if (t->count <= AUDIT_MOST)
        sg_json_push(t->differences, SG_OBJECT(SG_TEXT("path", at->path), SG_NUMBER("step", at->step),
                                               SG_VALUE("then", shown(then)), SG_VALUE("now", shown(now))));
}

void audit_tree_differ(struct audit_tree *t, const char *path, const cJSON *then, const cJSON *now) {
    struct place at = {.step = NAN};
    snprintf(at.path, sizeof at.path, "%s", path);
    add(t, &at, then, now);
}

/* The path without indices. */
static void without_indices(char out[240], const char *path) {
    size_t n = 0;
    for (; *path; path++) {
        out[n++] = *path;
        if (*path == '[')
            path += strcspn(path, "]") - 1;
    }
    out[n] = '\0';
}

static bool is_listed(const cJSON *list, const char *path) {
    const cJSON *item;
    cJSON_ArrayForEach(item, list) if (strcmp(item->valuestring, path) == 0) return true;
    return false;
}

/* Adds the path of a key of `later` to a list, once. */
static void keep(cJSON **list, const struct place *at) {
    char path[sizeof at->path];
    without_indices(path, at->path);
    if (!*list)
        *list = cJSON_CreateArray();
    if (!is_listed(*list, path))
        sg_json_push_string(*list, path);
}

/* ---- numbers ---- */

bool audit_same_bits(double a, double b) {
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

double audit_allowed(const cJSON *tolerance, const char *column) {
    return sg_json_number(tolerance, column, sg_json_number(tolerance, "other", 0));
}

/* True if the path is this member of a label, and nothing below it. */
static bool is_of_label(const char *path, const char *member) {
    const char *dot = strrchr(path, '.');
    return audit_is_at("results[]", path) && dot && strcmp(dot + 1, member) == 0;
}

static double largest_of(const cJSON *value) {
    double most = fabs(sg_json_number(value, "", 0));
    const cJSON *item;
    if (cJSON_IsArray(value) || cJSON_IsObject(value))
        cJSON_ArrayForEach(item, value) most = fmax(most, largest_of(item));
    return most;
}

/* True if `was` is `is` with the 15 digits with which programs wrote constants before. */
static bool is_shorter(const struct place *at, double was, double is) {
    char text[32];
    snprintf(text, sizeof text, "%.15g", is);
    return audit_is_at("results[].constants", at->path) && strtod(text, NULL) == was;
}

static void compare_number(struct audit_tree *t, const struct place *at, const cJSON *then, const cJSON *now) {
    const double was = sg_json_number(then, "", NAN), is = sg_json_number(now, "", NAN);
    if (audit_same_bits(was, is) || is_shorter(at, was, is))
        return;
    const double off = at->scale > 0 ? fabs(is - was) / at->scale : INFINITY;
    if (t->source != AUDIT_NEAR || !at->column || !(off <= audit_allowed(t->tolerance, at->column))) {
        add(t, at, then, now);
    } else if (off > t->largest || !*t->farthest) {
        t->largest = off;
        snprintf(t->farthest, sizeof t->farthest, "%.150s", at->path);
    }
}

/* A time that no machine can have taken for a cell that took `now` here. */
static bool is_implausible(const cJSON *then, const cJSON *now) {
    const double was = sg_json_number(then, "", NAN), is = sg_json_number(now, "", NAN);
    return was < 0 || was > 1000 * (is + 1);
}

/* ---- the walk ---- */

static void walk(struct audit_tree *t, const struct place *at, const cJSON *then, const cJSON *now);

static struct place inside(const struct place *at, const char *key) {
    struct place in = *at;
    const size_t n = strlen(at->path);
    if (key[strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] == '\0' && *key)
        snprintf(in.path + n, sizeof in.path - n, "%s%s", n > 0 ? "." : "", key);
    else
        snprintf(in.path + n, sizeof in.path - n, "[\"%s\"]", key);
    return in;
}

static struct place entry(const struct place *at, int i) {
    struct place in = *at;
    const size_t n = strlen(at->path);
    const cJSON *step = cJSON_GetArrayItem(at->steps, i);
    in.step = step ? sg_json_number(step, "", NAN) : at->step;
    snprintf(in.path + n, sizeof in.path - n, "[%d]", i);
    return in;
}

/* What a member of an object is measured by: the columns of a label's series and finals have a tolerance. */
static void measure(struct place *in, const struct place *at, const cJSON *object, const char *key, const cJSON *then) {
    const bool series = is_of_label(at->path, "series"), final = is_of_label(at->path, "final");
    if (series)
        in->steps = sg_json_get(object, "step");
    if (series || final) {
        in->column = key;
        in->scale = largest_of(cJSON_IsObject(then) ? sg_json_get(then, final ? "values" : "mean") : then);
    }
    if (strcmp(key, "n") == 0)
        in->column = NULL;
}

/* True if the comparison has a use for this member; one that is partial, or with an edited recipe, not for all. */
static bool is_wanted(const struct audit_tree *t, const struct place *at, const char *key) {
    const bool root = at->path[0] == '\0', some = t->partial || t->edited;
    if (root && strcmp(key, "results") == 0)
        return !t->without_results;
    if (root && t->edited)
        return false;
    if (root && t->partial)
        return strcmp(key, "claims") == 0 || strcmp(key, "dataset") == 0 || strcmp(key, "units") == 0;
    return !some || strcmp(key, "times_less") != 0;
}

static const char *label_of(const cJSON *item) {
    return sg_json_string(item, "label", NULL);
}

/* The item of this label; NULL = there is none. */
static const cJSON *find_label(const cJSON *list, const char *label) {
    const cJSON *item;
    cJSON_ArrayForEach(item, list) if (label_of(item) && strcmp(label_of(item), label) == 0) return item;
    return NULL;
}

/* Compares lists of labels. Their order counts; of a partial document, or of an edited recipe, other labels do not. */
static void walk_labels(struct audit_tree *t, const struct place *at, const cJSON *then, const cJSON *now) {
    const bool some = t->partial || t->edited;
    const cJSON *item, *next = now->child;
    int i = 0;
    cJSON_ArrayForEach(item, then) {
        const struct place in = entry(at, i++);
        const cJSON *other = label_of(item) ? find_label(now, label_of(item)) : NULL;
        if (!other && !(some && label_of(item)))
            add(t, &in, item, NULL);
        if (!other)
            continue;
        if (other != next && !some)
            audit_tree_differ(t, in.path, item, NULL); /* twice, or in another order */
        next = other->next;
        walk(t, &in, item, other);
    }
    cJSON_ArrayForEach(item, now) if (!find_label(then, label_of(item))) {
        struct place in = inside(at, label_of(item));
        add(t, &in, NULL, item);
    }
}

/* True if the document of now has the label of this term of a claim. */
static bool has_label(const cJSON *results, const cJSON *claim, const char *of) {
    const char *label = sg_json_string(claim, of, NULL);
    return !label || find_label(results, label);
}

/* True if a value by which the claim was judged is not in the result, so that its verdict cannot be made again. */
static bool is_open(const cJSON *then, const cJSON *now) {
    const cJSON *seed;
    bool open = false;
    cJSON_ArrayForEach(seed, sg_json_get(then, "seeds")) {
        open = open || !cJSON_IsNumber(sg_json_get(seed, "value")) ||
               (sg_json_string(now, "bound.of", NULL) && !cJSON_IsNumber(sg_json_get(seed, "other")));
    }
    return open;
}

/* The same of the summary. */
static bool is_open_summary(const cJSON *then, const cJSON *now) {
    const cJSON *method;
    bool open = sg_json_string(now, "reason", NULL) && !sg_json_string(then, "reason", NULL);
    cJSON_ArrayForEach(method, sg_json_get(now, "methods")) {
        const cJSON *was = find_label(sg_json_get(then, "methods"), sg_json_string(method, "label", ""));
        open = open || (isnan(sg_json_number(method, "value", NAN)) && cJSON_IsNumber(sg_json_get(was, "value")));
    }
    return open;
}

/* A claim judged by the numbers of its seeds. */
static cJSON *judge(cJSON *take_claim) {
    struct sg_arena memory = {0};
    struct sg_document_claim *claim =
        sg_fields_new(&sg_document_claim_shape, sg_arena_take(&memory, take_claim), &memory);
    if (claim)
        grid_judge_claim(claim, &memory);
    cJSON *out = claim ? sg_fields_json(&sg_document_claim_shape, claim) : NULL;
    sg_arena_free(&memory);
    return out;
}

/* Compares a claim whose values cannot be made again with what the recipe says of it, and its verdict with what is
 * judged of these values; with a tolerance also the values, with those of now. */
static void walk_open_claim(struct audit_tree *t, const struct place *at, const cJSON *then, const cJSON *now) {
    static const char *const says[] = {"text", "descriptive", "note", "metric", "at", "of", "sense", "bound"};
    static const char *const values[] = {"value", "other"};
    const cJSON *same = sg_json_get(now, "seeds");
    cJSON *judged = sg_json_copy(then), *own;
    int i = 0;
    for (size_t k = 0; k < sizeof says / sizeof *says; k++) {
        const struct place in = inside(at, says[k]);
        walk(t, &in, sg_json_get(then, says[k]), sg_json_get(now, says[k]));
    }
    cJSON_ArrayForEach(own, sg_json_get(judged, "seeds")) {
        const char *of = sg_json_string(now, "bound.of", NULL);
        const double plus = sg_json_number(now, "bound.plus", 0), value = sg_json_number(own, "value", NAN);
        const double other = sg_json_number(own, "other", of ? NAN : 0);
        const double bound = of ? sg_json_number(now, "bound.times", 1) * other + plus : plus;
        if (!isnan(other)) { /* else it is infinite or was not written, and the bound is taken as it is */
            cJSON_DeleteItemFromObjectCaseSensitive(own, "bound");
            cJSON_DeleteItemFromObjectCaseSensitive(own, "ratio");
            SG_SET(own, SG_NUMBER("bound", bound), SG_NUMBER("ratio", value / bound));
        }
        for (size_t k = 0; k < 2 && t->source == AUDIT_NEAR; k++) {
            const struct place seeds = inside(at, "seeds");
            struct place in = entry(&seeds, i);
            in = inside(&in, values[k]);
            in.column = sg_json_string(then, "metric", "other");
            in.scale = largest_of(sg_json_get(then, "seeds"));
            walk(t, &in, sg_json_get(own, values[k]), sg_json_get(cJSON_GetArrayItem(same, i), values[k]));
        }
        i++;
    }
    if (strcmp(sg_json_string(then, "verdict", ""), SG_NOT_JUDGED) != 0)
        judged = judge(judged);
    walk(t, at, then, judged);
    cJSON_Delete(judged);
    t->open_claims += t->source != AUDIT_NEAR;
}

/* Compares claims. Those of labels that are not in the document of now are left out of a partial comparison. */
static void walk_claims(struct audit_tree *t, const struct place *at, const cJSON *then, const cJSON *now,
                        const cJSON *results) {
    const int n = cJSON_GetArraySize(then);
    if (n != cJSON_GetArraySize(now))
        add(t, at, then, now);
    for (int i = 0; i < n && i < cJSON_GetArraySize(now); i++) {
        const struct place in = entry(at, i);
        const cJSON *was = cJSON_GetArrayItem(then, i), *is = cJSON_GetArrayItem(now, i);
        if (t->partial && !(has_label(results, is, "of") && has_label(results, is, "bound.of")))
            continue;
        if (t->source == AUDIT_NEAR || (t->source == AUDIT_FINALS && is_open(was, is)))
            walk_open_claim(t, &in, was, is);
        else
            walk(t, &in, was, is);
    }
}

/* Compares a member of an object; those of the root that follow from values may have to be left open. */
static void walk_member(struct audit_tree *t, const struct place *in, const cJSON *then, const cJSON *now,
                        const cJSON *whole) {
    const bool claims = strcmp(in->path, "claims") == 0, summary = strcmp(in->path, "summary") == 0;
    if (claims && cJSON_IsArray(then) && cJSON_IsArray(now))
        walk_claims(t, in, then, now, sg_json_get(whole, "results"));
    else if (summary && t->source == AUDIT_FINALS && is_open_summary(then, now))
        t->open_summary = true;
    else
        walk(t, in, then, now);
}

static void walk_object(struct audit_tree *t, const struct place *at, const cJSON *then, const cJSON *now) {
    const cJSON *member;
    cJSON_ArrayForEach(member, then) {
        struct place in = inside(at, member->string);
        const cJSON *other = cJSON_GetObjectItemCaseSensitive(now, member->string);
        measure(&in, at, then, member->string, member);
        if (audit_is_later(in.path))
            keep(&t->seen, &in);
        if (t->edited && !other && audit_is_at("results[].series", at->path))
            continue; /* quartiles, which its plots asked for */
        else if (is_wanted(t, at, member->string) && audit_is_known(t->source, in.path))
            walk_member(t, &in, member, other, now);
        else if (other && strcmp(member->string, "elapsed_s") == 0 && is_implausible(member, other))
            add(t, &in, member, other);
    }
    cJSON_ArrayForEach(member, now) {
        struct place in = inside(at, member->string);
        if (!cJSON_GetObjectItemCaseSensitive(then, member->string) && is_wanted(t, at, member->string) &&
            audit_is_known(t->source, in.path))
            walk(t, &in, NULL, member);
    }
}

/* True of the lists in which each label is once. */
static bool has_labels(const char *path) {
    return strcmp(path, "results") == 0 || strcmp(path, "summary.methods") == 0 ||
           (audit_is_at("plots[].points", path) && strcmp(strrchr(path, '.'), ".points") == 0);
}

static void walk_list(struct audit_tree *t, const struct place *at, const cJSON *then, const cJSON *now) {
    const cJSON *a = then->child, *b = now->child;
    if (has_labels(at->path) && (b ? label_of(b) : a ? label_of(a) : NULL)) {
        walk_labels(t, at, then, now);
        return;
    }
    if (cJSON_GetArraySize(then) != cJSON_GetArraySize(now))
        add(t, at, then, now);
    for (int i = 0; a && b; i++, a = a->next, b = b->next) {
        const struct place in = entry(at, i);
        walk(t, &in, a, b);
    }
}

static bool is_number(const cJSON *value) {
    return cJSON_IsNumber(value) || cJSON_IsRaw(value) || cJSON_IsNull(value);
}

static void walk(struct audit_tree *t, const struct place *at, const cJSON *then, const cJSON *now) {
    if (!then && t->other_program && audit_is_later(at->path))
        keep(&t->notes, at);
    else if (then && now && is_number(then) && is_number(now))
        compare_number(t, at, then, now);
    else if (cJSON_IsObject(then) && cJSON_IsObject(now))
        walk_object(t, at, then, now);
    else if (cJSON_IsArray(then) && cJSON_IsArray(now))
        walk_list(t, at, then, now);
    else if (!(then && now && cJSON_Compare(then, now, true)))
        add(t, at, then, now);
}

void audit_tree_compare(struct audit_tree *t, const char *path, const cJSON *then, const cJSON *now) {
    struct place at = {.step = NAN};
    const cJSON *item;
    snprintf(at.path, sizeof at.path, "%s", path);
    walk(t, &at, then, now);
    cJSON_ArrayForEach(item, t->notes) { /* a program writes a key everywhere or nowhere */
        if (is_listed(t->seen, item->valuestring))
            audit_tree_differ(t, item->valuestring, NULL, NULL);
    }
}

void audit_tree_free(struct audit_tree *t) {
    cJSON_Delete(t->differences);
    cJSON_Delete(t->notes);
    cJSON_Delete(t->seen);
}
