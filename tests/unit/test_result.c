/* JSON numbers, whole files, SHA-256 and series read back. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sg_clock.h"
#include "sg_file.h"
#include "sg_memory.h"
#include "sg_result.h"
#include "sg_rng.h"
#include "sg_text.h"
#include "tap.h"

static int fstat_fails; /* after so many calls; 0 = never */

/* The linker takes this one. */
int fstat(int fd, struct stat *st) {
    if (fstat_fails > 0 && --fstat_fails == 0) {
        errno = EACCES;
        return -1;
    }
    return fstatat(fd, "", st, AT_EMPTY_PATH);
}

static void test_numbers(void) {
    sg_rng rng = sg_rng_open(1, SG_RNG_TEST, 0, 0);
    int wrong = 0;
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = sg_rng_u64(&rng);
        double x;
        memcpy(&x, &bits, sizeof x);
        char text[SG_NUMBER_CHARS];
        if (isfinite(x) && strtod(sg_number_text(x, text), NULL) != x)
            wrong++;
    }
    ok(wrong == 0, "200000 random doubles read back bit by bit (%d did not)", wrong);
    char text[SG_NUMBER_CHARS];
    ok(strcmp(sg_number_text(0.1, text), "0.1") == 0, "0.1 is written as 0.1");
    ok(strcmp(sg_number_text(NAN, text), "null") == 0 && strcmp(sg_number_text(-INFINITY, text), "null") == 0,
       "NaN and Inf are null");
    cJSON *object = cJSON_CreateObject();
    sg_json_set_number(object, "x", 0.30000000000000004);
    char *line = sg_json_text(object, false);
    ok(line && strcmp(line, "{\"x\":0.30000000000000004}\n") == 0, "a member keeps its last bit");
    ok(sg_json_number(object, "x", 0) == 0.30000000000000004, "and is read back before printing");
    free(line);
    cJSON_Delete(object);
}

static void test_parse(void) {
    static const struct {
        const char *text, *place;
    } bad[] = {{"", "t:1:1: empty"},
               {"{\"a\":1,\n \"b\":}", "t:2:"},
               {"[1,2", "t:1:"},
               {"{} x", "t:1:4: something"},
               {"{\"a\":1}{}", "t:1:8:"},
               {"{\"a\":1,\n \"b\":{\"x:y\\\"\":[{\"c\":2}],\"c\":3},\"a\":2}", "t:2:32: the key 'a' comes twice"},
               {"[{\"c\":1},{\"c\":{\"d\":1,\"e\":{},\n\"\\u0064\":1}}]", "t:2:1: the key 'd' comes twice"},
               {"{\"a\\u0000b\":1,\"a\\u0000c\":2}", "t:1:4: a NUL character"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sg_error err = {0};
        cJSON *json = NULL;
        sg_status status = sg_json_parse(&json, bad[i].text, strlen(bad[i].text), "t", &err);
        ok(status == SG_ERR_FORMAT && strstr(err.msg, bad[i].place), "malformed text %zu: %s", i, err.msg);
    }
    char deep[1000];
    memset(deep, '[', sizeof deep);
    struct sg_error err = {0};
    cJSON *json = NULL;
    ok(sg_json_parse(&json, deep, sizeof deep, "t", &err) == SG_ERR_FORMAT && strstr(err.msg, "nested"),
       "1000 levels are refused");
    ok(sg_json_parse(&json, "{\"A\":1,\"a\":{\"b\":\"c\"}}", 21, "t", &err) == SG_OK, "two members differ by case");
    ok(sg_json_parse(&json, "[\"a\0b\"]", 7, "t", &err) == SG_ERR_FORMAT && strstr(err.msg, "t:1:4: a NUL"),
       "a NUL byte is refused");
    cJSON *other = NULL;
    static const char fine[] = "[\"\\\\u0000\", {\"c\":1}, {\"c\":1}]";
    ok(sg_json_parse(&other, fine, strlen(fine), "t", &err) == SG_OK,
       "an escaped backslash and equal keys of two objects are fine");
    cJSON_Delete(other);
    ok(strcmp(sg_json_string(json, "a.b", ""), "c") == 0 && sg_json_number(json, "A", 0) == 1, "look-ups see the case");
    cJSON_Delete(json);
}

static void test_files(const char *folder) {
    struct sg_error err = {0};
    char path[300], *text = NULL;
    size_t length = 0;
    snprintf(path, sizeof path, "%s/a/b", folder);
    ok(sg_folder_make(path, &err) == SG_OK && sg_folder_make(path, &err) == SG_OK, "folders are made once");
    snprintf(path, sizeof path, "%s/a/b/file", folder);
    ok(sg_file_replace(path, "one", 3, &err) == SG_OK && sg_file_replace(path, "two!", 4, &err) == SG_OK,
       "a file is written and replaced");
    ok(sg_file_read(&text, &length, path, 100, &err) == SG_OK && length == 4 && strcmp(text, "two!") == 0, "and read");
    free(text);
    ok(sg_file_read(&text, &length, path, 3, &err) == SG_ERR_FORMAT, "more bytes than allowed are refused");
    struct sg_file_writer w;
    ok(sg_file_begin(&w, path, false, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "--force"),
       "an existing file is not overwritten unasked");
    ok(sg_file_begin(&w, path, true, &err) == SG_OK, "asked, it is");
    fputs("three", w.stream);
    sg_file_abandon(&w);
    ok(sg_file_read(&text, &length, path, 100, &err) == SG_OK && strcmp(text, "two!") == 0,
       "an abandoned write leaves the old file");
    free(text);
    ok(sg_file_begin(&w, "/dev/full", true, &err) == SG_OK, "/dev/full opens");
    fputs("x", w.stream);
    ok(sg_file_commit(&w, &err) == SG_ERR_IO && strstr(err.msg, "No space"), "and a full disk is seen: %s", err.msg);
    ok(sg_file_begin(&w, "/nonexistent/x", true, &err) == SG_ERR_IO, "a missing folder is an early error");
    ok(sg_file_read(&text, &length, "/nonexistent/x", 9, &err) == SG_ERR_MISSING, "a missing file is told as such");
}

/* Alarms end a test that waits for a pipe's other end. */
static void test_regular(const char *folder) {
    struct sg_error err = {0};
    char path[300], *text = NULL;
    size_t length = 0;
    int fd = -1;
    snprintf(path, sizeof path, "%s/regular", folder);
    ok(sg_file_replace(path, "four", 4, &err) == SG_OK && sg_file_open(&fd, path, &err) == SG_OK && close(fd) == 0 &&
           sg_file_read_regular(&text, &length, path, 100, &err) == SG_OK && strcmp(text, "four") == 0,
       "a regular file is opened and read");
    free(text);
    snprintf(path, sizeof path, "%s/pipe", folder);
    alarm(10);
    ok(mkfifo(path, 0666) == 0 && sg_file_open(&fd, path, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "is a pipe") &&
           sg_file_read_regular(&text, &length, path, 100, &err) == SG_ERR_ARGUMENT,
       "a named pipe is refused at once: %s", err.msg);
    alarm(0);
    unlink(path);
    ok(sg_file_open(&fd, folder, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "is a folder"), "so is a folder");
    ok(sg_file_open(&fd, "/dev/null", &err) == SG_ERR_ARGUMENT && strstr(err.msg, "is a device"), "and a device");
    ok(sg_file_open(&fd, "/nonexistent/x", &err) == SG_ERR_MISSING, "a missing file is missing");
}

static bool is_there(const char *path) {
    return access(path, F_OK) == 0;
}

static void test_links(const char *folder) {
    struct sg_error err = {0};
    struct sg_file_writer w;
    char file[300], link[300], *end = NULL;
    bool device = true;
    FILE *held;
    snprintf(file, sizeof file, "%s/linked", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    ok(symlink("linked", link) == 0 && sg_file_target(&end, &device, link, false, &err) == SG_OK && !device &&
           strcmp(end, file) == 0,
       "the target of a link is where it leads to, which need not be there");
    free(end);
    ok(sg_file_begin(&w, link, false, &err) == SG_OK && fputs("x", w.stream) > 0 && sg_file_commit(&w, &err) == SG_OK &&
           sg_file_is_regular(file) && readlink(link, (char[9]){0}, 9) == 6,
       "and what is written");
    ok(sg_file_same(file, link) && !sg_file_same(folder, link), "both are one file");
    ok(sg_file_hold(&held, link, true, &err) == SG_ERR_ARGUMENT && strstr(err.msg, "symbolic link"), "it is not held");
    ok(sg_file_replace(link, "y", 1, &err) == SG_OK && readlink(link, (char[9]){0}, 9) < 0, "nor replaced through");
    remove(link);
    ok(symlink("/proc/self/fd/1", link) == 0 && sg_file_target(&end, &device, link, false, &err) == SG_OK && device &&
           strcmp(end, "/proc/self/fd/1") == 0 && sg_file_target(NULL, NULL, link, true, &err) == SG_ERR_ARGUMENT,
       "an open file is written directly: %s", err.msg);
    free(end);
    remove(link);
    remove(file);
}

static void test_holding(const char *folder) {
    struct sg_error err = {0};
    char path[300], other[320], *name = NULL;
    FILE *first = NULL, *second = NULL, *temporary = NULL;
    snprintf(path, sizeof path, "%s/held", folder);
    ok(sg_file_hold(&first, path, false, &err) == SG_ERR_MISSING && !is_there(path), "what is not there is not held");
    ok(sg_file_hold(&first, path, true, &err) == SG_OK && is_there(path), "asked, it is made");
    ok(sg_file_hold(&second, path, true, &err) == SG_ERR_IO && strstr(err.msg, "another sparsetrain writes"),
       "and held once: %s", err.msg);
    fputs("series", first);
    snprintf(other, sizeof other, "%s/final", folder);
    ok(sg_file_publish(first, path, other, &err) == SG_OK && sg_file_hold(&second, path, true, &err) == SG_OK,
       "with its final name its old one is free");
    ok(!sg_file_is_still(first, path) && sg_file_is_still(first, other) && sg_file_is_still(second, path),
       "and each is known by its name");
    remove(path);
    temporary = fopen(path, "w");
    ok(temporary && sg_file_publish(second, path, other, &err) == SG_ERR_IO && strstr(err.msg, "no longer the file"),
       "a name that another file took gives nothing: %s", err.msg);
    fclose(temporary);
    fclose(first);
    fclose(second);
    ok(sg_file_hold(&first, folder, true, &err) == SG_ERR_IO && mkfifo(strcat(path, ".fifo"), 0600) == 0 &&
           sg_file_hold(&first, path, true, &err) == SG_ERR_ARGUMENT,
       "a folder and a named pipe are refused: %s", err.msg);
    ok(sg_file_target(NULL, NULL, "", true, &err) == SG_ERR_ARGUMENT, "an empty name is refused");
    memset(other, 'a', 240);
    other[240] = '\0';
    ok(sg_file_target(NULL, NULL, other, true, &err) == SG_ERR_ARGUMENT, "one without room for a temporary is refused");
    other[239] = '\0';
    ok(sg_file_target(NULL, NULL, other, true, &err) == SG_OK, "one with room is not");

    test_links(folder);
    snprintf(path, sizeof path, "%s/result", folder);
    ok(sg_file_temporary(&temporary, &name, path, &err) == SG_OK, "a temporary file");
    snprintf(other, sizeof other, "%s.1.tmp", path);
    fclose(fopen(other, "w"));
    sg_file_sweep(path);
    ok(is_there(name) && !is_there(other), "a sweep leaves the one that is held, and takes the one that is not");
    fclose(temporary);
    sg_file_sweep(path);
    ok(!is_there(name), "once it is let go, it is swept too");
    free(name);
}

#if defined(__SANITIZE_ADDRESS__)
enum { ALLOCATIONS_FAIL = 0 };
#else
enum { ALLOCATIONS_FAIL = 1 };
#endif

static void end_well(void) {
    _exit(0);
}

/* Where memory runs out for JSON, what sg_memory_on_end was given is called. In a process of its own. */
static int without_memory(void) {
    const size_t bytes = (size_t)1 << 28;
    char *big = malloc(bytes + 1);
    if (!big)
        return 10;
    memset(big, 'a', bytes);
    big[bytes] = '\0';
    sg_json_guard();
    sg_memory_on_end(end_well);
    cJSON *json = cJSON_CreateObject();
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = 3 * bytes / 2;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return 12;
    sg_json_set_string(json, "message", big);
    return 1;
}

static void test_memory(void) {
    if (!ALLOCATIONS_FAIL) {
        skip("an address sanitizer's allocator does not fail");
        return;
    }
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0)
        _exit(without_memory());
    int status = -1;
    const bool ended = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
    ok(ended && WEXITSTATUS(status) == 0, "a program without memory for a key of a document ends (%d)",
       WEXITSTATUS(status));
}

static void test_sha256(void) {
    /* FIPS 180-4 examples, and one million 'a'. */
    char hex[65];
    sg_sha256_of("abc", 3, hex);
    ok(strcmp(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") == 0, "SHA-256 of abc");
    sg_sha256_of("", 0, hex);
    ok(strcmp(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855") == 0, "of nothing");
    sg_sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, hex);
    ok(strcmp(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1") == 0, "of two blocks");
    sg_sha256 s;
    sg_sha256_start(&s);
    char chunk[997];
    memset(chunk, 'a', sizeof chunk);
    for (size_t left = 1000000; left > 0;) {
        size_t take = left < sizeof chunk ? left : sizeof chunk;
        sg_sha256_add(&s, chunk, take);
        left -= take;
    }
    sg_sha256_end(&s, hex);
    ok(strcmp(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0") == 0,
       "of a million bytes in pieces");
}

static const char series[] =
    "{\"record\":\"header\",\"schema\":\"sparsetrain/1\",\"method\":\"M\",\"columns\":[\"step\",\"loss\"]}\n"
    "{\"record\":\"step\",\"step\":0,\"loss\":1.5}\n"
    "{\"record\":\"step\",\"step\":10,\"loss\":null}\n"
    "{\"record\":\"run\",\"ranks\":1}\n"
    "{\"record\":\"end\",\"status\":\"ok\"}\n";

static void test_runs(void) {
    struct sg_error err = {0};
    struct sg_run run, again;
    ok(sg_run_parse(&run, series, strlen(series), "t", &err) == SG_OK, "a series is read");
    const double *loss = sg_run_series(&run, "loss");
    ok(run.n_points == 2 && loss && loss[0] == 1.5 && isnan(loss[1]), "with its points, null as NaN");
    ok(run.end && strcmp(sg_json_string(run.end, "status", ""), "ok") == 0, "and its end");
    cJSON *folded = sg_run_json(&run);
    char *text = sg_json_text(folded, true);
    ok(sg_run_parse(&again, text, strlen(text), "t", &err) == SG_OK && again.n_series == 0 && again.run &&
           strcmp(sg_json_string(again.header, "method", ""), "M") == 0 &&
           strcmp(sg_json_string(again.end, "status", ""), "ok") == 0,
       "folding and unfolding keeps its records");
    free(text);
    cJSON_Delete(folded);
    sg_run_free(&again);
    sg_run_free(&run);
    size_t cut = strlen(series) - 20;
    ok(sg_run_parse(&run, series, cut, "t", &err) == SG_OK && !run.end && run.n_points == 2,
       "a torn last line is dropped, the rest kept");
    sg_run_free(&run);
    static const struct {
        const char *text;
        sg_status status;
    } bad[] = {
        {"{\"record\":\"header\",\"schema\":\"sparsetrain/9\",\"columns\":[]}\n", SG_ERR_UNSUPPORTED},
        {"{\"record\":\"header\",\"schema\":\"other/1\",\"columns\":[]}\n", SG_ERR_FORMAT},
        {"{\"record\":\"step\",\"step\":1}\n", SG_ERR_FORMAT},
        {"garbage\n", SG_ERR_FORMAT},
        {"", SG_ERR_FORMAT},
        {"{\"record\":\"header\",\"schema\":\"sparsetrain/1\",\"columns\":[]}\nnot json\n", SG_ERR_FORMAT},
        {"{\"record\":\"header\",\"schema\":\"sparsetrain/1\",\"columns\":[3]}\n", SG_ERR_FORMAT},
        {"{\"schema\":\"sparsetrain/1\",\"columns\":[\"a\"]}", SG_ERR_FORMAT},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sg_status status = sg_run_parse(&run, bad[i].text, strlen(bad[i].text), "t", &err);
        ok(status == bad[i].status, "bad series %zu: %s", i, err.msg);
        if (status == SG_OK)
            sg_run_free(&run);
    }
}

/* Every single bit of a sealed series: a flipped one is seen, except where it turns the checksum's name into
 * another. */
static void test_seal(const char *folder) {
    static const char rows[] =
        "{\"record\":\"header\",\"schema\":\"sparsetrain/1\",\"cell_key\":\"k\",\"columns\":[\"loss\"]}\n"
        "{\"record\":\"step\",\"loss\":1.5}\n";
    static const char run_line[] = "{\"record\":\"run\",\"ranks\":2}\n",
                      end_line[] = "{\"record\":\"end\",\"status\":\"ok\"}\n";
    struct sg_error err;
    struct sg_run run;
    char path[128];
    sg_sha256 hash;
    sg_sha256_start(&hash);
    sg_sha256_add(&hash, rows, strlen(rows));
    char *seal = sg_run_seal(hash, run_line, end_line), *all = sg_format("%s%s", rows, seal);
    const size_t length = strlen(all), name = (size_t)(strstr(all, ",\"sha256\"") - all);
    size_t wrong = 0, unsealed = 0;
    snprintf(path, sizeof path, "%s/sealed", folder);
    for (size_t bit = 0; bit <= 8 * length; bit++) {
        const size_t at = bit / 8;
        all[at] = (char)(all[at] ^ 1 << bit % 8); /* the last one is not of the file */
        const bool written = sg_file_replace(path, all, length, &err) == SG_OK;
        const bool accepted =
            written && sg_run_read_finished(&run, path, &(struct sg_run_wanted){.cell_key = "k"}, NULL, &err) == SG_OK;
        all[at] = (char)(all[at] ^ 1 << bit % 8);
        const bool named = at >= name && at < name + 11, quote = at == name + 11 + 64;
        wrong += !written || (accepted && at != length && !named && !quote) || (at == length && !accepted);
        unsealed += accepted && at != length;
        if (accepted)
            sg_run_free(&run);
    }
    ok(wrong == 0, "each of %zu bits of a sealed series: seen, or of the checksum's name (%zu)", 8 * length, unsealed);
    free(seal);
    free(all);
}

/* A file whose look at itself fails once is written whole or not at all, and leaves nothing beside it. */
static void test_fstat(const char *folder) {
    struct sg_error err;
    char path[128], pattern[136];
    int failed = 0, calls = 0;
    snprintf(path, sizeof path, "%s/looked-at", folder);
    snprintf(pattern, sizeof pattern, "%s*", path);
    for (bool reached = true; reached; calls++) {
        glob_t found;
        fstat_fails = calls + 1;
        const sg_status status = sg_file_replace(path, "x", 1, &err);
        reached = fstat_fails == 0;
        fstat_fails = 0;
        const bool right = glob(pattern, 0, NULL, &found) == 0
                               ? found.gl_pathc == 1 && strcmp(found.gl_pathv[0], path) == 0
                               : status != SG_OK;
        failed += !right;
        globfree(&found);
        unlink(path);
    }
    ok(failed == 0 && calls > 2, "fstat fails at each of %d calls: nothing is left (%d did not hold)", calls - 1,
       failed);
}

/* The last test, as the signal stays. */
static void test_signal(const char *folder) {
    struct sg_error err = {0};
    struct sg_file_writer w;
    char path[300];
    snprintf(path, sizeof path, "%s/waiting", folder);
    sg_signals_catch();
    raise(SIGTERM);
    alarm(10);
    ok(mkfifo(path, 0600) == 0 && sg_file_begin(&w, path, true, &err) == SG_ERR_INTERRUPTED,
       "a signal that came before the wait for a pipe's reader ends it too");
    alarm(0);
}

int main(void) {
    char folder[] = "/tmp/sg-test-XXXXXX", command[64];
    if (!mkdtemp(folder))
        return 1;
    test_numbers();
    test_parse();
    test_files(folder);
    test_regular(folder);
    test_holding(folder);
    test_fstat(folder);
    test_memory();
    test_sha256();
    test_runs();
    test_seal(folder);
    test_signal(folder);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ok(system(command) == 0, "clean up");
    return tap_done();
}
