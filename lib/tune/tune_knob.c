/* tune_knob.c: which number of a method a search may change. */
#include <math.h>

#include "tune_private.h"

enum { MOST_PARAMS = 64 };

static double first_number(const struct sg_node *node) {
    if (node != NULL && node->kind == SG_NODE_LIST)
        node = node->count > 0 ? &node->child[0] : NULL;
    return node != NULL && node->kind == SG_NODE_NUMBER ? node->number : NAN;
}

static bool is_given(const struct sg_node *method, const char *key) {
    const struct sg_node *node = sg_node_get(method, key);
    return node != NULL && node->kind != SG_NODE_NULL;
}

const struct sg_parameter *tune_knob(const struct sg_node *method) {
    const struct sg_compressor_ops *ops = sg_compressor_find(sg_node_string(method, "compressor", ""));
    double param[MOST_PARAMS], own[MOST_PARAMS];
    if (ops == NULL || ops->knob == NULL || ops->n_params > MOST_PARAMS || is_given(method, "controller") ||
        is_given(method, "budget"))
        return NULL;
    for (size_t i = 0; i < ops->n_params; i++) {
        const double given = first_number(sg_node_get(method, ops->params[i].name));
        param[i] = isnan(given) ? ops->params[i].preset : given;
    }
    const struct sg_parameter *knob = &ops->params[ops->knob(param)];
    if (ops->controller != NULL && ops->controller(param, own) != NULL)
        return NULL;
    return isnan(first_number(sg_node_get(method, knob->name))) ? NULL : knob;
}

const char *tune_knob_key(const struct sg_node *method) {
    const struct sg_parameter *knob = tune_knob(method);
    return knob != NULL ? knob->name : NULL;
}
