/* grid_check.c: runs one process that checks the cells against their data before the first of them runs. So a mistake
 * is reported once, and data and optimum are prepared once. */
/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "grid_private.h"
#include "grid_process.h"
#include "sg_terminal.h"

enum { CHECK_WORDS = 10, MOST_METHODS = 64 };

/* Makes the command line, to be freed, of the check of the cells' methods. If they are more than options can name, all
 * methods of the recipe are checked. */
static char **command_line(const struct sg_cell *cells, size_t count, const struct sg_grid_options *o, int jobs,
                           char threads[24], char at_once[24]) {
    const char *word[CHECK_WORDS + 2 * MOST_METHODS] = {o->program, o->recipe_path, "--check"};
    size_t first = 3, n;
    if (o->threads > 0) {
        snprintf(threads, 24, "%d", o->threads);
        word[first++] = "--threads";
        word[first++] = threads;
    }
    if (jobs > 0) {
        snprintf(at_once, 24, "%d", jobs);
        word[first++] = "--at-once";
        word[first++] = at_once;
    }
    if (o->device) {
        word[first++] = "--device";
        word[first++] = o->device;
    }
    n = first;
    for (size_t i = 0; i < count; i++) {
        bool known = false;
        for (size_t w = first; w < n && !known; w += 2)
            known = strcmp(word[w + 1], cells[i].name) == 0;
        if (known)
            continue;
        if (n == first + 2 * MOST_METHODS)
            return grid_command_line(word, first, o);
        word[n++] = "--method";
        word[n++] = cells[i].name;
    }
    return grid_command_line(word, n, o);
}

/* Copies the lines of the check without the program's name at their front, because another program reports them. */
static void take_messages(char *out, size_t size, const char *words) {
    static const char name[] = "sparsetrain: ";
    size_t used = 0;
    out[0] = '\0';
    for (const char *line = words; *line && used < size;) {
        const size_t length = strcspn(line, "\n");
        const char *text = strncmp(line, name, sizeof name - 1) == 0 ? line + sizeof name - 1 : line;
        used +=
            (size_t)snprintf(out + used, size - used, "%s%.*s", used ? "\n" : "", (int)(line + length - text), text);
        line += length + (line[length] == '\n');
    }
}

/* Waits until the process is over. A signal that asks this process to stop is passed on. Returns the signal, or 0. */
static int wait_for(struct sg_process *p, const struct sg_cell_outcome *outcomes, const struct sg_cell *cells,
                    size_t count, const struct sg_grid_options *o) {
    int stopping = 0;
    while (!sg_process_ended(p)) {
        const int signal_number = o->stop ? o->stop() : 0;
        if (signal_number && !stopping) {
            stopping = signal_number;
            sg_process_stop(p, SIGTERM, true);
        }
        if (o->changed)
            o->changed(o->arg, cells, outcomes, count);
        sg_process_wait(p, 1);
    }
    return stopping;
}

sg_status sg_grid_check(const struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                        const struct sg_grid_options *options, int jobs, struct sg_error *err) {
    struct sg_process process = {.pid = 0};
    char threads[24], at_once[24], messages[sizeof err->msg];
    char **argv = command_line(cells, count, options, jobs, threads, at_once);
    sg_status status = sg_process_start(&process, argv, err);
    free(argv);
    if (status != SG_OK)
        return status;
    const int stopping = wait_for(&process, outcomes, cells, count, options), how = process.wait_status;
    if (stopping)
        return sg_fail(err, SG_ERR_INTERRUPTED, "stopped by a signal (%s) before the first cell", strsignal(stopping));
    take_messages(messages, sizeof messages, sg_process_last_words(&process));
    if (WIFEXITED(how) && WEXITSTATUS(how) == 0) {
        if (*messages)
            sg_log_note("%s", messages); /* what the data are */
        return SG_OK;
    }
    if (WIFEXITED(how) && WEXITSTATUS(how) == 2)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s", messages);
    if (WIFSIGNALED(how))
        return sg_fail(err, SG_ERR_IO, "the check of the recipe was killed by signal %d (%s)%s%.800s", WTERMSIG(how),
                       strsignal(WTERMSIG(how)), *messages ? "\n" : "", messages);
    return sg_fail(err, SG_ERR_IO, "the check of the recipe failed: exit status %d%s%.800s", WEXITSTATUS(how),
                   *messages ? "\n" : "", messages);
}
