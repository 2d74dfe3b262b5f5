/* text.c: texts that are built, the width of text, and how names are spelt. */
#include "sg_text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sg_debug.h"

char *sg_format(const char *format, ...) {
    char *text;
    va_list args;
    va_start(args, format);
    const bool fine = vasprintf(&text, format, args) >= 0;
    va_end(args);
    return fine ? text : NULL;
}

char *sg_stream_text(FILE *take_stream, char **text) {
    if (take_stream && fclose(take_stream) == 0)
        return *text;
    if (take_stream)
        free(*text);
    return *text = NULL;
}

size_t sg_text_width(const char *utf8) {
    size_t n = 0;
    for (; *utf8; utf8++)
        n += ((unsigned char)*utf8 & 0xc0) != 0x80;
    return n;
}

size_t sg_text_cut(const char *utf8, size_t columns) {
    size_t i = 0;
    for (; utf8[i] && (columns > 0 || ((unsigned char)utf8[i] & 0xc0) == 0x80); i++)
        columns -= ((unsigned char)utf8[i] & 0xc0) != 0x80;
    return i;
}

size_t sg_text_line(const char *utf8, size_t columns) {
    const size_t fits = sg_text_cut(utf8, columns);
    size_t end = strcspn(utf8, " ");
    for (size_t next; utf8[end] && (next = end + 1 + strcspn(utf8 + end + 1, " ")) <= fits;)
        end = next;
    return end;
}

char *sg_snake(char *out, size_t size, const char *name) {
    SG_ASSERT(size > 0);
    size_t i = 0;
    for (; name[i] != '\0' && i + 1 < size; i++)
        out[i] = name[i] == '-' ? '_' : name[i];
    out[i] = '\0';
    return out;
}

bool sg_same_name(const char *a, size_t length, const char *b) {
    SG_ASSERT(a != NULL && b != NULL);
    for (size_t i = 0; i < length; i++)
        if ((a[i] == '-' ? '_' : a[i]) != (b[i] == '-' ? '_' : b[i])) /* also where b ends early */
            return false;
    return b[length] == '\0';
}

char *sg_excerpt(char out[SG_EXCERPT], const char *text) {
    size_t length = strlen(text);
    if (length < SG_EXCERPT) {
        memcpy(out, text, length + 1);
        return out;
    }
    static const char dots[] = "…";
    size_t cut = SG_EXCERPT - sizeof dots;
    while (cut > 0 && ((unsigned char)text[cut] & 0xc0) == 0x80) /* not inside a UTF-8 character */
        cut--;
    memcpy(out, text, cut);
    memcpy(out + cut, dots, sizeof dots);
    return out;
}
