/* Changes to a recipe's text: what they may not break. */
#include <stdlib.h>
#include <string.h>

#include "sg_recipe.h"
#include "tap.h"

static void edited(const char *text, int line, int column, const char *value, const char *comment, const char *expected,
                   const char *what) {
    char *copy = strdup(text), *out = NULL;
    struct sg_error err = {.status = SG_OK};
    const struct sg_recipe recipe = {.path = (char[]){"edited.yaml"}, .text = copy};
    const struct sg_recipe_edit edit = {.line = line, .column = column, .value = value, .comment = comment};
    const sg_status status = sg_recipe_edited(&out, &recipe, &edit, 1, &err);
    if (!ok(status == SG_OK && strcmp(out, expected) == 0, "%s", what))
        printf("# %s\n", status == SG_OK ? out : err.msg);
    free(out);
    free(copy);
}

static void values(void) {
    edited("a:\n  b: >-\n      match\n  c: 1\n", 2, 6, "0.5", NULL, "a:\n  b: 0.5\n  c: 1\n",
           "a folded scalar is replaced, the line's end stays");
    edited("b: |+\n  x\n  y\n\n# next\nc: 1\n", 1, 4, "0.5", NULL, "b: 0.5\n\n# next\nc: 1\n",
           "a literal one, and the empty line after it stays");
    edited("b: |-\n  x", 1, 4, "0.5", NULL, "b: 0.5", "one that the text ends in");
    edited("b: |\nc: 1\n", 1, 4, "0.5", NULL, "b: 0.5\nc: 1\n", "one without a line");
    edited("b: 'x\n  y' # z\n", 1, 4, "0.5", NULL, "b: 0.5 # z\n", "two lines in quotes");
}

/* A comment on `line`, expected where "@" is, as far in as what follows. */
static void commented(const char *text, int line, const char *expected, const char *what) {
    char full[512];
    const char *at = strchr(expected, '@');
    snprintf(full, sizeof full, "%.*s%*s# here\n%s", (int)(at - expected), expected, (int)strspn(at + 1, " "), "",
             at + 1);
    edited(text, line, 0, NULL, "here", full, what);
}

static void comments(void) {
    edited("a: 1\n  \nb:\n  - c: 2\n", 4, 0, NULL, "one\ntwo\r\x07three\xc2\x85 \xe2\x80\xa8\xe2\x80\xa9 \xc2\xb5",
           "a: 1\n  \nb:\n  # one two  three     \xc2\xb5\n  - c: 2\n", "a comment is one line, and text");
    commented("a: 1\nb: [{c: d}, {c: 'e\n f'}, {c: g}]\n", 3, "a: 1\n@b: [{c: d}, {c: 'e\n f'}, {c: g}]\n",
              "no comment goes into quotes");
    commented("a: 1\nb: [{c: d}, {c: e\n f}, {c: g}]\n", 3, "a: 1\n@b: [{c: d}, {c: e\n f}, {c: g}]\n",
              "nor between plain words");
    commented("a: 1\nb: [{c: 'd\n'}, {c: \"e\n\n f\"}, {c: g\n h}, {\n c: i}]\n", 6,
              "a: 1\n@b: [{c: 'd\n'}, {c: \"e\n\n f\"}, {c: g\n h}, {\n c: i}]\n", "through any number of them");
    commented("a: 1\nb: [{c: 'd\n'}, {\n c: e}]\n", 4, "a: 1\nb: [{c: 'd\n'}, {\n@ c: e}]\n", "the next line is free");
    commented("a: |\n  x\n\nb: 1\n", 4, "a: |\n  x\n\n@b: 1\n", "so is that after a block");
    commented("a: '\xe2\x82\xac\n'\nb: 1\n", 3, "a: '\xe2\x82\xac\n'\n@b: 1\n", "characters of several bytes");
    commented("a: '1\xe2\x80\xa8'\nb: 1\n", 3, "a: '1\xe2\x80\xa8'\n@b: 1\n", "lines are counted as YAML does");
}

int main(void) {
    values();
    comments();
    return tap_done();
}
