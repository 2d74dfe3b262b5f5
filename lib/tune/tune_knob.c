/* tune_knob.c: which number of a method a search may change. */
#include <math.h>
#include <string.h>

#include "tune_private.h"

enum { MOST_PARAMS = 64 };

/* The start of a search without a given number: 0.01 for shares, 4 for whole numbers. NAN = another kind of number,
 * whose scale depends on the gradients. */
static double usual_start(const struct sg_parameter *parameter) {
    if (!parameter->integer)
        return parameter->max <= 1 ? 0.01 : NAN;
    return fmin(fmax(parameter->min, 4), parameter->max);
}

double tune_start(const struct sg_node *method, const struct sg_parameter *parameter) {
    const struct sg_node *node = sg_node_get(method, parameter->name);
    if (node != NULL && node->kind == SG_NODE_LIST)
        node = node->count > 0 ? &node->child[0] : NULL;
    if (node != NULL && node->kind == SG_NODE_STRING && strcmp(node->string, SG_VALUE_TO_FIND) == 0)
        return usual_start(parameter);
    return node != NULL && node->kind == SG_NODE_NUMBER ? node->number : NAN;
}

static bool is_given(const struct sg_node *method, const char *key) {
    const struct sg_node *node = sg_node_get(method, key);
    return node != NULL && node->kind != SG_NODE_NULL;
}

/* The knob that a method gives a value, which may be a word or an expression. */
static const struct sg_parameter *given_knob(const struct sg_node *method) {
    const struct sg_compressor_ops *ops = sg_compressor_find(sg_node_string(method, "compressor", ""));
    double param[MOST_PARAMS], own[MOST_PARAMS];
    if (ops == NULL || ops->knob == NULL || ops->n_params > MOST_PARAMS || is_given(method, "controller") ||
        is_given(method, "budget"))
        return NULL;
    for (size_t i = 0; i < ops->n_params; i++) {
        const double given = tune_start(method, &ops->params[i]);
        param[i] = !isnan(given) ? given : is_given(method, ops->params[i].name) ? 1 : ops->params[i].preset;
    }
    const struct sg_parameter *knob = &ops->params[ops->knob(param)];
    if (ops->controller != NULL && ops->controller(param, own) != NULL)
        return NULL;
    return is_given(method, knob->name) ? knob : NULL;
}

const struct sg_parameter *tune_knob(const struct sg_node *method) {
    const struct sg_parameter *knob = given_knob(method);
    return knob != NULL && !isnan(tune_start(method, knob)) ? knob : NULL;
}

const struct sg_parameter *tune_wordy_knob(const struct sg_node *method) {
    const struct sg_parameter *knob = given_knob(method);
    return knob != NULL && isnan(tune_start(method, knob)) && sg_node_get(method, knob->name)->kind == SG_NODE_STRING
               ? knob
               : NULL;
}

const char *tune_knob_key(const struct sg_node *method) {
    const struct sg_parameter *knob = tune_knob(method);
    return knob != NULL ? knob->name : NULL;
}
