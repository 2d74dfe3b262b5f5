/* terminal.c: what programs say, signals, clock and progress. */
#include "sg_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "sg_json.h"

/* The only process-wide state of the library: who is speaking, and what a signal asked. */
static struct {
    const char *program;
    int rank, size;
    enum sg_verbosity verbosity;
    bool fake_clock;
    bool line_open;  /* a progress bar stands on stderr */
    bool said_error; /* somebody knows already that it went wrong */
} app = {"sparsegrad", 0, 1, SG_NORMAL, false, false, false};

static volatile sig_atomic_t pending_signal;

/* Opening takes the lowest free number. Each is open the other way round, so that using it is an error. */
static void occupy_standard_descriptors(void) {
    static const int way[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", way[fd]) != fd)
            _exit(SG_EXIT_FAILED);
}

void sg_app_start(const char *program) {
    occupy_standard_descriptors();
    sg_json_guard();
    app.program = program;
    prctl(PR_SET_NAME, program); /* "exe" after sg_app_wait_politely */
    signal(SIGPIPE, SIG_IGN);    /* a closed pipe shows as a write error, handled in sg_app_finish */
}

void sg_app_wait_politely(char **argv) {
    if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY") || setenv("GOMP_SPINCOUNT", "5000", 0) != 0)
        return;
    execv("/proc/self/exe", argv); /* where that fails, waiting is merely rude */
}

void sg_app_set_rank(int rank, int size) {
    app.rank = rank;
    app.size = size;
}

void sg_app_set_verbosity(enum sg_verbosity v) {
    app.verbosity = v;
}

enum sg_verbosity sg_app_verbosity(void) {
    return app.verbosity;
}

void sg_app_set_fake_clock(bool fake) {
    app.fake_clock = fake;
}

static void say(const char *kind, const char *format, va_list args) {
    char text[4096], rank[32] = "";
    vsnprintf(text, sizeof text, format, args);
    if (app.size > 1)
        snprintf(rank, sizeof rank, "[rank %d] ", app.rank);
    fflush(stdout);
    if (app.line_open)
        fputs("\r\033[K", stderr);
    app.line_open = false;
    /* Several findings in one message stand on lines of their own. */
    for (char *line = text; line;) {
        char *next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        fprintf(stderr, "%s: %s%s%s\n", app.program, rank, kind, line);
        line = next;
    }
}

void sg_log_error(const char *format, ...) {
    app.said_error = true;
    va_list args;
    va_start(args, format);
    say("", format, args);
    va_end(args);
}

void sg_log_warning(const char *format, ...) {
    if (app.rank > 0)
        return;
    va_list args;
    va_start(args, format);
    say("warning: ", format, args);
    va_end(args);
}

void sg_log_note(const char *format, ...) {
    if (app.verbosity < SG_NORMAL || app.rank > 0)
        return;
    va_list args;
    va_start(args, format);
    say("", format, args);
    va_end(args);
}

void sg_log_detail(const char *format, ...) {
    if (app.verbosity < SG_VERBOSE)
        return;
    va_list args;
    va_start(args, format);
    say("", format, args);
    va_end(args);
}

sg_status sg_app_print_json(cJSON *take_json, const char *what, struct sg_error *err) {
    char *text = sg_json_text(take_json, true);
    cJSON_Delete(take_json);
    if (!text)
        return sg_fail_memory(err, what);
    fputs(text, stdout);
    free(text);
    return SG_OK;
}

int sg_exit_code(sg_status status) {
    if (status == SG_OK)
        return SG_EXIT_OK;
    if (status == SG_ERR_INTERRUPTED && pending_signal)
        return 128 + pending_signal;
    return status == SG_ERR_ARGUMENT ? SG_EXIT_USAGE : SG_EXIT_FAILED;
}

/* An earlier write may have failed and its errno be gone: a pipe without reader still shows it. */
bool sg_stdout_is_abandoned(void) {
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

int sg_app_finish(int code) {
    bool gone = sg_stdout_is_abandoned(), failed = ferror(stdout) != 0;
    bool waiting =
        __fpending(stdout) > 0; /* started with a closed stdout is an error only if there is something to say */
    /* A stream forgets why it failed; one more byte asks again. */
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

double sg_clock_s(void) {
    if (app.fake_clock)
        return 0;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void sg_clock_utc(char out[21]) {
    time_t now = app.fake_clock ? 0 : time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(out, 21, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* A launcher may bind a process to its share of the cores, or leave all of them to everybody. */
int sg_cores(int processes) {
    cpu_set_t set;
    long share = sysconf(_SC_NPROCESSORS_ONLN) / processes;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) < share)
        share = CPU_COUNT(&set);
    return share > 1 ? (int)share : 1;
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
    enum { WIDTH = 24 };
    int filled = (int)(share * WIDTH);
    fprintf(stderr, "\r\033[K%s [%.*s%.*s] %3.0f %% %s left", p->what, filled, "########################",
            WIDTH - filled, "........................", 100 * share, left);
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

static void on_signal(int number) {
    pending_signal = number;
}

void sg_signals_catch(void) {
    /* SA_RESETHAND: the second signal of a kind does what it always did. */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int sg_signal_pending(void) {
    return pending_signal;
}

bool sg_stdout_is_terminal(void) {
    return isatty(STDOUT_FILENO);
}

int sg_terminal_columns(void) {
    struct winsize size;
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool sg_color(int fd, const char *choice) {
    if (strcmp(choice, "auto") != 0)
        return strcmp(choice, "always") == 0;
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fd) && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}
