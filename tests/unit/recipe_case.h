/* recipe_case.h: a small right recipe, and what the recipe tests do with it. */
/* SPDX-License-Identifier: MIT */
#ifndef RECIPE_CASE_H
#define RECIPE_CASE_H

#include <stdlib.h>
#include <string.h>

#include "sg_recipe.h"
#include "sg_task.h"
#include "tap.h"

/* Recipes need the table of task kinds, not the tasks. */
const struct sg_task_ops sg_logreg_ops __attribute__((weak)) = {0};

#define HEAD                                                                                                           \
    "schema: 1\n"                                                                                                      \
    "name: small\n"                                                                                                    \
    "task: {kind: logreg, dataset: madelon}\n"                                                                         \
    "optimizer: {learning-rate: 1/(L+l2)}\n"                                                                           \
    "record: {series: [loss]}\n"
#define METHODS                                                                                                        \
    "methods:\n"                                                                                                       \
    "  - {name: SGD, compressor: none}\n"                                                                              \
    "  - {name: Top-k, compressor: topk, k: 10}\n"
#define STEPS "steps: 100\n"
/* HEAD is lines 1-5, STEPS 6, METHODS 7-9; what a test adds starts on line 10. */
#define SMALL HEAD STEPS METHODS

__attribute__((unused)) static sg_status parse_set(struct sg_recipe *recipe, const char *text, const char *const *set,
                                                   size_t n, struct sg_error *err) {
    *recipe = (struct sg_recipe){0};
    *err = (struct sg_error){0};
    return sg_recipe_parse(recipe, text, strlen(text), "r.yaml", set, n, err);
}

/* The whole message, line for line. */
__attribute__((unused)) static void refused_set(const char *text, const char *set, const char *message) {
    struct sg_recipe recipe;
    struct sg_error err;
    sg_status status = parse_set(&recipe, text, &set, set != NULL, &err);
    if (!ok(status != SG_OK && strcmp(err.msg, message) == 0, "%s", message))
        printf("# got: %s\n", status == SG_OK ? "accepted" : err.msg);
    if (status == SG_OK)
        sg_recipe_free(&recipe);
}

__attribute__((unused)) static void refused(const char *text, const char *message) {
    refused_set(text, NULL, message);
}

__attribute__((unused)) static void accepted(const char *text, const char *what) {
    struct sg_recipe recipe;
    struct sg_error err;
    sg_status status = parse_set(&recipe, text, NULL, 0, &err);
    if (!ok(status == SG_OK, "accepted: %s", what))
        printf("# got: %s\n", err.msg);
    sg_recipe_free(&recipe);
}

#endif
