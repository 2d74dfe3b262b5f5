/* Expressions from hostile text: what the check accepts is computed, and what has no names has the value that the check
 * says. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "sg_expression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct sg_constant constants[] = {{"L", 3.5}, {"l2", 1e-300}, {"d", 78042}, {"zero", 0}};
    enum { N = sizeof constants / sizeof *constants };
    const char *name[N];
    struct sg_error syntax = {0}, names = {0}, err = {0};
    bool literal = false;
    double value = 0, computed = 0;
    char *text = strndup((const char *)data, size);
    for (size_t i = 0; i < N; i++)
        name[i] = constants[i].name;
    const sg_status loose = sg_expression_check(text, NULL, 0, &literal, &value, &syntax);
    const sg_status strict = sg_expression_check(text, name, N, &literal, &value, &names);
    const sg_status status = sg_expression(&computed, text, constants, N, &err);
    if ((strict == SG_OK && loose != SG_OK) || (status == SG_OK && strict != SG_OK))
        abort();
    if ((loose != SG_OK && !syntax.msg[0]) || (strict != SG_OK && !names.msg[0]) || (status != SG_OK && !err.msg[0]))
        abort();
    if (strict == SG_OK && literal && status == SG_OK && memcmp(&value, &computed, sizeof value) != 0)
        abort();
    free(text);
    return 0;
}
