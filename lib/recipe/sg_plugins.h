/* sg_plugins.h: the plug-ins of compressors that a program has loaded, and what they mean for the identity of a run.
 *
 * They are one list per process. A program loads them before it reads a recipe or prints help, and they stay. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_PLUGINS_H
#define SG_PLUGINS_H

#include <cjson/cJSON.h>

#include "sg_recipe.h"
#include "sg_status.h"

enum { SG_PLUGIN_WARNING = 512 };
#define SG_PLUGINS_VARIABLE "SPARSEGRAD_PLUGINS"

/* Loads these files and then those of `list`, which are separated by colons (NULL = none), and adds their rows to the
 * tables of compressors, codes and feedback rules. A file that was loaded before is skipped. SG_ERR_ARGUMENT: a file is
 * not a valid plug-in; the message names it, the fault and a remedy. */
SG_CHECKED sg_status sg_plugins_load(const char *const *path, size_t n, const char *list, struct sg_error *err);

size_t sg_plugin_count(void);
/* The absolute path of the i-th plug-in; NULL past the end. */
const char *sg_plugin_path(size_t i);
/* Writes a warning for each plug-in that changed how the program computes or reads numbers when it was loaded. The
 * change was undone. Call it until it returns false. */
bool sg_plugin_warning(char out[SG_PLUGIN_WARNING], size_t *next);

/* The identity of the code that runs a cell: that of the program for its task (sg_version_identity), followed by '+'
 * and 12 digits of a hash of the plug-ins that have the cell's compressor, code or feedback rule, if there are any. A
 * finished cell is reused only by a program of the same identity. Returns out. */
enum { SG_CELL_IDENTITY = 64 };
const char *sg_cell_identity(char out[SG_CELL_IDENTITY], const struct sg_cell *cell);

/* The plug-ins that the cell uses, or all plug-ins if cell is NULL: [{"file","sha256"}]; NULL = none. */
cJSON *sg_plugins_json(const struct sg_cell *cell);

#endif
