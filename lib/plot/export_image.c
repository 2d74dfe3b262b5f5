/* export_image.c: png and pdf, which rsvg-convert makes of the SVG. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plot_private.h"

extern char **environ;

/* Waits for a child, also while a signal handler runs. */
static int wait_for(pid_t child) {
    int state;
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR)
            return -1;
    return state;
}

/* Runs rsvg-convert < in > out 2> errors. These are files and not pipes, so that no side ever waits for the other. */
static sg_status convert(FILE *in, FILE *out, FILE *errors, const char *format, struct sg_error *err) {
    posix_spawn_file_actions_t actions;
    char form[16];
    snprintf(form, sizeof form, "-f%s", format);
    char *const argv[] = {"rsvg-convert", form, strcmp(format, "png") == 0 ? "-z2" : "-z1", NULL};
    pid_t child;
    int failed = posix_spawn_file_actions_init(&actions);
    failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO);
    failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
    failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, fileno(errors), STDERR_FILENO);
    failed = failed ? failed : posix_spawnp(&child, "rsvg-convert", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed == ENOENT)
        return sg_fail(err, SG_ERR_UNSUPPORTED,
                       "rsvg-convert, which makes %s of the figure, is not installed: apt-get install librsvg2-bin "
                       "(--format=svg needs no program)",
                       format);
    errno = failed;
    if (failed)
        return sg_fail_errno(err, SG_ERR_IO, "cannot start rsvg-convert");
    char text[512] = "no message";
    if (wait_for(child) == 0)
        return SG_OK;
    rewind(errors);
    if (fgets(text, sizeof text, errors))
        text[strcspn(text, "\n")] = '\0';
    return sg_fail(err, SG_ERR_IO, "rsvg-convert failed: %s", text);
}

/* Copies all of a file from its beginning. */
static void copy(FILE *out, FILE *in) {
    char bytes[4096];
    size_t n;
    rewind(in);
    while ((n = fread(bytes, 1, sizeof bytes, in)) > 0)
        fwrite(bytes, 1, n, out);
}

sg_status sg_export_image(FILE *out, const struct sg_figure *figure, const char *format, struct sg_error *err) {
    FILE *svg = tmpfile(), *image = tmpfile(), *errors = tmpfile();
    sg_status status = SG_OK;
    if (!svg || !image || !errors)
        status = sg_fail_errno(err, SG_ERR_IO, "cannot create a temporary file");
    SG_DO(status, sg_export_svg(svg, figure, format, err));
    if (status == SG_OK && (fflush(svg) != 0 || fseek(svg, 0, SEEK_SET) != 0))
        status = sg_fail_errno(err, SG_ERR_IO, "cannot write a temporary file");
    SG_DO(status, convert(svg, image, errors, format, err));
    if (status == SG_OK)
        copy(out, image);
    FILE *const files[] = {svg, image, errors};
    for (size_t i = 0; i < 3; i++)
        if (files[i])
            fclose(files[i]);
    return status;
}
