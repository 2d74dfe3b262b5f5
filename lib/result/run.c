#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "sg_file.h"
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

static sg_status make_series(struct sg_run *run, size_t capacity, const char *name, struct sg_error *err) {
    const cJSON *columns = sg_json_get(run->header, "columns"), *column;
    size_t n = (size_t)cJSON_GetArraySize(columns);
    run->series = calloc(n ? n : 1, sizeof *run->series);
    if (!run->series)
        return sg_fail_memory(err, name);
    cJSON_ArrayForEach(column, columns) {
        if (!cJSON_IsString(column))
            return sg_fail(err, SG_ERR_FORMAT, "%s: a column name is not a string", name);
        struct sg_series *s = &run->series[run->n_series++];
        s->name = strdup(column->valuestring);
        s->value = malloc((capacity ? capacity : 1) * sizeof *s->value);
        if (!s->name || !s->value)
            return sg_fail_memory(err, name);
    }
    return SG_OK;
}

/* Takes over `line` when it is one of the three single records. */
static sg_status take_record(struct sg_run *run, cJSON *line, size_t capacity, const char *name, struct sg_error *err) {
    const char *kind = sg_json_string(line, "record", "");
    if (strcmp(kind, "header") == 0 && !run->header) {
        run->header = line;
        sg_status status = sg_schema_check(sg_json_string(line, "schema", NULL), SG_SCHEMA_TRAIN, name, err);
        return status == SG_OK ? make_series(run, capacity, name, err) : status;
    }
    if (!run->header) {
        cJSON_Delete(line);
        return sg_fail(err, SG_ERR_FORMAT, "%s: a series starts with a header record", name);
    }
    if (strcmp(kind, "run") == 0 && !run->run) {
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
        for (size_t i = 0; i < run->n_series; i++)
            run->series[i].value[run->n_points] = sg_json_number(line, run->series[i].name, NAN);
        run->n_points++;
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
    size_t lines = 0;
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    int number = 0;
    for (size_t start = 0; start < length;) {
        const char *newline = memchr(text + start, '\n', length - start);
        if (!newline)
            break; /* torn last line of an interrupted writer */
        size_t stop = (size_t)(newline - text);
        cJSON *line;
        number++;
        sg_status status = sg_json_parse(&line, text + start, stop - start, name, err);
        if (status != SG_OK)
            return sg_fail(err, status, "%s: line %d is not a JSON record", name, number);
        status = take_record(run, line, lines, name, err);
        if (status != SG_OK)
            return status;
        start = stop + 1;
    }
    return run->header ? SG_OK : sg_fail(err, SG_ERR_FORMAT, "%s: no complete header record", name);
}

static sg_status unfold(struct sg_run *run, cJSON *folded, const char *name, struct sg_error *err) {
    run->run = cJSON_DetachItemFromObjectCaseSensitive(folded, "run");
    run->end = cJSON_DetachItemFromObjectCaseSensitive(folded, "end");
    run->layers = cJSON_DetachItemFromObjectCaseSensitive(folded, "layer_series");
    cJSON *series = cJSON_DetachItemFromObjectCaseSensitive(folded, "series");
    run->header = folded;
    size_t n = (size_t)cJSON_GetArraySize(series ? series->child : NULL);
    sg_status status = make_series(run, n, name, err);
    for (size_t i = 0; status == SG_OK && i < run->n_series; i++) {
        const cJSON *values = cJSON_GetObjectItemCaseSensitive(series, run->series[i].name), *value;
        size_t point = 0;
        if ((size_t)cJSON_GetArraySize(values) != n)
            status = sg_fail(err, SG_ERR_FORMAT, "%s: series '%s' has not %zu points", name, run->series[i].name, n);
        else
            cJSON_ArrayForEach(value, values) run->series[i].value[point++] =
                cJSON_IsNumber(value) ? value->valuedouble : NAN;
    }
    run->n_points = status == SG_OK ? n : 0;
    cJSON_Delete(series);
    return status;
}

sg_status sg_run_parse(struct sg_run *out, const char *text, size_t length, const char *name, struct sg_error *err) {
    struct sg_run run = {0};
    cJSON *whole = NULL;
    sg_status status = sg_json_parse(&whole, text, length, name, err); /* fails for several lines: a series */
    if (status == SG_OK && !sg_json_get(whole, "record")) {
        status = sg_schema_check(sg_json_string(whole, "schema", NULL), SG_SCHEMA_TRAIN, name, err);
        if (status == SG_OK)
            status = unfold(&run, whole, name, err);
        else
            cJSON_Delete(whole);
    } else {
        cJSON_Delete(whole);
        status = parse_lines(&run, text, length, name, err);
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
    sg_status status = sg_file_read(&text, &length, path, (size_t)1 << 30, err);
    if (status != SG_OK)
        return status;
    status = sg_run_parse(out, text, length, strcmp(path, "-") == 0 ? "<stdin>" : path, err);
    free(text);
    return status;
}

sg_status sg_run_read_finished(struct sg_run *out, const char *path, const char *cell_key, const char *identity,
                               struct sg_error *err) {
    struct sg_run run;
    sg_status status = sg_run_read(&run, path, err);
    if (status != SG_OK)
        return status;
    const char *end = sg_json_string(run.end, "status", "");
    const char *program = sg_json_string(run.header, "program.identity", "unknown");
    if (strcmp(end, "ok") != 0 && strcmp(end, "diverged") != 0)
        status = sg_fail(err, SG_ERR_MISMATCH, "%s is not a finished series", path);
    else if (strcmp(sg_json_string(run.header, "cell_key", ""), cell_key) != 0)
        status = sg_fail(err, SG_ERR_MISMATCH, "%s is the series of another recipe, method or seed", path);
    else if (identity && strcmp(program, identity) != 0)
        status =
            sg_fail(err, SG_ERR_MISMATCH, "%s was written by another build (%s, this is %s)", path, program, identity);
    if (status == SG_OK)
        *out = run;
    else
        sg_run_free(&run);
    return status;
}

void sg_run_free(struct sg_run *run) {
    cJSON_Delete(run->header);
    cJSON_Delete(run->run);
    cJSON_Delete(run->end);
    cJSON_Delete(run->layers);
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

cJSON *sg_run_json(const struct sg_run *run) {
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
        cJSON *copy = rest[i].record ? cJSON_Duplicate(rest[i].record, true) : NULL;
        cJSON_DeleteItemFromObjectCaseSensitive(copy, "record");
        sg_json_set(out, rest[i].key, copy);
    }
    return out;
}

/* Value of the first "key : value" line of /proc/cpuinfo. */
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

/* Of NVIDIA's kernel module, "" where there is none. */
static void gpu_driver(char *out, size_t size) {
    FILE *in = fopen("/sys/module/nvidia/version", "r");
    if (!in || !fgets(out, (int)size, in))
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    if (in)
        fclose(in);
}

cJSON *sg_result_host(void) {
    cJSON *host = cJSON_CreateObject();
    char name[256] = "unknown", cpu[256], driver[64];
    gethostname(name, sizeof name - 1);
    cpu_model(cpu, sizeof cpu);
    sg_json_set_string(host, "name", name);
    sg_json_set_string(host, "cpu", cpu);
    sg_json_set_number(host, "cores", (double)sysconf(_SC_NPROCESSORS_ONLN));
    struct sysinfo info;
    sg_json_set_number(host, "memory_bytes", sysinfo(&info) == 0 ? (double)info.totalram * info.mem_unit : NAN);
    gpu_driver(driver, sizeof driver);
    sg_json_set(host, "gpu", NULL); /* the one in use, if the caller has one */
    sg_json_set_string(host, "driver", driver[0] ? driver : NULL);
    return host;
}

cJSON *sg_result_command(int argc, char **argv, const char *started_at, double elapsed_s) {
    cJSON *out = cJSON_CreateObject(), *words = cJSON_CreateArray();
    for (int i = 0; i < argc; i++)
        sg_json_push_string(words, argv[i]);
    sg_json_set(out, "argv", words);
    sg_json_set_string(out, "started_at", started_at);
    sg_json_set_number(out, "elapsed_s", elapsed_s);
    return out;
}
