/* tune_advise_evidence.c: what --advise found, as JSON (lib/FORMATS.md). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_text.h"
#include "tune_advise.h"

static cJSON *cautions_json(const struct advise_candidate *c) {
    cJSON *out = cJSON_CreateArray();
    char text[ADVISE_REASON];
    for (int i = 0; i < ADVISE_CAUTIONS && !c->baseline; i++)
        if (c->caution[i]) {
            cJSON *one = cJSON_CreateObject();
            sg_json_set_string(one, "caution", advise_caution_word((enum advise_caution)i));
            sg_json_set_string(one, "text", advise_caution_text(text, c, (enum advise_caution)i));
            sg_json_push(out, one);
        }
    return out;
}

/* A number that is 0 and null is not said of a method that was left out. */
static void put_number(cJSON *out, const struct advise_candidate *c, const char *key, double value) {
    sg_json_set_number(out, key, c->why[0] ? NAN : value);
}

static cJSON *candidate_json(const struct advise *a, const struct advise_candidate *c) {
    cJSON *out = cJSON_CreateObject();
    char *text = advise_candidate_text(a, c);
    sg_json_set_string(out, "label", c->cell->label);
    sg_json_set_string(out, "method", c->cell->name);
    sg_json_set_string(out, "recipe", text);
    sg_json_set_bool(out, "baseline", c->baseline);
    sg_json_set_string(out, "left_out", c->why[0] ? c->why : NULL);
    sg_json_set_bool(out, "within", c->within && !c->why[0]);
    if (c->rank > 0)
        sg_json_set_number(out, "rank", (double)c->rank);
    else
        sg_json_set(out, "rank", NULL);
    put_number(out, c, "bytes", c->bytes);
    put_number(out, c, "share", c->bytes / (4 * (double)a->d));
    put_number(out, c, "error", c->error);
    put_number(out, c, "error_over_least", c->least);
    put_number(out, c, "encode_s", c->encode_s);
    put_number(out, c, "add_s", c->add_s);
    put_number(out, c, "coding_s", c->coding_s);
    put_number(out, c, "exposed_s", c->exposed_s);
    put_number(out, c, "step_s", c->step_s);
    put_number(out, c, "speedup", c->speedup);
    sg_json_set(out, "cautions", cautions_json(c));
    free(text);
    return out;
}

static cJSON *gradients_json(const struct advise *a) {
    cJSON *out = cJSON_CreateObject();
    sg_json_set_string(out, "files", a->files);
    sg_json_set_bool(out, "recorded_here", a->recorded_here);
    sg_json_set_number(out, "share_of_run", a->share);
    sg_json_set_number(out, "steps", (double)a->steps);
    sg_json_set_number(out, "workers", (double)a->workers);
    sg_json_set_number(out, "d", (double)a->d);
    sg_json_set_number(out, "square", a->square);
    return out;
}

static cJSON *network_json(const struct advise *a) {
    const struct sg_grid_network *n = &a->network;
    char *model = sg_format("%zu workers, %s, %s, overlap %s", n->net.workers, n->net.between.name, n->sum->name,
                            n->overlap->name);
    cJSON *out = sg_grid_network_json(n, model);
    free(model);
    return out;
}

static cJSON *tune_json(const struct advise *a, const char *answer, cJSON *take_assumptions) {
    cJSON *out = cJSON_CreateObject(), *candidates = cJSON_CreateArray(), *left_out = cJSON_CreateArray(),
          *list = cJSON_CreateArray();
    for (size_t i = 0; i < a->n; i++)
        sg_json_push(candidates, candidate_json(a, &a->candidate[i]));
    for (size_t i = 0; i < a->n_left_out; i++) {
        cJSON *one = cJSON_CreateObject();
        sg_json_set_string(one, "method", a->left_out[i].method);
        sg_json_set_string(one, "reason", a->left_out[i].reason);
        sg_json_push(left_out, one);
    }
    for (size_t i = 0; i < a->listed; i++)
        sg_json_push_string(list, a->candidate[a->list[i]].cell->label);
    sg_json_set_string(out, "answer", answer);
    sg_json_set_bool(out, "pays", advise_pays(a));
    sg_json_set_number(out, "tolerance", a->tolerance);
    sg_json_set_string(out, "candidates_from", a->own ? "recipe" : "built-in");
    sg_json_set(out, "gradients", gradients_json(a));
    sg_json_set(out, "network", network_json(a));
    sg_json_set_bool(out, "network_assumed", a->assumed);
    sg_json_set_bool(out, "coding_measured", !(a->network.coding_s > 0));
    sg_json_set_number(out, "threads", (double)a->threads);
    sg_json_set(out, "list", list);
    sg_json_set(out, "candidates", candidates);
    sg_json_set(out, "left_out", left_out);
    sg_json_set(out, "assumptions", take_assumptions);
    return out;
}

sg_status advise_document(const struct advise *a, struct sg_error *err) {
    char *answer = advise_answer(a);
    cJSON *assumptions = advise_assumptions(a);
    sg_status status = answer && assumptions ? SG_OK : sg_fail_memory(err, "the evidence");
    if (status == SG_OK) {
        a->t->table = advise_table(a, answer, assumptions);
        status = a->t->table ? tune_evidence(a->t, "advise", tune_json(a, answer, assumptions), err)
                             : sg_fail_memory(err, "the table");
        assumptions = NULL;
    }
    cJSON_Delete(assumptions);
    free(answer);
    return status;
}
