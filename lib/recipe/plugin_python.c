/* plugin_python.c: a compressor that is a file of Python, as a plug-in. A helper process, plugin_server.py, runs it.
 *
 * A method asks the helper once for each message of a worker, over a socket, and waits for the answer. Each process of
 * the program has a helper of its own, which it starts with its first message: a process that is forked later does not
 * write into the same socket. A helper ends when the socket is closed, with the program at the latest.
 *
 *     file -> program, when it begins    uint64 status, 0 = fine; uint64 length; the declaration, or what went wrong
 *     program -> file                    struct request; offset, rows, parameters, knobs, state, p, and g of a selector
 *     file -> program                    uint64 status, as above, with text; uint64 counts of the layers; double bits;
 *                                        state; positions; values of a coder */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin_server.h"
#include "recipe_private.h"
#include "sg_compressor_plugin.h"
#include "sg_memory.h"

enum { MOST_PARAMS = 16, STATE = 8 }; /* STATE: numbers a layer that a worker keeps */

struct python_plugin {
    struct sg_compressor_ops ops; /* first, so that sg_shared.ops leads here */
    struct sg_compressor_plugin rows;
    const struct sg_compressor_ops *compressors[2];
    struct sg_parameter params[MOST_PARAMS];
    char *path, *text; /* text: the declaration, in which names and help lie */
    pthread_mutex_t lock;
    int socket; /* to the helper of the process `owner`; -1 = it has none */
    pid_t owner;
};

struct request {
    uint64_t layers, params, d, seed, step, worker, has_gradient;
};

/* ---- the helper ---- */

static bool put(int to, const void *from, size_t bytes) {
    for (const char *at = from; bytes > 0;) {
        const ssize_t n = send(to, at, bytes, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool get(int from, void *to, size_t bytes) {
    for (char *at = to; bytes > 0;) {
        const ssize_t n = recv(from, at, bytes, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* Reads a status with its text, which is allocated. *text is NULL if the helper ended. */
static bool get_text(int from, char **text) {
    uint64_t head[2];
    *text = NULL;
    if (!get(from, head, sizeof head) || head[1] > 1 << 20)
        return false;
    *text = sg_calloc(1, head[1] + 1);
    if (!get(from, *text, head[1])) {
        free(*text);
        *text = NULL;
    }
    return *text && head[0] == 0;
}

/* Starts a helper; standard input is its socket, and what it prints goes to standard error. Returns -1 if it cannot. */
static int start(const char *path, pid_t *pid) {
    extern char **environ;
    const char *python = getenv("SPARSEGRAD_PYTHON");
    char *const argv[] = {(char *)(uintptr_t)(python ? python : "python3"), "-c", (char *)(uintptr_t)plugin_server,
                          (char *)(uintptr_t)path, NULL};
    int pair[2];
    posix_spawn_file_actions_t actions;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pair[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    const int failed = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pair[1]);
    if (failed != 0)
        close(pair[0]);
    return failed != 0 ? -1 : pair[0];
}

/* The next message begins with a new helper. */
static void hang_up(struct python_plugin *p) {
    if (p->socket >= 0)
        close(p->socket);
    p->socket = -1;
}

/* The socket to the helper of this process; -1 if there is none. */
static int connected(struct python_plugin *p) {
    char *text = NULL;
    pid_t pid;
    if (p->owner != getpid()) /* that of the process that forked this one */
        hang_up(p);
    if (p->socket >= 0)
        return p->socket;
    p->owner = getpid();
    p->socket = start(p->path, &pid);
    if (p->socket >= 0 && !get_text(p->socket, &text))
        hang_up(p);
    free(text);
    return p->socket;
}

/* ---- a message ---- */

/* Asks for the message of p: counts of the layers, positions, and values if a gradient is not given. */
static int ask(struct sg_worker *w, const float *p, const float *g, uint32_t *index, float *value, size_t *count,
               double *bits) {
    const struct sg_shared *s = w->shared;
    struct python_plugin *plugin = (struct python_plugin *)(uintptr_t)s->ops;
    const size_t layers = s->layout.n_layers, d = s->layout.offset[layers];
    const struct request request = {layers, s->ops->n_params, d, s->seed, s->step, w->number, g != NULL};
    uint64_t sent = 0;
    char *text = NULL;
    pthread_mutex_lock(&plugin->lock);
    const int to = connected(plugin);
    bool good = to >= 0 && put(to, &request, sizeof request) &&
                put(to, s->layout.offset, (layers + 1) * sizeof *s->layout.offset);
    for (size_t l = 0; good && l < layers; l++) {
        const uint64_t rows = s->layout.rows ? s->layout.rows[l] : 1;
        good = put(to, &rows, sizeof rows);
    }
    good = good && put(to, s->param, s->ops->n_params * sizeof *s->param) &&
           put(to, s->knob, (s->ops->n_params > 0 ? layers : 0) * sizeof *s->knob) &&
           put(to, w->state, STATE * layers * sizeof *w->state) && put(to, p, d * sizeof *p) &&
           (!g || put(to, g, d * sizeof *g)) && get_text(to, &text);
    free(text);
    for (size_t l = 0; good && l < layers; l++) {
        uint64_t n;
        good = get(to, &n, sizeof n) && (sent += n) <= d;
        count[l] = (size_t)n;
    }
    good = good && get(to, bits, sizeof *bits) && get(to, w->state, STATE * layers * sizeof *w->state) &&
           get(to, index, sent * sizeof *index) && (g || get(to, value, sent * sizeof *value));
    if (!good)
        hang_up(plugin);
    pthread_mutex_unlock(&plugin->lock);
    return good ? SG_KERNEL_OK : SG_COMPRESSOR_FAILED;
}

static void encode(struct sg_worker *w, unsigned round, const float *p, struct sg_message *out) {
    const struct sg_layout *layout = &w->shared->layout;
    size_t sent = 0;
    double bits = 0;
    (void)round;
    w->status = ask(w, p, NULL, w->index, w->data, w->count, &bits);
    for (size_t l = 0; w->status == SG_KERNEL_OK && l < layout->n_layers; l++)
        sent += w->count[l];
    *out = (struct sg_message){.code = &sg_code_fp32,
                               .n = layout->offset[layout->n_layers],
                               .count = sent,
                               .index = w->shared->ops->traits & SG_TRAIT_DENSE ? NULL : w->index,
                               .data = w->data,
                               .bytes = sent * sizeof(float),
                               .bits = bits,
                               .layer_count = w->count};
}

static int select_elements(struct sg_worker *w, struct sg_select *s) {
    float *p = w->scratch;
    double bits;
    for (size_t l = 0; l < s->n_layers; l++)
        for (size_t i = s->offset[l]; i < s->offset[l + 1]; i++) {
            const float g = s->scale * s->g[i];
            p[i] = s->e ? s->decay * s->e[i] + g : g;
            if (!isfinite(p[i])) {
                s->count[0] = l;
                return SG_KERNEL_NONFINITE;
            }
        }
    const int status = ask(w, p, s->g, s->index, NULL, s->count, &bits);
    return status == SG_KERNEL_OK ? w->shared->kernels->select_positions(s, s->index) : status;
}

static sg_status open_room(struct sg_worker *w, struct sg_error *err) {
    (void)err;
    w->scratch = sg_malloc((w->shared->layout.offset[w->shared->layout.n_layers] + 1) * sizeof(float));
    return SG_OK;
}

static size_t state_length(const struct sg_layout *layout) {
    return STATE * layout->n_layers;
}

static size_t first(const double *param) {
    (void)param;
    return 0;
}

/* ---- its row ---- */

/* The declaration has lines: "select" or "compress", name, summary, traits, and of each parameter its name, least,
 * greatest and preset number, whether it is whole, and its help. */
static bool declare(struct python_plugin *p) {
    char *at = p->text, *kind = strsep(&at, "\n");
    p->ops = (struct sg_compressor_ops){.name = strsep(&at, "\n"),
                                        .summary = strsep(&at, "\n"),
                                        .source = p->path,
                                        .params = p->params,
                                        .worker_doubles = state_length};
    const char *traits = strsep(&at, "\n");
    if (!traits)
        return false;
    p->ops.traits = (strstr(traits, "feedback") ? SG_TRAIT_WANTS_FEEDBACK : 0) |
                    (strstr(traits, "dense") ? SG_TRAIT_DENSE : 0) | (strstr(traits, "random") ? SG_TRAIT_RANDOM : 0);
    if (strcmp(kind, "select") == 0) {
        p->ops.open = open_room;
        p->ops.select = select_elements;
    } else {
        p->ops.encode = encode;
    }
    for (char *line; (line = strsep(&at, "\n")) != NULL && *line != '\0';) {
        struct sg_parameter *out = &p->params[p->ops.n_params++];
        if (p->ops.n_params > MOST_PARAMS)
            return false;
        out->name = strsep(&line, "\t");
        double *number[] = {&out->min, &out->max, &out->preset};
        for (size_t i = 0; i < 3; i++) {
            const char *word = strsep(&line, "\t");
            *number[i] = word ? strtod(word, NULL) : NAN;
        }
        const char *whole = strsep(&line, "\t");
        out->integer = whole && *whole == '1';
        out->help = line;
        p->ops.knob = first;
    }
    return true;
}

sg_status plugin_python_open(const struct sg_compressor_plugin **out, const char *path, struct sg_error *err) {
    struct python_plugin *p = sg_calloc(1, sizeof *p);
    pid_t pid;
    sg_status status = SG_OK;
    p->path = sg_strdup(path);
    const int socket = start(path, &pid);
    if (socket < 0)
        status = sg_fail(err, SG_ERR_ARGUMENT,
                         "a file of Python needs python3, or the program that $SPARSEGRAD_PYTHON names");
    if (status == SG_OK) {
        const bool good = get_text(socket, &p->text);
        close(socket);
        waitpid(pid, NULL, 0);
        if (!good)
            status = sg_fail(err, SG_ERR_ARGUMENT, "Python says: %s", p->text ? p->text : "nothing, and ended");
        else if (!declare(p))
            status = sg_fail(err, SG_ERR_ARGUMENT, "it declares more than %d parameters", MOST_PARAMS);
    }
    if (status == SG_OK) {
        p->socket = -1;
        pthread_mutex_init(&p->lock, NULL);
        p->compressors[0] = &p->ops;
        p->rows = (struct sg_compressor_plugin){SG_PLUGIN_INTERFACE, .compressors = p->compressors};
        *out = &p->rows;
    } else if (p) {
        free(p->path);
        free(p->text);
        free(p);
    }
    return status;
}
