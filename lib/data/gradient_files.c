/* gradient_files.c: the names of files of gradients, which may contain step and worker, and the SHA-256 of all. */
/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "checksum.h"
#include "gradients_private.h"
#include "sg_file.h"
#include "sg_gradients.h"
#include "sg_memory.h"
#include "sg_text.h"

/* The length of a word in braces, as {step} or {step:6}, that begins at `at`, and its digits; 0 = it does not. */
static size_t placeholder(const char *at, const char *word, int *digits) {
    const size_t length = strlen(word);
    *digits = 1;
    if (at[0] != '{' || strncmp(at + 1, word, length) != 0)
        return 0;
    at += 1 + length;
    if (at[0] == '}')
        return length + 2;
    const size_t more = at[0] == ':' ? strspn(at + 1, "0123456789") : 0;
    if (more < 1 || more > 2 || at[1 + more] != '}')
        return 0;
    *digits = atoi(at + 1);
    return length + 3 + more;
}

static sg_status check_braces(const char *files, struct gradient_files *out, struct sg_error *err) {
    int digits;
    for (const char *at = files; *at;) {
        const size_t step = placeholder(at, "step", &digits), worker = placeholder(at, "worker", &digits);
        out->by_step |= step > 0;
        out->by_worker |= worker > 0;
        if (step + worker == 0 && (*at == '{' || *at == '}'))
            return sg_fail(err, SG_ERR_ARGUMENT,
                           "%s: braces stand around 'step' or 'worker' only: {step}, {worker}, or {step:6} for six "
                           "digits",
                           files);
        at += step + worker > 0 ? step + worker : 1;
    }
    return SG_OK;
}

char *gradient_file(const struct sg_gradients_request *request, uint64_t step, uint64_t worker) {
    size_t size = 0;
    char *out = NULL;
    FILE *text = sg_memstream(&out, &size);
    step = request->first + step * (request->every > 0 ? request->every : 1);
    for (const char *at = request->files; *at;) {
        int digits;
        size_t length;
        if ((length = placeholder(at, "step", &digits)) > 0)
            fprintf(text, "%0*" PRIu64, digits, step);
        else if ((length = placeholder(at, "worker", &digits)) > 0)
            fprintf(text, "%0*" PRIu64, digits, worker);
        else
            fputc(*at, text);
        at += length > 0 ? length : 1;
    }
    return sg_stream_text(text, &out);
}

/* ---- the numbers in the names of files ---- */

enum { STEP, WORKER, NUMBERS };
enum { DIGITS = 18 };

struct number {
    uint64_t of[NUMBERS];
};

/* The numbers that names have so far; one without a placeholder is 0. */
struct search {
    const struct sg_gradients_request *request;
    struct number *found;
    size_t n, room;
    size_t padded; /* names that fit but for zeros in front of a number */
};

/* Matches a name in a folder with a part [length] of `files`. A number that another part of the path has must be the
 * same here: `known`. *padded is set if a number has more zeros in front than its placeholder asks for. */
static bool match(const char *part, size_t length, const char *name, struct number *number, unsigned *known,
                  bool *padded) {
    static const char *const word[NUMBERS] = {"step", "worker"};
    for (const char *end = part + length; part < end;) {
        int digits, which = STEP;
        size_t mark = placeholder(part, word[STEP], &digits);
        if (mark == 0)
            mark = placeholder(part, word[which = WORKER], &digits);
        if (mark == 0) {
            if (*part++ != *name++)
                return false;
            continue;
        }
        /* The longest number first; a shorter one where what follows begins with digits. */
        size_t run = strspn(name, "0123456789");
        for (run = run > DIGITS ? DIGITS : run; run > 0; run--) {
            struct number now = *number;
            unsigned also = *known | 1u << which;
            bool zeros = *padded || (name[0] == '0' && run > (size_t)digits);
            now.of[which] = 0;
            for (size_t i = 0; i < run; i++)
                now.of[which] = 10 * now.of[which] + (uint64_t)(name[i] - '0');
            if (run < (size_t)digits || (*known & 1u << which && now.of[which] != number->of[which]) ||
                !match(part + mark, (size_t)(end - part) - mark, name + run, &now, &also, &zeros))
                continue;
            *number = now;
            *known = also;
            *padded = zeros;
            return true;
        }
        return false;
    }
    return *name == '\0';
}

static void keep(struct search *s, struct number number, bool padded) {
    if (padded) {
        s->padded++;
        return;
    }
    if (s->n == s->room) {
        struct number *grown = sg_realloc(s->found, (s->room = 2 * s->room + 64) * sizeof *grown);
        s->found = grown;
    }
    s->found[s->n++] = number;
}

/* Finds the files below `folder`, a path that ends in a slash or is empty, whose names fit `rest` of `files`. */
static sg_status search(struct search *s, const char *folder, const char *rest, struct number number, unsigned known,
                        bool padded, struct sg_error *err) {
    const size_t plain = strcspn(rest, "{");
    size_t begin = plain;
    while (begin > 0 && rest[begin - 1] != '/')
        begin--;
    char *path = sg_format("%s%.*s", folder, (int)(rest[plain] ? begin : plain), rest);
    sg_status status = SG_OK;
    if (!rest[plain]) {
        if (access(path, F_OK) == 0)
            keep(s, number, padded);
        free(path);
        return status;
    }
    const char *part = rest + begin;
    const size_t length = strcspn(part, "/");
    DIR *in = opendir(*path ? path : ".");
    for (const struct dirent *entry; in && status == SG_OK && (entry = readdir(in)) != NULL;) {
        struct number now = number;
        unsigned also = known;
        bool zeros = padded;
        if (!match(part, length, entry->d_name, &now, &also, &zeros))
            continue;
        char *inner = part[length] ? sg_format("%s%s/", path, entry->d_name) : NULL;
        if (!part[length])
            keep(s, now, zeros);
        else
            status = search(s, inner, part + length + 1, now, also, zeros, err);
        free(inner);
    }
    if (in)
        closedir(in);
    free(path);
    return status;
}

static int by_number(const void *a, const void *b) {
    const struct number *x = a, *y = b;
    return x->of[STEP] != y->of[STEP] ? (x->of[STEP] > y->of[STEP]) - (x->of[STEP] < y->of[STEP])
                                      : (x->of[WORKER] > y->of[WORKER]) - (x->of[WORKER] < y->of[WORKER]);
}

/* Leaves out the steps that the request does not name. The others' numbers become those that count from 0. */
static void choose(struct search *s) {
    const uint64_t first = s->request->first, every = s->request->every > 0 ? s->request->every : 1;
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct number f = s->found[i];
        if (f.of[STEP] >= first && (f.of[STEP] - first) % every == 0)
            s->found[n++] = (struct number){{(f.of[STEP] - first) / every, f.of[WORKER]}};
    }
    s->n = n;
}

/* What to do about a gap: the key that says so if the steps that there are have one distance, else to close it. */
static const char *remedy(char out[96], const struct search *s) {
    uint64_t first = s->found[0].of[STEP], every = 0, last = first;
    snprintf(out, 96, "numbers count from 0 without gaps");
    for (size_t i = 1; i < s->n; i++) {
        const uint64_t gap = s->found[i].of[STEP] - last;
        if (gap > 0 && every > 0 && gap != every)
            return out;
        every = gap > 0 ? gap : every;
        last += gap;
    }
    if (s->request->first == 0 && s->request->every == 0 && (first > 0 || every > 1))
        snprintf(out, 96, "their steps are task.steps-at: {first: %" PRIu64 ", every: %" PRIu64 "}", first,
                 every > 0 ? every : 1);
    return out;
}

/* Checks that there is a file for each of the steps and workers, and says which one is the first that is not. */
static sg_status check_complete(struct gradient_files *out, const struct search *s, struct sg_error *err) {
    uint64_t most = 0;
    for (size_t i = 0; i < s->n; i++)
        most = s->found[i].of[WORKER] > most ? s->found[i].of[WORKER] : most;
    out->workers = most + 1;
    out->steps = s->n > 0 ? s->found[s->n - 1].of[STEP] + 1 : 0;
    size_t i = 0;
    while (i < s->n && s->found[i].of[STEP] == i / out->workers && s->found[i].of[WORKER] == i % out->workers)
        i++;
    if (i == s->n && i > 0 && i % out->workers == 0)
        return SG_OK;
    char *path = gradient_file(s->request, i / out->workers, i % out->workers), hint[96];
    sg_status status;
    if (i < s->n)
        status = sg_fail(err, SG_ERR_FORMAT, "%s is missing, and %zu file%s with larger numbers %s there (%s)", path,
                         s->n - i, s->n - i == 1 ? "" : "s", s->n - i == 1 ? "is" : "are", remedy(hint, s));
    else if (i > 0)
        status = sg_fail(err, SG_ERR_FORMAT, "%s is missing, which the other steps have", path);
    else
        status = sg_fail(err, SG_ERR_MISSING, "cannot read %s: no such file%s", path,
                         s->padded > 0 ? ", but some with zeros in front of the number ({step:6} stands for six digits)"
                                       : "");
    free(path);
    return status;
}

sg_status gradient_files_find(struct gradient_files *out, const struct sg_gradients_request *request,
                              struct sg_error *err) {
    struct search s = {.request = request};
    *out = (struct gradient_files){.request = request, .steps = 1, .workers = 1};
    sg_status status = check_braces(request->files, out, err);
    if (status != SG_OK || (!out->by_step && !out->by_worker))
        return status;
    status = search(&s, "", request->files, (struct number){{0, 0}}, 0, false, err);
    if (status == SG_OK && s.n > 0)
        qsort(s.found, s.n, sizeof *s.found, by_number);
    if (status == SG_OK && out->by_step) {
        const size_t all = s.n;
        choose(&s);
        out->others = all - s.n;
    }
    SG_DO(status, check_complete(out, &s, err));
    free(s.found);
    return status;
}

/* The checksum of all files, from a line for each. */
static sg_status checksum_all(char sha256[65], const struct gradient_files *f, const char *data_dir,
                              struct sg_error *err) {
    sg_sha256 all;
    sg_status status = SG_OK;
    sg_sha256_start(&all);
    for (uint64_t i = 0; i < f->steps * f->workers && status == SG_OK; i++) {
        char *path = gradient_file(f->request, i / f->workers, i % f->workers), one[65], line[128];
        status = dataset_checksum(one, path, data_dir, err);
        free(path);
        if (status != SG_OK)
            break;
        const int length =
            snprintf(line, sizeof line, "%s  %" PRIu64 "-%" PRIu64 "\n", one, i / f->workers, i % f->workers);
        sg_sha256_add(&all, line, (size_t)length);
    }
    sg_sha256_end(&all, sha256);
    return status;
}

/* Makes sha256, that of the gradients, one of the gradients and of the file of their layers. */
static sg_status checksum_layers(char sha256[65], const char *layers_file, const char *data_dir, struct sg_error *err) {
    char layers[65], lines[160];
    sg_status status = dataset_checksum(layers, layers_file, data_dir, err);
    if (status != SG_OK)
        return status;
    const int length = snprintf(lines, sizeof lines, "%s  gradients\n%s  layers\n", sha256, layers);
    sg_sha256_of(lines, (size_t)length, sha256);
    return SG_OK;
}

sg_status sg_gradients_identify(struct sg_provenance *from, const struct sg_gradients_request *request,
                                const char *data_dir, struct sg_error *err) {
    const char *files = request->files, *slash = strrchr(files, '/');
    struct sg_provenance found = {.source = "file"};
    struct gradient_files f;
    sg_status status = gradient_files_find(&f, request, err);
    if (status == SG_OK)
        found.path = gradient_file(request, 0, 0);
    if (status == SG_OK && access(found.path, F_OK) != 0)
        status = sg_fail_errno(err, SG_ERR_MISSING, "cannot read %s", found.path);
    if (status == SG_OK && (f.by_step || f.by_worker))
        status = checksum_all(found.sha256, &f, data_dir, err);
    else if (status == SG_OK)
        status = dataset_checksum(found.sha256, found.path, data_dir, err);
    if (request->layers_file)
        SG_DO(status, checksum_layers(found.sha256, request->layers_file, data_dir, err));
    snprintf(found.name, sizeof found.name, "%.63s", slash ? slash + 1 : files);
    if (status == SG_OK)
        *from = found;
    else
        sg_provenance_free(&found);
    return status;
}
