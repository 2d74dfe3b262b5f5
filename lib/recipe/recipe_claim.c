/* recipe_claim.c: reads claims of a checked recipe, and states them in results. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stddef.h>

#include "sg_recipe_claim.h"
#include "sg_text.h"

static const struct sg_node *present(const struct sg_node *node, const char *path) {
    const struct sg_node *found = sg_node_get(node, path);
    return found && found->kind != SG_NODE_NULL ? found : NULL;
}

/* The bound is at-most or at-least, of which the recipe's parser keeps one: a number, or {times, plus, of, metric, at}.
 */
struct sg_recipe_claim sg_recipe_claim(const struct sg_node *node) {
    struct sg_recipe_claim c = {
        .node = node,
        .value = {sg_node_string(node, "of", ""), sg_node_string(node, "metric", ""), present(node, "at")},
        .at_least = present(node, "at-least") != NULL};
    const struct sg_node *bound = present(node, c.at_least ? "at-least" : "at-most");
    if (!bound || bound->kind == SG_NODE_NUMBER) {
        c.constant_bound = true;
        c.plus = bound ? bound->number : NAN;
        return c;
    }
    c.other.of = sg_node_string(bound, "of", c.value.of);
    c.other.metric = sg_node_string(bound, "metric", c.value.metric);
    c.other.at = present(bound, "at") ? present(bound, "at") : c.value.at;
    c.times = sg_node_number(bound, "times", 1);
    c.plus = sg_node_number(bound, "plus", 0);
    return c;
}

double sg_recipe_claim_bound(const struct sg_recipe_claim *claim, double other) {
    return claim->constant_bound ? claim->plus : claim->times * other + claim->plus;
}

/* Adds {"metric","at","of"} of a term to `out`; null where there is none. */
static void set_term(cJSON *out, const struct sg_claim_term *t) {
    char metric[64];
    SG_SET(out, SG_TEXT("metric", t->metric ? sg_snake(metric, sizeof metric, t->metric) : NULL),
           SG_VALUE("at", t->at ? sg_node_json(t->at) : NULL), SG_TEXT("of", t->of));
}

/* The parts of the bound, from which a reader can compute it again with the value of the other side. */
static cJSON *bound_json(const struct sg_recipe_claim *c) {
    cJSON *out = cJSON_CreateObject();
    set_term(out, &c->other);
    return SG_SET(out, SG_NUMBER("times", c->constant_bound ? NAN : c->times), SG_NUMBER("plus", c->plus));
}

cJSON *sg_recipe_claim_json(const struct sg_recipe_claim *claim, const char *verdict, const char *reason) {
    cJSON *out = SG_OBJECT(SG_TEXT("text", sg_node_string(claim->node, "text", NULL)),
                           SG_BOOL("descriptive", sg_node_bool(claim->node, "descriptive", false)),
                           SG_TEXT("note", sg_node_string(claim->node, "note", NULL)), SG_TEXT("verdict", verdict));
    set_term(out, &claim->value);
    return SG_SET(out, SG_TEXT("sense", claim->at_least ? "at-least" : "at-most"), SG_VALUE("bound", bound_json(claim)),
                  SG_TEXT("reason", reason));
}
