/* sg_terminal.h: what a program says on stderr, and how it ends.
 * stdout carries results only. One process, one program name, set by sg_app_start. */
#ifndef SG_TERMINAL_H
#define SG_TERMINAL_H

#include <cjson/cJSON.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "sg_status.h"

/* Exit codes of every program. Ended by a signal: 128 + its number. */
enum sg_exit { SG_EXIT_OK = 0, SG_EXIT_FAILED = 1, SG_EXIT_USAGE = 2, SG_EXIT_GATE = 3 };

enum sg_verbosity { SG_QUIET = -1, SG_NORMAL = 0, SG_VERBOSE = 1 };

/* First thing in main. The name is used in messages, and the process carries it. SIGPIPE is quiet. Descriptors 0, 1 and 2 that
 * are closed are opened on /dev/null, so that no file of ours becomes one of them and gets what is meant for another: what is
 * said on a closed stderr is lost, but reading a closed stdin and writing a closed stdout remain errors. Allocations for
 * JSON are watched (sg_json_guard). */
void sg_app_start(const char *program);
/* Have OpenMP threads that wait go to sleep soon instead of spinning for milliseconds: on a busy machine, spinning threads
 * keep those they wait for from running (measured: 2 to 4 times slower steps), on a quiet one nothing is lost. The OpenMP
 * library reads its settings before main, so the program starts itself again with GOMP_SPINCOUNT set, once; a setting of
 * the user's is left alone. After sg_app_start, which also gives the process its own name back. */
void sg_app_wait_politely(char **argv);
void sg_app_set_rank(int rank, int size);
void sg_app_set_verbosity(enum sg_verbosity v);
enum sg_verbosity sg_app_verbosity(void);
/* Fixed clock for exact tests (hidden --fake-clock). */
void sg_app_set_fake_clock(bool fake);

/* "program: message" on stderr. error always; note unless quiet; detail only when verbose. */
void sg_log_error(const char *format, ...) SG_PRINTF(1, 2);
void sg_log_warning(const char *format, ...) SG_PRINTF(1, 2);
void sg_log_note(const char *format, ...) SG_PRINTF(1, 2);
void sg_log_detail(const char *format, ...) SG_PRINTF(1, 2);

/* The document onto stdout, indented, and free it; NULL is a document for which there was no memory. `what` is for the
 * message then. Returns SG_OK or SG_ERR_MEMORY. */
SG_CHECKED sg_status sg_app_print_json(cJSON *take_json, const char *what, struct sg_error *err);

/* Exit code for a failed status: usage errors (argument, format of a recipe) 2, others 1, interrupted 128 + n. */
int sg_exit_code(sg_status status);

/* Flush and close stdout; a failed write (full disk, /dev/full) becomes SG_EXIT_FAILED with a message, unless the program
 * failed and said why already; a closed pipe stays quiet. Call last: return sg_app_finish(code). */
int sg_app_finish(int code);

/* Wall clock in seconds (monotonic); UTC time as "2025-01-31T12:00:00Z" into out [21]. Both constant under
 * the fake clock. */
double sg_clock_s(void);
void sg_clock_utc(char out[21]);

/* Cores that this process may use when `processes` like it share the host: at least 1. */
int sg_cores(int processes);

/* Progress: a bar redrawn at most 6 times a second when stderr is a terminal, else a plain line each 30 s;
 * erased at the end; nothing when quiet. Cheap to call often. */
struct sg_progress {
    const char *what; /* "Top-k, seed 1" */
    double total;
    double started_s, last_s;
    bool bar, shown;
};
void sg_progress_end(struct sg_progress *p);
/* Update the bar of `what`, which lives as long as it; start it first if p, zeros to begin with, shows another. */
void sg_progress_show(struct sg_progress *p, const char *what, double done, double total);

/* SIGINT and SIGTERM set a flag instead of ending the process; a second one of the same kind ends it. */
void sg_signals_catch(void);
int sg_signal_pending(void); /* its number or 0 */

/* stdout is a pipe whose reader went away (which is nothing to complain about). */
bool sg_stdout_is_abandoned(void);
/* stdout is a terminal; how many characters fit into a line of it, 80 where that is not known or it is not one. */
bool sg_stdout_is_terminal(void);
int sg_terminal_columns(void);
/* Colour on this stream: choice "auto" (terminal, NO_COLOR unset or empty, TERM not dumb), "always", "never". */
bool sg_color(int fd, const char *choice);

#endif
