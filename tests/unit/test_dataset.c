/* test_dataset.c: labelled data sets: where files are found, their caches, pins, descriptions and stand-ins. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sg_cache.h"
#include "sg_dataset.h"
#include "sg_file.h"
#include "sg_json.h"
#include "sg_matrix.h"
#include "tap.h"
#include "temporary.h"

static struct sg_error err;
static const char tiny[] = "1 1:1 2:2\n-1 1:3 2:0.6\n";
static const char changed[] = "1 1:1 2:2\n-1 1:3 2:0.7\n";

static char noticed[512];
static void take_notice(const char *message) {
    snprintf(noticed, sizeof noticed, "%s", message);
}

/* Loads from the test's folder and forgets the matrix; *value is its last cell, in double storage. */
static sg_status load(const char *name, const char *stand_in, struct sg_provenance *from, double *value) {
    struct sg_matrix a;
    struct sg_dataset_request request = {
        .name = name, .stand_in = stand_in, .data_dir = temporary, .notice = take_notice};
    noticed[0] = '\0';
    sg_status status = sg_dataset_load(&a, from, &request, &err);
    if (status == SG_OK) {
        *value = a.f64 ? a.f64[a.m * a.d - 1] : -1;
        sg_matrix_free(&a);
    }
    return status;
}

static void write_descriptor(const char *name, const char *pin) {
    char text[512], file[64];
    snprintf(text, sizeof text,
             "name: %s\nformat: libsvm\nfeatures: 2\nfiles:\n  - name: rows\n    url: http://x/rows\n    sha256: %s\n",
             name, pin);
    snprintf(file, sizeof file, "%s.yaml", name);
    temporary_write(file, text, strlen(text));
}

static void test_find(void) {
    struct sg_provenance from;
    double value = 0;
    char sha256[65];
    sg_sha256_of(tiny, sizeof tiny - 1, sha256);
    temporary_write("tiny", tiny, sizeof tiny - 1);
    ok(load("tiny", NULL, &from, &value) == SG_OK && value == 0.6, "a set without description: the file of its name");
    ok(strcmp(from.name, "tiny") == 0 && strcmp(from.source, "file") == 0 && strcmp(from.sha256, sha256) == 0 &&
           from.generator[0] == '\0' && strcmp(from.path, temporary_path("tiny")) == 0,
       "its provenance");
    cJSON *json = sg_provenance_json(&from);
    ok(strcmp(sg_json_string(json, "sha256", ""), sha256) == 0 &&
           strcmp(sg_json_string(json, "source", ""), "file") == 0,
       "its provenance as JSON");
    cJSON_Delete(json);
    sg_provenance_free(&from);

    ok(load(temporary_path("tiny"), NULL, &from, &value) == SG_OK && strcmp(from.name, "tiny") == 0,
       "a path is read directly");
    sg_provenance_free(&from);
    mkdir(temporary_path("nested"), 0777);
    temporary_write("nested/rows", tiny, sizeof tiny - 1);
    write_descriptor("nested", "trust-on-first-use");
    ok(load("nested", NULL, &from, &value) == SG_OK && value == 0.6, "NAME/FILE with the description's file name");
    sg_provenance_free(&from);

    char command[1024];
    snprintf(command, sizeof command, "xz -c < '%s' > '%s.xz'", temporary_path("tiny"), temporary_path("packed"));
    if (system(command) == 0) {
        ok(load("packed", NULL, &from, &value) == SG_OK && value == 0.6 && strcmp(from.sha256, sha256) == 0,
           "a packed file has the checksum of its text");
        sg_provenance_free(&from);
        if (truncate(temporary_path("packed.xz"), 40) == 0)
            ok(load("packed", NULL, &from, &value) == SG_ERR_FORMAT && strstr(err.msg, "truncated or corrupt"),
               "a truncated packed file");
    } else {
        skip("xz is not installed");
    }
    alarm(10); /* ends a test that waits for somebody who writes to the pipe */
    ok(mkfifo(temporary_path("pipe"), 0666) == 0 &&
           load(temporary_path("pipe"), NULL, &from, &value) == SG_ERR_ARGUMENT && strstr(err.msg, "is a pipe"),
       "a named pipe is refused at once: %s", err.msg);
    ok(load("pipe", NULL, &from, &value) == SG_ERR_MISSING, "and is no file of a set");
    alarm(0);
    ok(load(temporary_path("nested"), NULL, &from, &value) == SG_ERR_ARGUMENT && strstr(err.msg, "is a folder"),
       "so is a folder");
    ok(load("absent", NULL, &from, &value) == SG_ERR_MISSING && !strstr(err.msg, "datasets/fetch") &&
           strstr(err.msg, "put it into datasets/cache/absent/") &&
           strstr(err.msg, "absent/absent with --data or $SPARSE_DATA") && strstr(err.msg, "./own.libsvm") &&
           !strstr(err.msg, "stand-in"),
       "a missing set that nothing describes: %s", err.msg);
    write_descriptor("gisette-mine", "trust-on-first-use");
    ok(load("gisette-mine", NULL, &from, &value) == SG_ERR_MISSING && strstr(err.msg, "fetch gisette-mine") &&
           strstr(err.msg, "datasets/fetch gisette-mine") && strstr(err.msg, "task.stand-in: gisette-like"),
       "a described one: the fetch command and the stand-in of its kind: %s", err.msg);
    ok(load("absent", "gisette-lik", &from, &value) == SG_ERR_ARGUMENT, "an unknown stand-in");
}

static void test_cache(void) {
    struct sg_provenance from;
    double value = 0;
    char *folder = NULL, command[1024];
    ok((folder = sg_cache_folder(temporary)) && strcmp(folder, temporary_path("derived")) == 0,
       "derived files go beside the data");
    snprintf(command, sizeof command,
             "for f in %s/tiny-*.cache; do test -s $f || exit 1; printf X | dd of=$f conv=notrunc 2>/dev/null; done",
             folder);
    ok(system(command) == 0, "there is a cache of the parsed file");
    ok(load("tiny", NULL, &from, &value) == SG_OK && value == 0.6 && strstr(noticed, "tiny-") &&
           strstr(noticed, "made again"),
       "a damaged cache is told of and made again: %s", noticed);
    sg_provenance_free(&from);
    ok(load("tiny", NULL, &from, &value) == SG_OK && value == 0.6 && !noticed[0], "then it is whole");
    sg_provenance_free(&from);
    snprintf(command, sizeof command,
             "for f in %s/tiny-*.cache; do printf X | dd of=$f bs=1 seek=$(($(stat -c %%s $f) - 1)) conv=notrunc "
             "2>/dev/null; done",
             folder);
    ok(system(command) == 0 && load("tiny", NULL, &from, &value) == SG_OK && value == 0.6 && noticed[0],
       "damaged values are not used");
    sg_provenance_free(&from);
    struct stat st, made, kept;
    glob_t caches;
    ok(glob(temporary_path("derived/tiny-*.cache"), 0, NULL, &caches) == 0 && stat(caches.gl_pathv[0], &made) == 0 &&
           load("tiny", NULL, &from, &value) == SG_OK && value == 0.6 && !noticed[0] &&
           stat(caches.gl_pathv[0], &kept) == 0 && made.st_ino == kept.st_ino,
       "the same file: the cache is used and stays");
    globfree(&caches);
    sg_provenance_free(&from);
    struct timespec times[2] = {{0, UTIME_OMIT}, {0, 0}};
    stat(temporary_path("tiny"), &st);
    times[1] = st.st_mtim;
    temporary_write("tiny", changed, sizeof changed - 1);
    utimensat(AT_FDCWD, temporary_path("tiny"), times, 0);
    ok(stat(temporary_path("tiny"), &kept) == 0 && kept.st_ino == st.st_ino && kept.st_size == st.st_size &&
           kept.st_mtim.tv_nsec == st.st_mtim.tv_nsec && load("tiny", NULL, &from, &value) == SG_OK && value == 0.7,
       "changed in place, with its old size and modification time: the text is read again");
    sg_provenance_free(&from);
    free(folder);

    char closed[512];
    snprintf(closed, sizeof closed, "%s", temporary_path("closed"));
    mkdir(closed, 0777);
    temporary_write("closed/tiny", tiny, sizeof tiny - 1);
    chmod(closed, 0555);
    setenv("XDG_CACHE_HOME", "/proc/none", 1);
    setenv("HOME", "/proc/none", 1);
    ok(sg_cache_folder(closed) == NULL, "no folder to write to");
    struct sg_matrix a;
    struct sg_dataset_request request = {.name = "tiny", .data_dir = closed};
    ok(sg_dataset_load(&a, &from, &request, &err) == SG_OK && access(temporary_path("closed/derived"), F_OK) != 0,
       "a read-only data folder is used without a cache");
    sg_matrix_free(&a);
    sg_provenance_free(&from);
    chmod(closed, 0777);
    setenv("XDG_CACHE_HOME", temporary_path("xdg"), 1);
    chmod(closed, 0555);
    ok((folder = sg_cache_folder(closed)) && strcmp(folder, temporary_path("xdg/sparsegrad")) == 0,
       "else the user's cache folder");
    chmod(closed, 0777);
    free(folder);
}

static void test_pins(void) {
    struct sg_provenance from;
    double value = 0;
    char sha256[65], wrong[65], sums[128];
    sg_sha256_of(tiny, sizeof tiny - 1, sha256);
    sg_sha256_of(changed, sizeof changed - 1, wrong);
    temporary_write("rows", tiny, sizeof tiny - 1);
    write_descriptor("pinned", sha256);
    ok(load("pinned", NULL, &from, &value) == SG_OK && from.verified == SG_VERIFIED_SAME, "the pinned checksum");
    sg_provenance_free(&from);
    write_descriptor("pinned", wrong);
    ok(load("pinned", NULL, &from, &value) == SG_ERR_MISMATCH && strstr(err.msg, "datasets/fetch pinned") &&
           strstr(err.msg, wrong),
       "another checksum than the pinned one, from the cache as well");
    write_descriptor("trusted", "trust-on-first-use");
    ok(load("trusted", NULL, &from, &value) == SG_OK && from.verified == SG_VERIFIED_NOT, "no checksum known");
    sg_provenance_free(&from);
    temporary_write("SHA256SUMS", sums, (size_t)snprintf(sums, sizeof sums, "%s  rows\n", wrong));
    ok(load("trusted", NULL, &from, &value) == SG_ERR_MISMATCH && strstr(err.msg, "SHA256SUMS"),
       "another than was recorded");
    temporary_write("SHA256SUMS", sums, (size_t)snprintf(sums, sizeof sums, "%s  rows\n", sha256));
    ok(load("trusted", NULL, &from, &value) == SG_OK, "the recorded one");
    sg_provenance_free(&from);
}

static void test_descriptors(void) {
    static const struct {
        const char *what, *text, *place;
    } bad[] = {
        {"an empty description", "", ":1:1: the descriptor is empty"},
        {"an unknown key", "name: x\nformt: libsvm\n", ":2:1: unknown key 'formt'"},
        {"a repeated key", "format: libsvm\nformat: libsvm\n", ":2:1: duplicate key 'format' (first on line 1)"},
        {"no files", "format: libsvm\n", ":1:1: a set needs 'files'"},
        {"another format", "format: arff\nfiles: [{name: a, url: b, sha256: trust-on-first-use}]\n",
         ":1:9: unknown format 'arff'"},
        {"more files than a set can have",
         "format: libsvm\nfiles:\n"
         "  [{name: a, url: b, sha256: trust-on-first-use}, {name: a, url: b, sha256: trust-on-first-use},\n"
         "   {name: a, url: b, sha256: trust-on-first-use}, {name: a, url: b, sha256: trust-on-first-use},\n"
         "   {name: a, url: b, sha256: trust-on-first-use}, {name: a, url: b, sha256: trust-on-first-use},\n"
         "   {name: a, url: b, sha256: trust-on-first-use}, {name: a, url: b, sha256: trust-on-first-use},\n"
         "   {name: a, url: b, sha256: trust-on-first-use}]\n",
         "broken.yaml:7:4: too many files"},
        {"a file without address", "format: libsvm\nfiles: [{name: a, sha256: trust-on-first-use}]\n",
         ":2:9: a file lacks its 'url'"},
        {"a short checksum", "format: libsvm\nfiles: [{name: a, url: b, sha256: abc}]\n", "not 'abc'"},
        {"a file outside its folder", "format: libsvm\nfiles: [{name: ../a, url: b, sha256: trust-on-first-use}]\n",
         "'../a'"},
        {"features that are no number",
         "format: libsvm\nfeatures: many\nfiles: [{name: a, url: b, sha256: trust-on-first-use}]\n",
         ":2:11: features is a whole number from 1, not 'many'"},
        {"a size that is no number",
         "format: libsvm\nfiles: [{name: a, url: b, sha256: trust-on-first-use, bytes: 1e3}]\n",
         "bytes is a whole number from 1, not '1e3'"},
        {"broken YAML", "format: [\n", "broken.yaml:2:1: "},
    };
    struct sg_provenance from;
    double value;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        temporary_write("broken.yaml", bad[i].text, strlen(bad[i].text));
        if (!ok(load("broken", "two-clouds", &from, &value) == SG_ERR_FORMAT && strstr(err.msg, bad[i].place), "%s",
                bad[i].what))
            printf("#   got '%s'\n", err.msg);
    }
}

static void test_format(void) {
    static const char text[] = "format: cifar-10\nfiles: [{name: a, url: b, sha256: trust-on-first-use}]\n";
    struct sg_provenance from;
    double value;
    temporary_write("pictures.yaml", text, sizeof text - 1);
    ok(load("pictures", "two-clouds", &from, &value) == SG_ERR_ARGUMENT && strstr(err.msg, "format cifar-10"),
       "images where rows are wanted");
}

static void test_stand_in(void) {
    struct sg_provenance cold, warm;
    double value;
    ok(load("absent", "two-clouds", &cold, &value) == SG_OK && strcmp(cold.source, "generated") == 0 &&
           strcmp(cold.generator, "two-clouds") == 0 && cold.path == NULL && strcmp(cold.name, "absent") == 0,
       "a stand-in says that it is generated");
    ok(load("absent", "two-clouds", &warm, &value) == SG_OK && strcmp(cold.sha256, warm.sha256) == 0,
       "and has the same checksum from the cache");
    sg_provenance_free(&cold);
    sg_provenance_free(&warm);
}

int main(void) {
    temporary_make();
    unsetenv("SPARSE_DATA");
    setenv("SPARSE_DATASETS", temporary, 1);
    test_find();
    test_cache();
    test_pins();
    test_descriptors();
    test_format();
    test_stand_in();
    return tap_done();
}
