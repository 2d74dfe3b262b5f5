/* tune_advise_hook.c: a method as the text that the library's flat calls and its hook for PyTorch take (sg_flat.h). */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sg_json.h"
#include "sg_memory.h"
#include "sg_method.h"
#include "sg_text.h"
#include "tune_advise.h"

/* Writes the parameters that are not at their presets. */
static void put_parameters(FILE *out, const struct sg_parameter *params, size_t n, const double *number) {
    char text[SG_NUMBER_CHARS];
    for (size_t i = 0; number && i < n; i++)
        if (!isnan(number[i]) && number[i] != params[i].preset)
            fprintf(out, " %s=%s", params[i].name, sg_number_text(number[i], text));
}

static void put_feedback(FILE *out, const struct sg_feedback *feedback) {
    const struct sg_feedback_rule *rule = feedback->rule;
    char text[SG_NUMBER_CHARS];
    /* The hook's learning rate is 1, where residuals of updates are those of gradients. */
    if (rule == &sg_feedback_gradient || strcmp(rule->name, "update") == 0) {
        if (feedback->decay == 1)
            return;
        rule = &sg_feedback_gradient;
    }
    fprintf(out, "; error-feedback=%s", rule->name);
    if (feedback->decay != 1)
        fprintf(out, " decay=%s", sg_number_text(feedback->decay, text));
    put_parameters(out, rule->params, rule->n_params, feedback->param);
}

char *advise_hook_text(const struct sg_method_config *config) {
    const struct sg_feedback_rule *rule = config->feedback.rule;
    char *text = NULL;
    size_t size;
    if (config->copies || rule->offset || rule->steps_alone || rule->measure)
        return NULL;
    FILE *out = sg_memstream(&text, &size);
    fputs(config->compressor->name, out);
    put_parameters(out, config->compressor->params, config->compressor->n_params, config->param);
    if (config->code && config->code != &sg_code_fp32) {
        fprintf(out, " | %s", config->code->name);
        put_parameters(out, config->code->params, config->code->n_params, config->code_param);
    }
    if (config->controller) {
        fprintf(out, "; controller=%s", config->controller->name);
        put_parameters(out, config->controller->params, config->controller->n_params, config->controller_param);
    }
    put_feedback(out, &config->feedback);
    return sg_stream_text(out, &text);
}
