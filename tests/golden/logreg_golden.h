/* Written by logreg_golden.py: NumPy 2.4.6, SciPy 1.17.1, Python 3.11.7. */
/* clang-format off */
static const double golden_lipschitz[] = {0x1.b5bacba93d6f3p-1};
static const double golden_row_mean[] = {0x1.c870000000000p+1};
static const double golden_row_max[] = {0x1.f050000000000p+2};
static const double golden_value[] = {0x1.5dd82f3831308p-1};
static const double golden_gradient[] = {-0x1.061ee1e9d16fcp-4, -0x1.1b382ef6aed26p-6, 0x1.30c57cf367c5cp-7, -0x1.e8a8663b36ad0p-5, 0x1.f8e205aee7f17p-4, 0x1.2fa1aed4e881fp-6, -0x1.f47e6b993aec0p-5, -0x1.e2d0281e7b409p-5, -0x1.224b0d0d4a360p-7};
static const double golden_optimum[] = {-0x1.bdb0430c520aap-5, 0x1.50d8554500d21p-2, -0x1.135923fef1019p-4, 0x1.606cbf7fe16a5p-3, -0x1.a5c43371f17c2p-2, -0x1.2fb54b11a5349p-2, 0x1.8ef60a8951a68p-2, 0x1.83f82fb9fde83p-2, 0x1.2e358c60dfe8ep-2};
static const double golden_optimum_value[] = {0x1.36c9f01638a5bp-1};
