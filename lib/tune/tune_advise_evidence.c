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
            sg_json_push(out, SG_OBJECT(SG_TEXT("caution", advise_caution_word((enum advise_caution)i)),
                                        SG_TEXT("text", advise_caution_text(text, c, (enum advise_caution)i))));
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
    SG_SET(out, SG_TEXT("label", c->cell->label), SG_TEXT("method", c->cell->name), SG_TEXT("recipe", text),
           SG_BOOL("baseline", c->baseline), SG_TEXT("left_out", c->why[0] ? c->why : NULL),
           SG_BOOL("within", c->within && !c->why[0]));
    if (c->rank > 0)
        sg_json_set_number(out, "rank", (double)c->rank);
    else
        sg_json_set(out, "rank", NULL);
    put_number(out, c, "bytes", c->bytes);
    put_number(out, c, "share", c->bytes / (4 * (double)a->d));
    put_number(out, c, "error", c->error);
    put_number(out, c, "error_over_least", c->error_over_least);
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
    return SG_OBJECT(SG_TEXT("files", a->files), SG_BOOL("recorded_here", a->recorded_here),
                     SG_NUMBER("share_of_run", a->share), SG_NUMBER("steps", a->steps),
                     SG_NUMBER("workers", a->workers), SG_NUMBER("d", a->d), SG_NUMBER("square", a->square));
}

static cJSON *network_json(const struct advise *a) {
    const struct sg_grid_network *n = &a->network;
    char *model = sg_format("%zu workers, %s, %s, overlap %s", n->net.workers, n->net.between.name, n->sum->name,
                            n->overlap->name);
    cJSON *out = sg_grid_network_json(n, model);
    free(model);
    return out;
}

sg_status advise_document(const struct advise *a, struct sg_error *err) {
    cJSON *candidates = cJSON_CreateArray(), *left_out = cJSON_CreateArray(), *list = cJSON_CreateArray();
    char *answer = advise_answer(a);
    for (size_t i = 0; i < a->n; i++)
        sg_json_push(candidates, candidate_json(a, &a->candidate[i]));
    for (size_t i = 0; i < a->n_left_out; i++)
        sg_json_push(left_out,
                     SG_OBJECT(SG_TEXT("method", a->left_out[i].method), SG_TEXT("reason", a->left_out[i].reason)));
    for (size_t i = 0; i < a->listed; i++)
        sg_json_push_string(list, a->candidate[a->list[i]].cell->label);
    cJSON *tune =
        SG_OBJECT(SG_TEXT("answer", answer), SG_BOOL("pays", advise_pays(a)), SG_NUMBER("tolerance", a->tolerance),
                  SG_TEXT("candidates_from", a->own ? "recipe" : "built-in"), SG_VALUE("gradients", gradients_json(a)),
                  SG_VALUE("network", network_json(a)), SG_BOOL("network_assumed", a->assumed),
                  SG_BOOL("coding_measured", !(a->network.coding_s > 0)), SG_NUMBER("threads", a->threads),
                  SG_VALUE("list", list), SG_VALUE("candidates", candidates), SG_VALUE("left_out", left_out),
                  SG_VALUE("assumptions", advise_assumptions(a)));
    const sg_status status = answer ? tune_evidence(a->t, "advise", tune, err) : sg_fail_memory(err, "the answer");
    if (!answer)
        cJSON_Delete(tune);
    free(answer);
    return status == SG_OK ? tune_write_table(a->t, advise_put_table, a, err) : status;
}
