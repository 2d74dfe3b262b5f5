/* recipe_method.c: reads the compression of a cell: names become rows of tables, expressions become numbers. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "recipe_private.h"
#include "sg_method.h"

enum { PART = SG_METHOD_NUMBERS / 3 }; /* most parameters of a compressor, of a controller, of a code */

struct reader {
    const struct sg_constant *constants;
    size_t n_constants;
    const struct sg_node **at;
    struct sg_error *err;
};

static sg_status read_value(double *out, const struct reader *r, const struct sg_node *node) {
    *out = NAN;
    if (!node || node->kind == SG_NODE_NULL)
        return SG_OK;
    *r->at = node;
    if (node->kind == SG_NODE_STRING && strcmp(node->string, SG_VALUE_TO_FIND) == 0)
        return sg_fail(r->err, SG_ERR_ARGUMENT, "'%s' stands for a value that sparsetune is to find: run it first",
                       SG_VALUE_TO_FIND);
    return sg_expression(out, node->string, r->constants, r->n_constants, r->err);
}

/* room [n] <- the parameters in the section at `key` of the method, or in the method itself where key is NULL. */
static sg_status read_parameters(double *room, const struct reader *r, const struct sg_node *method, const char *key,
                                 const struct sg_parameter *params, size_t n) {
    const struct sg_node *section = key ? sg_node_get(method, key) : method;
    if (n > PART)
        return sg_fail(r->err, SG_ERR_UNSUPPORTED, "more than %d parameters", PART);
    for (size_t i = 0; i < n; i++)
        if (read_value(&room[i], r, sg_node_get(section, params[i].name)) != SG_OK)
            return sg_prefix(r->err, "%s%s%s: ", key ? key : "", key ? "." : "", params[i].name);
    return SG_OK;
}

static sg_status unknown(const struct reader *r, const struct sg_node *at, const char *what, const char *name) {
    *r->at = at;
    return sg_fail(r->err, SG_ERR_ARGUMENT, "unknown %s '%s'", what, name);
}

static sg_status read_controller(struct sg_method_config *out, double *room, const struct reader *r,
                                 const struct sg_node *method) {
    const struct sg_node *section = sg_node_member(method, "controller");
    const char *name = sg_node_string(section, "kind", "");
    out->controller = NULL;
    if (!section)
        return SG_OK;
    if ((out->controller = sg_controller_find(name)) == NULL)
        return unknown(r, section, "controller", name);
    out->controller_param = room;
    return read_parameters(room, r, method, "controller", out->controller->params, out->controller->n_params);
}

/* Reads the code from the method's section values, or from `message`, whose codes have no parameters. */
static sg_status read_code(struct sg_method_config *out, double *room, const struct reader *r,
                           const struct sg_node *method, const struct sg_node *message) {
    const struct sg_node *section = sg_node_member(method, "values");
    const char *name = section ? sg_node_string(section, "code", "") : sg_node_string(message, "values", "fp32");
    if ((out->code = sg_code_find(name)) == NULL)
        return unknown(r, section ? section : message, "code", name);
    out->code_param = section ? room : NULL;
    return section ? read_parameters(room, r, method, "values", out->code->params, out->code->n_params) : SG_OK;
}

static sg_status read_feedback(struct sg_feedback *out, const struct reader *r, const struct sg_node *section) {
    const char *name = sg_node_string(section, "form", "update");
    out->rule = sg_feedback_find(name);
    if (!out->rule)
        return unknown(r, section, "error-feedback form", name);
    out->decay = sg_node_number(section, "decay", 1);
    for (size_t i = 0; i < out->rule->n_params; i++)
        out->param[i] = sg_node_number(section, out->rule->params[i].name, NAN);
    return SG_OK;
}

sg_status sg_read_method(struct sg_method_config *out, double room[SG_METHOD_NUMBERS], const struct sg_node *method,
                         const struct sg_node *feedback, const struct sg_node *message,
                         const struct sg_constant *constants, size_t n, const struct sg_node **at,
                         struct sg_error *err) {
    const struct reader r = {constants, n, at, err};
    const char *name = sg_node_string(method, "compressor", "");
    *at = method;
    out->compressor = sg_compressor_find(name);
    out->param = room;
    if (!out->compressor)
        return unknown(&r, method, "compressor", name);
    sg_status status = read_parameters(room, &r, method, NULL, out->compressor->params, out->compressor->n_params);
    out->copies = sg_node_member(method, "k-from") != NULL;
    if (out->copies && out->compressor->n_params > 0) /* k, which is in each step what the other run sent */
        room[0] = isnan(room[0]) ? 1 : room[0];
    SG_DO(status, read_controller(out, room + PART, &r, method));
    SG_DO(status, read_code(out, room + 2 * (size_t)PART, &r, method, message));
    return status == SG_OK ? read_feedback(&out->feedback, &r, feedback) : status;
}

sg_status sg_cell_method(struct sg_method_config *out, double room[SG_METHOD_NUMBERS], const struct sg_cell *cell,
                         const struct sg_constant *constants, size_t n, const struct sg_node **at,
                         struct sg_error *err) {
    return sg_read_method(out, room, cell->method, sg_node_get(&cell->resolved, "error-feedback"),
                          sg_node_get(&cell->resolved, "message"), constants, n, at, err);
}

const struct sg_node *sg_method_place(const struct sg_node *method, const char *message) {
    char key[64];
    snprintf(key, sizeof key, "%.*s", (int)strcspn(message, ":"), message);
    const struct sg_node *at = sg_node_get(method, key);
    return at ? at : method;
}
