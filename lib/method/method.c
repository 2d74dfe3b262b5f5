/* method.c: opening and closing a method: layers, controller, room for the workers' messages. */
/* SPDX-License-Identifier: MIT */
#include "method_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sg_debug.h"

static sg_status check_config(const struct sg_method_config *config, struct sg_error *err) {
    const struct sg_layout *layout = &config->layout;
    if (config->size != sizeof *config)
        return sg_fail(
            err, SG_ERR_ARGUMENT,
            "the method's config has %zu bytes here and says %zu: set config.size to its sizeof, and compile "
            "with this version's headers",
            sizeof *config, config->size);
    SG_ASSERT(config->compressor && config->exec.threads >= 1);
    if (layout->n_layers == 0 || layout->offset[0] != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "a layout has at least one layer and starts at 0");
    for (size_t l = 0; l < layout->n_layers; l++) {
        if (layout->offset[l + 1] < layout->offset[l])
            return sg_fail(err, SG_ERR_ARGUMENT, "layer %zu ends before it starts", l);
        if (layout->rows && (layout->rows[l] == 0 || (layout->offset[l + 1] - layout->offset[l]) % layout->rows[l] > 0))
            return sg_fail(err, SG_ERR_ARGUMENT, "layer %zu does not consist of %zu rows", l, layout->rows[l]);
    }
    if (layout->offset[layout->n_layers] > UINT32_MAX)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "%zu parameters: indices are 32 bits wide",
                       layout->offset[layout->n_layers]);
    if (!config->feedback.rule)
        return sg_fail(err, SG_ERR_ARGUMENT, "a method has a feedback rule");
    if (config->feedback.rule->keeps && !(config->feedback.decay >= 0 && config->feedback.decay <= 1))
        return sg_fail(err, SG_ERR_ARGUMENT, "error-feedback decay %g is not between 0 and 1", config->feedback.decay);
    if (config->count == 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "a method has at least one worker");
    return SG_OK;
}

static sg_status copy_layout(struct sg_layout *out, const struct sg_layout *in, struct sg_error *err) {
    const size_t n = in->n_layers;
    size_t *offset = malloc((n + 1) * sizeof *offset);
    out->offset = offset;
    if (!offset)
        return sg_fail_memory(err, "a method's layers");
    memcpy(offset, in->offset, (n + 1) * sizeof *offset);
    out->n_layers = n;
    if (in->rows) {
        size_t *rows = malloc(n * sizeof *rows);
        if (!rows)
            return sg_fail_memory(err, "the shapes of a method's layers");
        memcpy(rows, in->rows, n * sizeof *rows);
        out->rows = rows;
    }
    if (!in->name)
        return SG_OK;
    /* Pointers and texts in one allocation. */
    size_t bytes = n * sizeof *out->name;
    for (size_t l = 0; l < n; l++)
        bytes += strlen(in->name[l]) + 1;
    const char **name = malloc(bytes);
    out->name = name;
    if (!name)
        return sg_fail_memory(err, "a method's layer names");
    char *text = (char *)(name + n);
    for (size_t l = 0; l < n; l++) {
        name[l] = text;
        text = stpcpy(text, in->name[l]) + 1;
    }
    return SG_OK;
}

static sg_status choose_kernels(sg_method *m, const struct sg_method_config *config, struct sg_error *err) {
    const struct sg_kernels *kernels = config->kernels ? config->kernels : sg_kernels_cpu(NULL);
    m->shared.exec = config->exec;
    m->shared.kernels = kernels;
    if (!kernels)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "SG_CPU=%s: this machine has no such kernels (c, avx2, avx512)",
                       getenv("SG_CPU"));
    const char *what = !(sg_compressor_traits(m->compressor, m->param) & SG_TRAIT_GPU) ? m->compressor->name
                       : !config->feedback.rule->on_gpu                                ? config->feedback.rule->name
                       : m->controller && m->controller->choose                        ? m->controller->name
                       : !sg_code_on_gpu(m->shared.code)                               ? m->shared.code->name
                                                                                       : NULL;
    if (config->exec.device && what)
        return sg_fail(err, SG_ERR_UNSUPPORTED, "'%s' does not run on a GPU: use --device cpu", what);
    return SG_OK;
}

size_t method_data_bytes(const sg_method *m) {
    const struct sg_code *code = method_code(m);
    if (m->compressor->data_bytes)
        return m->compressor->data_bytes(&m->shared);
    const struct sg_numbers all = {.count = m->d,
                                   .parts = m->shared.layout.n_layers,
                                   .param = m->compressor->code ? m->param : m->code_param,
                                   .knob = m->compressor->code ? m->decided : NULL};
    return m->compressor->encode   ? m->d * sizeof(float) + 16 * (m->shared.layout.n_layers + 1)
           : code != &sg_code_fp32 ? code->most_bytes(&all)
                                   : 0;
}

/* ---- memory: one list of what was taken, which sg_method_close and sg_method_memory walk ---- */

/* Count elements in the kernels' memory, or zeros in the host's. NULL where there is none: then m->lacks is true. */
static void *take(sg_method *m, bool of_kernels, size_t count, size_t size) {
    struct method_slot *slot = realloc(m->slot, (m->slots + 1) * sizeof *slot);
    void *at = !slot        ? NULL
               : of_kernels ? m->shared.kernels->allocate(&m->shared.exec, count * size)
                            : calloc(count + 1, size);
    m->slot = slot ? slot : m->slot;
    if (at)
        slot[m->slots++] = (struct method_slot){at, of_kernels, m->owner, count * size};
    m->lacks |= !at;
    return at;
}

static void give_back(sg_method *m) {
    for (size_t i = 0; i < m->slots; i++)
        if (m->slot[i].of_kernels)
            m->shared.kernels->release(&m->shared.exec, m->slot[i].at);
        else
            free(m->slot[i].at);
    free(m->slot);
}

/* A vector of one worker, or of all together. */
static float *take_vector(sg_method *m) {
    return take(m, true, m->d, sizeof(float));
}

static void open_room(sg_method *m, struct message_room *room, const struct sg_method_config *config) {
    const bool indexed = !m->compressor->select || !(m->compressor->traits & SG_TRAIT_DENSE);
    const size_t data = method_data_bytes(m), bytes = data > 0 ? data + sizeof(float) * config->ranges : 0;
    room->index = indexed ? take(m, true, m->d, sizeof *room->index) : NULL;
    room->value = take_vector(m);
    room->data = bytes > 0 ? take(m, true, bytes, 1) : NULL;
}

size_t method_doubles(const sg_method *m) {
    const bool keeps = m->controller && m->controller->doubles;
    return keeps ? m->controller->doubles(m->shared.layout.n_layers) : 0;
}

static sg_status ask_for_room(sg_method *m, struct sg_error *err) {
    const struct sg_compressor_ops *ops = m->compressor;
    const struct sg_rounds *rounds = ops->rounds;
    const size_t most = 64 * (m->d + m->shared.layout.n_layers) + 65536;
    m->worker_doubles = ops->worker_doubles ? ops->worker_doubles(&m->shared.layout) : 0;
    m->floats = rounds && rounds->floats ? rounds->floats(&m->shared) : 0;
    m->kept = rounds && rounds->kept ? rounds->kept(&m->shared) : m->floats;
    const size_t asked = m->worker_doubles > m->floats ? m->worker_doubles : m->floats;
    return asked <= most ? SG_OK
                         : sg_fail(err, SG_ERR_ARGUMENT,
                                   "%s: it asks for %zu numbers to keep from step to step, and the most is %zu",
                                   ops->name, asked, most);
}

bool method_keeps_lead_sum(const sg_method *m, size_t worker) {
    return worker == 0 && m->controller && m->controller->ask &&
           m->controller->ask(m->controller_param, m->state, NULL) & SG_ASK_ADD;
}

/* Vectors for a feedback rule: of one worker, or of all together. */
static void open_vectors(sg_method *m, struct sg_feedback_state *out, size_t count) {
    *out = (struct sg_feedback_state){.d = m->d,
                                      .param = m->shared.feedback.param,
                                      .shared = &m->shared,
                                      .kernels = m->shared.kernels,
                                      .exec = &m->shared.exec};
    for (size_t i = 0; i < count; i++)
        out->vector[i] = take_vector(m);
}

static void open_worker(sg_method *m, struct method_worker *w, const struct sg_method_config *config) {
    const struct sg_feedback_rule *rule = config->feedback.rule;
    w->count = take(m, false, m->shared.layout.n_layers, sizeof *w->count);
    w->state = take(m, false, m->worker_doubles, sizeof *w->state);
    if (config->inputs)
        w->input = w->input_room = take(m, false, m->d, sizeof *w->input);
    if (sg_method_rounds(m) > 1 && !rule->keeps)
        w->p = take_vector(m);
    open_vectors(m, &w->feedback, rule->worker_vectors + rule->worker_room);
    w->packed_g = m->stream.fragments > 1 ? take_vector(m) : NULL;
    w->packed_e = m->stream.fragments > 1 ? take_vector(m) : NULL;
}

bool sg_method_shares_rooms(const sg_method *m) {
    return m->shares_rooms;
}

static sg_status allocate(sg_method *m, const struct sg_method_config *config, struct sg_error *err) {
    const size_t layers = m->shared.layout.n_layers;
    const struct sg_rounds *rounds = m->compressor->rounds;
    const bool floats =
        m->compressor->select && m->compressor->traits & SG_TRAIT_DENSE && m->shared.code == &sg_code_fp32;
    /* Workers can share rooms if nothing of a message is needed once it was copied, and copies are shorter. */
    m->scratch_shared = !config->inputs && !rounds && !floats;
    m->shares_rooms = !config->turns && config->rooms > 0 && config->rooms < m->count && m->scratch_shared;
    m->rooms = config->turns ? 1 : m->shares_rooms ? config->rooms : m->count;
    m->worker = take(m, false, m->count, sizeof *m->worker);
    m->room = take(m, false, m->rooms, sizeof *m->room);
    m->shared.knob = m->decided = m->settings.knob = take(m, false, layers, sizeof *m->decided);
    m->lead_square = take(m, false, layers, sizeof *m->lead_square);
    m->unreached = take(m, false, layers, sizeof *m->unreached);
    m->state = take(m, false, method_doubles(m), sizeof *m->state);
    for (size_t l = 0; !m->lacks && l < layers; l++)
        m->unreached[l] = INFINITY;
    if (!m->lacks && rounds)
        m->shared.memory = take(m, true, m->floats, sizeof(float));
    if (!m->lacks && rounds && rounds->room)
        m->shared.room = take(m, false, rounds->room(&m->shared), 1);
    m->owner = METHOD_ROOM;
    for (size_t i = 0; !m->lacks && i < m->rooms; i++)
        open_room(m, &m->room[i], config);
    m->owner = METHOD_WORKER;
    for (size_t w = 0, room = 0; !m->lacks && w < m->count; w++) {
        while (w >= m->count * (room + 1) / m->rooms)
            room++;
        m->worker[w].room = &m->room[room];
        open_worker(m, &m->worker[w], config);
    }
    m->owner = METHOD_COMMON;
    if (!m->lacks && method_keeps_lead_sum(m, m->first))
        m->lead_sum = take_vector(m);
    if (m->lead_sum && m->controller->choose) {
        m->measured = take(m, false, 2 * layers * SG_CANDIDATES, sizeof *m->measured);
        m->lost = take(m, false, m->d, sizeof *m->lost);
    }
    if (!m->lacks)
        open_vectors(m, &m->common, config->feedback.rule->common_vectors);
    if (!m->lacks && m->stream.delay > 0)
        m->pending = take_vector(m);
    if (!m->lacks && config->feedback.rule->resets) {
        m->reset_knob = take(m, false, layers, sizeof *m->reset_knob);
        m->zeros = take(m, false, m->d, sizeof *m->zeros);
        m->first_sum = take(m, false, m->d, sizeof *m->first_sum);
    }
    return !m->lacks ? SG_OK
                     : sg_fail(err, SG_ERR_MEMORY, "out of memory for the messages of %zu workers of %zu parameters",
                               m->rooms, m->d);
}

static sg_status open_workers(sg_method *m, struct sg_error *err) {
    m->settings.own = m->compressor->knob ? m->param[m->compressor->knob(m->param)] : (double)NAN;
    for (size_t l = 0; l < m->shared.layout.n_layers; l++)
        m->settings.knob[l] = m->settings.own;
    for (size_t l = 0; m->reset_knob && l < m->shared.layout.n_layers; l++)
        m->reset_knob[l] = m->shared.feedback.rule->n_knobs > 0 ? m->shared.feedback.param[0] : (double)NAN;
    if (m->controller && m->controller->start)
        m->controller->start(m->state, m->shared.layout.n_layers);
    if (m->compressor->rounds && m->compressor->rounds->start)
        m->compressor->rounds->start(&m->shared);
    sg_status status = SG_OK;
    for (size_t w = 0; w < m->count && status == SG_OK; w++) {
        m->worker[w].seen = (struct sg_worker){.shared = &m->shared,
                                               .number = (uint32_t)(m->first + w),
                                               .unit = 1,
                                               .state = m->worker[w].state,
                                               .index = m->worker[w].room->index,
                                               .value = m->worker[w].room->value,
                                               .count = m->worker[w].count,
                                               .data = m->worker[w].room->data};
        if (!m->compressor->open)
            continue;
        err->msg[0] = '\0';
        status = method_hook_status(m, m->compressor->open(&m->worker[w].seen, err), err);
    }
    return status;
}

sg_status sg_method_open(sg_method **out, const struct sg_method_config *config, struct sg_error *err) {
    const struct sg_layout *layout = &config->layout;
    *out = NULL;
    sg_status status = check_config(config, err);
    if (status == SG_OK && config->copies && (!config->copied || config->steps == 0))
        status = sg_fail(err, SG_ERR_ARGUMENT, "k-from: the counts of the other run are not here");
    if (status != SG_OK)
        return status;
    sg_method *m = calloc(1, sizeof *m);
    if (!m)
        return sg_fail_memory(err, "a method");
    m->d = layout->offset[layout->n_layers];
    m->first = config->first;
    m->count = config->count;
    m->shared = (struct sg_shared){.param = m->param,
                                   .seed = config->seed,
                                   .workers = config->workers > 0 ? config->workers : config->count,
                                   .copied = config->copies ? config->copied : NULL};
    m->facts = (struct sg_facts){.steps = config->steps,
                                 .steps_per_epoch = config->steps_per_epoch > 0 ? config->steps_per_epoch : UINT64_MAX,
                                 .layers = layout->n_layers,
                                 .d = m->d};
    status = method_resolve(m, config, err);
    if (status == SG_OK) {
        status = copy_layout(&m->shared.layout, layout, err);
        m->facts.offset = m->shared.layout.offset;
        m->shared.ops = m->compressor;
    }
    SG_DO(status, ask_for_room(m, err));
    SG_DO(status, choose_kernels(m, config, err));
    SG_DO(status, allocate(m, config, err));
    SG_DO(status, method_bytes_open(m, err));
    SG_DO(status, open_workers(m, err));
    SG_DO(status, method_ranges_open(m, config, err));
    SG_DO(status, method_fragments_open(m, err));
    SG_ASSERT(!m->compressor->rounds || m->compressor->rounds->keep || m->compressor->rounds->count == 1);
    SG_ASSERT((m->compressor->select != NULL) + (m->compressor->code != NULL) + (m->compressor->encode != NULL) == 1);
    if (status == SG_OK)
        *out = m;
    else
        sg_method_close(m);
    return status;
}

void sg_method_close(sg_method *m) {
    if (!m)
        return;
    for (size_t w = 0; m->worker && w < m->count; w++)
        free(m->worker[w].seen.scratch);
    method_bytes_close(m);
    method_ranges_close(m);
    method_fragments_close(m);
    give_back(m);
    free((void *)m->shared.layout.name);
    free((void *)m->shared.layout.offset);
    free((void *)m->shared.layout.rows);
    free(m);
}
