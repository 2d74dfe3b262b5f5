/* grid_private.h: a grid's folder of cells; private to lib/grid. */
#ifndef GRID_PRIVATE_H
#define GRID_PRIVATE_H

#include "sg_grid.h"

enum { KEY_PREFIX = 12 }; /* digits of a cell's key in its file's name */

/* Writes the "dataset" of a header as "own.libsvm, SHA-256 0123456789ab" or "gisette-like, generated"; returns out. */
enum { DATA_TEXT = 160 };
char *grid_data_text(char out[DATA_TEXT], const cJSON *dataset);

/* May a finished cell with this header be reused by the program of `identity` (NULL = of any version) if `dataset`
 * would be read now (NULL = the data are not here, and any will do)? */
enum sg_cell_stale grid_stale(const cJSON *header, const char *identity, const cJSON *dataset);

#endif
