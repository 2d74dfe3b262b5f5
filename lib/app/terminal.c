/* terminal.c: messages, progress and exit of programs. */
/* SPDX-License-Identifier: MIT */
#include "sg_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sg_clock.h"
#include "sg_debug.h"
#include "sg_json.h"
#include "sg_memory.h"
#include "sg_table.h"
#include "sg_text.h"
#include "sg_words.h"

/* The state for messages. Only clock.c has other state of the process. */
static struct {
    const char *program;
    int rank, size;
    enum sg_verbosity verbosity;
    bool line_open;  /* a progress bar stands on stderr */
    bool said_error; /* a failure was reported already */
    bool finished;
} app = {"sparsegrad", 0, 1, SG_NORMAL, false, false, false};

/* open() gives the lowest free number. Each descriptor is opened the wrong way round, so that using it fails. */
static void occupy_standard_descriptors(void) {
    static const int way[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", way[fd]) != fd)
            _exit(SG_EXIT_FAILED);
}

/* Raises a limit of the stack that is too low for the arrays of kernels, for this thread and for those that are made
 * from now on. A limit that may not be raised ends the program with a message, where it would crash. */
static void widen_stack(void) {
    enum { NEEDED = 512 << 10 };
    struct rlimit limit;
    pthread_attr_t attributes;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= NEEDED)
        return;
    const unsigned long long had = limit.rlim_cur;
    limit.rlim_cur = NEEDED;
    limit.rlim_max = limit.rlim_max < NEEDED ? NEEDED : limit.rlim_max;
    if (setrlimit(RLIMIT_STACK, &limit) != 0) {
        sg_log_error("the stack is limited to %llu KB, and %d KB are needed: ulimit -s %d", had >> 10, NEEDED >> 10,
                     NEEDED >> 10);
        _exit(SG_EXIT_FAILED);
    }
    if (pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, NEEDED) == 0)
        pthread_setattr_default_np(&attributes);
}

static void end_without_memory(void) {
    fprintf(stderr, "%s: out of memory\n", app.program);
    exit(SG_EXIT_FAILED);
}

void sg_app_start(const char *program) {
    occupy_standard_descriptors();
    sg_json_guard();
    sg_memory_on_end(end_without_memory);
    app.program = program;
    widen_stack();
    prctl(PR_SET_NAME, program); /* the name is "exe" after sg_app_reexec_with_passive_waiting */
    signal(SIGPIPE, SIG_IGN);    /* a closed pipe shows as a write error, handled in sg_app_finish */
}

void sg_app_reexec_with_passive_waiting(char **argv) {
    if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY") || setenv("GOMP_SPINCOUNT", "5000", 0) != 0)
        return;
    execv("/proc/self/exe", argv); /* if that fails, waiting threads only spin longer */
}

void sg_app_set_rank(int rank, int size) {
    SG_ASSERT(rank >= 0 && rank < size);
    app.rank = rank;
    app.size = size;
}

void sg_app_set_verbosity(enum sg_verbosity v) {
    app.verbosity = v;
}

enum sg_verbosity sg_app_verbosity(void) {
    return app.verbosity;
}

/* True if a message of this kind is printed. */
static bool is_wanted(enum sg_log_kind kind) {
    return kind == SG_LOG_ERROR     ? true
           : kind == SG_LOG_WARNING ? app.rank == 0
           : kind == SG_LOG_NOTE    ? app.rank == 0 && app.verbosity >= SG_NORMAL
                                    : app.verbosity >= SG_VERBOSE;
}

/* Prints each line of the text as a message. `lead`, in front of the first line, is printed as it is; the text may be
 * a stranger's, so that what could steer a terminal is shown. */
static void put_message(enum sg_log_kind kind, const char *lead, char *text) {
    char rank[32] = "";
    if (app.size > 1)
        snprintf(rank, sizeof rank, "[rank %d] ", app.rank);
    fflush(stdout);
    if (app.line_open)
        fputs("\r\033[K", stderr);
    app.line_open = false;
    for (char *line = text; line;) {
        char *next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        const size_t width = isatty(STDERR_FILENO) ? (size_t)sg_terminal_columns(STDERR_FILENO) : 0;
        char *first = sg_format("%s: %s%s%s", app.program, rank, kind == SG_LOG_WARNING ? "warning: " : "", lead);
        sg_put_wrapped(stderr, line, width, first, "");
        free(first);
        line = next;
        lead = "";
    }
}

void sg_log(enum sg_log_kind kind, const char *format, ...) {
    char text[4096];
    va_list args;
    app.said_error = app.said_error || kind == SG_LOG_ERROR;
    if (!is_wanted(kind))
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put_message(kind, "", text);
}

void sg_log_verdict(const char *color, const char *verdict, const char *format, ...) {
    char text[4096], *clean = sg_text_clean(verdict);
    char *lead = sg_format("claim %s%s%s: ", color, clean, *color ? "\033[0m" : "");
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (is_wanted(SG_LOG_NOTE))
        put_message(SG_LOG_NOTE, lead, text);
    free(clean);
    free(lead);
}

void sg_app_print_json(cJSON *take_json) {
    char *text = sg_json_text(take_json, true);
    cJSON_Delete(take_json);
    fputs(text, stdout);
    free(text);
}

int sg_exit_code(sg_status status) {
    if (status == SG_OK)
        return SG_EXIT_OK;
    if (status == SG_ERR_INTERRUPTED)
        return sg_signal_pending() ? 128 + sg_signal_pending() : SG_EXIT_TIME;
    return status == SG_ERR_ARGUMENT ? SG_EXIT_USAGE : SG_EXIT_FAILED;
}

/* The errno of an earlier failed write may be lost, so ask the pipe itself. */
bool sg_stdout_is_abandoned(void) {
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

static void refuse_early_exit(int code, void *unused) {
    (void)unused;
    if (code != SG_EXIT_OK || app.finished)
        return;
    sg_log_error("ended by a call of exit(0) before it was done: a plug-in must not call exit");
    _exit(SG_EXIT_FAILED);
}

void sg_app_expect_finish(void) {
    on_exit(refuse_early_exit, NULL);
}

int sg_app_finish(int code) {
    app.finished = true;
    bool gone = sg_stdout_is_abandoned(), failed = ferror(stdout) != 0;
    bool waiting = __fpending(stdout) > 0; /* a closed stdout is an error only if there is something to print */
    /* A stream forgets why it failed, so write one more byte. */
    errno = failed ? EIO : 0;
    if (failed && !gone && write(STDOUT_FILENO, "\n", 1) == 1)
        errno = EIO;
    const int why = errno;
    if (fclose(stdout) != 0 && (waiting || errno != EBADF))
        failed = true;
    else
        errno = why;
    if (!failed)
        return code;
    if (!gone && errno != EPIPE && !(code == SG_EXIT_FAILED && app.said_error))
        sg_log_error("cannot write the result: %s", strerror(errno));
    return code == SG_EXIT_OK ? SG_EXIT_FAILED : code;
}

static void short_time(double seconds, char *out, size_t size) {
    if (seconds < 60)
        snprintf(out, size, "%.0fs", seconds);
    else if (seconds < 3600)
        snprintf(out, size, "%.0fm%02.0fs", (double)(int)(seconds / 60), (double)((int)seconds % 60));
    else
        snprintf(out, size, "%.0fh%02.0fm", (double)(int)(seconds / 3600), (double)((int)seconds % 3600 / 60));
}

static void update(struct sg_progress *p, double done) {
    SG_ASSERT(p->what);
    if (app.verbosity < SG_NORMAL || app.rank > 0)
        return;
    double now = sg_clock_s();
    if (now - p->last_s < (p->bar ? 1.0 / 6 : 30))
        return;
    p->last_s = now;
    double share = p->total > 0 ? done / p->total : 0;
    char left[32] = "?";
    if (share > 0)
        short_time((now - p->started_s) * (1 - share) / share, left, sizeof left);
    if (!p->bar) {
        fprintf(stderr, "%s: %s: %.0f %%, %s left\n", app.program, p->what, 100 * share, left);
        return;
    }
    /* On a narrow terminal the bar is shorter, then the name loses its last words. */
    enum { BAR = 24, LEAST_BAR = 4 };
    const size_t columns = (size_t)sg_terminal_columns(STDERR_FILENO) - 1,
                 around = strlen(" [] 100 %  left") + strlen(left);
    const size_t name = sg_text_width(p->what), room = columns > around + name ? columns - around - name : 0;
    const int bar = (int)(room > BAR ? BAR : room < LEAST_BAR ? LEAST_BAR : room), filled = (int)(share * bar);
    const size_t most = columns > around + (size_t)bar ? columns - around - (size_t)bar : 1;
    fprintf(stderr, "\r\033[K%.*s [%.*s%.*s] %3.0f %% %s left",
            (int)(name <= most ? strlen(p->what) : sg_text_line(p->what, most)), p->what, filled,
            "########################", bar - filled, "........................", 100 * share, left);
    fflush(stderr);
    p->shown = app.line_open = true;
}

void sg_progress_end(struct sg_progress *p) {
    if (p->shown && app.line_open) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    app.line_open = p->shown = false;
}

void sg_progress_show(struct sg_progress *p, const char *what, double done, double total) {
    if (!p->what || strcmp(p->what, what) != 0) {
        sg_progress_end(p);
        *p = (struct sg_progress){.what = what, .total = total, .bar = isatty(STDERR_FILENO)};
        p->started_s = p->last_s = sg_clock_s();
    }
    update(p, done);
}

bool sg_stdout_is_terminal(void) {
    return isatty(STDOUT_FILENO);
}

int sg_terminal_columns(int fd) {
    enum { LEAST = 20, MOST = 10000, USUAL = 80 };
    const char *given = getenv("COLUMNS");
    struct winsize size;
    int64_t columns;
    if (given && sg_parse_integer(&columns, given, LEAST, MOST))
        return (int)columns;
    if (!isatty(fd))
        return 0;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= LEAST ? size.ws_col : USUAL;
}

bool sg_color(int fd, const char *choice) {
    if (strcmp(choice, "auto") != 0)
        return strcmp(choice, "always") == 0;
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fd) && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}
