/* ratings_set.c: a set of ratings from its file or from the generator, with where it comes from. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset_walk.h"
#include "movielens.h"
#include "sg_file.h"
#include "sg_json.h"
#include "sg_ratings.h"

/* A set while it is loaded. */
struct ratings_loading {
    struct dataset set;
    const struct sg_ratings_request *request;
    const struct movielens_format *format;
    struct sg_rating *rating; /* [count] */
    size_t count;
    struct sg_ratings out;
};

static sg_status read_file(struct dataset *d, struct dataset_part *part, struct sg_error *err) {
    struct ratings_loading *l = (struct ratings_loading *)d;
    const struct movielens_format *format = l->format;
    const char *path = part->path, *set = d->request->name;
    sg_status status = dataset_part_open(part, err);
    SG_DO(status, sg_ratings_parse(&l->rating, &l->count, part->text.at, part->text.length, format->name, path, err));
    data_text_free(&part->text);
    if (status == SG_OK && strcmp(set, format->name) == 0 && l->count != format->ratings)
        status = sg_fail(err, SG_ERR_FORMAT, "%s: %zu ratings, but %s has %zu: %s", path, l->count, set,
                         format->ratings, l->count < format->ratings ? "it is truncated" : "it is another file");
    return status;
}

static sg_status split(struct dataset *d, struct sg_error *err) {
    struct ratings_loading *l = (struct ratings_loading *)d;
    const char *path = d->part[0].path;
    sg_status status =
        sg_ratings_split(&l->out, l->rating, l->count, l->request->most_users, l->request->validation, err);
    return status == SG_OK ? status : sg_prefix(err, "%s: ", path ? path : d->request->name);
}

static sg_status generate(struct dataset *d, struct sg_error *err) {
    struct ratings_loading *l = (struct ratings_loading *)d;
    const struct movielens_format *format = l->format;
    const size_t users = dataset_at_most(format->users, l->request->most_users),
                 ratings = (size_t)((double)format->ratings * (double)users / (double)format->users);
    sg_status status = sg_ratings_generate(&l->rating, &l->count, users, format->items, ratings, d->request->seed, err);
    if (status != SG_OK)
        return status;
    sg_sha256_of(l->rating, l->count * sizeof *l->rating, d->from.sha256);
    return split(d, err);
}

static const struct dataset_kind ratings_kind = {
    .what = "ratings", .stand_in = "ratings-like", .read = read_file, .finish = split, .generate = generate};

/* The format of a set that is asked for, and the name of its file. */
static sg_status begin(struct ratings_loading *l, const struct sg_ratings_request *request, struct sg_error *err) {
    const struct movielens_format *format = movielens_find(request->set.name);
    *l = (struct ratings_loading){.request = request, .format = format, .set.parts = 1};
    if (!format)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "unknown set of ratings '%s': there are ml-100k, ml-1m, ml-20m and ml-25m, and others in the "
                       "format of one of these, named as ml-100k-SOMETHING",
                       request->set.name);
    snprintf(l->set.part[0].file, sizeof l->set.part[0].file, "%s", format->file);
    return dataset_open(&l->set, &ratings_kind, &request->set, err);
}

sg_status sg_ratings_load(struct sg_ratings *out, struct sg_provenance *from, const struct sg_ratings_request *request,
                          struct sg_error *err) {
    struct ratings_loading l;
    sg_status status = begin(&l, request, err);
    SG_DO(status, dataset_load(&l.set, from, err));
    free(l.rating);
    if (status == SG_OK)
        *out = l.out;
    return status;
}

sg_status sg_ratings_identify(struct sg_provenance *from, const struct sg_ratings_request *request,
                              struct sg_error *err) {
    struct ratings_loading l;
    sg_status status = begin(&l, request, err);
    return status == SG_OK ? dataset_identify(&l.set, from, err) : status;
}

cJSON *sg_ratings_json(const struct sg_ratings *r, const struct sg_provenance *from) {
    return SG_SET(sg_provenance_json(from), SG_NUMBER("users", r->users), SG_NUMBER("items", r->items),
                  SG_NUMBER("train_ratings", r->count));
}
