/* html_text.c: text, JSON and YAML for a page in HTML, where nothing that a result says can become markup or script. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "html_private.h"

/* A number, true, false or null, which JSON and YAML write alike. */
static void put_literal(FILE *out, const cJSON *item) {
    char number[SG_NUMBER_CHARS];
    fputs(cJSON_IsNumber(item)  ? sg_number_text(item->valuedouble, number)
          : cJSON_IsTrue(item)  ? "true"
          : cJSON_IsFalse(item) ? "false"
                                : "null",
          out);
}

/* "</script" and "<!--" would be markup in a script element: no '<' is left. */
void html_put_json(FILE *out, const cJSON *document) {
    cJSON *exact = sg_json_copy(document);
    char *text = sg_json_text(exact, false);
    for (const char *c = text; *c && *c != '\n'; c++)
        if (*c == '<' || *c == '>' || *c == '&')
            fprintf(out, "\\u%04x", (unsigned)*c);
        else
            fputc(*c, out);
    cJSON_Delete(exact);
    free(text);
}

/* ---- the recipe ---- */

/* True if YAML reads the text unchanged without quotes. */
static bool is_plain(const char *text) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char *const words[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
    const size_t length = strlen(text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0)
            return false;
    return length > 0 && strchr(letters, text[0]) && strcspn(text, ":#,[]{}&*!|>'\"%@`\\") == length &&
           text[length - 1] != ' ';
}

/* Recipes write error-norm, results error_norm. */
static void put_name(FILE *out, const char *name) {
    for (; *name; name++)
        sg_put_html(out, *name == '_' ? "-" : (const char[]){*name, '\0'});
}

/* True if the values of this key are names of columns. */
static bool names_columns(const char *key) {
    static const char *const keys[] = {"series", "metric", "x", "y", "when"};
    for (size_t i = 0; key && i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

static void put_scalar(FILE *out, const cJSON *item, const char *key) {
    if (cJSON_IsString(item) && names_columns(key) && is_plain(item->valuestring)) {
        put_name(out, item->valuestring);
    } else if (cJSON_IsString(item) && is_plain(item->valuestring)) {
        sg_put_html(out, item->valuestring);
    } else if (cJSON_IsString(item)) { /* single-quoted YAML, where only the quote itself is special */
        fputs("&#39;", out);
        for (const char *c = item->valuestring; *c; c++)
            sg_put_html(out, *c == '\'' ? "''" : (const char[]){*c, '\0'});
        fputs("&#39;", out);
    } else {
        put_literal(out, item);
    }
}

static bool is_flow(const cJSON *item) { /* an array of scalars is written on one line */
    const cJSON *child;
    cJSON_ArrayForEach(child, item) if (cJSON_IsObject(child) || cJSON_IsArray(child)) return false;
    return cJSON_IsArray(item) || !item->child;
}

static void put_flow(FILE *out, const cJSON *item) {
    const char *before = "";
    const cJSON *child;
    fputc(cJSON_IsArray(item) ? '[' : '{', out);
    cJSON_ArrayForEach(child, item) {
        fputs(before, out);
        put_scalar(out, child, item->string);
        before = ", ";
    }
    fputc(cJSON_IsArray(item) ? ']' : '}', out);
}

/* `dash`: the first line begins behind a dash and needs no blanks. */
static void put_block(FILE *out, const cJSON *item, int indent, bool dash) {
    const cJSON *child;
    cJSON_ArrayForEach(child, item) {
        const bool nested = cJSON_IsArray(child) || cJSON_IsObject(child);
        if (cJSON_IsObject(item) && cJSON_IsNull(child)) /* a key that was not given */
            continue;
        fprintf(out, "%*s", dash ? 0 : indent, "");
        dash = false;
        if (cJSON_IsArray(item)) {
            fputs("- ", out);
        } else {
            put_name(out, child->string);
            fputs(nested && !is_flow(child) ? ":\n" : ": ", out);
        }
        if (!nested)
            put_scalar(out, child, child->string);
        else if (is_flow(child))
            put_flow(out, child);
        else
            put_block(out, child, indent + 2, cJSON_IsArray(item));
        if (!nested || is_flow(child))
            fputc('\n', out);
    }
}

void html_put_yaml(FILE *out, const cJSON *item) {
    put_block(out, item, 0, false);
}
