/* sg_plugin.h: shared objects beside the programs. The tasks that need libtorch are in one, loaded on demand. */
#ifndef SG_PLUGIN_H
#define SG_PLUGIN_H

#include "sg_status.h"

/* Loads ../lib/sparsegrad/LIBRARY, seen from the folder of the running program, and gives the address of `symbol`. The
 * library stays loaded. SG_ERR_MISSING: there is no such file. SG_ERR_UNSUPPORTED, with the loader's words: it cannot
 * be loaded or has no such symbol. If the symbol is a function, copy *out into a function pointer with memcpy; a cast
 * is not C. */
SG_CHECKED sg_status sg_plugin_symbol(void **out, const char *library, const char *symbol, struct sg_error *err);

#endif
