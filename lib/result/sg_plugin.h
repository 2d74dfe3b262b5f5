/* sg_plugin.h: shared objects beside the programs: what needs libtorch is loaded when it is asked for. */
#ifndef SG_PLUGIN_H
#define SG_PLUGIN_H

#include "sg_status.h"

/* *out <- `symbol` of ../lib/sparsegrad/LIBRARY, seen from the folder of the running program; stays loaded. A library that
 * is not there is SG_ERR_MISSING, one that cannot be loaded or lacks the symbol SG_ERR_UNSUPPORTED with the loader's
 * words. Functions are data pointers here: copy, do not cast. */
SG_CHECKED sg_status sg_plugin_symbol(void **out, const char *library, const char *symbol, struct sg_error *err);

#endif
