/* recipe_json_schema.c: prints the schema rows as a JSON Schema (draft-07), by which editors complete and check
 * recipes.
 *
 * A section becomes a definition. One of its keys (`kind`, `compressor` …) may decide which others it has; each value
 * of that key is an if and a then. The JSON Schema accepts whatever the programs accept. Names of methods, expressions
 * and rules between keys are left to them. */
/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <string.h>

#include "recipe_private.h"
#include "sg_json.h"
#include "sg_memory.h"

enum { COLUMNS = 120, INDENT = 2, NAME = 128 };

struct writer {
    struct sg_schema schema;
    cJSON *definitions;
};

static cJSON *list_of(cJSON *first) {
    cJSON *list = cJSON_CreateArray();
    sg_json_push(list, first);
    return list;
}

/* ---- values ---- */

/* A number in the row's range, whose ends are left out where they are infinite or only the bound of doubles. */
static cJSON *number_form(const struct sg_schema_row *row, bool whole) {
    const double most = 9007199254740992.0;
    cJSON *form = SG_OBJECT(SG_TEXT("type", whole ? "integer" : "number"));
    if (row->min > -DBL_MAX)
        sg_json_set_number(form, row->above ? "exclusiveMinimum" : "minimum", row->min);
    if (row->max < most)
        sg_json_set_number(form, "maximum", row->max);
    return form;
}

static cJSON *pattern_form(const char *pattern) {
    return SG_OBJECT(SG_TEXT("type", "string"), SG_TEXT("pattern", pattern));
}

static cJSON *text_form(const struct sg_schema_row *row) {
    cJSON *form = row->type == SG_VALUE_NAME ? pattern_form("^[a-z0-9]+(-[a-z0-9]+)*$")
                                             : SG_OBJECT(SG_TEXT("type", "string"), SG_NUMBER("minLength", 1));
    if (row->max > 0)
        sg_json_set_number(form, "maxLength", row->max);
    return form;
}

static cJSON *words_form(const char *choices) {
    char *copy = sg_strdup(choices), *rest = copy;
    cJSON *words = cJSON_CreateArray();
    for (char *word; (word = strsep(&rest, "|")) != NULL;)
        sg_json_push_string(words, word);
    free(copy);
    return SG_OBJECT(SG_VALUE("enum", words));
}

/* Appends a variant's name, and the other spelling that a compressor may have. */
static void push_spellings(cJSON *words, enum sg_value_type type, const char *name) {
    const char *also = type == SG_VALUE_COMPRESSOR ? sg_compressor_find(name)->also : NULL;
    sg_json_push_string(words, name);
    if (also)
        sg_json_push_string(words, also);
}

static cJSON *names_form(enum sg_value_type type) {
    const char *name;
    cJSON *words = cJSON_CreateArray();
    for (size_t i = 0; (name = sg_variant_at(type, i).name) != NULL; i++)
        push_spellings(words, type, name);
    return SG_OBJECT(SG_VALUE("enum", words));
}

/* Appends what a single value of the row can be. `owner` is the variant of the section, or of the one around it. */
static void push_forms(cJSON *forms, const struct sg_schema_row *row, const char *owner) {
    const bool kernels = strcmp(owner, "kernels") == 0;
    switch (row->type) {
    case SG_VALUE_TEXT:
    case SG_VALUE_NAME:
        sg_json_push(forms, text_form(row));
        return;
    case SG_VALUE_METHOD:
        sg_json_push(forms, kernels ? words_form(SG_BENCH_OPERATIONS) : text_form(row));
        return;
    case SG_VALUE_SERIES: {
        cJSON *names = kernels ? NULL : sg_series_names(row);
        sg_json_push(forms, kernels ? words_form("time")
                            : names ? SG_OBJECT(SG_VALUE("enum", names))
                                    : pattern_form("^[A-Za-z0-9-]+$"));
        return;
    }
    case SG_VALUE_CHOICE:
        sg_json_push(forms, words_form(row->choices));
        if (row->or_number)
            sg_json_push(forms, number_form(row, true));
        return;
    case SG_VALUE_NUMBER:
    case SG_VALUE_INTEGER:
        sg_json_push(forms, number_form(row, row->type == SG_VALUE_INTEGER));
        return;
    case SG_VALUE_SIZE:
        sg_json_push(forms, SG_OBJECT(SG_TEXT("type", "number"), SG_NUMBER("minimum", 1)));
        sg_json_push(forms, pattern_form("^[0-9].*[bB]$"));
        return;
    case SG_VALUE_BOOLEAN:
        sg_json_push(forms, SG_OBJECT(SG_TEXT("type", "boolean")));
        return;
    case SG_VALUE_EXPRESSION: /* also a range, "log 1e-3..1" */
        sg_json_push(forms, number_form(row, row->whole));
        sg_json_push(forms, pattern_form("^[-+*/().0-9A-Za-z_ \\t]+$"));
        return;
    case SG_VALUE_MAP:
        return;
    default:
        sg_json_push(forms, names_form(row->type));
    }
}

/* ---- sections ---- */

static bool in_section(const struct writer *w, size_t i, const char *section) {
    return sg_row_in(&w->schema.row[i], section);
}

/* The row that decides which other keys the section has; NULL = there is none. */
static const struct sg_schema_row *decider_of(const struct writer *w, const char *section) {
    for (size_t i = 0; i < w->schema.count; i++)
        if (in_section(w, i, section) && sg_decides_keys(w->schema.row[i].type))
            return &w->schema.row[i];
    return NULL;
}

/* True if the keys of the section depend on a variant that a section around it names. */
static bool depends(const struct writer *w, const char *section);

static bool row_depends(const struct writer *w, const struct sg_schema_row *row) {
    char section[64];
    sg_row_section(row, section);
    return row->owner || row->training || (row->type == SG_VALUE_MAP && depends(w, section));
}

static bool depends(const struct writer *w, const char *section) {
    const bool decided = decider_of(w, section);
    bool found = false;
    for (size_t i = 0; i < w->schema.count && !decided; i++)
        found = found || (in_section(w, i, section) && row_depends(w, &w->schema.row[i]));
    return found;
}

static cJSON *section_schema(struct writer *w, const char *section, const char *owner);

/* The name of a definition: the section's path without brackets, and a word. */
static const char *definition(char out[NAME], const char *section, const char *word) {
    char *to = out;
    for (const char *c = section; *c != '\0'; c++)
        if (!strchr("[]", *c))
            *to++ = *c;
    snprintf(to, NAME - 64, "%s%s", *section != '\0' && *word != '\0' ? "." : "", word);
    return out;
}

static cJSON *reference(const char *name) {
    char *text = sg_format("#/definitions/%s", name);
    cJSON *out = SG_OBJECT(SG_TEXT("$ref", text));
    free(text);
    return out;
}

/* Refers to the section's definition, which is made at the first reference to it. The word in its name is the variant
 * on which its keys depend. */
static cJSON *section_form(struct writer *w, const char *section, const char *owner) {
    char name[NAME];
    definition(name, section, depends(w, section) ? owner : "");
    if (!cJSON_GetObjectItemCaseSensitive(w->definitions, name)) {
        sg_json_set(w->definitions, name, cJSON_CreateObject()); /* so that no section makes itself again */
        cJSON_ReplaceItemInObjectCaseSensitive(w->definitions, name, section_schema(w, section, owner));
    }
    return reference(name);
}

static cJSON *any_of(cJSON *forms) {
    if (cJSON_GetArraySize(forms) != 1)
        return SG_OBJECT(SG_VALUE("anyOf", forms));
    cJSON *only = cJSON_DetachItemFromArray(forms, 0);
    cJSON_Delete(forms);
    return only;
}

static cJSON *array_form(cJSON *items, double least, double most) {
    return SG_OBJECT(SG_TEXT("type", "array"), SG_VALUE("items", items), SG_NUMBER("minItems", least),
                     SG_NUMBER("maxItems", most));
}

static void push_value(struct writer *w, cJSON *forms, const struct sg_schema_row *row, const char *owner);

/* Appends what stands for a section: its keys, a number, and what its shorthand can be. */
static void push_section(struct writer *w, cJSON *forms, const struct sg_schema_row *row, const char *owner) {
    char section[64];
    sg_row_section(row, section);
    for (size_t i = 0; row->shorthand && i < w->schema.count; i++)
        if (in_section(w, i, section) && strcmp(sg_row_key(&w->schema.row[i]), row->shorthand) == 0)
            push_value(w, forms, &w->schema.row[i], owner);
    if (row->or_number)
        sg_json_push(forms, SG_OBJECT(SG_TEXT("type", "number")));
    sg_json_push(forms, section_form(w, section, owner));
}

/* Appends all forms that the value of a key can have. */
static void push_value(struct writer *w, cJSON *forms, const struct sg_schema_row *row, const char *owner) {
    const bool map = row->type == SG_VALUE_MAP, lone = row->most == 0 || (row->least <= 1 && !map);
    cJSON *single = cJSON_CreateArray(), *form;
    if (map)
        push_section(w, single, row, owner);
    else
        push_forms(single, row, owner);
    for (form = lone ? single->child : NULL; form; form = form->next)
        sg_json_push(forms, cJSON_Duplicate(form, true));
    if (strcmp(row->path, "seeds") == 0) {
        sg_json_push(forms, pattern_form("^[0-9., ]+$"));
        sg_json_push(forms, section_form(w, "seeds", owner));
    }
    if (row->most > 0)
        sg_json_push(forms, array_form(any_of(single), row->least, row->most));
    else if (row->grid)
        sg_json_push(forms, array_form(any_of(single), 1, SG_GRID_ENTRIES));
    else
        cJSON_Delete(single);
    if (row->grid && (row->type == SG_VALUE_NUMBER || row->type == SG_VALUE_INTEGER) && sg_may_be_drawn(row->path))
        sg_json_push(forms, pattern_form("^(log|linear) .*\\.\\."));
}

/* Lets the value be null too, which means that the key is absent. Definitions of sections allow it themselves. */
static void allow_null(cJSON *forms) {
    cJSON *first = forms->child, *type = cJSON_GetObjectItemCaseSensitive(first, "type"),
          *words = cJSON_GetObjectItemCaseSensitive(first, "enum");
    if (cJSON_GetObjectItemCaseSensitive(first, "$ref"))
        return;
    if (words) {
        sg_json_push(words, cJSON_CreateNull());
    } else if (type) {
        cJSON *both = list_of(cJSON_CreateString(type->valuestring));
        sg_json_push_string(both, "null");
        cJSON_ReplaceItemInObjectCaseSensitive(first, "type", both);
    } else {
        sg_json_push(forms, SG_OBJECT(SG_TEXT("type", "null")));
    }
}

/* The default of the row as JSON; NULL = none. */
static cJSON *preset_of(const struct sg_schema_row *row) {
    struct sg_problems problems = {.path = ""};
    struct sg_node node = {0};
    if (row->preset[0] == '\0' || row->type == SG_VALUE_MAP)
        return NULL;
    sg_yaml_parse(&node, row->preset, strlen(row->preset), SG_ORIGIN_PRESET, &problems);
    cJSON *out = sg_node_json(&node);
    sg_node_clear(&node);
    return out;
}

/* The schema of a key: what editors show of it, and its forms. */
static cJSON *key_schema(struct writer *w, const struct sg_schema_row *row, const char *owner) {
    const bool unit = row->unit && row->unit[0] != '\0';
    char *help = sg_format("%s%s%s", row->help, unit ? "; in " : "", unit ? row->unit : "");
    cJSON *out = SG_OBJECT(SG_TEXT("description", help)), *forms = cJSON_CreateArray(), *preset = preset_of(row);
    free(help);
    if (preset)
        sg_json_set(out, "default", preset);
    push_value(w, forms, row, owner);
    if (!row->required)
        allow_null(forms);
    const bool one = cJSON_GetArraySize(forms) == 1;
    if (!one || cJSON_GetObjectItemCaseSensitive(forms->child, "$ref")) {
        sg_json_set(out, one ? "allOf" : "anyOf", forms);
        return out;
    }
    sg_json_move(out, any_of(forms));
    return out;
}

/* Adds the rows of a section to these keys: those of this owner, or those that depend on none. */
static void add_rows(struct writer *w, cJSON *properties, cJSON *required, cJSON *names, const char *section,
                     const char *owner, bool own) {
    for (size_t i = 0; i < w->schema.count; i++) {
        const struct sg_schema_row *row = &w->schema.row[i];
        if (!in_section(w, i, section) || own != row_depends(w, row) || (own && !sg_row_applies(row, owner)))
            continue;
        sg_json_set(properties, sg_row_key(row), key_schema(w, row, owner));
        sg_json_push_string(names, sg_row_key(row));
        if (row->required)
            sg_json_push_string(required, sg_row_key(row));
    }
}

static void set_unless_empty(cJSON *object, const char *key, cJSON *list) {
    if (list->child)
        sg_json_set(object, key, list);
    else
        cJSON_Delete(list);
}

/* What a variant adds to the keys that all have; `common` is the definition with the names of those. */
static cJSON *variant_schema(struct writer *w, const struct sg_schema_row *decider, const char *section,
                             const char *name, const char *common) {
    cJSON *words = cJSON_CreateArray(), *properties = cJSON_CreateObject(), *required = cJSON_CreateArray(),
          *names = cJSON_CreateArray(), *then = cJSON_CreateObject(), *key = cJSON_CreateObject();
    const bool preset = strcmp(decider->preset, name) == 0;
    push_spellings(words, decider->type, name);
    if (preset)
        sg_json_push(words, cJSON_CreateNull());
    sg_json_set(key, sg_row_key(decider), SG_OBJECT(SG_VALUE("enum", words)));
    cJSON *condition = SG_OBJECT(SG_VALUE("properties", key));
    if (!preset)
        sg_json_set(condition, "required", list_of(cJSON_CreateString(sg_row_key(decider))));
    add_rows(w, properties, required, names, section, name, true);
    cJSON *allowed = list_of(reference(common));
    if (names->child)
        sg_json_push(allowed, SG_OBJECT(SG_VALUE("enum", cJSON_Duplicate(names, true))));
    cJSON_Delete(names);
    set_unless_empty(then, "properties", properties);
    set_unless_empty(then, "required", required);
    sg_json_set(then, "propertyNames", any_of(allowed));
    return SG_OBJECT(SG_VALUE("if", condition), SG_VALUE("then", then));
}

static cJSON *section_schema(struct writer *w, const char *section, const char *owner) {
    const struct sg_schema_row *decider = decider_of(w, section);
    cJSON *types = list_of(cJSON_CreateString("object"));
    sg_json_push_string(types, "null");
    cJSON *out = SG_OBJECT(SG_VALUE("type", types)), *properties = cJSON_CreateObject(),
          *required = cJSON_CreateArray(), *names = cJSON_CreateArray();
    add_rows(w, properties, required, names, section, owner, false);
    if (!decider)
        add_rows(w, properties, required, names, section, owner, true);
    sg_json_set(out, "properties", properties);
    set_unless_empty(out, "required", required);
    if (!decider) {
        sg_json_set(out, "additionalProperties", cJSON_CreateFalse());
        cJSON_Delete(names);
        return out;
    }
    char common[NAME];
    const char *name;
    sg_json_set(w->definitions, definition(common, section, "keys"), SG_OBJECT(SG_VALUE("enum", names)));
    cJSON *variants = cJSON_CreateArray();
    for (size_t i = 0; (name = sg_variant_at(decider->type, i).name) != NULL; i++)
        sg_json_push(variants, variant_schema(w, decider, section, name, common));
    sg_json_set(out, "allOf", variants);
    return out;
}

/* ---- text ---- */

/* Prints a value on one line if it fits, else its members on lines of their own. */
static void put_json(FILE *out, const cJSON *value, int indent, size_t used) {
    char *line = sg_json_text(value, false);
    const size_t length = strcspn(line, "\n");
    const bool object = cJSON_IsObject(value), fits = (size_t)indent + used + length < COLUMNS;
    if (fits || !value->child) {
        fprintf(out, "%.*s", (int)length, line);
        free(line);
        return;
    }
    free(line);
    fputs(object ? "{\n" : "[\n", out);
    for (const cJSON *member = value->child; member; member = member->next) {
        fprintf(out, "%*s", indent + INDENT, "");
        if (object)
            fprintf(out, "\"%s\": ", member->string);
        put_json(out, member, indent + INDENT, object ? strlen(member->string) + 4 : 0);
        fputs(member->next ? ",\n" : "\n", out);
    }
    fprintf(out, "%*s%s", indent, "", object ? "}" : "]");
}

void sg_recipe_json_schema(FILE *out) {
    struct writer w = {.definitions = cJSON_CreateObject()};
    sg_schema_open(&w.schema);
    cJSON *root = SG_OBJECT(SG_TEXT("$schema", "http://json-schema.org/draft-07/schema#"),
                            SG_TEXT("title", "recipe of sparsegrad"));
    sg_json_move(root, section_schema(&w, "", ""));
    sg_json_set(root, "definitions", w.definitions);
    put_json(out, root, 0, 0);
    fputc('\n', out);
    cJSON_Delete(root);
    sg_schema_close(&w.schema);
}
