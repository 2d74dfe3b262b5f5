/* test_expression.c: arithmetic over named constants. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_expression.h"
#include "tap.h"

static const struct sg_constant constant[] = {{"L", 8}, {"l2", 0.5}, {"d", 500}, {"f_star", -3}};
enum { COUNT = sizeof constant / sizeof *constant };

static void gives(const char *text, double wanted) {
    struct sg_error err = {0};
    double value = NAN;
    sg_status status = sg_expression(&value, text, constant, COUNT, &err);
    ok(status == SG_OK && value == wanted, "%s = %.17g%s", text, value, err.msg);
}

static void fails(const char *text, const char *message) {
    struct sg_error err = {0};
    double value = 42;
    sg_status status = sg_expression(&value, text, constant, COUNT, &err);
    if (!ok(status == SG_ERR_ARGUMENT && strcmp(err.msg, message) == 0 && value == 42, "%s", message))
        printf("# got: %s\n", err.msg);
}

int main(void) {
    gives("1", 1);
    gives("1e-3", 1e-3);
    gives(".5", 0.5);
    gives("1/(L+l2)", 1 / 8.5);
    gives("L/10000", 8.0 / 10000);
    gives("8 - 4 - 2", 2);
    gives("8 / 4 / 2", 1);
    gives("2+3*4", 14);
    gives("-L + -2*-3", -2);
    gives("--L", 8);
    gives("sqrt(d/5) * 2", 20);
    gives("f_star*2", -6);
    fails("", "expression '' ends where a number, a name or '(' should be");
    fails("L +", "expression 'L +' ends where a number, a name or '(' should be");
    fails("(L", "expression '(L' ends where ')' should be");
    fails("L)", "expression 'L)' has ')' where an operator or the end should be");
    fails("2L", "expression '2L' has '2L' where a number should be");
    fails("0x10", "expression '0x10' has '0x10' where a number should be");
    fails("1..2", "expression '1..2' has '1..2' where a number should be");
    fails("1e999", "expression '1e999' has '1e999' where a number should be");
    fails("L ^ 2", "expression 'L ^ 2' has '^ 2' where an operator or the end should be");
    fails("sqrt 2", "expression 'sqrt 2' has '2' where '(' should be");
    fails("L/l3", "expression 'L/l3': unknown name 'l3' (did you mean 'l2'? names: L, l2, d, f_star)");
    fails("lambda_max", "expression 'lambda_max': unknown name 'lambda_max' (names: L, l2, d, f_star)");
    fails("inf", "expression 'inf': unknown name 'inf' (names: L, l2, d, f_star)");
    fails("1/0", "expression '1/0' has no finite value");
    fails("0/0", "expression '0/0' has no finite value");
    fails("sqrt(-1)", "expression 'sqrt(-1)' has no finite value");
    char deep[128];
    memset(deep, '(', 100);
    deep[100] = '\0';
    struct sg_error err = {0};
    double value;
    ok(sg_expression(&value, deep, constant, COUNT, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "less nesting") != NULL,
       "a hundred parentheses: %s", err.msg);
    ok(sg_expression(&value, "L", NULL, 0, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "names: none here") != NULL,
       "no constants: %s", err.msg);
    return tap_done();
}
