/* bench_kernels.c: recipes of kernels, which sparsebench times in this process. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "grid_program.h"
#include "sg_bench.h"
#include "sg_clock.h"
#include "sg_result.h"
#include "sg_terminal.h"

/* The result, in the form of the other results, so that one reader does for both. */
static cJSON *kernels_json(const struct sg_recipe *recipe, const char *status, cJSON *take_run, cJSON *take_results) {
    cJSON *claims = sg_bench_claims(recipe, take_results);
    return SG_OBJECT(SG_TEXT("schema", SG_SCHEMA_BENCH), SG_TEXT("kind", "kernels"), SG_TEXT("status", status),
                     SG_VALUE("program", version_json(recipe)), SG_VALUE("run", take_run),
                     SG_VALUE("recipe", sg_recipe_json(recipe)), SG_VALUE("host", sg_result_host()),
                     SG_VALUE("results", take_results), SG_VALUE("claims", claims));
}

/* True if two results are equal in this part. */
static bool same_part(const cJSON *a, const cJSON *b, const char *key) {
    char *one = sg_json_text(sg_json_get(a, key), false), *other = sg_json_text(sg_json_get(b, key), false);
    const bool same = one && other && strcmp(one, other) == 0;
    free(one);
    free(other);
    return same;
}

/* The result at `path` if it is an interrupted one of the same kernels, program and machine; else NULL. */
static cJSON *earlier_kernels(const char *path, const struct sg_recipe *recipe) {
    struct sg_error unused;
    cJSON *then = NULL, *now = NULL, *made = kernels_json(recipe, "interrupted", NULL, NULL);
    char *text = sg_json_text(made, false); /* read again, so that numbers are alike */
    const bool found =
        path && !cell_opt.fresh && text && sg_file_is_regular(path) && sg_json_read(&then, path, &unused) == SG_OK &&
        sg_json_parse(&now, text, strlen(text), "the recipe", &unused) == SG_OK && same_part(then, now, "kind") &&
        same_part(then, now, "status") && same_part(then, now, "recipe") && same_part(then, now, "program") &&
        same_part(then, now, "host");
    cJSON_Delete(made);
    cJSON_Delete(now);
    free(text);
    if (found)
        return then;
    cJSON_Delete(then);
    return NULL;
}

static void say_case(const char *what, size_t done, size_t total) {
    sg_log_note("%zu of %zu: %s", done + 1, total, what);
}

static void say_warning(const char *text) {
    sg_log_warning("%s", text);
}

/* The time limit of kernels is asked for between samples. */
static int stop_asked(void) {
    const double until_s = stop_at_s();
    return until_s > 0 && sg_clock_s() >= until_s ? 1 : sg_signal_pending();
}

int bench_kernels(const struct sg_recipe *recipe, int argc, char **argv) {
    cJSON *earlier = earlier_kernels(opt.output, recipe);
    const struct sg_bench_options how = {.earlier = sg_json_get(earlier, "results"),
                                         .corrupt = opt.corrupt,
                                         .stop = stop_asked,
                                         .begin = say_case,
                                         .warn = say_warning};
    const struct sg_grid_options in_process = {.threads = 0};
    struct sg_file_writer file = {0};
    struct sg_error err = {.status = SG_OK}, lost = err;
    char *page = NULL;
    cJSON *results = NULL;
    struct sg_document result = {0};
    char started_at[21];
    bool verified = opt.dry_run, fails = false;
    double start_s = sg_clock_s();
    sg_clock_utc(started_at);
    sg_status status = SG_OK, delivered = SG_OK;
    if (recipe->claim_problems)
        status = sg_fail(&err, SG_ERR_ARGUMENT, "%s", recipe->claim_problems);
    else if (opt.dry_run)
        sg_app_print_json(sg_recipe_json(recipe));
    else
        status = page_target(&page, &err);
    if (status == SG_OK && !opt.dry_run && opt.output)
        status = sg_file_begin(&file, opt.output, opt.force || earlier, &err);
    if (status == SG_OK && !opt.dry_run)
        status = sg_bench_run(&results, &verified, recipe, &how, &err);
    const char *word = status != SG_OK ? "interrupted" : verified ? "ok" : "failed";
    if (results)
        delivered = sg_document_read(
            &result, kernels_json(recipe, word, run_json(argc, argv, started_at, start_s, &in_process), results),
            "the result", &lost);
    if (results && delivered == SG_OK) {
        if (!opt.judge || status != SG_OK)
            sg_grid_unjudge(&result, opt.judge ? "not all cases were timed" : "--no-judge was given");
        fails = report_claims(&result, table_wanted());
        delivered = deliver(&result, &file, page, &lost);
    }
    sg_document_free(&result);
    if (status != SG_OK)
        sg_log_error("%s%s", err.msg,
                     status == SG_ERR_INTERRUPTED && opt.output ? ": give the same command again to resume" : "");
    else if (!verified)
        sg_log_error("a kernel's output differs from plain C's: those rows have no time");
    if (delivered != SG_OK)
        sg_log_error("%s", lost.msg);
    sg_file_abandon(&file);
    free(page);
    cJSON_Delete(earlier);
    return status != SG_OK                             ? sg_exit_code(status)
           : !verified                                 ? SG_EXIT_GATE
           : delivered == SG_OK && opt.strict && fails ? SG_EXIT_GATE
                                                       : sg_exit_code(delivered);
}

int read_coding(struct sg_recipe *recipe, const char *operand) {
    static const char text[] = "schema: 1\nname: coding\nkind: kernels\noperations: []\nsizes: [resnet18]\n"
                               "compressors: {names: [all], sizes: [resnet18], densities: [0.01]}\n";
    struct sg_error err;
    if (operand) {
        sg_log_error("--measure-coding times all compressors and needs no recipe ('%s')", operand);
        return SG_EXIT_USAGE;
    }
    if (sg_recipe_parse(recipe, text, sizeof text - 1, "coding", cell_opt.set.item, cell_opt.set.count, &err) == SG_OK)
        return SG_PARSE_RUN;
    sg_log_error("%s", err.msg);
    return SG_EXIT_USAGE;
}
