/* tune_law.c: the start of a search for the lambda of hard-threshold from one pilot, by the law of sg_lambda_rules.h.
 *
 * The pilot records |g_i|^2 at every step, of which the law says what any lambda sends over a whole run. Where a pilot
 * is so short that most entries have not left (-lambda, lambda) once, what it sent itself is too little, and the law's
 * volume counts if that is more. Otherwise what it sent counts. One whole run replaces the pilot: the law through its
 * volume is the curve on which all goals are solved. */
#include <math.h>

#include "tune_search.h"

bool tune_law_holds(const struct sg_cell *cell) {
    return tune_wants_lambda(cell->method) && sg_node_absent(sg_node_get(cell->method, "controller")) &&
           tune_sums_gradients(&cell->resolved);
}

double tune_law_solve(const struct tune_search *s, const struct tune_point *through, double target) {
    struct sg_walk_law law = s->law;
    sg_walk_fit(&law, through->value, through->amount / s->law_unit);
    return sg_walk_lambda(&law, target / s->law_unit);
}

sg_status tune_law_pilot(struct tune_search *s, double steps, struct sg_error *err) {
    const struct tune_goal *middle = &s->goal[s->n_goals / 2];
    struct tune_point p = {.value = tune_possible(s, middle->value)};
    sg_status status = tune_measure(s, &p, 1, steps, 1, err);
    if (status == SG_OK && !(p.gradient > 0))
        status =
            sg_fail(err, SG_ERR_ARGUMENT, "%s: gradients are 0 along the pilot, so no lambda sends anything", s->name);
    if (status != SG_OK)
        return status;
    s->law = (struct sg_walk_law){.gradient = p.gradient, .d = s->d, .steps = s->length.steps};
    s->law_unit = p.entries > 0 ? p.amount / p.entries : s->unit == TUNE_BYTES ? 8 : 1;
    if (p.entries_once < s->d)
        p.amount = fmax(p.amount, s->law_unit * sg_walk_sent(&s->law, p.value));
    for (size_t i = 0; i < s->n_goals; i++)
        s->goal[i].value = tune_law_solve(s, &p, s->goal[i].target);
    return SG_OK;
}
