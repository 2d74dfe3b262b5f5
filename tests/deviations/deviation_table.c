/* deviation_table.c: where released code does something else than its publication, as read in its files. */
/* SPDX-License-Identifier: MIT */
#include "deviations.h"

#define GRACE(f) .repository = "sands-lab/grace", .commit = "fd3a7f42e71570aa6aecf368a2515388593bfb00", .file = f
#define SIDCO                                                                                                          \
    .repository = "sands-lab/SIDCo", .commit = "197f3c3fc992b70b88e17bb8feaf38f2d2136e9a", .file = "compression.py"
#define ATOMO(f)  .repository = "hwang595/ATOMO", .commit = "8a21e54938bc4b0809293b306eade3ab9307ea70", .file = f
#define GTOPK(f)  .repository = "hclhkbu/gtopkssgd", .commit = "6f57343f3749939b0345d36fcb2c24470942aefd", .file = f
#define GRAVAC(f) .repository = "sahiltyagi4/GraVAC", .commit = "cbcd3520a72f9b043ece93f44c4a3e3cfb70d24e", .file = f
#define OK_TOPK                                                                                                        \
    .repository = "Shigangli/Ok-Topk", .commit = "9763dccb0bf704779435cb8f66592be5a9b294bf", .file = "VGG/allreducer.py"
#define INTSGD                                                                                                         \
    .repository = "bokunwang1/intsgd", .commit = "1b3f37661e80e1f502740d64d6e89b62e930386e",                           \
    .file = "gradient_reducers.py"
#define FL                                                                                                             \
    .repository = "burlachenkok/flpytorch", .commit = "23a201b7c0e6788ec84c56d903aa01759a1d69d9",                      \
    .file = "fl_pytorch/utils/compressors.py"
#define GAUSSIAN_K                                                                                                     \
    .repository = "hclhkbu/GaussianK-SGD", .commit = "0de3eeb675930d5f81515735bbdf2f30c35162e5",                       \
    .file = "compression.py"
#define DGC                                                                                                            \
    .repository = "synxlin/deep-gradient-compression", .commit = "b929ca7ad8ca58f6fcefa5fff6f0f4684748f6a5",           \
    .file = "train.py"
#define STC                                                                                                            \
    .repository = "felisat/federated-learning", .commit = "513e8fc741673125f468b8a18b82f0ab24191a2b",                  \
    .file = "compression_utils.py"
#define TEMPLAR                                                                                                        \
    .repository = "one-covenant/templar", .commit = "3fee31a48b128d91779b9e47d90e64ccf97fd0c6",                        \
    .file = "src/tplr/compress.py"
#define EF_SGD                                                                                                         \
    .repository = "epfml/error-feedback-SGD", .commit = "0f92041bd218c361a09198d5fffe9abece74764c",                    \
    .file = "optimizers/ErrorFeedbackSGD.py"
#define EPFML                                                                                                          \
    .repository = "epfml/powersgd", .commit = "f07be924eda568511c0ca00efdfed06b1d7e6332",                              \
    .file = "paper-code/gradient_reducers.py"
#define DEEPSPEED                                                                                                      \
    .repository = "deepspeedai/DeepSpeed", .commit = "84be831927026fcf689e9f078608bc8bef355d15",                       \
    .file = "deepspeed/runtime/comm/nccl.py"

static const struct deviation deviation[] = {
    {"dgc density=0.01", "dgc-grace density=0.01", 1, 200, DEVIATION_MORE_SENT,
     GRACE("grace_dl/torch/compressor/dgc.py"),
     .what =
         "The sample is drawn with repetition, the threshold is multiplied by 1.3 or 0.7 until 0.7 to 1.3 k numbers "
         "reach it, and all of them are sent. The authors' code sends at most k."},
    {"dgc density=0.01", "dgc-tf density=0.01", 1, 200, DEVIATION_MORE_SENT,
     GRACE("grace_dl/tensorflow/compressor/dgc.py"),
     .what = "As the version for PyTorch, but with > in place of >=, the factors 1.25 and 0.9, and 20 rounds."},
    {"qsgd", "qsgd-atomo", 1, 200, DEVIATION_BIAS, ATOMO("src/codings/qsgd.py"),
     .what =
         "A level is added where the draw is above the fraction, so with the probability of not adding one. A level "
         "s + 1 spills into the two bits of the sign and is read back as 0."},
    {"terngrad-shared", "terngrad clip=2.5", 4, 200, DEVIATION_BIAS, GRACE("grace_dl/torch/compressor/terngrad.py"),
     .what =
         "Every worker has a scale of its own, and clips at 2.5 deviations, as the publication proposes, which is a "
         "bias."},
    {"powersgd rank=2", "powersgd-grace rank=2", 1, 200, DEVIATION_MORE_ERROR,
     GRACE("grace_dl/torch/memory/powersgd.py"),
     .what = "Q is drawn anew before every step, so there is no warm start. The compressor for torch.distributed does "
             "the same unless use_memory is set."},
    {"hard-threshold lambda=0.03", "hard-threshold-grace lambda=0.03", 1, 1, DEVIATION_MORE_SENT,
     GRACE("grace_dl/dist/compressor/threshold.py"),
     .what =
         "The threshold is at most the largest number of the layer, with its sign: a layer of numbers below 0 is sent "
         "whole."},
    {"inceptionn error-bound=2e-10", "inceptionn-grace error-bound=2e-10", 1, 1, DEVIATION_MORE_ERROR,
     GRACE("grace_dl/tensorflow/compressor/inceptionn.py"),
     .what =
         "The exponent of the bound is taken by log10 where powers of 2 are meant, so numbers below 2^-5 get 8 bits, "
         "which hold multiples of 2^-6. A multiple of 0 is read back as 2^-7."},
    {"8bit", "8bit-grace", 1, 1, DEVIATION_MORE_ERROR, GRACE("grace_dl/tensorflow/compressor/u8bit.py"),
     .what =
         "A number is read back as the lower end of its bin, not as the nearest fraction. Bin 0 loses its sign and is "
         "read back as 0. Beyond the last fraction the bin is NaN and its integer undefined; here it is the last bin."},
    {"sidco-e density=0.01", "sidco-e-shared density=0.01", 1, 200, DEVIATION_MORE_ERROR, SIDCO,
     .what = "The number of stages and its counters are attributes of a class, so all layers share them."},
    {"sidco-gp density=0.01 stages=1", "sidco-gp density=0.01 stages=1 approximate=1", 1, 1, DEVIATION_MORE_SENT, SIDCO,
     .what = "The version without error feedback takes -scale (ln q + ln Gamma(shape)) for the quantile of the gamma "
             "distribution, which is right for small q only."},
    {"gaussian-k density=0.01", "gaussian-k density=0.01 magnitudes=1", 1, 1, DEVIATION_MORE_SENT, SIDCO,
     .what = "GaussianKSGDCompressorEC fits the normal distribution to magnitudes."},
    {"gaussian-k density=0.05", "gaussian-k-signed density=0.05", 1, 1, DEVIATION_MORE_SENT, GAUSSIAN_K,
     .what = "The mean counts with its sign, so numbers that lie below 0 in the mean are given a lower threshold than "
             "their opposites. Here it counts by its size."},
    {"gtopk density=0.01 conserve=1", "gtopk density=0.01 conserve=0", 4, 1, DEVIATION_MORE_LOST,
     GTOPK("allreducer.py"),
     .what = "What a worker keeps is decided by positions: if one half of the tree drops a position and the other does "
             "not, what was dropped is lost, and the more workers there are, the more is. This is the default here, "
             "because the publication has it too."},
    {"ef-signsgd", "sign-l2", 1, 1, DEVIATION_MORE_ERROR, DEEPSPEED,
     .what = "All get the root of the mean square, not the mean magnitude, for which the error is the least. It is a "
             "compressor of its own here."},
    {"natural-dithering", "none", 1, 200, DEVIATION_LESS_ERROR, FL,
     .what =
         "The rounded numbers are computed, but the result is made from those that are not rounded, while the bits of "
         "rounded ones are counted."},
    {"natural", "natural-8", 1, 200, DEVIATION_FEWER_BITS, GRACE("grace_dl/torch/compressor/natural.py"),
     .what =
         "Exponents have 7 bits: numbers below 2^-108 become 0, and none is above 2^18. It is a compressor of its own "
         "here."},
    {"topk density=0.01", "topk density=0.005", 1, 1, DEVIATION_FEWER_SENT, EPFML,
     .what = "TopKReducer sends half of the share that it is given, so that values and positions together are that "
             "share."},
    {"randomk density=0.2", "randomk-grace density=0.2", 1, 200, DEVIATION_FEWER_SENT,
     GRACE("grace_dl/dist/compressor/randomk.py"),
     .what = "Positions are drawn with repetition, and one that is drawn twice brings its number once."},
    {"randomk density=0.2", "randomk-gravac density=0.2", 1, 200, DEVIATION_FEWER_SENT,
     GRAVAC("gravac_py3/compressors/randomk_compression.py"),
     .what = "The same, and the end of the range is left out twice, so that the last number of a layer is never sent."},
    {"dryden density=0.01", "dryden-grace density=0.01", 1, 200, DEVIATION_MORE_SENT,
     GRACE("grace_dl/tensorflow/compressor/adaq.py"),
     .what =
         "Each side has a threshold from a sample of one in a hundred, repaired until 0.8 to 1.25 of the share reach "
         "it, and what is above it is sent. The publication takes the share itself."},
    {"switchml bits=8", "switchml-hint bits=8", 4, 1, DEVIATION_MORE_ERROR, INTSGD,
     .what = "The reducer HINT, which stands for SwitchML, takes floor(log2 max) for the exponent, one too few, and "
             "clamps what no longer fits. SwitchML's own code has the right one."},
    {"atomo rank=1", "atomo-authors rank=1", 1, 500, DEVIATION_BIAS, ATOMO("src/codings/svd.py"),
     .what =
         "Where no triplet is chosen all are drawn again, and probabilities above 1 are cut without giving the rest to "
         "others."},
    {"atomo rank=3", "atomo-epfml rank=3", 1, 500, DEVIATION_LESS_ERROR, EPFML,
     .what = "AtomoReducer draws again until exactly r triplets are chosen, and scales them as if it had drawn once."},
};

static const struct deviation_left_out left_out[] = {
    {GRACE("grace_dl/torch/compressor/signsgd.py"),
     .what = "a sign takes a byte, as in signum.py, efsignsgd.py, onebit.py and terngrad.py."},
    {GRACE("grace_dl/torch/compressor/qsgd.py"), .what = "a layer of zeros becomes NaN, as it is divided by its norm."},
    {GRACE("grace_dl/torch/compressor/powersgd.py"),
     .what = "Gram-Schmidt divides by the norm of a column even where it is 0, which gives NaN."},
    {GRACE("grace_dl/torch/compressor/efsignsgd.py"),
     .what = "the result is the sum over workers, divided by a learning rate that is fixed when training begins. "
             "The version for TensorFlow divides by the number of workers."},
    {GRACE("grace_dl/torch/memory/dgc.py"),
     .what = "clipping by a norm cuts every element at it. The version for torch.distributed uses the result of "
             "all_reduce, which is None."},
    {GRACE("grace_dl/tensorflow/compressor/randomk.py"),
     .what = "positions are drawn from 0 to n, so one behind the end may be read, and a number that is drawn twice is "
             "added twice."},
    {GRACE("grace_dl/dist/compressor/cnat_cuda/cnat_cuda.cu"),
     .what = "exponents are numbered one lower than by natural.py."},
    {GTOPK("allreducer.py"), .what = "positions travel as floats, which are exact below 2^24, and the tree is right "
                                     "for powers of two of workers only."},
    {OK_TOPK, .what = "the phase that balances what workers gather is commented out, and positions travel as floats."},
    {OK_TOPK, .what = "the first 512 steps of a layer are dense."},
    {DGC, .what = "parameters of one dimension, as biases and those of batch normalization, are sent whole."},
    {SIDCO, .what = "the gamma fit adds 2.2e-16 of the layer's norm to every magnitude, so that zeros have a "
                    "logarithm. Here they take no part."},
    {STC, .what = "all that reach the k-th magnitude are sent. Here it is exactly k, of equal ones the first."},
    {TEMPLAR, .what = "k is made even, and at least 2, because positions of 12 bits travel in pairs. A tile of a "
                      "single element stops the program."},
    {EF_SGD, .what = "the sign of 0 is 0, so that nothing is sent for elements without gradient. Here that of 0 is +."},
    {EPFML, .what = "SignReducer adds the signs to its memory where it should take them away."},
};

const struct deviation *deviation_at(size_t i) {
    return i < sizeof deviation / sizeof *deviation ? &deviation[i] : NULL;
}

const struct deviation_left_out *deviation_left_out_at(size_t i) {
    return i < sizeof left_out / sizeof *left_out ? &left_out[i] : NULL;
}
