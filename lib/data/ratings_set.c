/* ratings_set.c: a set of ratings from its file or from the generator, with where it comes from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data_text.h"
#include "dataset_find.h"
#include "dataset_descriptor.h"
#include "movielens.h"
#include "sg_file.h"
#include "sg_json.h"
#include "sg_ratings.h"

static const char stand_in_name[] = "ratings-like";

static sg_status read_file(struct sg_rating **rating, size_t *count, struct sg_provenance *from,
                           const struct movielens_format *format, const char *set, struct sg_error *err) {
    struct descriptor descriptor;
    struct data_text text = {0};
    sg_status status = descriptor_find(&descriptor, set, err);
    SG_DO(status, data_text_open(&text, from->path, err));
    SG_DO(status, sg_ratings_parse(rating, count, text.at, text.length, format->name, from->path, err));
    if (status == SG_OK && strcmp(set, format->name) == 0 && *count != format->ratings)
        status = sg_fail(err, SG_ERR_FORMAT, "%s: %zu ratings, but %s has %zu: %s", from->path, *count, set,
                         format->ratings, *count < format->ratings ? "it is truncated" : "it is another file");
    if (status == SG_OK) {
        snprintf(from->source, sizeof from->source, "file");
        sg_sha256_of(text.at, text.length, from->sha256);
        status = dataset_verify(&from->verified, from->path, set, &descriptor, format->file, from->sha256, false, err);
    }
    data_text_free(&text);
    return status;
}

static sg_status generate(struct sg_rating **rating, size_t *count, struct sg_provenance *from,
                          const struct movielens_format *format, const struct sg_ratings_request *request,
                          struct sg_error *err) {
    const size_t most = request->most_users, users = most && most < format->users ? most : format->users;
    sg_status status = sg_ratings_generate(rating, count, users, format->items,
                                           (size_t)((double)format->ratings * (double)users / (double)format->users),
                                           request->set.seed, err);
    if (status)
        return status;
    dataset_generated_identify(from, stand_in_name);
    sg_sha256_of(*rating, *count * sizeof **rating, from->sha256);
    return SG_OK;
}

/* The format of a set that is asked for. */
static sg_status find_format(const struct movielens_format **out, const struct sg_ratings_request *request,
                             struct sg_error *err) {
    const char *name = request->set.name, *stand_in = request->set.stand_in;
    *out = movielens_find(name);
    if (!*out)
        return sg_fail(err, SG_ERR_ARGUMENT,
                       "unknown set of ratings '%s': there are ml-100k, ml-1m, ml-20m and ml-25m, and others in the "
                       "format of one of these, named as ml-100k-SOMETHING",
                       name);
    if (stand_in && strcmp(stand_in, stand_in_name) != 0)
        return sg_fail(err, SG_ERR_ARGUMENT, "unknown stand-in '%s' for ratings: there is %s", stand_in, stand_in_name);
    return SG_OK;
}

sg_status sg_ratings_load(struct sg_ratings *out, struct sg_provenance *from, const struct sg_ratings_request *request,
                          struct sg_error *err) {
    const char *name = request->set.name;
    const struct movielens_format *format;
    struct sg_provenance found = {0};
    struct sg_rating *rating = NULL;
    size_t count = 0;
    sg_status status = find_format(&format, request, err);
    if (status != SG_OK)
        return status;
    snprintf(found.name, sizeof found.name, "%s", name);
    status = dataset_find_file(&found.path, &request->set, format->file, err);
    if (status == SG_OK && found.path)
        status = read_file(&rating, &count, &found, format, name, err);
    else if (status == SG_OK && request->set.stand_in)
        status = generate(&rating, &count, &found, format, request, err);
    else if (status == SG_OK)
        status = dataset_fail_missing(&request->set, format->file,
                                      &(struct dataset_remedies){.stand_in = stand_in_name}, err);
    if (status == SG_OK && (status = sg_ratings_split(out, rating, count, request->most_users, err)) != SG_OK)
        sg_prefix(err, "%s: ", found.path ? found.path : name);
    if (status == SG_OK)
        *from = found;
    else
        sg_provenance_free(&found);
    free(rating);
    return status;
}

sg_status sg_ratings_identify(struct sg_provenance *from, const struct sg_ratings_request *request,
                              struct sg_error *err) {
    const char *name = request->set.name;
    const struct movielens_format *format;
    struct descriptor descriptor;
    struct sg_provenance found = {0};
    char *path = NULL;
    sg_status status = find_format(&format, request, err);
    SG_DO(status, dataset_find_file(&path, &request->set, format->file, err));
    if (status != SG_OK)
        return status;
    snprintf(found.name, sizeof found.name, "%s", name);
    if (path && (status = descriptor_find(&descriptor, name, err)) == SG_OK)
        status =
            dataset_file_identify(&found, path, name, &descriptor, format->file, false, request->set.data_dir, err);
    else if (!path && request->set.stand_in)
        dataset_generated_identify(&found, stand_in_name);
    else if (!path)
        status = dataset_fail_missing(&request->set, format->file,
                                      &(struct dataset_remedies){.stand_in = stand_in_name}, err);
    if (status == SG_OK)
        *from = found;
    free(path);
    return status;
}

cJSON *sg_ratings_json(const struct sg_ratings *r, const struct sg_provenance *from) {
    cJSON *object = sg_provenance_json(from);
    sg_json_set_number(object, "users", (double)r->users);
    sg_json_set_number(object, "items", (double)r->items);
    sg_json_set_number(object, "train_ratings", (double)r->count);
    return object;
}
