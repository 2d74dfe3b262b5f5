/* SHA-256 (FIPS 180-4). */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_file.h"

static const uint32_t round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int n) {
    return x >> n | x << (32 - n);
}

static void mix(unsigned h[8], const unsigned char *block) {
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
    for (int i = 0; i < 8; i++)
        s[i] = h[i];
    for (int i = 0; i < 64; i++) {
        uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        uint32_t a = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) + choice + round_constant[i] + w[i];
        uint32_t b = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) + majority;
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += a;
        s[0] = a + b;
    }
    for (int i = 0; i < 8; i++)
        h[i] += s[i];
}

void sg_sha256_start(sg_sha256 *s) {
    *s = (sg_sha256){
        .h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sg_sha256_add(sg_sha256 *s, const void *data, size_t length) {
    const unsigned char *bytes = data;
    while (length > 0) {
        size_t used = (size_t)(s->length % 64), room = 64 - used, take = length < room ? length : room;
        if (take == 64) {
            mix(s->h, bytes);
        } else {
            memcpy(s->block + used, bytes, take);
            if (take == room)
                mix(s->h, s->block);
        }
        s->length += take;
        bytes += take;
        length -= take;
    }
}

void sg_sha256_end(sg_sha256 *s, char hex[65]) {
    unsigned long long bits = s->length * 8;
    unsigned char tail[72] = {0x80};
    size_t pad = 1 + (119 - (size_t)(s->length % 64)) % 64;
    for (int i = 0; i < 8; i++)
        tail[pad + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
    sg_sha256_add(s, tail, pad + 8);
    for (int i = 0; i < 8; i++)
        snprintf(hex + 8 * i, 9, "%08x", s->h[i]);
}

void sg_sha256_of(const void *data, size_t length, char hex[65]) {
    sg_sha256 s;
    sg_sha256_start(&s);
    sg_sha256_add(&s, data, length);
    sg_sha256_end(&s, hex);
}

sg_status sg_sha256_file(const char *path, char hex[65], struct sg_error *err) {
    FILE *in = fopen(path, "rb");
    if (!in)
        return sg_fail_errno(err, errno == ENOENT ? SG_ERR_MISSING : SG_ERR_IO, "cannot read %s", path);
    enum { CHUNK = 1 << 16 };
    unsigned char *chunk = malloc(CHUNK);
    sg_sha256 s;
    sg_sha256_start(&s);
    size_t got;
    while (chunk && (got = fread(chunk, 1, CHUNK, in)) > 0)
        sg_sha256_add(&s, chunk, got);
    sg_status status = SG_OK;
    if (!chunk)
        status = sg_fail_memory(err, "reading a file");
    else if (ferror(in))
        status = sg_fail_errno(err, SG_ERR_IO, "cannot read %s", path);
    else
        sg_sha256_end(&s, hex);
    fclose(in);
    free(chunk);
    return status;
}
