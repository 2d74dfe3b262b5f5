/* grid_network.c: the modelled network of a recipe, and the series that finished cells get from it. */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "grid_private.h"
#include "sg_compressor.h"
#include "sg_grid_network.h"
#include "sg_memory.h"
#include "sg_row.h"
#include "sg_text.h"

/* True if each method has its own collective. */
static bool is_own(const char *given) {
    return !given || strcmp(given, "auto") == 0;
}

/* The network for a run of so many workers, without the times of coding. */
static void read_network(struct sg_grid_network *out, const struct sg_node *section, double of_run) {
    const double workers = sg_node_number(section, "workers", of_run);
    const char *gather = sg_node_string(section, "gather", NULL);
    out->net = (struct sg_net){.workers = (size_t)workers,
                               .nodes = (size_t)sg_node_number(section, "nodes", workers),
                               .between = *sg_link_find(sg_node_string(section, "link", NULL)),
                               .within = *sg_link_find(sg_node_string(section, "link-within", NULL)),
                               .ports = (size_t)sg_node_number(section, "ports", 1),
                               .servers = (size_t)sg_node_number(section, "servers", 0)};
    out->elements = sg_node_number(section, "elements", 0);
    out->share = sg_node_number(section, "share", 1);
    out->sum = sg_collective_find(sg_node_string(section, "collective", NULL));
    out->gather = is_own(gather) ? NULL : sg_collective_find(gather);
    out->overlap = sg_overlap_find(sg_node_string(section, "overlap", NULL));
    out->bucket_bytes = sg_node_number(section, "bucket", 0) * (1 << 20);
    out->compute_s = sg_node_number(section, "compute", 0);
    out->coding_s = sg_node_number(section, "coding", NAN) * 1e-9;
    out->bursts = sg_node_bool(section, "bursts", false);
    const double gbit_per_s = sg_node_number(section, "bandwidth", NAN), us = sg_node_number(section, "latency", NAN);
    out->net.between.byte_s = isnan(gbit_per_s) ? out->net.between.byte_s : 8 / (gbit_per_s * 1e9);
    out->net.between.alpha_s = isnan(us) ? out->net.between.alpha_s : us * 1e-6;
}

sg_status sg_grid_network_read(struct sg_grid_network *out, bool *there, const struct sg_recipe *recipe,
                               struct sg_error *err) {
    const struct sg_node *section = sg_node_get(&recipe->root, "network");
    *there = section != NULL;
    if (!section)
        return SG_OK;
    const char *processor = sg_node_string(section, "processor", NULL);
    read_network(out, section, sg_node_number(&recipe->root, "workers", 1));
    out->processor_given = processor != NULL;
    return grid_coding_read(out, processor ? processor : "v100", err);
}

struct sg_net grid_net(const struct sg_grid_network *n) {
    struct sg_net net = n->net;
    net.between.byte_s *= n->share;
    return net;
}

/* True if the recipe's workers are a list, so that the network has as many workers as each run. */
static bool varies(const struct sg_recipe *recipe) {
    const struct sg_node *workers = sg_node_get(&recipe->root, "workers");
    return workers && workers->kind == SG_NODE_LIST && isnan(sg_node_number(&recipe->root, "network.workers", NAN));
}

/* enum sg_trait of the compressor with the parameters of the method. */
static unsigned traits_of(const struct sg_compressor_ops *ops, const struct sg_node *method) {
    double param[SG_ROW_PARAMS];
    for (size_t i = 0; i < ops->n_params; i++)
        param[i] = sg_node_number(method, ops->params[i].name, ops->params[i].preset);
    return sg_compressor_traits(ops, param);
}

struct sg_grid_exchange sg_grid_exchange_of(const struct sg_grid_network *network, const struct sg_node *method,
                                            const char *given) {
    const struct sg_compressor_ops *ops = sg_compressor_find(sg_node_string(method, "compressor", ""));
    const unsigned traits = ops ? traits_of(ops, method) : 0;
    const bool rounds = ops && ops->rounds && ops->rounds->length; /* of shorter vectors that are added up */
    struct sg_grid_exchange out = {.exchanges = rounds ? ops->rounds->count : 1,
                                   .sums = rounds || traits & SG_TRAIT_SUMS};
    if (!is_own(given))
        out.collective = sg_collective_find(given);
    else if (out.sums)
        out.collective = network->sum;
    else if (network->gather)
        out.collective = network->gather;
    else
        out.collective = sg_collective_find(ops && ops->collective    ? ops->collective
                                            : traits & SG_TRAIT_DENSE ? "auto-two-round"
                                                                      : "auto-gather");
    return out;
}

sg_status sg_grid_network_change(struct sg_grid_network *out, const struct sg_grid_network *of, double bits_per_s,
                                 size_t workers, struct sg_error *err) {
    const size_t each = of->net.workers / of->net.nodes; /* workers of a node */
    if (workers % each != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "%zu workers do not fill nodes of %zu workers each", workers, each);
    *out = *of;
    out->net.between.byte_s = 8 / bits_per_s;
    out->net.workers = workers;
    out->net.nodes = workers / each;
    out->net.servers = of->net.servers > workers ? workers : of->net.servers;
    return SG_OK;
}

char *sg_grid_network_text(const struct sg_grid_network *n) {
    const char *file = strrchr(n->processor, '/');
    char bucket[40] = "", shared[40] = "", coding[48], model[48] = "";
    if (n->share > 1)
        snprintf(shared, sizeof shared, " shared by %g", n->share);
    if (n->overlap->kind == SG_OVERLAP_FUSED && n->bucket_bytes > 0)
        snprintf(bucket, sizeof bucket, " in %.4g MiB", n->bucket_bytes / (1 << 20));
    if (isnan(n->coding_s))
        snprintf(coding, sizeof coding, "of %.40s", file ? file + 1 : n->processor);
    else
        snprintf(coding, sizeof coding, "%.4g ns", n->coding_s * 1e9);
    if (n->elements > 0)
        snprintf(model, sizeof model, ", a model of %.0f numbers", n->elements);
    return sg_format("%s%s, %s%s%s, overlap %s%s, coding %s%s", n->net.between.name, shared, n->sum->name,
                     n->gather ? " and " : "", n->gather ? n->gather->name : "", n->overlap->name, bucket, coding,
                     model);
}

/* "64 workers, 10gbe-tcp with 8 Gbit/s and 20 us, …" */
static char *model_text(const struct sg_grid_network *n, bool each) {
    const struct sg_link *between = &n->net.between, *known = sg_link_find(between->name);
    const bool own = known->byte_s != between->byte_s || known->alpha_s != between->alpha_s;
    char changed[64] = "", workers[40] = "each run's workers";
    if (own)
        snprintf(changed, sizeof changed, " with %.4g Gbit/s and %.4g us", 8e-9 / between->byte_s,
                 1e6 * between->alpha_s);
    if (!each)
        snprintf(workers, sizeof workers, "%zu workers", n->net.workers);
    char *text = sg_grid_network_text(n);
    char *out = text ? sg_format("%s, %s%s%s", workers, between->name, changed, text + strlen(between->name)) : NULL;
    free(text);
    return out;
}

/* {NAME: COLLECTIVE} of all methods. */
static cJSON *exchanges_json(const struct sg_grid_network *n, const struct sg_recipe *recipe) {
    const struct sg_node *methods = sg_node_get(&recipe->root, "methods");
    cJSON *out = cJSON_CreateObject();
    for (size_t i = 0; methods && i < methods->count; i++) {
        const struct sg_node *method = &methods->child[i];
        const char *given = sg_node_string(method, "exchange", NULL);
        sg_json_set_string(out, sg_node_string(method, "name", ""),
                           sg_grid_exchange_of(n, method, given).collective->name);
    }
    return out;
}

/* Writes the errors of these kinds, as the model comes or with what was given; counted: and of how many numbers. */
static void put_errors(FILE *out, const bool *kind, bool given, bool counted) {
    const char *before = "";
    for (int k = 0; k < SG_NET_KINDS; k++) {
        const struct sg_net_error *e = &sg_net_errors[k];
        const double least = given ? e->given_least : e->least, most = given ? e->given_most : e->most;
        if (kind[k] && !isnan(least)) {
            fprintf(out, "%s%+g to %+g %% for %s", before, least, most, e->what);
            if (counted)
                fprintf(out, " (%zu numbers)", e->compared);
            before = ", ";
        }
    }
}

char *sg_grid_error_text(const struct sg_grid_network *n, const struct sg_recipe *recipe) {
    const struct sg_node *methods = sg_node_get(&recipe->root, "methods");
    bool kind[SG_NET_KINDS + 1] = {false}, comes = false, compared = false;
    char *text = NULL;
    size_t size;
    for (size_t i = 0; methods && i < methods->count; i++) {
        const char *given = sg_node_string(&methods->child[i], "exchange", NULL);
        const struct sg_grid_exchange x = sg_grid_exchange_of(n, &methods->child[i], given);
        const enum sg_net_kind k = sg_net_kind_of(x.collective, x.exchanges);
        kind[k] = true;
        compared = compared || k < SG_NET_KINDS;
        comes = comes || (k < SG_NET_KINDS && !isnan(sg_net_errors[k].least));
    }
    FILE *out = sg_memstream(&text, &size);
    if (compared) {
        fputs("Against published times this model is off by ", out);
        put_errors(out, kind, !comes, true);
        if (comes) {
            fputs(" as it comes, and by ", out);
            put_errors(out, kind, true, false);
        }
        fputs(" with the exchange, overlap and coding of the publication given (results/NETWORK.md, Validation).", out);
    }
    if (kind[SG_NET_KINDS])
        fprintf(out, "%sNo published time of %sexchanges was compared with it.", compared ? " " : "",
                compared ? "the other methods' " : "these ");
    return sg_stream_text(out, &text);
}

static cJSON *string_taken(char *take_text) {
    cJSON *out = take_text ? cJSON_CreateString(take_text) : NULL;
    free(take_text);
    return out;
}

cJSON *sg_grid_network_json(const struct sg_grid_network *n, const struct sg_recipe *recipe, const char *model) {
    const struct sg_link *between = &n->net.between;
    cJSON *link = SG_OBJECT(SG_TEXT("name", between->name), SG_NUMBER("alpha_s", between->alpha_s),
                            SG_NUMBER("bits_per_s", 8 / between->byte_s), SG_TEXT("source", between->source),
                            SG_BOOL("interpolated", between->interpolated));
    return SG_OBJECT(SG_TEXT("model", model), SG_BOOL("modelled", true), SG_NUMBER("workers", n->net.workers),
                     SG_NUMBER("nodes", n->net.nodes), SG_NUMBER("elements", n->elements > 0 ? n->elements : NAN),
                     SG_NUMBER("share", n->share), SG_VALUE("link", link), SG_TEXT("collective", n->sum->name),
                     SG_TEXT("gather", n->gather ? n->gather->name : NULL),
                     SG_VALUE("exchanges", exchanges_json(n, recipe)), SG_TEXT("overlap", n->overlap->name),
                     SG_NUMBER("bucket_bytes", n->bucket_bytes > 0 ? n->bucket_bytes : NAN),
                     SG_NUMBER("compute_s", n->compute_s), SG_NUMBER("coding_ns", n->coding_s * 1e9),
                     SG_TEXT("processor", isnan(n->coding_s) ? n->processor : NULL),
                     SG_VALUE("coding", string_taken(sg_grid_coding_text(n))),
                     SG_VALUE("error", string_taken(sg_grid_error_text(n, recipe))));
}

cJSON *grid_network_json(const struct sg_grid_network *n, const struct sg_recipe *recipe) {
    if (!n)
        return NULL;
    char *model = model_text(n, varies(recipe));
    cJSON *out = sg_grid_network_json(n, recipe, model);
    if (varies(recipe))
        cJSON_ReplaceItemInObjectCaseSensitive(out, "workers", cJSON_CreateNull());
    if (varies(recipe) && isnan(sg_node_number(&recipe->root, "network.nodes", NAN)))
        cJSON_ReplaceItemInObjectCaseSensitive(out, "nodes", cJSON_CreateNull());
    free(model);
    return out;
}

static sg_status add_times(const struct sg_grid_network *n, const struct sg_cell *cell, struct sg_run *run,
                           const char *model, struct sg_error *err) {
    struct sg_grid_messages *messages = NULL;
    double *column[SG_NET_TOTALS] = {NULL};
    sg_grid_messages_open(&messages, cell, run);
    sg_status status = SG_OK;
    for (size_t c = 0; c < SG_NET_SERIES; c++) {
        column[c] = sg_calloc(run->n_points + 1, sizeof **column);
    }
    SG_DO(status, sg_grid_messages_time(column, messages, n, run->n_points, err));
    for (size_t c = 0; c < SG_NET_SERIES; c++) {
        char *unit = sg_format("%s, modelled: %s", sg_net_series[c].unit, model);
        if (status == SG_OK)
            sg_run_add_series(run, sg_net_series[c].name, unit, column[c]);
        else
            free(column[c]);
        free(unit);
    }
    sg_grid_messages_free(messages);
    return status;
}

sg_status sg_grid_derive(struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                         const struct sg_recipe *recipe, const struct sg_grid_network *network, struct sg_error *err) {
    grid_add_efficiency(outcomes, cells, count, recipe);
    if (!network)
        return SG_OK;
    struct sg_grid_network n = *network;
    sg_status status = SG_OK;
    char *model = model_text(&n, varies(recipe));
    for (size_t i = 0; status == SG_OK && i < count; i++) {
        if (!outcomes[i].run.header)
            continue;
        read_network(&n, sg_node_get(&recipe->root, "network"), sg_node_number(&cells[i].resolved, "workers", 1));
        status = add_times(&n, &cells[i], &outcomes[i].run, model, err);
        if (status == SG_OK && n.bursts)
            grid_add_bursts(&n, &outcomes[i].run);
    }
    free(model);
    return status;
}
