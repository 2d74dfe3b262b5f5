/* run_reuse.c: what is looked at before a finished series is reused: the checksum that it carries, and the devices that
 * it ran on. */
#include <string.h>

#include "sg_file.h"
#include "sg_result.h"
#include "sg_text.h"

/* The last member of the record `run`, with 64 digits between: the SHA-256 of the file without this member. */
static const char seal_begin[] = ",\"sha256\":\"", seal_end[] = "\"}\n";
enum { BEGIN_CHARS = sizeof seal_begin - 1, DIGITS = 64, SEAL_CHARS = BEGIN_CHARS + DIGITS + 1 };

char *sg_run_seal(sg_sha256 before, const char *run, const char *end) {
    char hex[65];
    sg_sha256_add(&before, run, strlen(run));
    sg_sha256_add(&before, end, strlen(end));
    sg_sha256_end(&before, hex);
    return sg_format("%.*s%s%s%s%s", (int)strcspn(run, "\n") - 1, run, seal_begin, hex, seal_end, end);
}

bool sg_run_is_damaged(const char *text, size_t length) {
    static const char run[] = "\n{\"record\":\"run\"";
    const char *line = memmem(text, length, run, sizeof run - 1);
    const char *stop = line ? memchr(line + 1, '\n', length - (size_t)(line + 1 - text)) : NULL;
    if (!stop || stop - line < SEAL_CHARS + 2 || memcmp(stop - 1 - SEAL_CHARS, seal_begin, BEGIN_CHARS) != 0)
        return false;
    const char *seal = stop - 1 - SEAL_CHARS, *rest = stop - 1;
    char hex[65];
    sg_sha256 hash;
    sg_sha256_start(&hash);
    sg_sha256_add(&hash, text, (size_t)(seal - text));
    sg_sha256_add(&hash, rest, length - (size_t)(rest - text));
    sg_sha256_end(&hash, hex);
    return memcmp(hex, seal + BEGIN_CHARS, DIGITS) != 0;
}

const char *sg_run_other_device(const struct sg_run *run, const char *device) {
    const size_t kind = strcspn(device, ":");
    const cJSON *segment;
    cJSON_ArrayForEach(segment, sg_json_get(run->run, "segments")) {
        const char *then = sg_json_string(segment, "device", device);
        if (strcspn(then, ":") != kind || strncmp(then, device, kind) != 0)
            return then;
    }
    return NULL;
}
