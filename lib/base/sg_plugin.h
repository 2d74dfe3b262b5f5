/* sg_plugin.h: shared objects that programs load. The tasks that need libtorch are in one beside the programs, and
 * compressors may be in others, which users name. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_PLUGIN_H
#define SG_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "sg_status.h"

/* Loads ../lib/sparsegrad/LIBRARY, seen from the folder of the running program, and gives the address of `symbol`. The
 * library stays loaded. SG_ERR_MISSING: there is no such file. SG_ERR_UNSUPPORTED, with the loader's words: it cannot
 * be loaded or has no such symbol. If the symbol is a function, copy *out into a function pointer with memcpy; a cast
 * is not C. */
SG_CHECKED sg_status sg_plugin_symbol(void **out, const char *library, const char *symbol, struct sg_error *err);

/* False if the file of a shared object [length] lacks a part that is loaded into memory: the loader crashes on a
 * truncated file. True also if it is not a shared object, because the loader reports that itself. */
bool sg_plugin_is_whole(const char *bytes, size_t length);

/* Loads the file at `path`, which has a '/' in it, like sg_plugin_symbol. SG_ERR_UNSUPPORTED: it cannot be loaded, for
 * the reason that the loader gives. SG_ERR_MISMATCH: it has no such symbol. */
SG_CHECKED sg_status sg_plugin_file_symbol(void **out, const char *path, const char *symbol, struct sg_error *err);

#endif
