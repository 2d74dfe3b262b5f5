/* run.c: a run read back from its series or from folded JSON, and facts about this machine. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "sg_debug.h"
#include "sg_file.h"
#include "sg_memory.h"
#include "sg_result.h"

sg_status sg_schema_check(const char *schema, const char *ours, const char *name, struct sg_error *err) {
    size_t kind = strcspn(ours, "/") + 1;
    if (!schema || strncmp(schema, ours, kind) != 0)
        return sg_fail(err, SG_ERR_FORMAT, "%s: schema is '%s', expected '%s'", name, schema ? schema : "missing",
                       ours);
    long theirs = strtol(schema + kind, NULL, 10);
    if (theirs > strtol(ours + kind, NULL, 10))
        return sg_fail(err, SG_ERR_UNSUPPORTED,
                       "%s: written by a newer program (schema '%s', this one reads '%s'): update sparsegrad", name,
                       schema, ours);
    if (theirs < 1)
        return sg_fail(err, SG_ERR_FORMAT, "%s: schema is '%s', expected '%s'", name, schema, ours);
    return SG_OK;
}

/* A table that finds a column by name, and marks the columns that have a value in the current record. */
struct index {
    struct sg_series **by_name; /* [n], pointers into the run's series */
    size_t *seen;               /* [n] the last record, counted from 1, that gave this column a value */
    size_t n;
};

static int compare_names(const void *a, const void *b) {
    return strcmp((*(struct sg_series *const *)a)->name, (*(struct sg_series *const *)b)->name);
}

static void free_index(struct index *index) {
    free(index->by_name);
    free(index->seen);
}

static sg_status make_index(struct index *index, const struct sg_run *run, const char *name, struct sg_error *err) {
    index->n = run->n_series;
    index->by_name = sg_malloc((index->n + 1) * sizeof(struct sg_series *));
    index->seen = sg_calloc(index->n + 1, sizeof *index->seen);
    for (size_t i = 0; i < index->n; i++)
        index->by_name[i] = &run->series[i];
    qsort(index->by_name, index->n, sizeof(struct sg_series *), compare_names);
    for (size_t i = 1; i < index->n; i++)
        if (strcmp(index->by_name[i - 1]->name, index->by_name[i]->name) == 0)
            return sg_fail(err, SG_ERR_FORMAT, "%s: column '%.80s' is there twice", name, index->by_name[i]->name);
    return SG_OK;
}

/* The column of this name; NULL = none. *fresh <- whether it has no value in this record yet. */
static struct sg_series *find_series(const struct index *index, char *name, size_t record, bool *fresh) {
    SG_ASSERT(record > 0);
    struct sg_series wanted = {.name = name}, *key = &wanted;
    struct sg_series **found = bsearch(&key, index->by_name, index->n, sizeof(struct sg_series *), compare_names);
    *fresh = found && index->seen[found - index->by_name] != record;
    if (found)
        index->seen[found - index->by_name] = record;
    return found ? *found : NULL;
}

/* How many records to allocate memory for. `length` is that of the text. A number and its separator take two bytes or
 * more, so the memory for `records` with every column is bounded by the length of the text. */
static size_t worth(size_t records, size_t columns, size_t length) {
    const size_t most = columns ? length / (2 * columns) + 1 : 1;
    return records < most ? records : most;
}

static sg_status make_series(struct sg_run *run, size_t records, size_t length, const char *name,
                             struct sg_error *err) {
    const cJSON *columns = sg_json_get(run->header, "columns"), *column;
    const size_t n = (size_t)cJSON_GetArraySize(columns), capacity = worth(records, n, length);
    run->series = sg_calloc(n ? n : 1, sizeof *run->series);
    cJSON_ArrayForEach(column, columns) {
        if (!cJSON_IsString(column))
            return sg_fail(err, SG_ERR_FORMAT, "%s: a column name is not a string", name);
        struct sg_series *s = &run->series[run->n_series++];
        s->name = sg_strdup(column->valuestring);
        s->value = sg_malloc((capacity ? capacity : 1) * sizeof *s->value);
    }
    return SG_OK;
}

/* State of reading a series line by line. */
struct reading {
    struct sg_run *run;
    struct index index;
    size_t lines, length; /* of the text */
    int number;           /* of this line */
    const char *name;
};

static sg_status take_step(struct reading *r, const cJSON *line, struct sg_error *err) {
    struct sg_run *run = r->run;
    SG_ASSERT(run->n_points < r->lines);
    const cJSON *item;
    size_t known = 0;
    for (item = line->child; item; item = item->next) {
        bool fresh;
        struct sg_series *series = find_series(&r->index, item->string, run->n_points + 1, &fresh);
        if (fresh)
            series->value[run->n_points] = cJSON_IsNumber(item) ? item->valuedouble : NAN;
        known += fresh;
    }
    if (known != run->n_series)
        return sg_fail(err, SG_ERR_FORMAT, "%s: line %d has %zu of the header's %zu columns", r->name, r->number, known,
                       run->n_series);
    run->n_points++;
    return SG_OK;
}

/* Takes over `line` if it is one of the three records that occur once. */
static sg_status take_record(struct reading *r, cJSON *line, struct sg_error *err) {
    struct sg_run *run = r->run;
    const char *name = r->name;
    const char *kind = sg_json_string(line, "record", "");
    if (strcmp(kind, "header") == 0 && !run->header) {
        run->header = line;
        sg_status status = sg_schema_check(sg_json_string(line, "schema", NULL), SG_SCHEMA_TRAIN, name, err);
        SG_DO(status, make_series(run, r->lines, r->length, name, err));
        return status == SG_OK ? make_index(&r->index, run, name, err) : status;
    }
    if (!run->header) {
        cJSON_Delete(line);
        return sg_fail(err, SG_ERR_FORMAT, "%s: a series starts with a header record", name);
    }
    if (strcmp(kind, "run") == 0 && !run->run) {
        cJSON_DeleteItemFromObjectCaseSensitive(line, "sha256"); /* it is of the lines, which the caller does not see */
        run->run = line;
        return SG_OK;
    }
    if (strcmp(kind, "end") == 0 && !run->end) {
        run->end = line;
        return SG_OK;
    }
    sg_status status = SG_OK;
    if (strcmp(kind, "step") != 0 || run->end) {
        status = sg_fail(err, SG_ERR_FORMAT, "%s: unexpected record '%s'", name, kind);
    } else {
        status = take_step(r, line, err);
        cJSON *layers = cJSON_DetachItemFromObjectCaseSensitive(line, "layers");
        if (layers && !run->layers)
            run->layers = cJSON_CreateArray();
        sg_json_push(run->layers, layers);
    }
    cJSON_Delete(line);
    return status;
}

static sg_status parse_lines(struct sg_run *run, const char *text, size_t length, const char *name,
                             struct sg_error *err) {
    struct reading r = {.run = run, .length = length, .name = name};
    sg_status status = SG_OK;
    for (size_t i = 0; i < length; i++)
        r.lines += text[i] == '\n';
    for (size_t start = 0; start < length && status == SG_OK;) {
        const char *newline = memchr(text + start, '\n', length - start);
        if (!newline)
            break; /* torn last line of an interrupted writer */
        size_t stop = (size_t)(newline - text);
        cJSON *line;
        r.number++;
        status = sg_json_parse(&line, text + start, stop - start, name, err);
        status = status == SG_OK ? take_record(&r, line, err)
                                 : sg_fail(err, status, "%s: line %d is not a JSON record", name, r.number);
        start = stop + 1;
    }
    free_index(&r.index);
    return status != SG_OK || run->header ? status : sg_fail(err, SG_ERR_FORMAT, "%s: no complete header record", name);
}

/* Takes over the records of the folded form; its series are for readers of results (sg_frame.h). */
static sg_status unfold(struct sg_run *run, cJSON *take_folded, const char *name, struct sg_error *err) {
    run->header = take_folded;
    run->run = cJSON_DetachItemFromObjectCaseSensitive(take_folded, "run");
    run->end = cJSON_DetachItemFromObjectCaseSensitive(take_folded, "end");
    const bool whole = cJSON_IsObject(sg_json_get(take_folded, "series"));
    cJSON_DeleteItemFromObjectCaseSensitive(take_folded, "series");
    cJSON_DeleteItemFromObjectCaseSensitive(take_folded, "layer_series");
    return whole ? SG_OK : sg_fail(err, SG_ERR_FORMAT, "%s: a result without \"series\"", name);
}

sg_status sg_run_parse(struct sg_run *out, const char *text, size_t length, const char *name, struct sg_error *err) {
    struct sg_run run = {0};
    cJSON *whole = NULL;
    sg_status status = sg_json_parse(&whole, text, length, name, err); /* it fails if there are several lines */
    if (status == SG_OK && !sg_json_get(whole, "record")) {
        status = sg_schema_check(sg_json_string(whole, "schema", NULL), SG_SCHEMA_TRAIN, name, err);
        if (status == SG_OK)
            status = unfold(&run, whole, name, err);
        else
            cJSON_Delete(whole);
    } else {
        cJSON_Delete(whole);
        status = parse_lines(&run, text, length, name, err);
        run.damaged = status == SG_OK && sg_run_is_damaged(text, length);
    }
    if (status == SG_OK)
        *out = run;
    else
        sg_run_free(&run);
    return status;
}

sg_status sg_run_read(struct sg_run *out, const char *path, struct sg_error *err) {
    char *text;
    size_t length;
    sg_status status = sg_file_read_regular(&text, &length, path, (size_t)1 << 30, err);
    if (status != SG_OK)
        return status;
    status = sg_run_parse(out, text, length, path, err);
    free(text);
    return status;
}

void sg_run_free(struct sg_run *run) {
    cJSON_Delete(run->header);
    cJSON_Delete(run->run);
    cJSON_Delete(run->end);
    cJSON_Delete(run->layers);
    cJSON_Delete(run->values);
    for (size_t i = 0; i < run->n_series; i++) {
        free(run->series[i].name);
        free(run->series[i].value);
    }
    free(run->series);
    *run = (struct sg_run){0};
}

const double *sg_run_series(const struct sg_run *run, const char *name) {
    for (size_t i = 0; i < run->n_series; i++)
        if (strcmp(run->series[i].name, name) == 0)
            return run->series[i].value;
    return NULL;
}

void sg_run_add_series(struct sg_run *run, const char *name, const char *unit, double *take_value) {
    struct sg_series *longer = sg_realloc(run->series, (run->n_series + 1) * sizeof *longer);
    char *own = sg_strdup(name);
    run->series = longer ? longer : run->series;
    run->series[run->n_series++] = (struct sg_series){own, take_value};
    sg_json_push_string(cJSON_GetObjectItemCaseSensitive(run->header, "columns"), name);
    sg_json_set_string(cJSON_GetObjectItemCaseSensitive(run->header, "units"), name, unit);
}

cJSON *sg_run_json(const struct sg_run *run) {
    SG_ASSERT(run->header);
    cJSON *out = cJSON_Duplicate(run->header, true), *series = cJSON_CreateObject();
    cJSON_DeleteItemFromObjectCaseSensitive(out, "record");
    for (size_t i = 0; i < run->n_series; i++)
        sg_json_set(series, run->series[i].name, sg_json_numbers(run->series[i].value, run->n_points));
    sg_json_set(out, "series", series);
    if (run->layers)
        sg_json_set(out, "layer_series", cJSON_Duplicate(run->layers, true));
    const struct {
        const char *key;
        const cJSON *record;
    } rest[] = {{"run", run->run}, {"end", run->end}};
    for (size_t i = 0; i < 2; i++) {
        cJSON *copy = cJSON_Duplicate(rest[i].record, true);
        cJSON_DeleteItemFromObjectCaseSensitive(copy, "record");
        sg_json_set(out, rest[i].key, copy);
    }
    return out;
}

/* The value of the first "model name : value" line of /proc/cpuinfo. */
static void cpu_model(char *out, size_t size) {
    FILE *in = fopen("/proc/cpuinfo", "r");
    char line[512];
    snprintf(out, size, "unknown");
    while (in && fgets(line, sizeof line, in)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && value) {
            value[strcspn(value, "\n")] = '\0';
            snprintf(out, size, "%s", value + 1 + strspn(value + 1, " "));
            break;
        }
    }
    if (in)
        fclose(in);
}

/* The version of NVIDIA's kernel module; "" = there is none. */
static void gpu_driver(char *out, size_t size) {
    FILE *in = fopen("/sys/module/nvidia/version", "r");
    if (!in || !fgets(out, (int)size, in))
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    if (in)
        fclose(in);
}

cJSON *sg_result_host(void) {
    char name[256] = "unknown", cpu[256], driver[64];
    struct sysinfo info;
    const double memory = sysinfo(&info) == 0 ? (double)info.totalram * info.mem_unit : NAN;
    gethostname(name, sizeof name - 1);
    cpu_model(cpu, sizeof cpu);
    gpu_driver(driver, sizeof driver);
    return SG_OBJECT(SG_TEXT("name", name), SG_TEXT("cpu", cpu), SG_NUMBER("cores", sysconf(_SC_NPROCESSORS_ONLN)),
                     SG_NUMBER("memory_bytes", memory),
                     SG_TEXT("gpu", NULL), /* the one in use, if the caller has one */
                     SG_TEXT("driver", driver[0] ? driver : NULL));
}

cJSON *sg_result_command(int argc, char **argv, const char *started_at, double elapsed_s) {
    cJSON *words = cJSON_CreateArray();
    for (int i = 0; i < argc; i++)
        sg_json_push_string(words, argv[i]);
    return SG_OBJECT(SG_VALUE("argv", words), SG_TEXT("started_at", started_at), SG_NUMBER("elapsed_s", elapsed_s));
}
