/* sg_memory.h: memory of the programs. None of these functions returns NULL: a program that cannot have the memory that
 * it needs ends. The rooms of the library and comm return SG_ERR_MEMORY in its place. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_MEMORY_H
#define SG_MEMORY_H

#include <stdio.h>
#include <stdlib.h>

#include "sg_status.h"

/* As the functions of the standard library with these names. */
void *sg_malloc(size_t bytes);
void *sg_calloc(size_t count, size_t bytes);
void *sg_realloc(void *memory, size_t bytes);
void *sg_aligned_alloc(size_t alignment, size_t bytes);
char *sg_strdup(const char *text);
char *sg_strndup(const char *text, size_t length);
FILE *sg_memstream(char **text, size_t *size); /* open_memstream */

/* What is done where memory runs out; it must not return. sg_app_start sets it. Without it the process is aborted. */
void sg_memory_on_end(void (*end)(void));
/* Does it. */
void sg_memory_end(void) __attribute__((noreturn));

#endif
