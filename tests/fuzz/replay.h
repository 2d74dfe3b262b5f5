/* replay.h: lets a fuzz target run without a fuzzer: every file named on the command line, and every file in a folder
 * named there, goes through LLVMFuzzerTestOneInput once. main is weak, so that libFuzzer's takes its place under
 * -fsanitize=fuzzer. */
/* SPDX-License-Identifier: MIT */
#ifndef REPLAY_H
#define REPLAY_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path) {
    FILE *in = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t size = 0, capacity = 0, got = 1;
    while (in != NULL && got > 0) {
        if (size == capacity) {
            capacity = capacity ? 2 * capacity : 4096;
            uint8_t *grown = realloc(data, capacity);
            if (grown == NULL)
                break;
            data = grown;
        }
        got = fread(data + size, 1, capacity - size, in);
        size += got;
    }
    int failed = in == NULL || got > 0 || ferror(in);
    uint8_t *exact = failed ? NULL : realloc(data, size > 0 ? size : 1); /* so that a sanitizer sees the end */
    data = exact != NULL ? exact : data;
    if (!failed)
        LLVMFuzzerTestOneInput(data, size);
    else
        perror(path);
    if (in != NULL)
        fclose(in);
    free(data);
    return failed;
}

static int replay_path(const char *path, size_t *count) {
    DIR *folder = opendir(path);
    if (folder == NULL) {
        ++*count;
        return replay_file(path);
    }
    int failed = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char inner[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        failed |= replay_path(inner, count);
    }
    closedir(folder);
    return failed;
}

/* Fails on an unreadable path and when there was nothing to replay. */
__attribute__((weak)) int main(int argc, char **argv) {
    int failed = 0;
    size_t count = 0;
    for (int i = 1; i < argc; i++)
        failed |= replay_path(argv[i], &count);
    printf("replayed %zu inputs\n", count);
    return failed || count == 0;
}

#endif
