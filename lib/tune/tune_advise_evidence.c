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

static cJSON *candidate_json(const struct advise *a, const struct advise_candidate *c) {
    char *text = advise_candidate_text(a, c);
    cJSON *out = SG_OBJECT(
        SG_TEXT("label", c->cell->label), SG_TEXT("method", c->cell->name), SG_TEXT("recipe", text),
        SG_BOOL("baseline", c->baseline), SG_TEXT("left_out", c->why[0] ? c->why : NULL), SG_BOOL("within", c->within),
        SG_NUMBER("rank", c->rank > 0 ? (double)c->rank : NAN), SG_NUMBER("bytes", c->bytes),
        SG_NUMBER("share", c->bytes / (4 * (double)a->d)), SG_NUMBER("error", c->error[ADVISE_RELATIVE]),
        SG_NUMBER("error_mean", c->error[ADVISE_MEAN]), SG_NUMBER("error_lag", c->error[ADVISE_LAG]),
        SG_NUMBER("error_drift", c->error[ADVISE_DRIFT]), SG_NUMBER("error_over_least", c->error_over_least),
        SG_NUMBER("encode_s", c->encode_s), SG_NUMBER("add_s", c->add_s), SG_NUMBER("coding_s", c->coding_s),
        SG_NUMBER("exposed_s", c->exposed_s), SG_NUMBER("step_s", c->step_s), SG_NUMBER("speedup", c->speedup),
        SG_VALUE("cautions", cautions_json(c)));
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
    char *text = sg_grid_network_text(n), *model = sg_format("%zu workers, %s", n->net.workers, text ? text : "");
    free(text);
    cJSON *out = sg_grid_network_json(n, &a->trials.recipe, model);
    free(model);
    if (advise_times_coding(a)) {
        char *coding = advise_coding_text(a);
        cJSON_ReplaceItemInObjectCaseSensitive(out, "processor", cJSON_CreateNull());
        cJSON_ReplaceItemInObjectCaseSensitive(out, "coding", cJSON_CreateString(coding ? coding : ""));
        free(coding);
    }
    return out;
}

sg_status advise_document(const struct advise *a, struct sg_error *err) {
    cJSON *candidates = cJSON_CreateArray(), *list = cJSON_CreateArray();
    char *answer = advise_answer(a);
    for (size_t i = 0; i < a->n; i++)
        sg_json_push(candidates, candidate_json(a, &a->candidate[i]));
    for (size_t i = 0; i < a->listed; i++)
        sg_json_push_string(list, a->candidate[a->list[i]].cell->label);
    cJSON *tune = SG_OBJECT(
        SG_TEXT("answer", answer), SG_BOOL("pays", advise_pays(a)), SG_NUMBER("tolerance", a->tolerance),
        SG_TEXT("ranked_by", advise_error_word(a->by)), SG_TEXT("candidates_from", a->own ? "recipe" : "built-in"),
        SG_VALUE("gradients", gradients_json(a)), SG_VALUE("network", network_json(a)),
        SG_BOOL("network_assumed", a->assumed), SG_BOOL("coding_measured", advise_times_coding(a)),
        SG_NUMBER("threads", a->threads), SG_VALUE("list", list), SG_VALUE("candidates", candidates),
        SG_VALUE("left_out", cJSON_Duplicate(a->left_out, true)), SG_VALUE("assumptions", advise_assumptions(a)));
    const sg_status status = answer ? tune_evidence(a->t, "advise", tune, err) : sg_fail_memory(err, "the answer");
    if (!answer)
        cJSON_Delete(tune);
    free(answer);
    return status == SG_OK ? tune_write_table(a->t, advise_put_table, a, err) : status;
}
