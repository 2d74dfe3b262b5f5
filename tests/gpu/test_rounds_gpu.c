/* Training with compressors that exchange several vectors a step, through the CUDA table against the CPU's: the same
 * bytes. */
/* SPDX-License-Identifier: MIT */
#include "gpu_spy.h"

static const char text[] = HEAD "  - {name: powersgd, compressor: powersgd}\n"
                                "  - {name: local, compressor: powersgd, rank: 2, local-residual: 1}\n"
                                "  - {name: wide, compressor: powersgd, rank: 9}\n"
                                "  - {name: layers, compressor: powersgd, rank: 3, least-saving: 5}\n";

int main(int argc, char **argv) {
    static const char *const method[] = {"powersgd", "local", "wide", "layers"};
    char why[256];
    sg_cuda_device *device;
    temporary_make();
    recipe = text;
    if (argc >= 3) /* DEVICE METHOD [KEY=VALUE]... */
        return run_once(argv[1], argv[2], (const char *const *)argv + 3);
    if (sg_cuda_device_open(&device, -1, 0, why, sizeof why) != SG_KERNEL_OK) {
        tap_no_gpu(why);
        return tap_done();
    }
    sg_cuda_device_close(device);
    for (size_t i = 0; i < sizeof method / sizeof *method; i++) {
        test_same(method[i], SET("error-feedback=gradient"));
        test_same(method[i], SET("error-feedback=none"));
    }
    test_same("powersgd", SET("error-feedback={form: update, decay: 0.5}", "workers=3"));
    test_same("powersgd", SET("error-feedback={form: momentum, beta: 0.875}"));
    flat = true; /* its sum has columns that are 0 */
    test_same("powersgd", SET("error-feedback=gradient"));
    flat = false;
    test_resume("powersgd");
    return tap_done();
}
