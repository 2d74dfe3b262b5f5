/* expression.c: arithmetic over named constants, by recursive descent:
 *   sum     = product {("+" | "-") product}
 *   product = factor {("*" | "/") factor}
 *   factor  = ("-" | "+") factor | number | name | "sqrt" "(" sum ")" | "(" sum ")" */
/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sg_debug.h"
#include "sg_expression.h"
#include "sg_text.h"

enum { NESTING = 32, NAME_CHARS = 64 };

struct reader {
    const char *text, *at;
    const struct sg_constant *constant;
    size_t n_constants;
    bool any_name; /* any name is accepted */
    bool unvalued; /* only a check, before constants have values: 1 stands for each */
    bool named;    /* a name was seen */
    int depth;
    struct sg_error *err;
};

static sg_status read_sum(struct reader *r, double *out);

static void skip_blanks(struct reader *r) {
    while (*r->at == ' ' || *r->at == '\t')
        r->at++;
}

static bool take(struct reader *r, char c) {
    skip_blanks(r);
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

static sg_status wrong(struct reader *r, const char *wanted) {
    char whole[SG_EXCERPT], rest[SG_EXCERPT];
    sg_excerpt(whole, r->text);
    if (*r->at == '\0')
        return sg_fail(r->err, SG_ERR_ARGUMENT, "expression '%s' ends where %s should be", whole, wanted);
    return sg_fail(r->err, SG_ERR_ARGUMENT, "expression '%s' has '%s' where %s should be", whole,
                   sg_excerpt(rest, r->at), wanted);
}

static sg_status unknown_name(struct reader *r, const char *name) {
    char whole[SG_EXCERPT], list[256] = "";
    size_t used = 0;
    const char *candidate[64];
    size_t n = r->n_constants < 64 ? r->n_constants : 64;
    for (size_t i = 0; i < n; i++) {
        candidate[i] = r->constant[i].name;
        size_t length = strlen(candidate[i]);
        if (used + length + 3 < sizeof list) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", candidate[i]);
        }
    }
    sg_excerpt(whole, r->text);
    const char *near = sg_suggest(name, candidate, n);
    if (near)
        return sg_fail(r->err, SG_ERR_ARGUMENT, "expression '%s': unknown name '%s' (did you mean '%s'? names: %s)",
                       whole, name, near, list);
    return sg_fail(r->err, SG_ERR_ARGUMENT, "expression '%s': unknown name '%s' (names: %s)", whole, name,
                   n > 0 ? list : "none here");
}

static sg_status read_parenthesis(struct reader *r, double *out) {
    if (++r->depth > NESTING)
        return wrong(r, "less nesting");
    sg_status status = read_sum(r, out);
    r->depth--;
    SG_ASSERT(r->depth >= 0);
    if (status != SG_OK)
        return status;
    return take(r, ')') ? SG_OK : wrong(r, "')'");
}

static sg_status read_name(struct reader *r, double *out) {
    char name[NAME_CHARS];
    size_t length = 0;
    while (isalnum((unsigned char)r->at[length]) || r->at[length] == '_')
        length++;
    if (length >= sizeof name)
        return wrong(r, "a shorter name");
    memcpy(name, r->at, length);
    name[length] = '\0';
    if (strcmp(name, "sqrt") == 0) {
        r->at += length;
        if (!take(r, '('))
            return wrong(r, "'('");
        sg_status status = read_parenthesis(r, out);
        if (status == SG_OK)
            *out = sqrt(*out);
        return status;
    }
    r->named = true;
    *out = 1;
    for (size_t i = 0; !r->any_name; i++) {
        if (i == r->n_constants)
            return unknown_name(r, name);
        if (strcmp(name, r->constant[i].name) == 0) {
            *out = r->constant[i].value;
            break;
        }
    }
    r->at += length;
    return SG_OK;
}

/* Digits are checked before strtod sees them, because it also takes hex, inf and nan. */
static sg_status read_number(struct reader *r, double *out) {
    const char *end = r->at;
    while (isdigit((unsigned char)*end) || *end == '.')
        end++;
    if ((*end == 'e' || *end == 'E') &&
        (isdigit((unsigned char)end[1]) || ((end[1] == '-' || end[1] == '+') && isdigit((unsigned char)end[2])))) {
        end += 2;
        while (isdigit((unsigned char)*end))
            end++;
    }
    char digits[NAME_CHARS];
    size_t length = (size_t)(end - r->at);
    if (length >= sizeof digits)
        return wrong(r, "a shorter number");
    memcpy(digits, r->at, length);
    digits[length] = '\0';
    if (!sg_parse_number(out, digits, -INFINITY, INFINITY) || isalpha((unsigned char)*end) || *end == '_')
        return wrong(r, "a number");
    r->at = end;
    return SG_OK;
}

static sg_status read_factor(struct reader *r, double *out) {
    bool negative = false;
    for (;;) {
        if (take(r, '-'))
            negative = !negative;
        else if (!take(r, '+'))
            break;
    }
    sg_status status;
    if (isdigit((unsigned char)*r->at) || *r->at == '.')
        status = read_number(r, out);
    else if (isalpha((unsigned char)*r->at) || *r->at == '_')
        status = read_name(r, out);
    else if (take(r, '('))
        status = read_parenthesis(r, out);
    else
        return wrong(r, "a number, a name or '('");
    if (status == SG_OK && negative)
        *out = -*out;
    return status;
}

/* Operands with `plus` or `minus` between them, from the left to the right; a product has '*' and '/' there. */
static sg_status read_chain(struct reader *r, double *out, char plus, char minus,
                            sg_status (*operand)(struct reader *r, double *out)) {
    sg_status status = operand(r, out);
    while (status == SG_OK) {
        double right = 0;
        const bool first = take(r, plus);
        if (!first && !take(r, minus))
            break;
        status = operand(r, &right);
        if (plus == '+')
            *out = first ? *out + right : *out - right;
        else
            *out = first ? *out * right : *out / right;
    }
    return status;
}

static sg_status read_product(struct reader *r, double *out) {
    return read_chain(r, out, '*', '/', read_factor);
}

static sg_status read_sum(struct reader *r, double *out) {
    return read_chain(r, out, '+', '-', read_product);
}

static sg_status read_all(struct reader *r, double *out) {
    double value = 0;
    sg_status status = read_sum(r, &value);
    if (status != SG_OK)
        return status;
    skip_blanks(r);
    if (*r->at != '\0')
        return wrong(r, "an operator or the end");
    bool known = !(r->unvalued && r->named);
    if (known && !isfinite(value)) {
        char whole[SG_EXCERPT];
        return sg_fail(r->err, SG_ERR_ARGUMENT, "expression '%s' has no finite value", sg_excerpt(whole, r->text));
    }
    *out = value;
    return SG_OK;
}

sg_status sg_expression(double *out, const char *text, const struct sg_constant *constants, size_t n,
                        struct sg_error *err) {
    SG_ASSERT(text && (constants || n == 0));
    struct reader r = {.text = text, .at = text, .constant = constants, .n_constants = n, .err = err};
    return read_all(&r, out);
}

sg_status sg_expression_check(const char *text, const char *const *name, size_t n, bool *literal, double *value,
                              struct sg_error *err) {
    SG_ASSERT(n <= SG_NAMES);
    struct sg_constant constant[SG_NAMES];
    for (size_t i = 0; i < n && i < SG_NAMES; i++)
        constant[i] = (struct sg_constant){name[i], 1};
    struct reader r = {.text = text,
                       .at = text,
                       .constant = constant,
                       .n_constants = n < SG_NAMES ? n : SG_NAMES,
                       .any_name = n == 0,
                       .unvalued = true,
                       .err = err};
    sg_status status = read_all(&r, value);
    *literal = !r.named;
    return status;
}
