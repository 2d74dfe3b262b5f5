/* CIFAR files: what is read, what is refused, and where a set comes from. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "images_private.h"
#include "sg_file.h"
#include "sg_images.h"
#include "sg_json.h"
#include "sg_threads.h"
#include "tap.h"
#include "temporary.h"

static struct sg_error err;

static sg_status load(struct sg_image_set *set, const char *name, const char *stand_in, size_t most) {
    struct sg_image_request request = {
        .set = {.name = name, .stand_in = stand_in, .data_dir = temporary}, .most_train = most, .most_test = most};
    return sg_image_set_load(set, &request, &err);
}

/* Record i has label i % classes; coarse label (label / 5); pixel j is i + j modulo 251. */
static void write_file(const char *path, size_t records, size_t classes) {
    const size_t labels = classes == 100 ? 2 : 1, bytes = labels + SG_IMAGE_VALUES;
    uint8_t *text = malloc(records * bytes);
    for (size_t i = 0; text && i < records; i++) {
        uint8_t *record = text + i * bytes;
        record[0] = (uint8_t)(i % classes / 5);
        record[labels - 1] = (uint8_t)(i % classes);
        for (size_t j = 0; j < SG_IMAGE_VALUES; j++)
            record[labels + j] = (uint8_t)((i + j) % 251);
    }
    temporary_write(path, text, records * bytes);
    free(text);
}

static void write_subsets(void) {
    mkdir(temporary_path("cifar-10-tiny"), 0777);
    for (size_t i = 1; i <= 5; i++) {
        char name[64];
        snprintf(name, sizeof name, "cifar-10-tiny/data_batch_%zu.bin", i);
        write_file(name, i == 5 ? 4 : 10, 10);
    }
    write_file("cifar-10-tiny/test_batch.bin", 3, 10);
    mkdir(temporary_path("cifar-100-tiny"), 0777);
    write_file("cifar-100-tiny/train.bin", 120, 100);
    write_file("cifar-100-tiny/test.bin", 7, 100);
}

static void test_read(void) {
    struct sg_image_set set;
    if (!ok(load(&set, "cifar-10-tiny", NULL, 0) == SG_OK, "a subset of cifar-10 is read"))
        printf("#   got '%s'\n", err.msg);
    else {
        const struct sg_images *t = &set.train;
        ok(t->count == 44 && t->classes == 10 && set.test.count == 3 && set.augmentation == SG_AUGMENT_CROP_FLIP &&
               set.scale.mean[0] == 0.4914f,
           "its sizes and constants");
        bool same = true;
        for (size_t i = 0; i < t->count; i++)
            for (size_t j = 0; j < SG_IMAGE_VALUES; j++)
                same &= t->label[i] == i % 10 && t->pixel[i * SG_IMAGE_VALUES + j] == (i % 10 + j) % 251;
        ok(same, "every pixel and label in the files' order");
        cJSON *json = sg_image_set_json(&set);
        ok(strcmp(sg_json_string(json, "source", ""), "file") == 0 && sg_json_number(json, "train_images", 0) == 44 &&
               sg_json_number(json, "test_images", 0) == 3 && sg_json_number(json, "classes", 0) == 10 &&
               cJSON_IsNull(sg_json_get(json, "verified")),
           "its facts as JSON; with no checksum to compare with, verified is null");
        cJSON_Delete(json);
        sg_image_set_free(&set);
    }
    if (ok(load(&set, "cifar-100-tiny", NULL, 0) == SG_OK && set.train.count == 120 && set.train.classes == 100 &&
               set.train.label[107] == 7 && set.train.pixel[107 * SG_IMAGE_VALUES] == 107 &&
               set.augmentation == SG_AUGMENT_CROP_FLIP_ROTATE,
           "of cifar-100, the fine labels"))
        sg_image_set_free(&set);
}

/* No two of the 120 images have the same pixels. */
static void test_validation(void) {
    struct sg_image_set plain, held;
    struct sg_image_request request = {.set = {.name = "cifar-100-tiny", .data_dir = temporary}, .most_train = 50};
    bool fine = sg_image_set_load(&plain, &request, &err) == SG_OK;
    request.validation = 30;
    if (!ok(fine && sg_image_set_load(&held, &request, &err) == SG_OK && held.validation.count == 30,
            "images are held out"))
        return;
    ok(plain.train.count == 50 && held.train.count == 50 &&
           memcmp(plain.train.pixel, held.train.pixel, 50 * SG_IMAGE_VALUES) == 0 && plain.validation.count == 0,
       "and the training images are the same");
    size_t both = 0;
    for (size_t i = 0; i < held.validation.count; i++)
        for (size_t j = 0; j < held.train.count; j++)
            both += memcmp(held.validation.pixel + i * SG_IMAGE_VALUES, held.train.pixel + j * SG_IMAGE_VALUES,
                           SG_IMAGE_VALUES) == 0;
    ok(both == 0, "no image is in both: %zu", both);
    cJSON *json = sg_image_set_json(&held);
    ok(sg_json_number(json, "validation_images", 0) == 30, "the provenance has their number");
    cJSON_Delete(json);
    sg_image_set_free(&plain);
    sg_image_set_free(&held);
    request.most_train = 0;
    request.validation = 100;
    if (ok(sg_image_set_load(&held, &request, &err) == SG_OK && held.train.count == 20,
           "without a number all others are trained on"))
        sg_image_set_free(&held);
    request.validation = 120;
    ok(sg_image_set_load(&held, &request, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "some must be left"),
       "but not all can be held out");
    request = (struct sg_image_request){.set = {.name = "cifar-10", .stand_in = "cifar-like", .data_dir = temporary},
                                        .most_train = 20,
                                        .validation = 7};
    if (ok(sg_image_set_load(&held, &request, &err) == SG_OK && held.validation.count == 7 &&
               memcmp(held.validation.pixel, held.train.pixel, SG_IMAGE_VALUES) != 0,
           "generated images are others"))
        sg_image_set_free(&held);
}

static void test_keep(void) {
    struct sg_image_set few, more;
    if (!ok(load(&few, "cifar-100-tiny", NULL, 5) == SG_OK && load(&more, "cifar-100-tiny", NULL, 30) == SG_OK &&
                few.train.count == 5 && few.test.count == 5 && more.train.count == 30 && more.test.count == 7,
            "no more images than wanted"))
        return;
    size_t among = 0, sound = 0;
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 30; j++)
            among += few.train.pixel[i * SG_IMAGE_VALUES] == more.train.pixel[j * SG_IMAGE_VALUES];
    for (size_t j = 0; j < 30; j++)
        sound += more.train.pixel[j * SG_IMAGE_VALUES] % 100 == more.train.label[j];
    ok(among == 5 && sound == 30, "the fewer are among the more, with their labels");
    sg_image_set_free(&few);
    sg_image_set_free(&more);
}

static void test_refused(void) {
    static const struct {
        const char *what, *file;
        size_t records; /* of cifar-100's kind */
        long cut, at;   /* bytes to cut off; where to change a byte, -1 = nowhere */
        int value;
        const char *message;
    } bad[] = {
        {"a truncated file", "cifar-100-bad/train.bin", 3, 1, -1, 0,
         "cifar-100-bad/train.bin: 9221 bytes are not a whole number of cifar-100's records of 3074 bytes"},
        {"an empty file", "cifar-100-bad/train.bin", 0, 0, -1, 0, "train.bin: 0 bytes are not a whole number"},
        {"a label out of range", "cifar-100-bad/train.bin", 3, 0, 2 * 3074 + 1, 100,
         "train.bin: record 3: label 100, but cifar-100 has classes 0 to 99"},
        {"a coarse label out of range", "cifar-100-bad/test.bin", 3, 0, 3074, 20,
         "test.bin: record 2: coarse label 20, but cifar-100 has 0 to 19"},
        {"a class in two groups", "cifar-100-bad/train.bin", 101, 0, 100 * 3074, 1,
         "train.bin: record 101: label 0 with coarse label 1, but 0 in earlier records"},
        {"a truncated official file", "cifar-100/train.bin", 49999, 0, -1, 0,
         "cifar-100/train.bin: 153696926 bytes, but a file of cifar-100 has 153700000 (50000 records of 3074): it is "
         "truncated"},
    };
    struct sg_image_set set;
    mkdir(temporary_path("cifar-100-bad"), 0777);
    mkdir(temporary_path("cifar-100"), 0777);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bool official = bad[i].records > 1000;
        const char *set_name = official ? "cifar-100" : "cifar-100-bad";
        write_file("cifar-100-bad/train.bin", 3, 100);
        write_file("cifar-100-bad/test.bin", 3, 100);
        write_file("cifar-100/test.bin", official ? 10000 : 1, 100);
        write_file(bad[i].file, bad[i].records, 100);
        if (bad[i].at >= 0) {
            FILE *f = fopen(temporary_path(bad[i].file), "r+b");
            if (!f || fseek(f, bad[i].at, SEEK_SET) != 0 || fputc(bad[i].value, f) == EOF || fclose(f) != 0)
                exit(1);
        }
        if (bad[i].cut && truncate(temporary_path(bad[i].file), (off_t)bad[i].records * 3074 - bad[i].cut) != 0)
            exit(1);
        if (!ok(load(&set, set_name, "cifar-like", 0) == SG_ERR_FORMAT && strstr(err.msg, bad[i].message), "%s",
                bad[i].what))
            printf("#   got '%s'\n", err.msg);
    }
    remove(temporary_path("cifar-100/train.bin"));
    ok(load(&set, "cifar-100", "cifar-like", 0) == SG_ERR_MISSING && strstr(err.msg, "no file train.bin"),
       "half a set is no reason for a stand-in");
    remove(temporary_path("cifar-100/test.bin"));
    ok(load(&set, "cifar-100", NULL, 0) == SG_ERR_MISSING && strstr(err.msg, "datasets/fetch cifar-100") &&
           strstr(err.msg, "cifar-like"),
       "a missing set: the fetch command and the stand-in");
    ok(load(&set, "cifar10", NULL, 0) == SG_ERR_ARGUMENT && strstr(err.msg, "'cifar10'"), "an unknown set");
    ok(load(&set, "cifar-10", "gisette-like", 0) == SG_ERR_ARGUMENT && strstr(err.msg, "cifar-like"),
       "a stand-in of another kind");
}

/* All zeros are sound records. */
static void test_sizes(void) {
    const struct cifar_format *format = cifar_format_find("cifar-10");
    const size_t bytes = cifar_record_bytes(format);
    void *text = calloc(10001, bytes);
    size_t count = 0;
    ok(text && cifar_check(&count, format, text, 10000 * bytes, 10000, "f", &err) == SG_OK && count == 10000,
       "a file of the official size");
    ok(text && cifar_check(&count, format, text, 10001 * bytes, 10000, "f", &err) == SG_ERR_FORMAT &&
           strcmp(err.msg, "f: 30733073 bytes, but a file of cifar-10 has 30730000 (10000 records of 3073): it is "
                           "another file") == 0,
       "an oversize file");
    free(text);
    ok(cifar_format_find("cifar-100") != format && cifar_format_find("cifar-10-x") == format &&
           !cifar_format_find("cifar-1") && !cifar_format_find("cifar-1000"),
       "formats by name");
}

/* A description with checksums: files that agree, that differ, and that fetch recorded otherwise. */
static void test_verified(void) {
    char text[1024], line[80];
    char *train, *test;
    size_t length;
    struct sg_image_set set;
    char sum[2][65], zero[65];
    if (sg_file_read(&train, &length, temporary_path("cifar-100-tiny/train.bin"), 1 << 20, &err) != SG_OK)
        return (void)ok(0, "%s", err.msg);
    sg_sha256_of(train, length, sum[0]);
    free(train);
    if (sg_file_read(&test, &length, temporary_path("cifar-100-tiny/test.bin"), 1 << 20, &err) != SG_OK)
        return (void)ok(0, "%s", err.msg);
    sg_sha256_of(test, length, sum[1]);
    free(test);
    memset(zero, '0', 64);
    zero[64] = '\0';
    for (int same = 1; same >= 0; same--) {
        int n = snprintf(text, sizeof text,
                         "format: cifar-100\nfiles:\n  - {name: train.bin, url: x, sha256: %s}\n"
                         "  - {name: test.bin, url: x, sha256: %s}\n",
                         sum[0], same ? sum[1] : zero);
        temporary_write("cifar-100-tiny.yaml", text, (size_t)n);
        if (ok(load(&set, "cifar-100-tiny", NULL, 0) == SG_OK &&
                   set.from.verified == (same ? SG_VERIFIED_SAME : SG_VERIFIED_DIFFERENT),
               same ? "the publisher's files" : "another copy is used, and told apart")) {
            char expected[65];
            n = snprintf(text, sizeof text, "%s  train.bin\n%s  test.bin\n", sum[0], sum[1]);
            sg_sha256_of(text, (size_t)n, expected);
            ok(strcmp(set.from.sha256, expected) == 0, "the set's checksum is that of sha256sum's lines");
            sg_image_set_free(&set);
        }
    }
    temporary_write("cifar-100-tiny/SHA256SUMS", line, (size_t)snprintf(line, sizeof line, "%s  test.bin\n", zero));
    ok(load(&set, "cifar-100-tiny", NULL, 0) == SG_ERR_MISMATCH && strstr(err.msg, "SHA256SUMS"),
       "a file that fetch recorded otherwise is refused");
    remove(temporary_path("cifar-100-tiny/SHA256SUMS"));
    remove(temporary_path("cifar-100-tiny.yaml"));
}

static void test_stand_in(void) {
    struct sg_image_set set;
    if (!ok(load(&set, "cifar-100", "cifar-like", 300) == SG_OK, "a stand-in"))
        return;
    ok(set.train.count == 300 && set.test.count == 300 && set.train.classes == 100 &&
           strcmp(set.from.source, "generated") == 0 && strcmp(set.from.generator, "cifar-like") == 0 &&
           set.from.path == NULL && set.from.verified == SG_VERIFIED_NOT,
       "has the set's classes and says that it is generated");
    ok(memcmp(set.train.pixel, set.test.pixel, SG_IMAGE_VALUES) != 0, "training and test images differ");
    sg_image_set_free(&set);
}

/* Mean of a channel over a set of images, 0..1. */
static double channel_mean(const struct sg_images *images, size_t c) {
    uint64_t sum = 0;
    const size_t plane = SG_IMAGE_VALUES / SG_IMAGE_CHANNELS;
    for (size_t i = 0; i < images->count; i++)
        for (size_t j = 0; j < plane; j++)
            sum += images->pixel[i * SG_IMAGE_VALUES + c * plane + j];
    return (double)sum / 255 / (double)(images->count * plane);
}

static bool balanced(const struct sg_images *images) {
    size_t count[256] = {0};
    for (size_t i = 0; i < images->count; i++)
        count[images->label[i]]++;
    for (size_t k = 0; k < images->classes; k++)
        if (count[k] * images->classes != images->count)
            return false;
    return true;
}

static void test_real(const char *name, size_t train, size_t test, const char *sha256, double tolerance) {
    const char *shared = getenv("SPARSE_SHARED_DATA");
    struct sg_image_set set;
    struct sg_image_request request = {.set = {.name = name, .data_dir = shared ? shared : "../shared/data"}};
    char folder[512];
    snprintf(folder, sizeof folder, "%s/%s", request.set.data_dir, name);
    if (access(folder, R_OK) != 0) {
        skip("the real %s is not at %s", name, folder);
        return;
    }
    setenv("SPARSE_DATASETS", "datasets", 1);
    bool good = sg_image_set_load(&set, &request, &err) == SG_OK;
    setenv("SPARSE_DATASETS", temporary, 1);
    if (!ok(good && set.train.count == train && set.test.count == test, "%s: %zu and %zu images", name, train, test)) {
        printf("#   got '%s'\n", err.msg);
        return;
    }
    ok(balanced(&set.train) && balanced(&set.test), "%s: as many of each class", name);
    for (size_t c = 0; c < SG_IMAGE_CHANNELS; c++) {
        double mean = channel_mean(&set.train, c);
        ok(fabs(mean - set.scale.mean[c]) <= tolerance, "%s: mean of channel %zu is %.5f", name, c, mean);
    }
    ok(set.from.verified == SG_VERIFIED_SAME || strcmp(set.from.sha256, sha256) == 0, "%s: checksum %s", name,
       set.from.sha256);
    sg_image_set_free(&set);
}

int main(void) {
    temporary_make();
    unsetenv("SPARSE_DATA");
    setenv("SPARSE_DATASETS", temporary, 1);
    write_subsets();
    test_read();
    test_validation();
    test_keep();
    test_refused();
    test_sizes();
    test_verified();
    test_stand_in();
    test_real("cifar-100-12k", 10000, 2000, "2b4ace65f313a4b878194adeaa1a97027796f9991c5f033285e10be3f5014e14", 5e-3);
    const char *level = getenv("SPARSE_TEST_LEVEL");
    if (level && strcmp(level, "quick") == 0)
        skip("unpacking the real cifar-10 takes 10 s: not in the quick tests");
    else
        test_real("cifar-10", 50000, 10000, "4a77fec2ff4908a0935bc2b69739740fcbcb547832bd1efd68e8795e82182521", 1e-4);
    return tap_done();
}
