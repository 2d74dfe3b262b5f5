/* grid_network.c: what the messages of finished cells would have taken on the recipe's network. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grid_private.h"
#include "sg_compressor.h"
#include "sg_debug.h"
#include "sg_net.h"
#include "sg_stats.h"
#include "sg_text.h"

/* What the section says. */
struct network {
    struct sg_net net;
    const struct sg_collective *sum, *gather; /* gather NULL: as each method has it */
    const struct sg_overlap *overlap;
    double compute_s, coding_s; /* of a step; of a number */
};

static struct network read_network(const struct sg_recipe *recipe, const struct sg_node *section) {
    const double workers = sg_node_number(section, "workers", sg_node_number(&recipe->root, "workers", 1));
    const char *gather = sg_node_string(section, "gather", NULL);
    struct network n = {
        .net = {.workers = (size_t)workers,
                .nodes = (size_t)sg_node_number(section, "nodes", workers),
                .between = *sg_link_find(sg_node_string(section, "link", NULL)),
                .within = *sg_link_find(sg_node_string(section, "link-within", NULL)),
                .ports = (size_t)sg_node_number(section, "ports", 1),
                .servers = (size_t)sg_node_number(section, "servers", workers)},
        .sum = sg_collective_find(sg_node_string(section, "collective", NULL)),
        .gather = gather ? sg_collective_find(gather) : NULL,
        .overlap = sg_overlap_find(sg_node_string(section, "overlap", NULL)),
        .compute_s = sg_node_number(section, "compute", 0),
        .coding_s = sg_node_number(section, "coding", 0) * 1e-9,
    };
    const double gbit_per_s = sg_node_number(section, "bandwidth", NAN), us = sg_node_number(section, "latency", NAN);
    n.net.between.byte_s = isnan(gbit_per_s) ? n.net.between.byte_s : 8 / (gbit_per_s * 1e9);
    n.net.between.alpha_s = isnan(us) ? n.net.between.alpha_s : us * 1e-6;
    return n;
}

/* "64 workers, 10gbe-tcp, ring, overlap fused" */
static char *model_text(const struct network *n) {
    const struct sg_link *known = sg_link_find(n->net.between.name);
    const bool own = known->byte_s != n->net.between.byte_s || known->alpha_s != n->net.between.alpha_s;
    char changed[64] = "";
    if (own)
        snprintf(changed, sizeof changed, " with %.4g Gbit/s and %.4g us", 8e-9 / n->net.between.byte_s,
                 1e6 * n->net.between.alpha_s);
    return sg_format("%zu workers, %s%s, %s%s%s, overlap %s", n->net.workers, n->net.between.name, changed,
                     n->sum->name, n->gather ? " and " : "", n->gather ? n->gather->name : "", n->overlap->name);
}

cJSON *grid_network_json(const struct sg_recipe *recipe) {
    const struct sg_node *section = sg_node_get(&recipe->root, "network");
    if (!section)
        return NULL;
    const struct network n = read_network(recipe, section);
    cJSON *out = cJSON_CreateObject(), *link = cJSON_CreateObject();
    char *model = model_text(&n);
    sg_json_set_string(out, "model", model);
    sg_json_set_bool(out, "modelled", true);
    sg_json_set_number(out, "workers", (double)n.net.workers);
    sg_json_set_number(out, "nodes", (double)n.net.nodes);
    sg_json_set_string(link, "name", n.net.between.name);
    sg_json_set_number(link, "alpha_s", n.net.between.alpha_s);
    sg_json_set_number(link, "bits_per_s", 8 / n.net.between.byte_s);
    sg_json_set_string(link, "source", n.net.between.source);
    sg_json_set_bool(link, "interpolated", n.net.between.interpolated);
    sg_json_set(out, "link", link);
    sg_json_set_string(out, "collective", n.sum->name);
    sg_json_set_string(out, "gather", n.gather ? n.gather->name : NULL);
    sg_json_set_string(out, "overlap", n.overlap->name);
    sg_json_set_number(out, "compute_s", n.compute_s);
    sg_json_set_number(out, "coding_ns", n.coding_s * 1e9);
    free(model);
    return out;
}

/* ---- one cell ---- */

struct cell_model {
    struct sg_net net;
    const struct sg_collective *collective;
    const struct sg_overlap *overlap;
    struct sg_net_step step;
    double *memory; /* all arrays of the step, in the order of the backward pass, and the work space */
    double *forward_s, *backward_s, *encode_s, *dense, *bytes, *share, *work;
    size_t *bucket;
};

/* How the messages of a compressor travel, and in how many exchanges that need each other. */
static const struct sg_collective *collective_of(const struct network *n, const char *compressor, unsigned *exchanges) {
    const struct sg_compressor_ops *ops = sg_compressor_find(compressor);
    *exchanges = 1;
    if (ops && ops->rounds && ops->rounds->length) { /* vectors that are added up on their way */
        *exchanges = ops->rounds->count;
        return n->sum;
    }
    if (ops && ops->traits & SG_TRAIT_EXACT)
        return n->sum;
    return n->gather ? n->gather : sg_collective_find(ops && ops->collective ? ops->collective : "all-gather");
}

static bool open_model(struct cell_model *m, const struct network *n, const struct sg_cell *cell,
                       const struct sg_run *run) {
    const cJSON *layers = sg_json_get(run->header, "layers");
    const size_t count = cJSON_IsArray(layers) && run->layers ? (size_t)cJSON_GetArraySize(layers) : 1;
    const size_t recorded = (size_t)sg_node_number(&cell->resolved, "workers", 1);
    const size_t senders = recorded < n->net.workers ? recorded : n->net.workers;
    const double d = sg_json_number(run->header, "constants.d", 0);
    const char *compressor = sg_node_string(cell->method, "compressor", "");
    const bool codes = strcmp(compressor, "none") != 0;
    unsigned exchanges;
    *m = (struct cell_model){
        .net = n->net, .collective = collective_of(n, compressor, &exchanges), .overlap = n->overlap};
    m->net.between.alpha_s *= exchanges; /* each starts anew, and carries its part of the bytes */
    m->net.within.alpha_s *= exchanges;
    m->memory = calloc((5 + senders) * count + sg_net_work(count, senders), sizeof *m->memory);
    m->bucket = calloc(count, sizeof *m->bucket);
    if (!m->memory || !m->bucket)
        return false;
    m->forward_s = m->memory;
    m->backward_s = m->forward_s + count;
    m->encode_s = m->backward_s + count;
    m->dense = m->encode_s + count;
    m->share = m->dense + count;
    m->bytes = m->share + count;
    m->work = m->bytes + senders * count;
    for (size_t l = 0; l < count; l++) { /* the last layer of the model first */
        const cJSON *layer = count > 1 ? cJSON_GetArrayItem(layers, (int)(count - 1 - l)) : NULL;
        const double elements = layer ? sg_json_number(layer, "elements", 0) : d, share = d > 0 ? elements / d : 1;
        m->forward_s[l] = n->compute_s * share / 3;
        m->backward_s[l] = n->compute_s * share * 2 / 3;
        m->encode_s[l] = codes ? n->coding_s * elements : 0;
        m->dense[l] = 4 * elements;
    }
    m->step = (struct sg_net_step){.layers = count,
                                   .forward_s = m->forward_s,
                                   .backward_s = m->backward_s,
                                   .encode_s = m->encode_s,
                                   .bytes = m->bytes,
                                   .senders = senders,
                                   .dense = m->dense,
                                   .bucket = m->bucket};
    return true;
}

static void close_model(struct cell_model *m) {
    free(m->memory);
    free(m->bucket);
}

/* What a worker sent in a step, mean over workers: of the steps since the record before i, or of all up to record i. */
static double mean_bytes(const struct sg_run *run, size_t i, bool all) {
    const double *bytes = sg_run_series(run, "bytes_sent"), *step = sg_run_series(run, "step");
    const double *sent = bytes ? bytes : sg_run_series(run, "bits");
    const bool whole = all || i == 0;
    const double steps = step[i] - (whole ? 0 : step[i - 1]), grown = sent[i] - (whole ? 0 : sent[i - 1]);
    return steps > 0 ? fmax(0, grown) / steps / (bytes ? 1 : 8) : 0;
}

/* How many times longer than the mean the longest message of record i was. */
static double longest(const struct sg_run *run, size_t i) {
    const double *density = sg_run_series(run, "density"), *padded = sg_run_series(run, "density_padded");
    return density && padded && density[i] > 0 && padded[i] > density[i] ? padded[i] / density[i] : 1;
}

/* share [layers] <- the part of a record's entries in each layer; `layers` is its "layers", or NULL. */
static void find_shares(struct cell_model *m, const cJSON *layers) {
    const size_t count = m->step.layers;
    const cJSON *entries = sg_json_get(layers, "entries"), *item = entries ? entries->child : NULL;
    double sum = 0, all = 0;
    for (size_t l = count; l-- > 0; item = item ? item->next : NULL) { /* records begin with the first layer */
        m->share[l] = item && cJSON_IsNumber(item) ? item->valuedouble : entries ? 0 : m->dense[l];
        sum += m->share[l];
        all += m->dense[l];
    }
    for (size_t l = 0; l < count; l++)
        m->share[l] = sum > 0 ? m->share[l] / sum : all > 0 ? m->dense[l] / all : 1;
}

/* bytes [layers][senders] <- the messages of a step with this mean; the first sender has the longest. */
static void put_messages(struct cell_model *m, double mean, double longer) {
    const size_t senders = m->step.senders;
    const double first = senders > 1 ? fmin(longer, (double)senders) : 1;
    const double others = senders > 1 ? ((double)senders - first) / (double)(senders - 1) : 0;
    for (size_t l = 0; l < m->step.layers; l++)
        for (size_t w = 0; w < senders; w++)
            m->bytes[l * senders + w] = mean * m->share[l] * (w == 0 ? first : others);
}

/* The same by the entries that each worker sent of each layer, if the record has them. */
static bool put_recorded(struct cell_model *m, const cJSON *layers, double mean) {
    const cJSON *workers = sg_json_get(layers, "workers"), *of = NULL;
    const size_t senders = m->step.senders, count = m->step.layers, n = (size_t)cJSON_GetArraySize(workers);
    double sum = 0;
    size_t w = 0;
    if (n < senders)
        return false;
    memset(m->bytes, 0, senders * count * sizeof *m->bytes);
    cJSON_ArrayForEach(of, workers) {
        const cJSON *item = of->child;
        for (size_t l = count; l-- > 0 && item; item = item->next) {
            sum += item->valuedouble;
            if (w < senders)
                m->bytes[l * senders + w] = item->valuedouble;
        }
        w++;
    }
    const double bytes = sum > 0 ? mean * (double)n / sum : 0; /* of an entry */
    for (size_t j = 0; j < senders * count; j++)
        m->bytes[j] *= bytes;
    return true;
}

static void plan_buckets(struct cell_model *m, const struct sg_run *run) {
    const size_t last = run->n_points - 1;
    find_shares(m, cJSON_GetArrayItem(run->layers, (int)last));
    put_messages(m, mean_bytes(run, last, true), 1);
    sg_net_plan(m->bucket, &m->net, m->collective, &m->step, m->work);
}

static sg_status add_times(const struct network *n, const struct sg_cell *cell, struct sg_run *run, const char *unit,
                           struct sg_error *err) {
    struct cell_model m;
    double *column[SG_NET_SERIES];
    struct sg_sum total[SG_NET_SERIES] = {{0, 0}};
    bool whole = open_model(&m, n, cell, run);
    for (size_t c = 0; c < SG_NET_SERIES; c++) {
        column[c] = calloc(run->n_points + 1, sizeof **column);
        whole = whole && column[c];
    }
    if (whole && run->n_points > 0 && m.overlap->kind == SG_OVERLAP_FUSED)
        plan_buckets(&m, run);
    const double *step = sg_run_series(run, "step");
    const cJSON *layers = run->layers ? run->layers->child : NULL;
    for (size_t i = 0; whole && i < run->n_points; i++, layers = layers ? layers->next : NULL) {
        struct sg_step_time time;
        const double steps = step[i] - (i > 0 ? step[i - 1] : 0);
        const double mean = mean_bytes(run, i, false);
        if (steps > 0) {
            find_shares(&m, layers);
            if (!put_recorded(&m, layers, mean))
                put_messages(&m, mean, longest(run, i));
            sg_net_step_time(&time, NULL, &m.net, m.collective, m.overlap, &m.step, m.work);
            sg_sum_add(&total[SG_NET_TIME], steps * time.step_s);
            sg_sum_add(&total[SG_NET_EXPOSED_TIME], steps * time.exposed_s);
            sg_sum_add(&total[SG_NET_COMPUTE_TIME], steps * (time.compute_s + time.coding_s));
        }
        for (size_t c = 0; c < SG_NET_SERIES; c++)
            column[c][i] = sg_sum_total(&total[c]);
    }
    close_model(&m);
    sg_status status = whole ? SG_OK : sg_fail_memory(err, "the network's series");
    for (size_t c = 0; c < SG_NET_SERIES; c++) {
        if (status == SG_OK)
            status = sg_run_add_series(run, sg_net_series[c].name, unit, column[c], err);
        else
            free(column[c]);
    }
    return status;
}

sg_status sg_grid_network(struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                          const struct sg_recipe *recipe, struct sg_error *err) {
    const struct sg_node *section = sg_node_get(&recipe->root, "network");
    sg_status status = SG_OK;
    if (!section)
        return SG_OK;
    const struct network n = read_network(recipe, section);
    char *model = model_text(&n), *unit = model ? sg_format("s, modelled: %s", model) : NULL;
    if (!unit)
        status = sg_fail_memory(err, "the network's name");
    for (size_t i = 0; status == SG_OK && i < count; i++)
        if (outcomes[i].run.header)
            status = add_times(&n, &cells[i], &outcomes[i].run, unit, err);
    for (size_t i = 0; sg_node_bool(section, "bursts", false) && status == SG_OK && i < count; i++)
        if (outcomes[i].run.header)
            status = grid_add_bursts(&n.net, &outcomes[i].run, err);
    free(model);
    free(unit);
    return status;
}
