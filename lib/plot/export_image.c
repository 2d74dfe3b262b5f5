/* export_image.c: svg, png and pdf, which gnuplot draws from the script on its stdin. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
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

/* Runs gnuplot < in > out 2> errors. These are files and not pipes, so that no side ever waits for the other. */
static sg_status run_gnuplot(FILE *in, FILE *out, FILE *errors, struct sg_error *err) {
    posix_spawn_file_actions_t actions;
    char *const argv[] = {"gnuplot", "--default-settings", NULL};
    pid_t child;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return sg_fail_memory(err, "gnuplot");
    int failed = posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO);
    failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
    failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, fileno(errors), STDERR_FILENO);
    failed = failed ? failed : posix_spawnp(&child, "gnuplot", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed == ENOENT)
        return sg_fail(err, SG_ERR_UNSUPPORTED,
                       "gnuplot, which draws svg, png and pdf, is not installed: "
                       "apt-get install gnuplot-nox");
    errno = failed;
    if (failed)
        return sg_fail_errno(err, SG_ERR_IO, "cannot start gnuplot");
    int state = wait_for(child);
    if (state == 0)
        return SG_OK;
    char line[512] = "", text[512] = "no message";
    rewind(errors);
    while (fgets(line, sizeof line, errors)) /* its last line says what is wrong */
        if (strspn(line, " \t^\n") < strlen(line))
            memcpy(text, line, sizeof text);
    text[strcspn(text, "\n")] = '\0';
    return sg_fail(err, SG_ERR_IO, "gnuplot failed: %s", text);
}

/* Reads a whole file as a string that ends in NUL; NULL on failure. */
static char *contents(FILE *file, size_t *length) {
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    char *text = size >= 0 ? malloc((size_t)size + 1) : NULL;
    rewind(file);
    if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
        free(text);
        return NULL;
    }
    if (text) {
        text[size] = '\0';
        *length = (size_t)size;
    }
    return text;
}

static void put_xml(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else
            fputc(*text, out);
    }
}

/* <title> and <desc> name gnuplot and its version. Makes them say what is drawn, also for screen readers. */
static void put_svg(FILE *out, const struct sg_figure *figure, const char *svg) {
    const char *title = strstr(svg, "<title>"), *desc = strstr(svg, "</desc>");
    if (title && desc && title < desc) {
        fwrite(svg, 1, (size_t)(title - svg), out);
        fputs("<title>", out);
        put_xml(out, figure->title);
        fputs("</title>\n<desc>", out);
        put_xml(out, figure->source);
        svg = desc;
    }
    /* gnuplot leaves '>' as it is, also where it would end a CDATA section, which no XML parser accepts in a text */
    for (const char *end; (end = strstr(svg, "]]>")) != NULL; svg = end + 3) {
        fwrite(svg, 1, (size_t)(end - svg), out);
        fputs("]]&gt;", out);
    }
    fputs(svg, out);
}

sg_status sg_export_image(FILE *out, const struct sg_figure *figure, const char *format, struct sg_error *err) {
    FILE *script = tmpfile(), *image = tmpfile(), *errors = tmpfile();
    char *drawn = NULL;
    size_t length = 0;
    sg_status status;
    if (!script || !image || !errors) {
        status = sg_fail_errno(err, SG_ERR_IO, "cannot create a temporary file");
        goto out;
    }
    status = sg_export_gnuplot(script, figure, format, err);
    if (status != SG_OK)
        goto out;
    if (fflush(script) != 0 || fseek(script, 0, SEEK_SET) != 0) {
        status = sg_fail_errno(err, SG_ERR_IO, "cannot write a temporary file");
        goto out;
    }
    status = run_gnuplot(script, image, errors, err);
    if (status != SG_OK)
        goto out;
    drawn = contents(image, &length);
    if (!drawn || length == 0)
        status = sg_fail(err, SG_ERR_IO,
                         "gnuplot drew nothing: its '%s' terminal may be missing "
                         "(apt-get install gnuplot-nox)",
                         format);
    else if (strcmp(format, "svg") == 0)
        put_svg(out, figure, drawn);
    else
        fwrite(drawn, 1, length, out);
out:
    free(drawn);
    if (script)
        fclose(script);
    if (image)
        fclose(image);
    if (errors)
        fclose(errors);
    return status;
}
