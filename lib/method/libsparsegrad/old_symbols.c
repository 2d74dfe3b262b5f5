/* old_symbols.c: the library of the wheel calls these functions of the C library by their oldest versions, so that it
 * runs with glibc 2.28. The newer versions compute the same and differ in errno alone. */
/* SPDX-License-Identifier: MIT */
#ifdef __x86_64__
#define OLDEST "GLIBC_2.2.5"
#else
#define OLDEST "GLIBC_2.17"
#endif

#define HIDDEN __attribute__((visibility("hidden")))
#define ONE(name)                                                                                                      \
    __asm__(".symver old_" #name ", " #name "@" OLDEST);                                                               \
    double old_##name(double x);                                                                                       \
    HIDDEN double name(double x);                                                                                      \
    HIDDEN double name(double x) {                                                                                     \
        return old_##name(x);                                                                                          \
    }
#define TWO(name)                                                                                                      \
    __asm__(".symver old_" #name ", " #name "@" OLDEST);                                                               \
    double old_##name(double x, double y);                                                                             \
    HIDDEN double name(double x, double y);                                                                            \
    HIDDEN double name(double x, double y) {                                                                           \
        return old_##name(x, y);                                                                                       \
    }

ONE(exp)
ONE(exp2)
ONE(log)
ONE(log2)
TWO(hypot)
TWO(pow)
