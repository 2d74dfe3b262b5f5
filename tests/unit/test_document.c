/* Results as one structure: every published one comes back as it was, and so do members that no structure has. */
/* SPDX-License-Identifier: MIT */
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_document.h"
#include "tap.h"

/* ---- a small shape ---- */

struct item {
    const cJSON *from;
    const char *name;
    double value;
};
struct thing {
    const cJSON *from;
    const char *text;
    double number;
    bool yes;
    enum sg_flag maybe;
    struct sg_number_list numbers;
    struct item *one;
    size_t n_items;
    struct item *items;
    double trial;
    double of_trial;
    const char *case_;
};
static const struct sg_field item_fields[] = {SG_FIELD(item, value)};
static const struct sg_shape item_shape = SG_SHAPE(item, item_fields);
static const struct sg_field thing_fields[] = {SG_FIELD(thing, text),
                                               SG_FIELD(thing, number),
                                               SG_FIELD(thing, yes),
                                               SG_FIELD(thing, maybe),
                                               SG_FIELD(thing, numbers),
                                               SG_OBJECT_FIELD(thing, one, item_shape, SG_ALWAYS),
                                               SG_NAMED_FIELD(thing, items, item_shape, SG_ALWAYS),
                                               SG_FIELD_IF(thing, trial, SG_IF_KNOWN),
                                               SG_FIELD_IF(thing, of_trial, SG_WITH_LAST),
                                               SG_FIELD_IF(thing, case_, SG_IF_KNOWN)};
static const struct sg_shape thing_shape = SG_SHAPE(thing, thing_fields);

/* Is the JSON of a thing this text? */
static bool is_written(const struct thing *thing, const char *wanted) {
    cJSON *json = sg_fields_json(&thing_shape, thing);
    char *text = sg_json_text(json, false);
    const bool same = text && strncmp(text, wanted, strlen(wanted)) == 0 && strcmp(text + strlen(wanted), "\n") == 0;
    if (!same)
        printf("# %s", text ? text : "nothing\n");
    free(text);
    cJSON_Delete(json);
    return same;
}

static void test_made(void) {
    double numbers[] = {1, NAN};
    struct item item = {.name = "a", .value = 0.1};
    struct thing thing = {.number = NAN, .maybe = SG_FLAG_UNKNOWN, .trial = NAN, .of_trial = 3};
    ok(is_written(&thing, "{\"text\":null,\"number\":null,\"yes\":false,\"maybe\":null,\"numbers\":null,\"one\":null,"
                          "\"items\":null}"),
       "what is not known is null, but for what is there only if it is known");
    thing = (struct thing){.text = "t",
                           .number = 0.1,
                           .yes = true,
                           .maybe = SG_FLAG_NO,
                           .numbers = {2, numbers},
                           .one = &item,
                           .n_items = 1,
                           .items = &item,
                           .trial = 2,
                           .of_trial = NAN,
                           .case_ = "c"};
    ok(is_written(&thing, "{\"text\":\"t\",\"number\":0.1,\"yes\":true,\"maybe\":false,\"numbers\":[1,null],"
                          "\"one\":{\"value\":0.1},\"items\":{\"a\":{\"value\":0.1}},\"trial\":2,\"of_trial\":null,"
                          "\"case\":\"c\"}"),
       "every kind of member, in the order of the table");
}

static void test_read(void) {
    static const char text[] = "{\"later\":[0.1,{\"x\":null}],\"maybe\":true,\"text\":7,\"items\":{\"b\":{\"value\":2,"
                               "\"also\":1}},\"one\":3}";
    struct sg_arena memory = {0};
    struct thing *thing = sg_fields_new(&thing_shape, sg_arena_take(&memory, cJSON_Parse(text)), &memory);
    ok(thing->text == NULL && isnan(thing->number) && !thing->yes && thing->maybe == SG_FLAG_YES &&
           thing->numbers.x == NULL && thing->n_items == 1 && strcmp(thing->items[0].name, "b") == 0 &&
           thing->items[0].value == 2 && isnan(thing->trial),
       "what is absent, or of another type, is null");
    thing->number = 5;
    thing->case_ = "c";
    ok(is_written(thing, "{\"later\":[0.1,{\"x\":null}],\"maybe\":true,\"text\":null,\"number\":5,\"items\":{\"b\":{"
                         "\"value\":2,\"also\":1}},\"case\":\"c\",\"one\":3}"),
       "other members stay, and what became known stands behind its neighbour");
    thing->text = "\033[31mred\n";
    sg_fields_clean(&thing_shape, thing, &memory);
    ok(thing->text && strpbrk(thing->text, "\033\n") == NULL, "texts can be made fit to be shown");
    sg_arena_free(&memory);
}

/* ---- published results ---- */

static bool is_same(const char *path, bool *is_result) {
    struct sg_error err;
    struct sg_document document;
    cJSON *json;
    if (sg_json_read(&json, path, &err) != SG_OK)
        return false;
    *is_result = strcmp(sg_json_string(json, "schema", ""), "sparsebench/1") == 0;
    if (!*is_result) {
        cJSON_Delete(json);
        return false;
    }
    cJSON *copy = sg_json_copy(json);
    if (sg_document_read(&document, json, path, &err) != SG_OK) {
        cJSON_Delete(copy);
        return false;
    }
    cJSON *written = sg_document_json(&document);
    char *then = sg_json_text(copy, false), *now = sg_json_text(written, false);
    const bool same = then && now && strcmp(then, now) == 0;
    sg_document_free(&document);
    cJSON_Delete(copy);
    cJSON_Delete(written);
    free(then);
    free(now);
    return same;
}

static void test_published(void) {
    glob_t found = {0};
    size_t results = 0, same = 0;
    (void)!glob("results/*.json", 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        bool is_result = false;
        const bool alike = is_same(found.gl_pathv[i], &is_result);
        if (is_result && !alike)
            printf("# %s\n", found.gl_pathv[i]);
        results += is_result;
        same += alike;
    }
    globfree(&found);
    if (results == 0)
        ok(true, "published results # SKIP not in the folder of the sources");
    else
        ok(same == results && results > 20, "%zu of %zu published results come back byte for byte", same, results);
}

int main(void) {
    test_made();
    test_read();
    test_published();
    return tap_done();
}
