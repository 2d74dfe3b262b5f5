/* grid_run.c: runs the cells of a grid as processes, a limited number at once. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "grid_private.h"
#include "grid_process.h"
#include "sg_clock.h"
#include "sg_debug.h"
#include "sg_file.h"
#include "sg_host.h"
#include "sg_memory.h"
#include "sg_plugins.h"
#include "sg_terminal.h"
#include "sg_text.h"

enum { LAUNCHER_WORDS = 32, CELL_WORDS = 24 };

/* Fill in jobs and threads where they are 0 (threads stays 0 under a launcher), for `count` cells to run. */
static void share_cores(struct sg_grid_options *o, size_t count) {
    int most = count < INT16_MAX ? (int)count : INT16_MAX, share;
    const bool on_gpu = o->device && strcmp(o->device, "cpu") != 0; /* which cells would only take turns on */
    if (o->jobs == 0 && !o->launcher && !on_gpu) {
        share = sg_cores(1) / (o->threads > 0 ? o->threads : 1);
        o->jobs = share < most ? share : most;
    }
    if (o->jobs < 1)
        o->jobs = 1;
    SG_ASSERT(o->jobs >= 1);
    if (o->threads == 0 && !o->launcher) {
        share = sg_cores(1) / (o->jobs < most ? o->jobs : most > 0 ? most : 1);
        o->threads = share < 1 ? 1 : share < sg_threads(1) ? share : sg_threads(1);
    }
}

/* How many cells will run at once in this host's memory; 0 = that is not to be checked, or a launcher decides where
 * they run. */
static int at_once(const struct sg_grid_options *o, size_t count) {
    struct sg_grid_options planned = *o;
    share_cores(&planned, count);
    const bool on_gpu = o->device && strcmp(o->device, "cpu") != 0;
    return o->any_memory || o->launcher || on_gpu ? 0 : (size_t)planned.jobs < count ? planned.jobs : (int)count;
}

/* ---- the pool ---- */

/* The cell on which a process works. */
struct slot {
    size_t cell;
    double started_s;
    ino_t before; /* the inode of the series file when the cell started; 0 = there was none */
};

struct pool {
    const struct sg_cell *cells;
    struct sg_cell_outcome *outcomes;
    size_t count;
    const struct sg_grid_options *options;
    struct sg_process *process; /* [jobs] */
    struct slot *slot;          /* [jobs] of each process */
    char *launcher;             /* cut into words */
    size_t running;
    int lock;     /* of the folder */
    int stopping; /* signal number */
    bool begun;   /* a cell was started */
    bool time_up; /* the time limit was over at the start, or a cell stopped at it */
    bool full;    /* a cell failed, and the disk of the folder has no room: each further cell would fail, too */
};

static ino_t file_number(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 ? info.st_ino : 0;
}

/* Seconds until the time limit; infinity if there is none. */
static double time_left(const struct sg_grid_options *o) {
    return o->stop_at_s > 0 ? o->stop_at_s - sg_clock_s() : INFINITY;
}

/* True if there is time to start a cell. Its set-up is assumed to take as long as the slowest so far. The first cell is
 * always started, so that there is progress even if checking the cells took all the time. */
static bool time_to_start(const struct pool *p) {
    double setup_s = 0;
    for (size_t i = 0; i < p->count; i++)
        setup_s = fmax(setup_s, sg_json_number(p->outcomes[i].run.run, "setup_s", 0));
    return !p->time_up && !p->full && (!p->begun || time_left(p->options) > setup_s);
}

/* The outcome of the cell from which this one copies k; NULL = it is not among the cells. */
static const struct sg_cell_outcome *source_of(const struct pool *p, size_t cell) {
    const size_t source = grid_source(p->cells, p->count, cell);
    return source < p->count ? &p->outcomes[source] : NULL;
}

/* Makes the command line of a cell, to be freed. Its numbers need room. */
static char **command_line(const struct pool *p, size_t cell, char seed[24], char threads[24], char seconds[32]) {
    const struct sg_grid_options *o = p->options;
    const char *word[LAUNCHER_WORDS + CELL_WORDS];
    size_t n = 0;
    for (const char *w = p->launcher; w && *w; w += strlen(w) + 1)
        word[n++] = w;
    snprintf(seed, 24, "%" PRIu64, p->cells[cell].study);
    snprintf(threads, 24, "%d", o->threads);
    snprintf(seconds, 32, "%.1f", fmax(time_left(o), 0));
    const char *fixed[] = {o->program, o->recipe_path, o->fresh ? "--no-resume" : "--resume", "--force"};
    memcpy(word + n, fixed, sizeof fixed);
    n += sizeof fixed / sizeof *fixed;
    const char *option[][2] = {{"--k-from", p->cells[cell].source ? source_of(p, cell)->path : NULL},
                               {"--method", p->cells[cell].label},
                               {"--seed", seed},
                               {"-o", p->outcomes[cell].path},
                               {"--progress-fd", "1"},
                               {"--time-limit", o->stop_at_s > 0 ? seconds : NULL},
                               {"--device", o->device},
                               {"--record-gradients", o->record_gradients},
                               {"--threads", o->threads > 0 ? threads : NULL}};
    for (size_t i = 0; i < sizeof option / sizeof *option; i++)
        if (option[i][1]) {
            word[n++] = option[i][0];
            word[n++] = option[i][1];
        }
    if (o->any_memory)
        word[n++] = "--no-memory-check";
    SG_ASSERT(n <= sizeof word / sizeof *word);
    return grid_command_line(word, n, o);
}

static void fail_cell(struct sg_cell_outcome *o, const struct sg_error *err) {
    o->state = SG_CELL_FAILED;
    o->message = sg_strdup(err->msg);
}

static void start_cell(struct pool *p, int job, size_t cell) {
    struct slot *s = &p->slot[job];
    SG_ASSERT(p->process[job].pid == 0 && p->outcomes[cell].state == SG_CELL_WAITING);
    struct sg_cell_outcome *o = &p->outcomes[cell];
    struct sg_error err;
    char seed[24], threads[24], seconds[32];
    char **argv = command_line(p, cell, seed, threads, seconds);
    sg_status status = sg_file_make_way(o->path, &err);
    SG_TRACE(2, "start %s, seed %s, into %s", p->cells[cell].label, seed, o->path);
    s->cell = cell;
    s->started_s = sg_clock_s();
    s->before = file_number(o->path);
    SG_DO(status, sg_process_start(&p->process[job], argv, &err));
    free(argv);
    if (status == SG_OK) {
        o->state = SG_CELL_RUNNING;
        p->running++;
        p->begun = true;
    } else {
        fail_cell(o, &err);
        sg_grid_unlock_cell(p->lock, &p->cells[cell]);
    }
}

/* True if another process has finished the cell since sg_grid_look. Then it is reused. */
static bool finished_elsewhere(struct pool *p, size_t cell) {
    struct sg_cell_outcome *o = &p->outcomes[cell], now = {.state = SG_CELL_WAITING};
    struct sg_error unused;
    if (p->options->fresh || (!o->elsewhere && file_number(o->path) == o->file))
        return false;
    const bool finished =
        sg_grid_look(&now, &p->cells[cell], 1, p->options, &unused) == SG_OK && now.state == SG_CELL_REUSED;
    if (finished) {
        const struct sg_cell_outcome before = *o;
        *o = now;
        now = before;
    }
    sg_grid_outcomes_free(&now, 1);
    return finished;
}

/* True if the cell from which this one copies k is finished, or if it copies none. A cell that waits in vain fails. */
static bool has_source(struct pool *p, size_t cell) {
    if (!p->cells[cell].source)
        return true;
    struct sg_error err;
    const struct sg_cell_outcome *source = source_of(p, cell);
    const char *other = sg_node_string(p->cells[cell].method, "k-from.method", "");
    if (source && (source->state == SG_CELL_DONE || source->state == SG_CELL_REUSED))
        return true;
    if (source && (source->state == SG_CELL_WAITING || source->state == SG_CELL_RUNNING))
        return false;
    sg_fail(&err, SG_ERR_ARGUMENT,
            source ? "it copies k from '%s', which did not finish"
                   : "it copies k from '%s', which is not run here (add --method)",
            other);
    fail_cell(&p->outcomes[cell], &err);
    return false;
}

/* Takes the cell's lock if no other process has it. Returns true if the cell is to be started. */
static bool claim(struct pool *p, size_t cell) {
    struct sg_cell_outcome *o = &p->outcomes[cell];
    struct sg_error err;
    bool ours;
    if (sg_grid_lock_cell(&ours, p->lock, &p->cells[cell], &err) != SG_OK) {
        fail_cell(o, &err);
        return false;
    }
    if (ours && finished_elsewhere(p, cell)) {
        sg_grid_unlock_cell(p->lock, &p->cells[cell]);
        return false;
    }
    o->elsewhere = !ours;
    return ours;
}

static void fill_slots(struct pool *p) {
    size_t cell = 0;
    for (int i = 0; i < p->options->jobs && !p->stopping && time_to_start(p); i++) {
        if (p->process[i].pid != 0)
            continue;
        while (cell < p->count &&
               !(p->outcomes[cell].state == SG_CELL_WAITING && has_source(p, cell) && claim(p, cell)))
            cell++;
        if (cell < p->count)
            start_cell(p, i, cell++);
    }
}

/* True if not even a cell's header fits on the disk of the folder. */
static bool disk_is_full(const char *folder) {
    enum { LEAST = 4096 };
    struct statvfs disk;
    return statvfs(folder, &disk) == 0 && (double)disk.f_bavail * (double)disk.f_frsize < LEAST;
}

/* Sets the state of a cell whose child has ended. Only a series that this child wrote counts. */
static void conclude(struct pool *p, int job) {
    const struct slot *s = &p->slot[job];
    SG_ASSERT(p->process[job].pid == 0 && p->outcomes[s->cell].state == SG_CELL_RUNNING);
    struct sg_cell_outcome *o = &p->outcomes[s->cell];
    int status = p->process[job].wait_status, code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    const char *words = sg_process_last_words(&p->process[job]);
    ino_t now = file_number(o->path);
    SG_TRACE(2, "%s ended: exit code %d, series %s", o->path, code,
             now == 0           ? "missing"
             : now == s->before ? "as before"
                                : "new");
    struct sg_error err = {.status = SG_OK};
    char identity[SG_CELL_IDENTITY];
    o->elapsed_s = sg_clock_s() - s->started_s;
    o->state = SG_CELL_FAILED;
    if ((code == 0 || code == 1) && now != 0 && now != s->before &&
        sg_run_read_finished(&o->run, o->path,
                             &(struct sg_run_wanted){.cell_key = p->cells[s->cell].key,
                                                     .identity = sg_cell_identity(identity, &p->cells[s->cell])},
                             NULL, &err) == SG_OK) {
        bool diverged = strcmp(sg_json_string(o->run.end, "status", ""), "diverged") == 0;
        o->state = diverged ? SG_CELL_DIVERGED : SG_CELL_DONE;
        o->done = 1;
        words = diverged ? sg_json_string(o->run.end, "message", words) : words;
        o->message = *words ? sg_strdup(words) : NULL;
    } else if ((p->stopping || code == SG_EXIT_TIME) && err.status == SG_OK) {
        /* After a signal every exit code counts, because launchers have exit codes of their own. */
        p->time_up = p->time_up || code == SG_EXIT_TIME;
        o->state = SG_CELL_WAITING;
        o->message = sg_strdup("interrupted");
    } else {
        char reason[64] = "ended without writing its series";
        if (WIFSIGNALED(status))
            snprintf(reason, sizeof reason, "killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
        else if (code != 0)
            snprintf(reason, sizeof reason, "exit status %d", code);
        p->full = p->full || disk_is_full(p->options->folder);
        o->message = sg_format("%s%s%s", err.status != SG_OK ? err.msg : reason, *words ? "\n" : "", words);
    }
}

static void take_news(struct pool *p) {
    sg_process_wait(p->process, (size_t)p->options->jobs);
    for (int i = 0; i < p->options->jobs; i++) {
        struct sg_process *process = &p->process[i];
        const size_t cell = p->slot[i].cell;
        if (process->pid == 0)
            continue;
        p->outcomes[cell].done = process->done;
        p->outcomes[cell].elapsed_s = sg_clock_s() - p->slot[i].started_s;
        if (sg_process_ended(process)) {
            SG_ASSERT(p->running > 0);
            p->running--;
            conclude(p, i);
            sg_grid_unlock_cell(p->lock, &p->cells[cell]);
        }
    }
}

/* Asks the cells to stop after any signal. A second signal ends this process, and the children then get SIGTERM and
 * end, too. A launcher that passes signals on gets it alone, without its process group. */
static void ask_to_stop(struct pool *p, int signal_number) {
    const int ask = sg_grid_stop_signal(p->options->launcher);
    p->stopping = signal_number;
    for (int i = 0; i < p->options->jobs; i++)
        if (p->process[i].pid != 0)
            sg_process_stop(&p->process[i], ask, ask == SIGTERM);
}

static bool any_waiting(const struct pool *p) {
    size_t i = 0;
    while (i < p->count && p->outcomes[i].state != SG_CELL_WAITING)
        i++;
    return i < p->count;
}

static void tell(const struct pool *p) {
    if (p->options->changed)
        p->options->changed(p->options->arg, p->cells, p->outcomes, p->count);
}

static sg_status run_pool(struct pool *p, struct sg_error *err) {
    const struct sg_grid_options *o = p->options;
    for (;;) {
        int signal_number = o->stop ? o->stop() : 0;
        if (signal_number && !p->stopping)
            ask_to_stop(p, signal_number);
        fill_slots(p);
        tell(p);
        if (p->running == 0 && (p->stopping || !time_to_start(p) || !any_waiting(p)))
            break;
        take_news(p);
    }
    size_t open = 0;
    for (size_t i = 0; i < p->count; i++)
        open += p->outcomes[i].state == SG_CELL_WAITING;
    if (p->full)
        return sg_fail(err, SG_ERR_IO,
                       "stopped because the disk of %s is full, with %zu of %zu cells unfinished: make room "
                       "and give the same command again",
                       p->options->folder, open, p->count);
    char why[80] = "at the time limit";
    if (p->stopping)
        snprintf(why, sizeof why, "by a signal (%.48s)", strsignal(p->stopping));
    return open > 0
               ? sg_fail(err, SG_ERR_INTERRUPTED, "stopped %s with %zu of %zu cells unfinished", why, open, p->count)
               : SG_OK;
}

/* Cuts the launcher at blanks into words that end in NUL; the last one is empty. */
static sg_status cut_launcher(char **out, const char *launcher, struct sg_error *err) {
    size_t length = 0, n = 0;
    char *words = sg_calloc(strlen(launcher) + 2, 1);
    for (const char *c = launcher; *c; c++)
        if (*c != ' ' && *c != '\t')
            words[length++] = *c;
        else if (length > 0 && words[length - 1] != '\0')
            length++;
    for (char *w = words; *w; w += strlen(w) + 1)
        n++;
    *out = words;
    return n > 0 && n <= LAUNCHER_WORDS
               ? SG_OK
               : sg_fail(err, SG_ERR_ARGUMENT, "the launcher must be 1 to %d words: '%s'", LAUNCHER_WORDS, launcher);
}

sg_status sg_grid_run(struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                      struct sg_grid_options *options, struct sg_error *err) {
    struct pool pool = {.cells = cells, .outcomes = outcomes, .count = count, .options = options, .lock = -1};
    size_t missing = 0;
    pool.time_up = time_left(options) <= 0;
    sg_status status = options->launcher ? cut_launcher(&pool.launcher, options->launcher, err) : SG_OK;
    SG_DO(status, sg_folder_make(options->folder, err));
    SG_DO(status, sg_grid_lock(&pool.lock, options->folder, err));
    SG_DO(status, sg_grid_look(outcomes, cells, count, options, err));
    if (status != SG_OK)
        goto out;
    for (size_t i = 0; i < count; i++)
        missing += outcomes[i].state == SG_CELL_WAITING;
    status = missing > 0 && !pool.time_up
                 ? sg_grid_check(outcomes, cells, count, options, at_once(options, missing), err)
                 : SG_OK;
    if (status != SG_OK)
        goto out;
    share_cores(options, missing);
    pool.process = sg_calloc((size_t)options->jobs, sizeof *pool.process);
    pool.slot = sg_calloc((size_t)options->jobs, sizeof *pool.slot);
    status = run_pool(&pool, err);
    if (status == SG_OK || status == SG_ERR_INTERRUPTED) {
        struct sg_error stopped = *err;
        sg_status same = sg_grid_same_data(cells, outcomes, count, err);
        if (same == SG_OK)
            *err = stopped;
        else
            status = same;
    }
out:
    free(pool.process);
    free(pool.slot);
    free(pool.launcher);
    if (pool.lock >= 0)
        close(pool.lock);
    return status;
}

const char *sg_grid_status(const struct sg_cell_outcome *o) {
    switch (o->state) {
    case SG_CELL_DONE:
    case SG_CELL_REUSED:
    case SG_CELL_DIVERGED:
        return strcmp(sg_json_string(o->run.end, "status", ""), "ok") == 0 ? "ok" : "diverged";
    case SG_CELL_FAILED:
        return "failed";
    case SG_CELL_RUNNING:
        return "running";
    case SG_CELL_WAITING:
        break;
    }
    return o->message || o->run.header ? "interrupted" : "not_run"; /* stopped now, or earlier */
}

double sg_grid_value(const struct sg_cell_outcome *o, const char *metric, const struct sg_node *at,
                     char why[SG_WHY_CHARS]) {
    return sg_frame_value(&(struct sg_frame_seed){sg_grid_status(o), &o->run}, metric, at, why);
}
