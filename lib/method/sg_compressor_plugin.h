/* sg_compressor_plugin.h: compressors, codes, feedback rules and controllers in a shared object of their own.
 *
 * sparsetrain, sparsebench and sparsetune load such an object with --plugin FILE, or from the list of files in
 * $SPARSEGRAD_PLUGINS, and Python with libsparsegrad.load_plugin. Its rows are appended to the tables, and recipes and
 * texts name them like all other rows.
 *
 *     #include <sg_compressor_plugin.h>
 *     static const struct sg_compressor_ops mine = {.name = "mine", ...};
 *     static const struct sg_compressor_ops *const compressors[] = {&mine, NULL};
 *     SG_EXPORT const struct sg_compressor_plugin sparsegrad_plugin = {SG_PLUGIN_INTERFACE, .compressors =
 *     compressors};
 *
 *     cc -shared -fPIC mine.c $(pkg-config --cflags sparsegrad) -o mine.so
 *
 * The object may call every function of the installed headers: the program that loads it exports them. It must not be
 * linked with the library. The rows must not change while the program runs.
 *
 * Every message of an added compressor or code is checked when it is made: its code, counts, positions, bytes and
 * bits. An invalid message stops the run with an error that states what is wrong. Values are not checked. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_COMPRESSOR_PLUGIN_H
#define SG_COMPRESSOR_PLUGIN_H

#ifndef SPARSEGRAD_UNSTABLE /* a plug-in is compiled for one version */
#define SPARSEGRAD_UNSTABLE
#endif

#include "sparsegrad.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The interface that the object was compiled for. A program rejects an object whose numbers differ from its own. */
struct sg_plugin_interface {
    unsigned format, major, minor; /* of this header; of the library */
    unsigned size[11];             /* of the structs that objects and programs share */
};
#define SG_PLUGIN_INTERFACE                                                                                            \
    {                                                                                                                  \
        2, SPARSEGRAD_MAJOR, SPARSEGRAD_MINOR, {                                                                       \
            sizeof(struct sg_compressor_ops), sizeof(struct sg_shared), sizeof(struct sg_worker),                      \
                sizeof(struct sg_rounds), sizeof(struct sg_message), sizeof(struct sg_code),                           \
                sizeof(struct sg_feedback_rule), sizeof(struct sg_kernels), sizeof(struct sg_select),                  \
                sizeof(struct sg_parameter), sizeof(struct sg_controller_ops)                                          \
        }                                                                                                              \
    }

/* The lists end in NULL, and a list that is NULL is empty. The numbers of codes lie in SG_CODE_ADDED_FIRST ..
 * SG_CODE_ADDED_LAST. */
struct sg_compressor_plugin {
    struct sg_plugin_interface interface;
    const struct sg_compressor_ops *const *compressors;
    const struct sg_code *const *codes;
    const struct sg_feedback_rule *const *rules;
    const struct sg_controller_ops *const *controllers;
};

/* Adds the rows of an object that is loaded to the tables, codes first, because compressors may be written in them. It
 * must not run beside another call. SG_ERR_ARGUMENT: the object was compiled for another interface, or a row is wrong;
 * rows before it stay. */
SG_UNSTABLE SG_CHECKED sg_status sg_compressor_plugin_add(const struct sg_compressor_plugin *rows,
                                                          struct sg_error *err);

/* The symbol that a program looks up. It must be visible for all compiler options. */
#define SG_PLUGIN_SYMBOL "sparsegrad_plugin"
#define SG_EXPORT        __attribute__((visibility("default")))
SG_EXPORT extern const struct sg_compressor_plugin sparsegrad_plugin;

#ifdef __cplusplus
}
#endif
#endif
