/* recipe_problems.c: collects the problems of a recipe, and reports them ordered by position. */
/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <string.h>

#include "recipe_private.h"
#include "sg_debug.h"

static size_t kept_of(const struct sg_problems *p) {
    return p->count - p->repeated < SG_PROBLEMS ? p->count - p->repeated : SG_PROBLEMS;
}

static bool has(const struct sg_problems *p, const struct sg_problem *wanted) {
    for (size_t i = 0; i < kept_of(p); i++)
        if (p->problem[i].line == wanted->line && p->problem[i].column == wanted->column &&
            strcmp(p->problem[i].text, wanted->text) == 0)
            return true;
    return false;
}

void sg_problem_at(struct sg_problems *p, int line, int column, const char *format, ...) {
    SG_ASSERT(line >= 0 && column >= 0);
    struct sg_problem problem = {.line = line, .column = column};
    va_list args;
    va_start(args, format);
    vsnprintf(problem.text, sizeof problem.text, format, args);
    va_end(args);
    const size_t kept = kept_of(p);
    const bool repeats = has(p, &problem);
    p->count++;
    if (repeats)
        p->repeated++;
    else if (kept < SG_PROBLEMS)
        p->problem[kept] = problem;
}

void sg_problems_move(struct sg_problems *to, struct sg_problems *from, const struct sg_problems *which) {
    struct sg_problems left = *from;
    left.count = left.repeated = 0;
    for (size_t i = 0; i < kept_of(from); i++) {
        const struct sg_problem *problem = &from->problem[i];
        sg_problem_at(has(which, problem) ? to : &left, problem->line, problem->column, "%s", problem->text);
    }
    left.count += from->count - from->repeated - kept_of(from); /* those that were not kept */
    *from = left;
}

void sg_yaml_parse(struct sg_node *out, const char *text, size_t length, int origin, struct sg_problems *p) {
    struct sg_node_fault fault;
    if (sg_node_read(out, text, length, origin, &fault) != SG_OK)
        sg_problem_at(p, fault.line, fault.column, "%s", fault.text);
}

static bool before(const struct sg_problem *a, const struct sg_problem *b) {
    return a->line < b->line || (a->line == b->line && a->column < b->column);
}

/* Writes one line of the report into out [size]; returns its length. */
static size_t write_line(char *out, size_t size, const struct sg_problems *p, const struct sg_problem *problem) {
    int length;
    if (problem->line > 0) {
        length = snprintf(out, size, "%s:%d:%d: %s", p->path, problem->line, problem->column, problem->text);
    } else if (problem->column > 0) {
        char set[SG_EXCERPT], list[SG_EXCERPT];
        const char *const word = p->set[problem->column - 1], *const value = word + strcspn(word, "=");
        length = snprintf(out, size, "--set %s: %s", sg_excerpt(set, word), problem->text);
        if (strchr(value, ',') && !strchr("[{\"'", value[1]) && length > 0 &&
            (size_t)length < size) /* as others list */
            length += snprintf(out + length, size - (size_t)length, " (several values have brackets: [%s])",
                               sg_excerpt(list, value + 1));
    } else {
        length = snprintf(out, size, "%s: %s", p->path, problem->text);
    }
    return length < 0 ? 0 : (size_t)length;
}

sg_status sg_problems_report(const struct sg_problems *p, sg_status status, struct sg_error *err) {
    SG_ASSERT(p->count > 0 && status != SG_OK);
    const size_t kept = kept_of(p), different = p->count - p->repeated;
    const struct sg_problem *order[SG_PROBLEMS];
    for (size_t i = 0; i < kept; i++) { /* insertion sort by place; equal places keep their order */
        size_t j = i;
        for (; j > 0 && before(&p->problem[i], order[j - 1]); j--)
            order[j] = order[j - 1];
        order[j] = &p->problem[i];
    }
    enum { ROOM_FOR_MORE = 32 };
    char line[sizeof err->msg];
    size_t used = 0, shown = 0;
    err->status = status;
    for (; shown < kept; shown++) {
        size_t length = write_line(line, sizeof line, p, order[shown]);
        if (used + 1 + length + ROOM_FOR_MORE > sizeof err->msg && shown > 0)
            break;
        used += (size_t)snprintf(err->msg + used, sizeof err->msg - used, "%s%s", shown ? "\n" : "", line);
        used = used < sizeof err->msg ? used : sizeof err->msg - 1;
    }
    if (shown < different)
        snprintf(err->msg + used, sizeof err->msg - used, "\n… and %zu more", different - shown);
    return status;
}

const char *sg_list_text(char out[SG_LIST_CHARS], const char *const *name, size_t n) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (used + strlen(name[i]) + 8 > SG_LIST_CHARS) {
            snprintf(out + used, SG_LIST_CHARS - used, ", …");
            break;
        }
        used += (size_t)snprintf(out + used, SG_LIST_CHARS - used, "%s%s", i ? ", " : "", name[i]);
    }
    return out;
}

bool sg_hint(char out[SG_HINT], const char *word, const char *const *candidate, size_t n) {
    char plain[64], name[SG_EXCERPT];
    const uint32_t odd = sg_text_plain(plain, sizeof plain, word);
    const char *near = sg_suggest(odd > 0 ? plain : word, candidate, n);
    if (near && odd > 0)
        snprintf(out, SG_HINT, "it has U+%04X in it; write '%s'", odd, sg_excerpt(name, near));
    else if (near)
        snprintf(out, SG_HINT, "did you mean '%s'?", sg_excerpt(name, near));
    return near != NULL;
}

const char *sg_describe_value(const struct sg_node *node, char out[80]) {
    char text[SG_EXCERPT];
    switch (node->kind) {
    case SG_NODE_NULL:
        return "nothing";
    case SG_NODE_BOOL:
        return node->boolean ? "true" : "false";
    case SG_NODE_NUMBER:
        snprintf(out, 80, "%s", sg_excerpt(text, node->string));
        return out;
    case SG_NODE_STRING:
        snprintf(out, 80, "'%s'", sg_excerpt(text, node->string));
        return out;
    case SG_NODE_LIST:
        return "a list";
    case SG_NODE_MAP:
        break;
    }
    return "a section of keys";
}

void sg_note_wrong(struct sg_check *c, const struct sg_schema_row *row, const struct sg_node *raw, const char *wanted) {
    char value[80];
    bool entry = raw->key == NULL; /* of a list */
    SG_PROBLEM(c, raw, "%s%s must be %s, got %s", entry ? "each of " : "", sg_row_key(row), wanted,
               sg_describe_value(raw, value));
}
