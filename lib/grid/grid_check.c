/* grid_check.c: runs one process that checks the cells against their data before the first of them runs. So a mistake
 * is reported once, and data and optimum are prepared once. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "grid_private.h"
#include "grid_process.h"
#include "sg_grid.h"
#include "sg_plugins.h"

enum { TICK_MS = 100, REAP_MS = 2, CHECK_WORDS = 16, MOST_METHODS = 64 };

/* The methods of the cells, each once. Returns 0 if they are more than options can name; then all are checked. */
static size_t methods_of(const char *name[MOST_METHODS], const struct sg_cell *cells, size_t count) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        bool known = false;
        for (size_t j = 0; j < n && !known; j++)
            known = strcmp(name[j], cells[i].name) == 0;
        if (!known && n == MOST_METHODS)
            return 0;
        if (!known)
            name[n++] = cells[i].name;
    }
    return n;
}

size_t grid_put_changes(const char **word, const struct sg_grid_options *o) {
    size_t n = 0;
    for (size_t i = 0; i < o->n_set; i++) {
        word[n++] = "--set";
        word[n++] = o->set[i];
    }
    for (size_t i = 0; sg_plugin_path(i) != NULL; i++) {
        word[n++] = "--plugin";
        word[n++] = sg_plugin_path(i);
    }
    return n;
}

/* Makes the command line of the check, to be freed; `threads` is its room for a number. */
static char **command_line(const struct sg_cell *cells, size_t count, const struct sg_grid_options *o,
                           char threads[24]) {
    const char *method[MOST_METHODS];
    const size_t n_methods = methods_of(method, cells, count);
    const char *optional[][2] = {{"--data", o->data_dir}, {"--threads", o->threads > 0 ? threads : NULL}};
    const char **word = calloc(CHECK_WORDS + 2 * (n_methods + o->n_set + sg_plugin_count()), sizeof *word);
    size_t n = 0;
    if (!word)
        return NULL;
    snprintf(threads, 24, "%d", o->threads);
    word[n++] = o->program;
    word[n++] = o->recipe_path;
    word[n++] = "--check";
    word[n++] = "--quiet";
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        if (optional[i][1]) {
            word[n++] = optional[i][0];
            word[n++] = optional[i][1];
        }
    for (size_t i = 0; i < n_methods; i++) {
        word[n++] = "--method";
        word[n++] = method[i];
    }
    grid_put_changes(word + n, o);
    return (char **)(uintptr_t)word; /* execvp takes no const words, but does not change them */
}

/* Takes the lines of the check without the program's name at their front, because another program reports them. */
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
        struct pollfd news[] = {{.fd = p->progress, .events = POLLIN}, {.fd = p->errors, .events = POLLIN}};
        const int signal_number = o->stop ? o->stop() : 0;
        if (signal_number && !stopping) {
            stopping = signal_number;
            sg_process_stop(p, SIGTERM, true);
        }
        if (o->changed)
            o->changed(o->arg, cells, outcomes, count);
        poll(news, 2, p->progress < 0 && p->errors < 0 ? REAP_MS : TICK_MS);
        sg_process_read(p);
    }
    return stopping;
}

sg_status sg_grid_check(const struct sg_cell_outcome *outcomes, const struct sg_cell *cells, size_t count,
                        const struct sg_grid_options *options, struct sg_error *err) {
    struct sg_process process = {.pid = 0};
    char threads[24], messages[sizeof err->msg];
    char **argv = command_line(cells, count, options, threads);
    if (!argv)
        return sg_fail_memory(err, "the check of the recipe");
    sg_status status = sg_process_start(&process, argv, err);
    free(argv);
    if (status != SG_OK)
        return status;
    const int stopping = wait_for(&process, outcomes, cells, count, options), how = process.wait_status;
    if (stopping)
        return sg_fail(err, SG_ERR_INTERRUPTED, "stopped by a signal (%s) before the first cell", strsignal(stopping));
    take_messages(messages, sizeof messages, sg_process_last_words(&process));
    if (WIFEXITED(how) && WEXITSTATUS(how) == 0)
        return SG_OK;
    if (WIFEXITED(how) && WEXITSTATUS(how) == 2)
        return sg_fail(err, SG_ERR_ARGUMENT, "%s", messages);
    if (WIFSIGNALED(how))
        return sg_fail(err, SG_ERR_IO, "the check of the recipe was killed by signal %d (%s)%s%.800s", WTERMSIG(how),
                       strsignal(WTERMSIG(how)), *messages ? "\n" : "", messages);
    return sg_fail(err, SG_ERR_IO, "the check of the recipe failed: exit status %d%s%.800s", WEXITSTATUS(how),
                   *messages ? "\n" : "", messages);
}
