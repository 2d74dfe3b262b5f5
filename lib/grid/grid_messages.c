/* grid_messages.c: the messages of finished runs, and their modelled time on a network. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "grid_private.h"
#include "sg_compressor.h"
#include "sg_debug.h"
#include "sg_grid_network.h"
#include "sg_memory.h"
#include "sg_stats.h"

/* Layers stand in the order of the backward pass, the last one of the model first. */
struct sg_grid_messages {
    const struct sg_cell *cell;
    struct sg_feedback feedback; /* its rule is NULL if this program does not have it */
    struct sg_stream stream;     /* of the rule; interval 0 = it has none */
    bool codes;                  /* the compressor is not `none`, so it encodes and decodes */
    bool again;                  /* the sum is compressed once more, to a message like a worker's */
    double entry;                /* bytes of a number of a message; 0 = a message has all numbers of the model */
    size_t records, layers, workers;
    double d;
    double *steps;    /* [records] since the record before */
    double *sending;  /* [records] how many of these send */
    double *mean;     /* [records] bytes that a worker sent at each step that sends */
    double *longer;   /* [records] how many times longer than the mean the longest message was */
    double *share;    /* [records][layers] the part of the bytes that each layer has */
    double *sent;     /* [records][layers][workers] the bytes of each worker's messages; NULL = not recorded */
    double *coded;    /* [records] the share of these steps at which messages were made */
    bool *by_worker;  /* [records] true if `sent` is known at the record */
    double *elements; /* [layers] */
    double mean_of_all, coded_of_all; /* the same over the whole run */
};

/* ---- the records ---- */

/* share [layers] <- the part of a record's entries in each layer; `record` is its "layers", or NULL. */
static void find_shares(double *share, const struct sg_grid_messages *m, const cJSON *record) {
    const cJSON *entries = sg_json_get(record, "entries"), *item = entries ? entries->child : NULL;
    double sum = 0, all = 0;
    for (size_t l = m->layers; l-- > 0; item = item ? item->next : NULL) { /* records begin with the first layer */
        share[l] = item && cJSON_IsNumber(item) ? item->valuedouble : entries ? 0 : 4 * m->elements[l];
        sum += share[l];
        all += 4 * m->elements[l];
    }
    for (size_t l = 0; l < m->layers; l++)
        share[l] = sum > 0 ? share[l] / sum : all > 0 ? 4 * m->elements[l] / all : 1;
}

/* sent [layers][workers] <- bytes in proportion to each worker's entries of each layer. False: not recorded. */
static bool find_sent(double *sent, const struct sg_grid_messages *m, const cJSON *record, double mean) {
    const cJSON *rows = sg_json_get(record, "workers"), *row = NULL;
    const size_t n = (size_t)cJSON_GetArraySize(rows);
    double sum = 0;
    size_t w = 0;
    if (n < m->workers)
        return false;
    cJSON_ArrayForEach(row, rows) {
        const cJSON *item = row->child;
        for (size_t l = m->layers; l-- > 0 && item; item = item->next) {
            sum += item->valuedouble;
            if (w < m->workers)
                sent[l * m->workers + w] = item->valuedouble;
        }
        w++;
    }
    const double bytes = sum > 0 ? mean * (double)n / sum : 0; /* of an entry */
    for (size_t j = 0; j < m->workers * m->layers; j++)
        sent[j] *= bytes;
    return true;
}

static void read_feedback(struct sg_grid_messages *m) {
    const struct sg_node *section = sg_node_get(&m->cell->resolved, "error-feedback");
    const struct sg_feedback_rule *rule = sg_feedback_find(sg_node_string(section, "form", ""));
    m->feedback.rule = rule;
    for (size_t i = 0; rule && i < rule->n_params; i++)
        m->feedback.param[i] = sg_node_number(section, rule->params[i].name, rule->params[i].preset);
    if (rule && rule->stream)
        rule->stream(m->feedback.param, &m->stream);
}

/* True if messages are sent at the end of this many steps, or if it is not known when they are. */
static bool sends_after(const struct sg_grid_messages *m, double steps) {
    return !m->feedback.rule || (steps > 0 && sg_feedback_sends(&m->feedback, (uint64_t)steps - 1));
}

/* How many of the steps behind `before`, up to `now`, send. */
static double count_sending(const struct sg_grid_messages *m, double before, double now) {
    double count = 0;
    for (double step = before + 1; m->stream.interval > 0 && step <= now; step++)
        count += sends_after(m, step);
    return m->stream.interval > 0 ? count : now - before;
}

/* A worker takes steps by itself: with local-steps and diloco it codes each number once in an interval, with
 * dynamic-averaging at the steps at which something was sent. All steps of the record with most bytes a step count as
 * such steps. */
static void find_coded(struct sg_grid_messages *m) {
    const bool dynamic = m->feedback.rule && m->feedback.rule->measure;
    const double interval = m->stream.interval > 0 ? (double)m->stream.interval : 1;
    double most = 0, steps = 0, coded = 0;
    for (size_t i = 0; i < m->records; i++)
        most = fmax(most, m->mean[i]);
    for (size_t i = 0; i < m->records; i++) {
        m->coded[i] = dynamic && most > 0 ? m->mean[i] / most : 1 / interval;
        steps += m->steps[i];
        coded += m->steps[i] * m->coded[i];
    }
    m->coded_of_all = steps > 0 ? coded / steps : 1;
}

/* The bytes of a step are the mean over the workers, of the steps since the record before that send. */
static void read_records(struct sg_grid_messages *m, const struct sg_run *run) {
    const double *step = sg_run_series(run, "step"), *bytes = sg_run_series(run, "bytes_sent"),
                 *sent = bytes ? bytes : sg_run_series(run, "bits"), unit = bytes ? 1 : 8;
    const double *density = sg_run_series(run, "density"), *padded = sg_run_series(run, "density_padded");
    const cJSON *record = run->layers ? run->layers->child : NULL;
    double last = 0;
    for (size_t i = 0; i < m->records; i++, record = record ? record->next : NULL) {
        const double grown = sent[i] - (i > 0 ? sent[i - 1] : 0), before = i > 0 ? step[i - 1] : 0;
        const bool uneven = density && padded && density[i] > 0 && padded[i] > density[i];
        m->steps[i] = step[i] - before;
        m->sending[i] = count_sending(m, before, step[i]);
        last += m->sending[i];
        m->mean[i] = m->sending[i] > 0 ? fmax(0, grown) / m->sending[i] / unit : 0;
        m->longer[i] = uneven ? padded[i] / density[i] : 1;
        find_shares(m->share + i * m->layers, m, record);
        const bool sends = sends_after(m, step[i]); /* the entries of workers are those of this step */
        m->by_worker[i] = m->sent && sends && find_sent(m->sent + i * m->layers * m->workers, m, record, m->mean[i]);
    }
    m->mean_of_all = last > 0 ? fmax(0, sent[m->records - 1]) / last / unit : 0;
    find_coded(m);
}

/* A model whose layers were not recorded is cut into equal pieces of about 1 MiB, so that buckets can be filled. */
static size_t pieces(const struct sg_run *run) {
    const double bytes = 4 * sg_json_number(run->header, "constants.d", 0);
    return (size_t)fmax(1, fmin(256, ceil(bytes / (1 << 20))));
}

/* Of rounds that add shorter vectors 4, of sparse messages 8, 0 where all elements of the model are sent. */
static double entry_bytes(const struct sg_compressor_ops *ops) {
    const bool adds = ops && ops->rounds && ops->rounds->length;
    const bool whole = ops && (adds ? ops->rounds->integers : ops->traits & SG_TRAIT_DENSE);
    return whole ? 0 : adds ? 4 : 8;
}

static bool has_workers(const struct sg_run *run) {
    const cJSON *record;
    cJSON_ArrayForEach(record, run->layers) if (sg_json_get(record, "workers")) return true;
    return false;
}

void sg_grid_messages_open(struct sg_grid_messages **out, const struct sg_cell *cell, const struct sg_run *run) {
    const cJSON *layers = sg_json_get(run->header, "layers");
    const char *compressor = sg_node_string(cell->method, "compressor", "");
    const struct sg_compressor_ops *ops = sg_compressor_find(compressor);
    struct sg_grid_messages *m = sg_calloc(1, sizeof *m);
    *m = (struct sg_grid_messages){
        .cell = cell,
        .codes = strcmp(compressor, "none") != 0,
        .again = ops && ops->rounds && ops->rounds->again,
        .entry = entry_bytes(ops),
        .records = run->n_points,
        .layers = cJSON_IsArray(layers) && run->layers ? (size_t)cJSON_GetArraySize(layers) : pieces(run),
        .workers = (size_t)sg_node_number(&cell->resolved, "workers", 1),
        .d = sg_json_number(run->header, "constants.d", 0),
    };
    const size_t n = m->records + 1, numbers = n * m->layers;
    m->steps = sg_calloc(n, sizeof *m->steps);
    m->sending = sg_calloc(n, sizeof *m->sending);
    m->mean = sg_calloc(n, sizeof *m->mean);
    m->longer = sg_calloc(n, sizeof *m->longer);
    m->share = sg_calloc(numbers, sizeof *m->share);
    m->coded = sg_calloc(n, sizeof *m->coded);
    m->by_worker = sg_calloc(n, sizeof *m->by_worker);
    m->elements = sg_calloc(m->layers + 1, sizeof *m->elements);
    if (has_workers(run))
        m->sent = sg_calloc(numbers, m->workers * sizeof *m->sent);
    for (size_t l = 0; l < m->layers; l++) {
        const cJSON *layer = run->layers ? cJSON_GetArrayItem(layers, (int)(m->layers - 1 - l)) : NULL;
        m->elements[l] = layer ? sg_json_number(layer, "elements", 0) : m->d / (double)m->layers;
    }
    read_feedback(m);
    read_records(m, run);
    *out = m;
}

void sg_grid_messages_free(struct sg_grid_messages *m) {
    if (!m)
        return;
    free(m->steps);
    free(m->sending);
    free(m->mean);
    free(m->longer);
    free(m->share);
    free(m->sent);
    free(m->coded);
    free(m->by_worker);
    free(m->elements);
    free(m);
}

/* ---- the time on a network ---- */

/* A run on a network. */
struct model {
    const struct sg_grid_messages *of;
    struct sg_net net;
    const struct sg_collective *collective;
    const struct sg_overlap *overlap;
    struct sg_net_step step;
    double *memory; /* all arrays of the step, in the order of the backward pass, and the work space */
    double *forward_s, *backward_s, *encode_s, *dense, *bytes, *work;
    size_t *bucket;
    double bucket_bytes;
    double scale;               /* how many times as long as the run's the messages are, layer by layer */
    double element_s, number_s; /* of coding: each number of the model, and of a worker's message */
};

/* The times of coding where a message is made. */
static sg_status set_coding(struct model *m, const struct sg_grid_network *n, struct sg_error *err) {
    const struct sg_grid_messages *of = m->of;
    const char *compressor = sg_node_string(of->cell->method, "compressor", "");
    const struct sg_coding *coding = sg_coding_find(n->coding, compressor, of->entry != 8);
    const double decoded = sg_collective_decoded(m->collective, &n->net);
    const double encoded = sg_collective_encoded(m->collective, &n->net);
    if (!of->codes)
        return SG_OK;
    if (isnan(n->coding_s) && !coding && n->coding[0].compressor)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "network.processor: %s has no times of '%s' (measure it with sparsebench --measure-coding)",
                       n->processor, compressor);
    if (!isnan(n->coding_s))
        m->element_s = n->coding_s;
    else if (coding) {
        m->element_s = 1e-9 * encoded * coding->element_ns;
        m->number_s = 1e-9 * decoded * coding->number_ns;
    }
    return SG_OK;
}

static void open_model(struct model *m, const struct sg_grid_network *n, const struct sg_grid_messages *of) {
    const size_t count = of->layers, senders = of->workers < n->net.workers ? of->workers : n->net.workers;
    const struct sg_grid_exchange x = sg_grid_exchange_of(n, of->cell->method, of->cell->exchange);
    *m = (struct model){.of = of,
                        .net = grid_net(n),
                        .collective = x.collective,
                        .overlap = n->overlap,
                        .bucket_bytes = n->bucket_bytes,
                        .scale = grid_scale(n, of->d)};
    m->net.between.alpha_s *= x.exchanges; /* each starts anew, and carries its part of the bytes */
    m->net.within.alpha_s *= x.exchanges;
    m->memory = sg_calloc((4 + senders) * count + sg_net_work(count, senders), sizeof *m->memory);
    m->bucket = sg_calloc(count, sizeof *m->bucket);
    m->forward_s = m->memory;
    m->backward_s = m->forward_s + count;
    m->encode_s = m->backward_s + count;
    m->dense = m->encode_s + count;
    m->bytes = m->dense + count;
    m->work = m->bytes + senders * count;
    for (size_t l = 0; l < count; l++) {
        const double share = of->d > 0 ? of->elements[l] / of->d : 1;
        m->forward_s[l] = n->compute_s * share / 3;
        m->backward_s[l] = n->compute_s * share * 2 / 3;
        m->dense[l] = 4 * m->scale * of->elements[l];
    }
    m->step = (struct sg_net_step){.layers = count,
                                   .forward_s = m->forward_s,
                                   .backward_s = m->backward_s,
                                   .encode_s = m->encode_s,
                                   .bytes = m->bytes,
                                   .senders = senders,
                                   .dense = m->dense,
                                   .unions = of->entry == 8 && !of->again && !x.sums,
                                   .bucket = m->bucket};
}

static void close_model(struct model *m) {
    free(m->memory);
    free(m->bucket);
}

/* encode_s <- all coding of a step with this mean, which holds up the backward pass. coded: the share of such steps
 * that make a message; numbers of sparse ones are counted by the bytes. */
static void put_coding(struct model *m, const double *share, double mean, double coded) {
    const struct sg_grid_messages *of = m->of;
    for (size_t l = 0; l < m->step.layers; l++) {
        const double numbers = of->entry > 0 ? mean * share[l] / of->entry : coded * of->elements[l];
        m->encode_s[l] = m->scale * (m->element_s * coded * of->elements[l] + m->number_s * numbers);
    }
}

/* bytes [layers][senders] <- the messages of a step with this mean; the first sender has the longest message. */
static void put_messages(struct model *m, const double *share, double mean, double longer) {
    const size_t senders = m->step.senders;
    const double first = senders > 1 ? fmin(longer, (double)senders) : 1;
    const double others = senders > 1 ? ((double)senders - first) / (double)(senders - 1) : 0;
    for (size_t l = 0; l < m->step.layers; l++) {
        double *bytes = m->bytes + l * senders;
        const double of_layer = m->scale * mean * share[l], of_others = of_layer * others;
        bytes[0] = of_layer * first;
        for (size_t w = 1; w < senders; w++)
            bytes[w] = of_others;
    }
}

/* bytes [layers][senders] <- the messages that each worker sent at record i. */
static void put_recorded(struct model *m, size_t i) {
    const size_t senders = m->step.senders, workers = m->of->workers;
    const double *sent = m->of->sent + i * m->step.layers * workers;
    for (size_t l = 0; l < m->step.layers; l++)
        for (size_t w = 0; w < senders; w++)
            m->bytes[l * senders + w] = m->scale * sent[l * workers + w];
}

/* Buckets of a size, or the best ones for the run's mean messages, in the shares of its last record. */
static void plan_buckets(struct model *m) {
    const double *share = m->of->share + (m->of->records - 1) * m->step.layers;
    if (m->bucket_bytes > 0) {
        sg_net_fill(m->bucket, m->step.layers, m->dense, m->bucket_bytes);
        return;
    }
    put_coding(m, share, m->of->mean_of_all, m->of->coded_of_all);
    put_messages(m, share, m->of->mean_of_all, 1);
    sg_net_plan(m->bucket, &m->net, m->collective, &m->step, m->work);
}

/* The bandwidth at which the longest message takes as long as the computation of the steps until its sum moves x, at
 * least of one step. NaN: computation takes no time. */
static double bits_per_s(const struct model *m, double compute_s) {
    const double steps = m->of->stream.delay > 1 ? (double)m->of->stream.delay : 1;
    double longest = 0;
    for (size_t w = 0; w < m->step.senders; w++) {
        double bytes = 0;
        for (size_t l = 0; l < m->step.layers; l++)
            bytes += m->bytes[l * m->step.senders + w];
        longest = fmax(longest, bytes);
    }
    return compute_s > 0 ? 8 * longest / (steps * compute_s) : (double)NAN;
}

/* Adds so many steps of record i, whose messages have this mean. */
static void add_steps(struct sg_sum total[SG_NET_TOTALS], struct model *m, size_t i, double steps, double mean) {
    const struct sg_grid_messages *of = m->of;
    const double *share = of->share + i * of->layers;
    struct sg_step_time time;
    if (!(steps > 0))
        return;
    put_coding(m, share, mean, of->coded[i]);
    if (of->by_worker[i] && mean > 0)
        put_recorded(m, i);
    else
        put_messages(m, share, mean, of->longer[i]);
    sg_net_step_time(&time, NULL, &m->net, m->collective, m->overlap, &m->step, m->work);
    /* The steps between a message and where its sum moves x hide it, too. */
    const double waits = fmax(0, time.exposed_s - (double)of->stream.delay * time.compute_s);
    sg_sum_add(&total[SG_NET_TIME], steps * (time.step_s - time.exposed_s + waits));
    sg_sum_add(&total[SG_NET_EXPOSED_TIME], steps * waits);
    sg_sum_add(&total[SG_NET_COMPUTE_TIME], steps * (time.compute_s + time.coding_s));
    sg_sum_add(&total[SG_NET_CODING_TIME], steps * time.coding_s);
    total[SG_NET_PEAK].total = fmax(total[SG_NET_PEAK].total, bits_per_s(m, time.compute_s));
}

sg_status sg_grid_messages_time(double *const column[SG_NET_TOTALS], const struct sg_grid_messages *of,
                                const struct sg_grid_network *network, size_t n, struct sg_error *err) {
    struct model m;
    struct sg_sum total[SG_NET_TOTALS] = {[SG_NET_PEAK] = {network->compute_s > 0 ? 0 : (double)NAN, 0}};
    SG_ASSERT(n <= of->records);
    open_model(&m, network, of);
    const sg_status status = set_coding(&m, network, err);
    if (status != SG_OK) {
        close_model(&m);
        return status;
    }
    if (n > 0 && m.overlap->kind == SG_OVERLAP_FUSED)
        plan_buckets(&m);
    for (size_t i = 0; i < n; i++) {
        add_steps(total, &m, i, of->sending[i], of->mean[i]);
        add_steps(total, &m, i, of->steps[i] - of->sending[i], 0);
        for (size_t c = 0; c < SG_NET_TOTALS; c++)
            if (column[c])
                column[c][i] = sg_sum_total(&total[c]);
    }
    close_model(&m);
    return SG_OK;
}
