/* test_libsvm.c: the parser of LIBSVM text: every error with its place, every storage, numbers as strtod reads them. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_matrix.h"
#include "sg_rng.h"
#include "tap.h"

static struct sg_error err;

static sg_status parse(struct sg_matrix *a, const char *text, size_t d) {
    return sg_libsvm_parse(a, text, strlen(text), d, "t", &err);
}

/* `text` is refused with exactly this message. */
static void refuses(const char *what, const char *text, size_t length, size_t d, const char *message) {
    struct sg_matrix a = {.m = 77};
    sg_status status = sg_libsvm_parse(&a, text, length, d, "t", &err);
    ok(status == SG_ERR_FORMAT && err.status == status && strcmp(err.msg, message) == 0 && a.m == 77, "%s", what);
    if (strcmp(err.msg, message) != 0)
        printf("#   got '%s'\n#  want '%s'\n", err.msg, message);
}

static void test_errors(void) {
    static const struct {
        const char *what, *text;
        size_t d;
        const char *message;
    } bad[] = {
        {"empty input", "", 0, "t: no rows: the file is empty"},
        {"only comments and blanks", "# nothing\n  \n\r\n", 0, "t: no rows: the file is empty"},
        {"rows without values", "1\n-1\n", 0, "t: no row has a value"},
        {"index 0", "1 1:1\n-1 0:2\n", 0, "t:2:4: index 0: indices start at 1"},
        {"repeated index", "1 1:1 3:2 3:4\n", 0, "t:1:11: index 3 is repeated"},
        {"descending index", "1 1:1 3:2 2:4\n", 0, "t:1:11: index 2 after 3: indices ascend in a row"},
        {"descending index below an earlier row's", "1 5:1\n1 9:1 2:4\n", 0,
         "t:2:7: index 2 after 9: indices ascend in a row"},
        {"index beyond d", "1 1:1\n-1 4:1 5:1\n", 4, "t:2:8: index 5 is beyond the 4 features"},
        {"index beyond 32 bits", "1 99999999999:1\n", 0, "t:1:3: index 99999999999 is beyond the 4294967295 features"},
        {"index beyond 64 bits", "1 99999999999999999999999:1\n", 0,
         "t:1:3: expected index:value, found '99999999999999999999999:1'"},
        {"NaN", "1 1:nan\n", 0, "t:1:5: the value 'nan' is not finite"},
        {"-Inf", "1 1:1 2:-inf\n", 0, "t:1:9: the value '-inf' is not finite"},
        {"overflow", "1 1:1e999\n", 0, "t:1:5: the value '1e999' is not finite in double precision"},
        {"missing value", "1 1: 2:3\n", 0, "t:1:5: a number is missing"},
        {"missing colon", "1 1:1 2\n", 0, "t:1:7: expected index:value, found '2'"},
        {"negative index", "1 -1:1\n", 0, "t:1:3: expected index:value, found '-1:1'"},
        {"malformed number", "1 1:1.2.3\n", 0, "t:1:5: malformed number '1.2.3'"},
        {"hexadecimal", "1 1:0x10\n", 0, "t:1:5: malformed number '0x10'"},
        {"exponent without digits", "1 1:1e+\n", 0, "t:1:5: malformed number '1e+'"},
        {"lone sign", "1 1:-\n", 0, "t:1:5: malformed number '-'"},
        {"lone point", "1 1:.\n", 0, "t:1:5: malformed number '.'"},
        {"blanks before a malformed number", "1\t 1:x\n", 0, "t:1:6: malformed number 'x'"},
        {"malformed label", "yes 1:1\n", 0, "t:1:1: malformed number 'yes'"},
        {"label that is none", "3 1:1\n", 0, "t:1:1: label 3: classes are -1 and +1, 0 and 1, or 1 and 2"},
        {"fractional label", "0.5 1:1\n", 0, "t:1:1: label 0.5: classes are -1 and +1, 0 and 1, or 1 and 2"},
        {"a third class", "1 1:1\n-1 1:2\n\n0 1:1\n", 0,
         "t:4:1: label 0 does not go with the labels before: classes are -1 and +1, 0 and 1, or 1 and 2"},
        {"row cut off behind a colon", "1 1:1\n-1 1:", 0, "t:2:6: a number is missing"},
        {"a query", "1 qid:3 1:1\n", 0,
         "t:1:3: 'qid:3' is of a ranking's queries, which are not read: remove qid from every row"},
        {"two signs", "1 +-1:1\n", 0, "t:1:3: expected index:value, found '+-1:1'"},
        {"row cut off in an index", "1 1:1\n-1 1:2 3", 0, "t:2:8: expected index:value, found '3'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuses(bad[i].what, bad[i].text, strlen(bad[i].text), bad[i].d, bad[i].message);
    refuses("NUL in a value", "1 1:\0\n", 6, 0, "t:1:5: a NUL byte: this is not text");
    refuses("NUL instead of an index", "1 1:2 \0:1\n", 10, 0, "t:1:7: a NUL byte: this is not text");
    refuses("NUL instead of a label", "\0 1:2\n", 6, 0, "t:1:1: a NUL byte: this is not text");
    char long_number[700];
    memset(long_number, '7', sizeof long_number);
    memcpy(long_number, "1 1:", 4);
    long_number[sizeof long_number - 1] = '\n';
    refuses("a number of 695 digits", long_number, sizeof long_number, 0,
            "t:1:5: a number of 695 characters: at most 511 are read");
}

static void test_shapes(void) {
    struct sg_matrix a;
    ok(parse(&a, "+1 1:1 3:-2.5 # one\r\n\n# two\n -1\t2:3 \n1\n", 0) == SG_OK && a.m == 3 && a.d == 3 && a.f32 &&
           !a.f64 && !a.csr_value && a.label[0] == 1 && a.label[1] == -1 && a.label[2] == 1 && a.f32[0] == 1 &&
           a.f32[1] == 0 && a.f32[2] == -2.5f && a.f32[4] == 3 && a.f32[8] == 0,
       "comments, blank lines, CRLF and empty rows; floats are kept as float");
    ok((size_t)a.f32 % 64 == 0 && (size_t)a.label % 64 == 0, "arrays are aligned to 64 bytes");
    sg_matrix_free(&a);
    ok(a.m == 0 && a.base == NULL, "free zeroes");
    ok(parse(&a, "1 1:-32767 2:5\n1 1:32767 2:0\n", 0) == SG_OK && a.i16 && !a.f32 && !a.f64 && a.i16[0] == -32767 &&
           a.i16[1] == 5 && a.i16[2] == 32767 && a.i16[3] == 0,
       "small whole numbers are kept in 16 bits");
    sg_matrix_free(&a);
    ok(parse(&a, "1 1:32768 2:5\n", 0) == SG_OK && a.f32 && a.f32[0] == 32768, "larger ones in float");
    sg_matrix_free(&a);
    ok(parse(&a, "1 1:-0.0 2:5\n", 0) == SG_OK && a.f32 && signbit(a.f32[0]), "and so is the sign of a zero");
    sg_matrix_free(&a);
    ok(parse(&a, "0 1:0.1 2:1\n1 1:2 2:3\n", 0) == SG_OK && a.f64 && !a.f32 && a.f64[0] == 0.1 && a.f64[3] == 3 &&
           a.label[0] == -1 && a.label[1] == 1,
       "one value that is no float: double; labels 0 and 1");
    sg_matrix_free(&a);
    ok(parse(&a, "2 1:1 9:4\n1 5:2\n2\n", 0) == SG_OK && a.csr_value && a.d == 9 && a.csr_start[1] == 2 &&
           a.csr_start[2] == 3 && a.csr_start[3] == 3 && a.csr_column[1] == 8 && a.csr_value[2] == 2 &&
           a.label[0] == 1 && a.label[1] == -1,
       "few values: compressed rows; labels 1 and 2");
    sg_matrix_free(&a);
    ok(parse(&a, "1 1:0 2:0 3:0 4:0 5:7\n-1 1:0 2:0 3:0 4:-0.0 5:0\n", 0) == SG_OK && a.csr_value &&
           a.csr_start[1] == 1 && a.csr_start[2] == 1 && a.csr_column[0] == 4 && a.csr_value[0] == 7,
       "explicit zeros do not count as values");
    sg_matrix_free(&a);
    ok(parse(&a, "1 1:1 2:0\n1 9:3\n", 12) == SG_OK && a.csr_value && a.d == 12 && a.csr_start[2] == 2,
       "d is taken as given; zeros are dropped from compressed rows");
    sg_matrix_free(&a);
    ok(parse(&a, "\xef\xbb\xbf+1 +1:1 2: .50\f3:\v\t2\n-1 1:2 # what", 0) == SG_OK && a.m == 2 && a.d == 3 && a.f32 &&
           a.f32[0] == 1 && a.f32[1] == 0.5f && a.f32[2] == 2 && a.f32[3] == 2 && a.label[1] == -1,
       "a byte-order mark, a plus before an index, blanks behind a colon, form feeds, and no newline at the end");
    sg_matrix_free(&a);
    ok(parse(&a, "1 1:1\n-1", 0) == SG_OK && a.m == 2 && a.label[1] == -1, "a last row of its label alone");
    sg_matrix_free(&a);
    ok(parse(&a, "1 1:1\n1 1:2\n", 0) == SG_OK && a.label[0] == 1 && a.label[1] == 1, "a single class +1");
    sg_matrix_free(&a);
}

/* Decimal texts of many shapes against strtod, which glibc rounds correctly. */
static void test_numbers(void) {
    static const char *const format[] = {"%.6g",  "%.15g", "%.16g", "%.17g",  "%.3f",
                                         "%.20f", "%.4e",  "%.0f",  "%+.12g", "%.30e"};
    enum { N = 20000 };
    sg_rng rng = sg_rng_open(1, SG_RNG_TEST, 0, 0);
    char text[256], number[160];
    size_t wrong = 0;
    for (int i = 0; i < N; i++) {
        int power = (int)sg_rng_below(&rng, i % 3 ? 40 : 600) - (i % 3 ? 20 : 300);
        double value = ldexp(sg_rng_uniform(&rng) - 0.5, i % 3 ? power : 0) * (i % 3 ? 1 : pow(10, power / 2.0));
        snprintf(number, sizeof number, format[i % 10], fabs(value) < 1e100 ? value : 1 / value);
        int length = snprintf(text, sizeof text, "1 1:%s\n", number);
        struct sg_matrix a;
        if (sg_libsvm_parse(&a, text, (size_t)length, 1, "t", &err) != SG_OK) {
            printf("#   %s\n", err.msg);
            wrong++;
            continue;
        }
        double got = !a.csr_start ? sg_matrix_dense_value(&a, 0, 0) : a.csr_start[1] ? a.csr_value[0] : 0;
        if (got != strtod(number, NULL) && ++wrong)
            printf("#   %s read as %.17g\n", number, got);
        sg_matrix_free(&a);
    }
    ok(wrong == 0, "%d numbers are read as strtod reads them", N);
    struct sg_matrix a;
    ok(parse(&a, "1 1:123456789012345e22 2:1e-22 3:9007199254740993 4:.5 5:5. 6:1E3 7:4.9e-324 8:1e-400\n", 0) ==
               SG_OK &&
           a.f64[0] == 123456789012345e22 && a.f64[1] == 1e-22 && a.f64[2] == 9007199254740992.0 && a.f64[3] == 0.5 &&
           a.f64[4] == 5 && a.f64[5] == 1000 && a.f64[6] == 4.9e-324 && a.f64[7] == 0,
       "numbers at the edges of the fast path");
    sg_matrix_free(&a);
}

int main(void) {
    test_errors();
    test_shapes();
    test_numbers();
    return tap_done();
}
