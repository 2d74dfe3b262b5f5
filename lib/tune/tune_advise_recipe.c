/* tune_advise_recipe.c: the recipe that --advise writes: the user's own text with the methods of the list. */
#include <stdlib.h>
#include <string.h>

#include "sg_text.h"
#include "tune_advise.h"

enum { MOST_METHODS = 8 };

/* Does this line begin a section that is replaced or goes? What claims and plots name is no longer there. */
static bool begins(const char *line) {
    static const char *const gone[] = {"methods:", "claims:", "plots:"};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        if (strncmp(line, gone[i], strlen(gone[i])) == 0)
            return true;
    return false;
}

/* The text without these sections. A section ends where a line begins with something else than a blank, a comment or the
 * dash of a list. */
static void put_rest(FILE *out, const char *text) {
    bool going = false;
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");
        if (length > 0 && !strchr(" \t#-\r", line[0]))
            going = begins(line);
        if (!going || line[0] == '#')
            fprintf(out, "%.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static sg_status put_method(FILE *out, const struct advise *a, const struct advise_candidate *c, struct sg_error *err) {
    char *text = advise_candidate_text(a, c);
    if (!text)
        return sg_fail_memory(err, "the recipe");
    if (!c->baseline)
        fprintf(out, "  # sparsetune --advise: %.4g bytes a step, error %.3g of |g|^2, modelled %.3g times faster\n",
                c->bytes, c->error, c->speedup);
    fprintf(out, "  - %s\n", text);
    free(text);
    return SG_OK;
}

sg_status advise_recipe(const struct advise *a, struct sg_error *err) {
    const struct sg_recipe *r = a->t->recipe;
    struct sg_recipe check = {0};
    size_t size;
    FILE *out = open_memstream(&a->t->text, &size);
    if (!out)
        return sg_fail_memory(err, "the recipe");
    put_rest(out, r->text);
    fputs("methods:\n", out);
    sg_status status = put_method(out, a, &a->candidate[a->baseline], err);
    for (size_t i = 0; status == SG_OK && i < a->listed && i < MOST_METHODS; i++)
        status = put_method(out, a, &a->candidate[a->list[i]], err);
    sg_stream_text(out, &a->t->text);
    if (status == SG_OK && !a->t->text)
        status = sg_fail_memory(err, "the recipe");
    if (status == SG_OK && sg_recipe_parse(&check, a->t->text, strlen(a->t->text), r->path, NULL, 0, err) != SG_OK)
        return sg_prefix(err, "the recipe with other methods is not valid (is each section on lines of its own?): ");
    sg_recipe_free(&check);
    return status;
}
