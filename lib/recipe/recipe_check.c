/* recipe_check.c: checks the raw tree against the schema and makes the resolved tree. The check continues after a
 * problem, so that the user sees all of them. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "recipe_private.h"
#include "sg_text.h"

/* The owner whose keys a section has: its name, "" if there is none, or `unknown_variant` if the recipe names one that
 * does not exist. That is reported once, and must not make every other key look wrong. */
static const char unknown_variant[] = "?";

static void check_section(struct sg_check *c, const char *section, const char *outer, const struct sg_node *root,
                          const struct sg_node *raw, struct sg_node *out);

bool sg_row_applies(const struct sg_schema_row *row, const char *variant) {
    const char *owner = row->training ? "training" : row->owner;
    return !owner || strcmp(owner, variant) == 0;
}

bool sg_decides_keys(enum sg_value_type type) {
    return type >= SG_VALUE_KIND && type <= SG_VALUE_CODE;
}

bool sg_is_number_type(enum sg_value_type type) {
    return type == SG_VALUE_NUMBER || type == SG_VALUE_INTEGER || type == SG_VALUE_EXPRESSION;
}

static const char *find_variant(const struct sg_check *c, const char *section, const char *outer,
                                const struct sg_node *raw) {
    for (size_t i = 0; i < c->schema.count; i++) {
        const struct sg_schema_row *row = &c->schema.row[i];
        if (!sg_decides_keys(row->type) || !sg_row_in(row, section))
            continue;
        const struct sg_node *node = sg_node_member(raw, sg_row_key(row));
        const char *wanted = !node ? row->preset : node->kind == SG_NODE_STRING ? node->string : "";
        const char *name = sg_variant_name(row->type, wanted);
        return name ? name : unknown_variant;
    }
    return outer;
}

/* ---- unknown keys ---- */

/* Describes the section to which a key belongs that was found in `section`. */
static void describe_place(const struct sg_schema_row *row, const char *section, char out[120]) {
    const char *dot = strrchr(row->path, '.');
    int length = dot ? (int)(dot - row->path) : 0;
    for (size_t i = 0; row->owner && i < SG_OWNERS; i++)
        if (sg_row_in(row, sg_owners[i].section)) {
            snprintf(out, 120, "it is a key of %s '%s'", sg_owners[i].what, row->owner);
            return;
        }
    if (sg_row_in(row, section) && (row->training || (length == 0 && row->owner)))
        snprintf(out, 120, "it is a key of recipes of kind '%s'", row->training ? "training" : row->owner);
    else if (length > 0 && row->owner)
        snprintf(out, 120, "it is a key of '%.*s' of kind '%s'", length, row->path, row->owner);
    else if (length == 0)
        snprintf(out, 120, "it belongs at the top level");
    else if (row->path[length - 1] == ']')
        snprintf(out, 120, "it belongs in an entry of '%.*s'", length - 2, row->path);
    else
        snprintf(out, 120, "it belongs in '%.*s'", length, row->path);
}

static void note_unknown_key(struct sg_check *c, const char *section, const char *variant,
                             const struct sg_node *child) {
    const char *candidate[SG_MAP_KEYS];
    size_t n = 0;
    const struct sg_schema_row *elsewhere = NULL;
    for (size_t i = 0; i < c->schema.count; i++) {
        const struct sg_schema_row *row = &c->schema.row[i];
        const char *key = sg_row_key(row);
        if (sg_row_in(row, section) && sg_row_applies(row, variant) && n < SG_MAP_KEYS)
            candidate[n++] = key;
        /* a key of another compressor is a better hint than the same word in a distant section, and one of every recipe
         * better than one of a kind of task */
        if (strcmp(key, child->key) == 0 &&
            (!elsewhere || (sg_row_in(row, section) && !sg_row_in(elsewhere, section)) ||
             (!sg_row_in(elsewhere, section) && elsewhere->owner && !row->owner)))
            elsewhere = row;
    }
    char name[SG_EXCERPT], place[120], hint[SG_HINT];
    sg_excerpt(name, child->key);
    const bool near = sg_hint(hint, child->key, candidate, n);
    if (elsewhere) {
        describe_place(elsewhere, section, place);
        SG_PROBLEM_KEY(c, child, "key '%s' does not belong here (%s)", name, place);
    } else if (near) {
        SG_PROBLEM_KEY(c, child, "unknown key '%s' (%s)", name, hint);
    } else {
        SG_PROBLEM_KEY(c, child, "unknown key '%s' (--help-recipe lists all keys)", name);
    }
}

static void check_unknown_keys(struct sg_check *c, const char *section, const char *variant,
                               const struct sg_node *raw) {
    for (size_t i = 0; i < raw->count; i++) {
        const struct sg_node *child = &raw->child[i];
        bool known = false;
        for (size_t j = 0; j < c->schema.count && !known; j++) {
            const struct sg_schema_row *row = &c->schema.row[j];
            known = (sg_row_applies(row, variant) || variant == unknown_variant) &&
                    strcmp(sg_row_key(row), child->key) == 0 && sg_row_in(row, section);
        }
        if (!known && c->problems->count < SG_PROBLEMS)
            note_unknown_key(c, section, variant, child);
        else if (!known)
            c->problems->count++;
    }
}

/* ---- values and sections ---- */

/* Replaces a value, a scalar or a list, by {shorthand: value}. */
static void expand_shorthand(const struct sg_schema_row *row, const struct sg_node *raw, struct sg_node *map) {
    *map = (struct sg_node){.kind = SG_NODE_MAP, .line = raw->line, .column = raw->column};
    struct sg_node scalar;
    sg_node_copy(&scalar, raw);
    sg_node_set_key(&scalar, row->shorthand);
    scalar.key_line = raw->line;
    scalar.key_column = raw->column;
    sg_node_push(map, &scalar);
}

static void check_map(struct sg_check *c, const struct sg_schema_row *row, const char *variant,
                      const struct sg_node *root, const struct sg_node *raw, struct sg_node *out) {
    char section[64];
    struct sg_node map;
    sg_row_section(row, section);
    if (row->or_number && raw->kind == SG_NODE_NUMBER) {
        sg_node_copy(out, raw);
    } else if (raw->kind == SG_NODE_MAP) {
        check_section(c, section, variant, root, raw, out);
    } else if (raw->kind == SG_NODE_NULL || !row->shorthand) {
        sg_note_wrong(c, row, raw, row->or_number ? "a number or a section of keys" : "a section of keys");
    } else {
        expand_shorthand(row, raw, &map);
        check_section(c, section, variant, root, &map, out);
        sg_node_clear(&map);
    }
}

/* Adds the problem that a key cannot be a list, and the reason. */
static void refuse_list(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *raw) {
    const char *why = "because it is the same for all cells of a recipe";
    if (sg_decides_keys(row->type))
        why = "because it decides which keys stand beside it (write a method or a recipe for each)";
    else if (strncmp(row->path, "task.", 5) == 0)
        why = "because all cells of a recipe have the same data (write a recipe for each)";
    else if (strncmp(row->path, "network.", 8) == 0 || row->type == SG_VALUE_EXCHANGE)
        why = "because no run depends on it (call sparsebench again with --network, which reuses the cells)";
    else if (strncmp(row->path, "record.", 7) == 0)
        why = "because all cells record the same";
    SG_PROBLEM(c, raw, "%s cannot be a list, %s", sg_row_key(row), why);
}

static void check_value(struct sg_check *c, const struct sg_schema_row *row, const char *variant,
                        const struct sg_node *root, const struct sg_node *raw, struct sg_node *out) {
    if (row->type == SG_VALUE_MAP) {
        check_map(c, row, variant, root, raw, out);
        return;
    }
    if (raw->kind == SG_NODE_LIST && !row->grid && row->most == 0) {
        refuse_list(c, row, raw);
        return;
    }
    const bool names = sg_decides_keys(row->type) && raw->kind == SG_NODE_STRING;
    const char *name = names ? sg_variant_name(row->type, raw->string) : NULL;
    sg_node_copy(out, raw);
    /* Another spelling of a name is replaced by the name, so that cells and results have one spelling. */
    if (name && strcmp(name, raw->string) != 0) {
        free(out->string);
        sg_node_set_string(out, name, strlen(name));
    }
    if (row->grid && sg_is_number_type(row->type) && sg_is_draw(raw))
        sg_check_draw(c, row, raw, out);
    else
        sg_check_scalar(c, row, raw, out);
}

/* A number or a word instead of a list is read as a list of one entry. */
static void check_lone(struct sg_check *c, const struct sg_schema_row *row, const char *variant,
                       const struct sg_node *root, const struct sg_node *raw, struct sg_node *out) {
    struct sg_node entry = {0};
    check_value(c, row, variant, root, raw, &entry);
    free(entry.key);
    entry.key = NULL;
    sg_node_push(out, &entry);
}

static void check_list(struct sg_check *c, const struct sg_schema_row *row, size_t least, size_t most,
                       const char *variant, const struct sg_node *root, const struct sg_node *raw,
                       struct sg_node *out) {
    *out = (struct sg_node){.kind = SG_NODE_LIST, .line = raw->line, .column = raw->column};
    const bool word = raw->kind == SG_NODE_STRING && !strchr(raw->string, ',');
    const bool scalars = row->type != SG_VALUE_MAP || (row->or_number && !word);
    const bool lone = least <= 1 && scalars && (raw->kind == SG_NODE_NUMBER || word);
    if (lone)
        check_lone(c, row, variant, root, raw, out);
    else if (raw->kind != SG_NODE_LIST)
        sg_note_wrong(c, row, raw, "a list");
    else if (raw->count < least || raw->count > most)
        SG_PROBLEM(c, raw, "%s must have %zu to %zu entries, got %zu", sg_row_key(row), least, most, raw->count);
    else
        for (size_t i = 0; i < raw->count; i++) {
            struct sg_node entry = {0};
            check_value(c, row, variant, root, &raw->child[i], &entry);
            sg_node_push(out, &entry);
        }
}

/* Checks a list of values, of which each cell has one. */
static void check_choices(struct sg_check *c, const struct sg_schema_row *row, const char *variant,
                          const struct sg_node *root, const struct sg_node *raw, struct sg_node *out) {
    const size_t before = c->problems->count;
    check_list(c, row, 1, SG_GRID_ENTRIES, variant, root, raw, out);
    for (size_t i = 0; i < out->count; i++)
        if (out->child[i].choices)
            SG_PROBLEM(c, &out->child[i], "%s: a range cannot be an entry of a list (write a method for each)",
                       sg_row_key(row));
    out->choices = c->problems->count == before;
}

/* Seeds that are not written as a list become one: {first: 1, count: 3}, "1..3" and "1,2,3". */
static void check_seeds(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *root,
                        const struct sg_node *raw, struct sg_node *out) {
    struct sg_node range = {0}, list = {0};
    const size_t before = c->problems->count;
    if (raw->kind == SG_NODE_MAP)
        check_section(c, "seeds", "", root, raw, &range);
    if (c->problems->count == before)
        sg_list_seeds(c, row, raw->kind == SG_NODE_MAP ? &range : raw, &list);
    if (c->problems->count == before)
        check_list(c, row, row->least, row->most, "", root, &list, out);
    sg_node_clear(&range);
    sg_node_clear(&list);
}

static void check_given(struct sg_check *c, const struct sg_schema_row *row, const char *variant,
                        const struct sg_node *root, const struct sg_node *raw, struct sg_node *out) {
    size_t before = c->problems->count;
    if (strcmp(row->path, "seeds") == 0 && (raw->kind == SG_NODE_MAP || raw->kind == SG_NODE_STRING))
        check_seeds(c, row, root, raw, out);
    else if (row->most > 0)
        check_list(c, row, row->least, row->most, variant, root, raw, out);
    else if (row->grid && raw->kind == SG_NODE_LIST)
        check_choices(c, row, variant, root, raw, out);
    else
        check_value(c, row, variant, root, raw, out);
    if (c->problems->count > before)
        return;
    if (strcmp(row->path, "methods") == 0)
        sg_check_methods(c, root, out);
    else if (strcmp(row->path, "claims") == 0)
        sg_expand_claims(c, out);
    else if (strcmp(row->path, "plots[].methods") == 0 && out->kind == SG_NODE_LIST)
        sg_expand_plot_methods(c, out);
}

static void check_row(struct sg_check *c, const struct sg_schema_row *row, const char *variant,
                      const struct sg_node *root, const struct sg_node *map, struct sg_node *out) {
    const struct sg_node *raw = sg_node_member(map, sg_row_key(row));
    if (raw) {
        const bool judged = strcmp(row->path, "claims") == 0 || strcmp(row->path, "plots") == 0;
        struct sg_problems *problems = c->problems;
        c->problems = judged && raw->line > 0 ? c->claim_problems : problems;
        check_given(c, row, variant, root, raw, out);
        c->problems = problems;
        return;
    }
    if (row->required)
        SG_PROBLEM(c, map, "missing key '%s' (%s)", sg_row_key(row), row->help);
    if (row->required || row->preset[0] == '\0')
        return; /* null */
    struct sg_node preset = {0};
    sg_yaml_parse(&preset, row->preset, strlen(row->preset), SG_ORIGIN_PRESET, c->problems);
    check_given(c, row, variant, root, &preset, out);
    sg_node_clear(&preset);
}

/* `root` is the top level as far as it is complete; at the top it is `out` itself. */
static void check_section(struct sg_check *c, const char *section, const char *outer, const struct sg_node *root,
                          const struct sg_node *raw, struct sg_node *out) {
    *out = (struct sg_node){.kind = SG_NODE_MAP, .line = raw->line, .column = raw->column};
    size_t before = c->problems->count;
    const char *variant = find_variant(c, section, outer, raw);
    check_unknown_keys(c, section, variant, raw);
    for (size_t i = 0; i < c->schema.count; i++) {
        const struct sg_schema_row *row = &c->schema.row[i];
        if (!sg_row_in(row, section) || !sg_row_applies(row, variant))
            continue;
        struct sg_node value = {0};
        check_row(c, row, variant, root, raw, &value);
        sg_node_set_key(&value, sg_row_key(row));
        const struct sg_node *given = sg_node_member(raw, sg_row_key(row));
        if (!given && row->when_given) {
            sg_node_clear(&value);
            continue;
        }
        value.key_line = given ? given->key_line : 0;
        value.key_column = given ? given->key_column : 0;
        sg_node_push(out, &value);
    }
    if (c->problems->count == before)
        sg_check_rules(c, section, root, out);
}

void sg_check_root(struct sg_check *c, const struct sg_node *raw, struct sg_node *out) {
    if (raw->kind != SG_NODE_MAP) {
        char value[80];
        sg_problem_at(c->problems, raw->line > 0 ? raw->line : 1, raw->column > 0 ? raw->column : 1,
                      "a recipe is a section of keys, got %s", sg_describe_value(raw, value));
        return;
    }
    const struct sg_node *schema = sg_node_member(raw, "schema");
    if (schema && schema->kind == SG_NODE_NUMBER && schema->number > 1) {
        SG_PROBLEM(c, schema, "schema %s is newer than this program reads (1): use a newer sparsegrad", schema->string);
        return; /* nothing else can be judged */
    }
    if (raw->count > 0 && strcmp(raw->child[0].key, "schema") != 0)
        SG_PROBLEM_KEY(c, &raw->child[0], "the first key must be 'schema: 1'");
    c->root = out;
    check_section(c, "", "", out, raw, out);
}
