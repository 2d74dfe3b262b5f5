/* sg_terminal.h: a program's messages and progress on stderr, its exit codes, signals and clock.
 *
 * stdout carries results only. All state is one per process; sg_app_start sets the program's name. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_TERMINAL_H
#define SG_TERMINAL_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "sg_status.h"

/* The exit codes of every program. A program that a signal ended returns 128 + its number; one that --time-limit ended
 * returns what timeout(1) does. */
enum sg_exit { SG_EXIT_OK = 0, SG_EXIT_FAILED = 1, SG_EXIT_USAGE = 2, SG_EXIT_GATE = 3, SG_EXIT_TIME = 124 };

enum sg_verbosity { SG_QUIET = -1, SG_NORMAL = 0, SG_VERBOSE = 1 };

/* Called first in main. `program` becomes the name in messages and of the process. SIGPIPE is ignored. Closed ones of
 * the descriptors 0, 1 and 2 are opened on /dev/null, so that no file of the program gets such a number and receives
 * output that is meant for stdout or stderr. Messages on a closed stderr are lost, but reading a closed stdin and
 * writing a closed stdout still fail. Where memory runs out the program ends with a message (sg_memory.h). A limit of
 * the stack that is too low is raised; if that fails, the program ends here with a message. */
void sg_app_start(const char *program);
/* Lets waiting OpenMP threads sleep soon instead of spinning for milliseconds. On a busy machine spinning threads block
 * the threads for which they wait (measured: steps 2 to 4 times slower); on an idle machine the time is the same. The
 * OpenMP library reads its settings before main, so the program executes itself again, once, with GOMP_SPINCOUNT set. A
 * setting of the user is not changed. Called after sg_app_start. */
void sg_app_reexec_with_passive_waiting(char **argv);
void sg_app_set_rank(int rank, int size);
void sg_app_set_verbosity(enum sg_verbosity v);
enum sg_verbosity sg_app_verbosity(void);

/* Print "program: message" on stderr: errors and warnings always, notes unless --quiet, details only with --verbose.
 * Each line of the message is cleaned (sg_text_clean), since what it quotes may be a stranger's. */
enum sg_log_kind { SG_LOG_ERROR, SG_LOG_WARNING, SG_LOG_NOTE, SG_LOG_DETAIL };
void sg_log(enum sg_log_kind kind, const char *format, ...) SG_PRINTF(2, 3);
#define sg_log_error(...)   sg_log(SG_LOG_ERROR, __VA_ARGS__)
#define sg_log_warning(...) sg_log(SG_LOG_WARNING, __VA_ARGS__)
#define sg_log_note(...)    sg_log(SG_LOG_NOTE, __VA_ARGS__)
#define sg_log_detail(...)  sg_log(SG_LOG_DETAIL, __VA_ARGS__)

/* Prints the note "claim VERDICT: message", in which the verdict has this colour; "" = none. */
void sg_log_verdict(const char *color, const char *verdict, const char *format, ...) SG_PRINTF(3, 4);

/* Prints the document on stdout, indented, and frees it. */
void sg_app_print_json(cJSON *take_json);

/* The exit code for a failed status: 2 for usage errors (an argument, a recipe's format), 128 + n if interrupted by
 * signal n, SG_EXIT_TIME if interrupted without one, else 1. */
int sg_exit_code(sg_status status);

/* Flushes and closes stdout; the last call of main: return sg_app_finish(code). If a write failed (a full disk), it
 * prints an error and returns SG_EXIT_FAILED, unless the program has reported a failure. A closed pipe is no error. */
int sg_app_finish(int code);

/* After this call, exit(0) before sg_app_finish is reported as a failure, because loaded code may call exit. */
void sg_app_expect_finish(void);

/* Progress on stderr: a bar redrawn at most 6 times a second on a terminal and erased at the end, else a plain line
 * each 30 s, and nothing with --quiet. Calls are cheap. */
struct sg_progress {
    const char *what; /* "Top-k, seed 1" */
    double total;
    double started_s, last_s;
    bool bar, shown;
};
void sg_progress_end(struct sg_progress *p);
/* Updates the bar of `what`, a string that must live as long as the bar. If p shows no bar (it is zeroed) or another
 * one, a new bar is started first. */
void sg_progress_show(struct sg_progress *p, const char *what, double done, double total);

/* True if stdout is a pipe without a reader, which is not reported as an error. */
bool sg_stdout_is_abandoned(void);
bool sg_stdout_is_terminal(void);
/* The number of characters in a line: the variable COLUMNS, else that of the terminal; 0 = fd is not a terminal. */
int sg_terminal_columns(int fd);
/* True if this stream is coloured. choice: "always", "never", or "auto", which means on a terminal with NO_COLOR unset
 * or empty and TERM not dumb. */
bool sg_color(int fd, const char *choice);

#endif
