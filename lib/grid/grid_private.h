/* grid_private.h: a grid's folder of cells; private to lib/grid. */
#ifndef GRID_PRIVATE_H
#define GRID_PRIVATE_H

#include "sg_grid.h"

enum { KEY_PREFIX = 12 }; /* digits of a cell's key in its file's name */

/* "own.libsvm, SHA-256 0123456789ab" or "gisette-like, generated", of the "dataset" of a header; returns out. */
enum { DATA_TEXT = 160 };
char *grid_data_text(char out[DATA_TEXT], const cJSON *dataset);

/* May a finished cell with this header be reused? By the program of `identity` (NULL = of any version) where `dataset`
 * would be read now (NULL = the data are not here: any). */
enum sg_cell_stale grid_stale(const cJSON *header, const char *identity, const cJSON *dataset);

#endif
