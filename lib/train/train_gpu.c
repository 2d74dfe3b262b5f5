/* train_gpu.c: a run whose vectors lie on a GPU. Workers take turns there, so one gradient, one message under
 * construction and one workspace serve them all. Memory: the model, n residuals, the optimizer's state, what the task
 * keeps, the activations of one worker; gradient and sum; 16 bytes an element to select with. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "sg_result.h"
#include "train_private.h"

/* For "cuda" the number is -1: the processes of a host get its GPUs in turn. */
static sg_status gpu_number(int *out, const char *device, struct sg_error *err) {
    char *end = NULL;
    const long number = strcmp(device, "cuda") == 0        ? -1
                        : strncmp(device, "cuda:", 5) == 0 ? strtol(device + 5, &end, 10)
                                                           : -2;
    if (number < -1 || (end && (*end != '\0' || device[5] < '0' || device[5] > '9')) || number > 1023)
        return sg_fail(err, SG_ERR_ARGUMENT, "--device %s: must be cpu, cuda, or cuda:N with a number N", device);
    *out = (int)number;
    return SG_OK;
}

sg_status train_gpu_open(struct train *t, struct sg_error *err) {
    struct sg_cuda_facts facts;
    char why[256];
    int number = 0;
    const char *device = t->options->device;
    sg_status status = gpu_number(&number, device, err);
    if (status != SG_OK)
        return status;
    if (sg_cuda_device_open(&t->device.gpu, number, sg_comm_local_rank(t->comm), why, sizeof why) != SG_KERNEL_OK)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "--device %s: %s, or use --device cpu", device, why);
    sg_cuda_device_facts(t->device.gpu, &facts);
    snprintf(t->device.name, sizeof t->device.name, "cuda:%d", facts.number);
    t->kernels = sg_cuda_kernels();
    t->exec.device = t->device.gpu;
    return SG_OK;
}

sg_status train_get(const struct train *t, void *host, const void *from, size_t bytes, struct sg_error *err) {
    return t->kernels->get(&t->exec, host, from, bytes) == SG_KERNEL_OK ? SG_OK : train_fail_device(t, err);
}

sg_status train_wait(const struct train *t, struct sg_error *err) {
    return t->kernels->wait(&t->exec) == SG_KERNEL_OK ? SG_OK : train_fail_device(t, err);
}

sg_status train_fail_device(const struct train *t, struct sg_error *err) {
    const char *words = t->device.gpu ? sg_cuda_device_error(t->device.gpu) : NULL;
    return sg_fail(err, SG_ERR_UNSUPPORTED, "device %s failed at step %llu: %s", t->device.name,
                   (unsigned long long)t->step, words ? words : "unknown error");
}

cJSON *train_host_json(const struct train *t) {
    struct sg_cuda_facts facts;
    cJSON *host = sg_result_host();
    if (t->device.gpu) {
        sg_cuda_device_facts(t->device.gpu, &facts);
        cJSON_ReplaceItemInObjectCaseSensitive(host, "gpu", cJSON_CreateString(facts.name));
    }
    return host;
}

cJSON *train_cuda_json(const struct train *t) {
    struct sg_cuda_facts facts;
    char version[32];
    if (!t->device.gpu)
        return NULL;
    sg_cuda_device_facts(t->device.gpu, &facts);
    snprintf(version, sizeof version, "%d.%d", facts.runtime / 1000, facts.runtime % 1000 / 10);
    return cJSON_CreateString(version);
}
