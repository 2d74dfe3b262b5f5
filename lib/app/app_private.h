/* app_private.h: what the files of this folder share about option tables. */
/* SPDX-License-Identifier: MIT */
#ifndef APP_PRIVATE_H
#define APP_PRIVATE_H

#include "sg_options.h"

/* The program's own options, those it shares with some programs, then those of all; NULL past the end. */
const struct sg_option *app_option_at(const struct sg_program *p, size_t i);

/* Prints a script that makes this shell, bash, zsh or fish, complete the program's command line. */
void app_print_completion(const struct sg_program *p, const char *shell);

#endif
