/* grid_process.c: starts one child process, reads from it without waiting, and reaps it. */
/* SPDX-License-Identifier: MIT */
#include "grid_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sg_clock.h"
#include "sg_debug.h"
#include "sg_memory.h"

static void close_both(const int fd[2]) {
    close(fd[0]);
    close(fd[1]);
}

/* Runs in the child; does not return. */
static void become(char *const argv[], pid_t parent, int null, int progress, int errors) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* the parent died before the line above */
        _exit(127);
    signal(SIGPIPE, SIG_DFL);
    if (dup2(null, STDIN_FILENO) >= 0 && dup2(progress, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0)
        execvp(argv[0], argv);
    dprintf(errors, "cannot run '%s': %s\n", argv[0], strerror(errno));
    _exit(127);
}

sg_status sg_process_start(struct sg_process *p, char *const argv[], struct sg_error *err) {
    SG_ASSERT(argv[0]);
    int progress[2], errors[2], null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0)
        return sg_fail_errno(err, SG_ERR_IO, "cannot open /dev/null");
    if (pipe2(progress, O_CLOEXEC) != 0) {
        sg_fail_errno(err, SG_ERR_IO, "cannot make a pipe");
        goto out_null;
    }
    if (pipe2(errors, O_CLOEXEC) != 0) {
        sg_fail_errno(err, SG_ERR_IO, "cannot make a pipe");
        goto out_progress;
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become(argv, parent, null, progress[1], errors[1]);
    if (pid < 0) {
        sg_fail_errno(err, SG_ERR_IO, "cannot start a process");
        close_both(errors);
        goto out_progress;
    }
    setpgid(pid, pid); /* both processes do this, so that a signal sent at once finds the group */
    close(progress[1]);
    close(errors[1]);
    close(null);
    fcntl(progress[0], F_SETFL, O_NONBLOCK);
    fcntl(errors[0], F_SETFL, O_NONBLOCK);
    *p = (struct sg_process){.pid = pid, .progress = progress[0], .errors = errors[0]};
    return SG_OK;
out_progress:
    close_both(progress);
out_null:
    close(null);
    return err->status;
}

/* Reads a line "done total". Other lines on standard output are not progress and are ignored. */
static void take_progress(struct sg_process *p, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '\n') {
            if (p->line_length < sizeof p->line - 1)
                p->line[p->line_length++] = text[i];
            continue;
        }
        p->line[p->line_length] = '\0';
        p->line_length = 0;
        char *end, *last;
        double done = strtod(p->line, &end), total = strtod(end, &last);
        if (end != p->line && last != end && *last == '\0' && total > 0 && done >= 0 && done <= total)
            p->done = done / total;
    }
}

static void take_errors(struct sg_process *p, const char *text, size_t length) {
    p->tail_cut = p->tail_cut || p->tail_length + length > SG_TAIL_BYTES;
    if (length > SG_TAIL_BYTES) {
        text += length - SG_TAIL_BYTES;
        length = SG_TAIL_BYTES;
    }
    size_t keep = p->tail_length + length > SG_TAIL_BYTES ? SG_TAIL_BYTES - length : p->tail_length;
    memmove(p->tail, p->tail + p->tail_length - keep, keep);
    memcpy(p->tail + keep, text, length);
    p->tail_length = keep + length;
    SG_ASSERT(p->tail_length <= SG_TAIL_BYTES);
}

static void drain(struct sg_process *p, int *fd, void (*take)(struct sg_process *, const char *, size_t)) {
    char text[4096];
    while (*fd >= 0) {
        ssize_t got = read(*fd, text, sizeof text);
        if (got > 0) {
            take(p, text, (size_t)got);
        } else if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        } else {
            close(*fd);
            *fd = -1;
        }
    }
}

static void read_pipes(struct sg_process *p) {
    drain(p, &p->progress, take_progress);
    drain(p, &p->errors, take_errors);
}

/* A child whose two pipes are closed ends at once, so the wait for it is short. */
void sg_process_wait(struct sg_process *p, size_t n) {
    enum { TICK_MS = 100, REAP_MS = 2 };
    struct pollfd *fds = sg_calloc(2 * n, sizeof *fds);
    nfds_t open = 0;
    int timeout_ms = TICK_MS;
    for (size_t i = 0; i < n; i++) {
        if (fds && p[i].pid != 0) {
            fds[open++] = (struct pollfd){.fd = p[i].progress, .events = POLLIN};
            fds[open++] = (struct pollfd){.fd = p[i].errors, .events = POLLIN};
        }
        if (p[i].pid != 0 && p[i].progress < 0 && p[i].errors < 0)
            timeout_ms = REAP_MS;
    }
    poll(fds, open, timeout_ms);
    free(fds);
    for (size_t i = 0; i < n; i++)
        if (p[i].pid != 0)
            read_pipes(&p[i]);
}

void sg_process_stop(struct sg_process *p, int signal_number, bool group) {
    SG_ASSERT(p->pid > 0);
    kill(group ? -p->pid : p->pid, signal_number);
    kill(-p->pid, SIGCONT);
    p->asked_s = sg_clock_s();
}

bool sg_process_ended(struct sg_process *p) {
    if (p->pid != 0 && p->asked_s > 0 && sg_clock_s() > p->asked_s + SG_PATIENCE_S)
        kill(-p->pid, SIGKILL);
    if (p->pid == 0 || waitpid(p->pid, &p->wait_status, WNOHANG) != p->pid)
        return false;
    p->pid = 0;
    read_pipes(p);
    int *fd[] = {&p->progress, &p->errors}; /* a process that it left behind may hold them open */
    for (size_t i = 0; i < 2; i++) {
        if (*fd[i] >= 0)
            close(*fd[i]);
        *fd[i] = -1;
    }
    return true;
}

const char *sg_process_last_words(struct sg_process *p) {
    SG_ASSERT(p->tail_length <= SG_TAIL_BYTES);
    while (p->tail_length > 0 && strchr("\n ", p->tail[p->tail_length - 1]))
        p->tail_length--;
    p->tail[p->tail_length] = '\0';
    char *start = p->tail + p->tail_length;
    for (int lines = 0; start > p->tail; start--)
        if (start[-1] == '\n' && ++lines == SG_TAIL_LINES)
            break;
    /* drops a first line without its beginning, unless it is the only one */
    char *newline = strchr(start, '\n');
    return start == p->tail && p->tail_cut && newline ? newline + 1 : start;
}
