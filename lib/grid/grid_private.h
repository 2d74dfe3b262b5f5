/* grid_private.h: a grid's folder of cells; private to lib/grid. */
#ifndef GRID_PRIVATE_H
#define GRID_PRIVATE_H

#include "sg_grid.h"

enum { KEY_PREFIX = 12 }; /* digits of a cell's key in its file's name */

/* "own.libsvm, SHA-256 0123456789ab" or "gisette-like, generated", of the "dataset" of a header; returns out. */
enum { DATA_TEXT = 160 };
char *grid_data_text(char out[DATA_TEXT], const cJSON *dataset);

#endif
