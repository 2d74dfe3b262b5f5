/* recipe.c: reads a recipe from its text, and frees it. */
/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <unistd.h>

#include "recipe_private.h"
#include "sg_file.h"
#include "sg_json.h"
#include "sg_memory.h"
#include "sg_text.h"

/* Raw tree with every --set applied. */
static void read_raw(struct sg_node *raw, const char *text, size_t length, struct sg_problems *p, size_t n_set) {
    sg_yaml_parse(raw, text, length, SG_ORIGIN_FILE, p);
    for (size_t i = 0; i < n_set && p->count == 0 && raw->kind == SG_NODE_MAP; i++)
        sg_recipe_set(raw, p->set[i], (int)i + 1, p);
}

/* Fills root and runs of the recipe. */
static void check_raw(struct sg_recipe *recipe, const struct sg_node *raw, struct sg_problems *p,
                      struct sg_problems *claim_problems) {
    struct sg_check check = {.problems = p, .claim_problems = claim_problems, .swept = {.kind = SG_NODE_MAP}};
    sg_schema_open(&check.schema);
    sg_check_root(&check, raw, &recipe->root);
    recipe->run = check.run;
    recipe->n_runs = check.n_runs;
    sg_node_clear(&check.swept);
    sg_schema_close(&check.schema);
}

/* Moves to `problems` what is wrong with the file's claims and plots without any --set as well. What is left in
 * `claim_problems` is the work of a --set. */
static void move_own(struct sg_problems *problems, struct sg_problems *claim_problems, const char *text,
                     size_t length) {
    if (claim_problems->count == 0)
        return;
    struct sg_problems others = {.path = problems->path}, own = others;
    struct sg_node raw = {0};
    struct sg_recipe unset = {0};
    read_raw(&raw, text, length, &others, 0);
    check_raw(&unset, &raw, &others, &own);
    sg_problems_move(problems, claim_problems, &own);
    sg_node_clear(&raw);
    sg_recipe_free(&unset);
}

/* Keeps the errors in the file's claims and plots as text, for programs that judge claims. */
static void keep_claim_problems(struct sg_recipe *recipe, const struct sg_problems *claim_problems) {
    struct sg_error text;
    if (claim_problems->count == 0)
        return;
    sg_problems_report(claim_problems, SG_ERR_ARGUMENT, &text);
    const bool plots = sg_node_get(&recipe->root, "plots") != NULL; /* recipes of kernels have none */
    recipe->claim_problems =
        sg_format("%s: its claims%s do not fit what --set made of it (leave them out with --set claims=[]"
                  "%s, or change them too)\n%s",
                  recipe->path, plots ? " and plots" : "", plots ? " --set plots=[]" : "", text.msg);
}

static void keep_set(struct sg_recipe *recipe, const char *const *set, size_t n_set) {
    recipe->set = sg_calloc(n_set + 1, sizeof *recipe->set);
    for (; recipe->n_set < n_set; recipe->n_set++)
        recipe->set[recipe->n_set] = sg_strdup(set[recipe->n_set]);
    recipe->n_recorded = recipe->n_set;
}

size_t sg_recipe_heading(const char *text) {
    static const char begin[] = "# yaml-language-server:";
    const size_t length = strcspn(text, "\n");
    return strncmp(text, begin, sizeof begin - 1) == 0 && text[length] == '\n' ? length + 1 : 0;
}

/* Where a recipe comes from. */
struct source {
    const char *text, *name;
    size_t length;
    const char *const *set;
    size_t n_set;
    const struct sg_node *changes; /* NULL = none */
};

/* *raw <- the tree before it is completed; the caller clears it, also after an error. */
static sg_status parse(struct sg_recipe *out, struct sg_node *raw, const struct source *from, struct sg_error *err) {
    struct sg_problems problems = {.path = from->name, .set = from->set}, claim_problems = problems;
    read_raw(raw, from->text, from->length, &problems, from->n_set);
    for (size_t i = 0; problems.count == 0 && from->changes && i < from->changes->count; i++)
        sg_recipe_change(raw, &from->changes->child[i], &problems);
    if (problems.count > 0)
        return sg_problems_report(&problems, SG_ERR_FORMAT, err);
    struct sg_recipe recipe = {.path = sg_strdup(from->name), .text = sg_strndup(from->text, from->length)};
    check_raw(&recipe, raw, &problems, from->n_set > 0 ? &claim_problems : &problems);
    move_own(&problems, &claim_problems, from->text, from->length);
    keep_claim_problems(&recipe, &claim_problems);
    keep_set(&recipe, from->set, from->n_set);
    if (problems.count > 0) {
        sg_recipe_free(&recipe);
        return sg_problems_report(&problems, SG_ERR_ARGUMENT, err);
    }
    const size_t heading = sg_recipe_heading(recipe.text);
    sg_sha256_of(from->text + heading, from->length - heading, recipe.sha256);
    *out = recipe;
    return SG_OK;
}

sg_status sg_recipe_parse(struct sg_recipe *out, const char *text, size_t length, const char *name,
                          const char *const *set, size_t n_set, struct sg_error *err) {
    const struct source from = {.text = text, .length = length, .name = name, .set = set, .n_set = n_set};
    struct sg_node raw = {0};
    if (length > SG_RECIPE_BYTES)
        return sg_fail(err, SG_ERR_FORMAT, "%s: a recipe of %zu bytes is longer than %d", name, length,
                       SG_RECIPE_BYTES);
    size_t blanks = 0;
    while (blanks < length && memchr(" \t\r\n", text[blanks], 4))
        blanks++;
    if (blanks == length)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s: empty, where a recipe is expected", name);
    const sg_status status = parse(out, &raw, &from, err);
    sg_node_clear(&raw);
    return status;
}

sg_status sg_recipe_with(struct sg_recipe *out, struct sg_node *written, const struct sg_recipe *from,
                         const struct sg_node *changes, struct sg_error *err) {
    const struct source source = {.text = from->text,
                                  .length = strlen(from->text),
                                  .name = from->path,
                                  .set = (const char *const *)from->set,
                                  .n_set = from->n_set,
                                  .changes = changes};
    const sg_status status = parse(out, written, &source, err);
    if (status != SG_OK)
        sg_node_clear(written);
    return status;
}

/* The recipe of the Makefile's target of this name, as recipes/mini/fig2a.yaml is mini-fig2a's, or NULL. */
static char *recipe_of_target(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const bool mini = strncmp(name, "mini-", 5) == 0;
    const size_t length = strlen(name) - (sg_ends_in(name, ".yaml") ? 5 : 0);
    char *out = mini ? sg_format("recipes/mini/%.*s.yaml", (int)length - 5, name + 5)
                     : sg_format("recipes/%.*s.yaml", (int)length, name);
    if (out && !sg_file_is_regular(out)) {
        free(out);
        out = NULL;
    }
    return out;
}

/* The first of the files that a path names, or of a pattern with {step} or {worker} the folder of its files. */
static char *first_file(const char *folder, const char *path) {
    const char *pattern = strchr(path, '{');
    size_t length = pattern ? (size_t)(pattern - path) : strlen(path);
    while (pattern && length > 0 && path[length - 1] != '/')
        length--;
    return length > 0 ? sg_format("%s%.*s", folder, (int)length, path) : NULL;
}

static bool is_there(const char *folder, const char *path) {
    char *file = first_file(folder, path);
    const bool there = file && access(file, F_OK) == 0;
    free(file);
    return there;
}

/* Paths begin at the folder where the program runs. Many write them as the recipe's folder sees them. */
static sg_status check_paths(const struct sg_recipe *recipe, struct sg_error *err) {
    static const char *const key[] = {"task.dataset", "task.files", "task.layers-file", "network.processor"};
    const char *slash = strrchr(recipe->path, '/');
    char *folder = slash ? sg_strndup(recipe->path, (size_t)(slash + 1 - recipe->path)) : NULL;
    sg_status status = SG_OK;
    for (size_t i = 0; folder && i < sizeof key / sizeof *key && status == SG_OK; i++) {
        const struct sg_node *node = sg_node_get(&recipe->root, key[i]);
        const char *path = node && node->kind == SG_NODE_STRING ? node->string : NULL;
        const bool is_name = i == 0 && path && !strchr(path, '/');
        char *place = node && node->line > 0 ? sg_format("%s:%d:%d", recipe->path, node->line, node->column) : NULL;
        if (path && !is_name && path[0] != '/' && !is_there("", path) && is_there(folder, path))
            status = sg_fail(err, SG_ERR_ARGUMENT,
                             "%s: %s is not here, but beside the recipe: paths begin at the folder where the program "
                             "runs (write %s%s)",
                             place ? place : "--set", path, folder, path + (strncmp(path, "./", 2) == 0 ? 2 : 0));
        free(place);
    }
    free(folder);
    return status;
}

sg_status sg_recipe_read(struct sg_recipe *out, const char *path, const char *const *set, size_t n_set,
                         struct sg_error *err) {
    char *text;
    size_t length;
    sg_status status = sg_file_read(&text, &length, path, SG_RECIPE_BYTES, err);
    char *const target = status == SG_ERR_MISSING ? recipe_of_target(path) : NULL;
    if (target)
        sg_fail(err, status, "%s is not there (did you mean %s?)", path, target);
    free(target);
    if (status != SG_OK)
        return status;
    bool is_stdin = strcmp(path, "-") == 0;
    status = sg_recipe_parse(out, text, length, is_stdin ? "<stdin>" : path, set, n_set, err);
    free(text);
    if (status == SG_OK && (status = check_paths(out, err)) != SG_OK)
        sg_recipe_free(out);
    return status;
}

void sg_recipe_free(struct sg_recipe *recipe) {
    free(recipe->path);
    free(recipe->text);
    free(recipe->claim_problems);
    for (size_t i = 0; i < recipe->n_set; i++)
        free(recipe->set[i]);
    free(recipe->set);
    sg_runs_free(recipe->run, recipe->n_runs);
    sg_node_clear(&recipe->root);
    *recipe = (struct sg_recipe){0};
}

cJSON *sg_recipe_set_json(const struct sg_recipe *recipe) {
    cJSON *out = cJSON_CreateArray();
    for (size_t i = 0; i < recipe->n_recorded; i++)
        sg_json_push_string(out, recipe->set[i]);
    return out;
}

cJSON *sg_recipe_json(const struct sg_recipe *recipe) {
    cJSON *out = cJSON_CreateObject();
    sg_json_set_string(out, "path", recipe->path);
    sg_json_set_string(out, "sha256", recipe->sha256);
    sg_json_set(out, "set", sg_recipe_set_json(recipe));
    sg_json_set_string(out, "name", sg_node_string(&recipe->root, "name", NULL));
    sg_json_set_string(out, "title", sg_node_string(&recipe->root, "title", NULL));
    sg_json_set(out, "resolved", sg_node_json(&recipe->root));
    return out;
}

char *sg_node_place(char *out, size_t size, const struct sg_recipe *recipe, const struct sg_node *node) {
    if (node && node->line > 0)
        snprintf(out, size, "%s:%d:%d: ", recipe->path, node->line, node->column);
    else if (node && node->column > 0 && (size_t)node->column <= recipe->n_set)
        snprintf(out, size, "--set %s: ", recipe->set[node->column - 1]);
    else
        snprintf(out, size, "%s: ", recipe->path);
    return out;
}
