/* net_coding.c: what encoding and decoding take on processors, by published figures and by this project's own. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "net_private.h"
#include "sg_row.h"

/* Espresso (Wang et al., EuroSys 2023) has the microseconds of 2^20 floats in its simulator, commit a0294e3,
 * model_tensor.py: those of encoding and decoding together, and those of decoding. */
#define ESPRESSO_ELEMENT(both_us, decode_us) (((both_us) - (decode_us)) * 1e3 / 1048576)
#define ESPRESSO_NUMBER(decode_us)           ((decode_us)*1e3 / 1048576)
/* Its time to decode sparse messages does not say for how many, so it is counted once, with the encoding. Beside it
 * each entry reads 8 bytes, and reads and writes a sector of 32 bytes, at a V100's 900 GB/s: ours, not measured. */
#define ESPRESSO_SPARSE(both_us) ((both_us)*1e3 / 1048576)
#define ENTRY                    (72 / 900.0)
/* Agarwal et al., MLSys 2022: encoding and decoding of ResNet-50's 25.56 million numbers take 240 ms (Top-k 1 %, by a
 * sort) and 45 ms (PowerSGD of rank 4). Quoted from memory; the text could not be had. */
#define RESNET50(ms) ((ms)*1e6 / 25.56e6)

static const struct sg_coding v100[] = {
    {"fp16", ESPRESSO_ELEMENT(26, 22), ESPRESSO_NUMBER(22)},
    {"bf16", ESPRESSO_ELEMENT(26, 22), ESPRESSO_NUMBER(22)},
    {"ef-signsgd", ESPRESSO_ELEMENT(270, 140), ESPRESSO_NUMBER(140)},
    {"sign-l2", ESPRESSO_ELEMENT(270, 140), ESPRESSO_NUMBER(140)},
    {"signsgd", ESPRESSO_ELEMENT(270, 140), ESPRESSO_NUMBER(140)},
    {"onebit", ESPRESSO_ELEMENT(620, 170), ESPRESSO_NUMBER(170)},
    {"randomk", ESPRESSO_SPARSE(88), ENTRY},
    {"dgc", ESPRESSO_SPARSE(390), ENTRY},
    {"topk", RESNET50(240), ENTRY},
    {"topk-twice", RESNET50(240), ENTRY},
    {"accordion", RESNET50(240), ENTRY},
    {"gtopk", RESNET50(240), ENTRY},
    {"clt-k", RESNET50(240), ENTRY},
    {"signtopk", RESNET50(240), ENTRY},
    {"stc", RESNET50(240), ENTRY},
    {"clipped-topk", RESNET50(240), ENTRY},
    {"topk-then-threshold", RESNET50(240), ENTRY}, /* of both parts of the run, the slower one */
    {"threshold-then-topk", RESNET50(240), ENTRY},
    {"powersgd", RESNET50(45), 0},
    {NULL, 0, 0},
};

static const void *const processors[] = {
    &(const struct sg_processor){.name = "v100",
                                 .summary = "an NVIDIA V100, by published figures",
                                 .source = "Espresso, EuroSys 2023, commit a0294e3; Top-k by a sort and PowerSGD: "
                                           "Agarwal et al., MLSys 2022, from memory",
                                 .row = v100},
    &(const struct sg_processor){.name = "cpu",
                                 .summary = "this library on two threads of an AMD EPYC with AVX-512",
                                 .source = "results/bench-compressors.json, measured",
                                 .row = net_coding_cpu},
    &(const struct sg_processor){.name = "free", .summary = "coding takes no time", .source = "an assumption"},
};
static const struct sg_rows processor_rows = SG_ROWS(processors);

const struct sg_processor *sg_processor_at(size_t i) {
    return sg_row_at(&processor_rows, i);
}

const struct sg_processor *sg_processor_find(const char *name) {
    return sg_row_find(&processor_rows, name);
}

const struct sg_coding *sg_coding_find(const struct sg_coding *row, const char *compressor, bool dense) {
    const char *const wanted[] = {compressor, dense ? "onebit" : "dgc"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        for (const struct sg_coding *r = row; r && r->compressor; r++)
            if (strcmp(r->compressor, wanted[i]) == 0)
                return r;
    return NULL;
}
