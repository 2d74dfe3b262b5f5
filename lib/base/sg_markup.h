/* sg_markup.h: writes text into HTML, Markdown and LaTeX; characters that are markup there are escaped. */
/* SPDX-License-Identifier: MIT */
#ifndef SG_MARKUP_H
#define SG_MARKUP_H

#include <stdio.h>

/* Text in HTML, also for quoted attributes. */
void sg_put_html(FILE *out, const char *text);
/* Text in HTML between `open` and `close`, which are written unescaped. */
void sg_put_element(FILE *out, const char *open, const char *text, const char *close);
void sg_put_markdown(FILE *out, const char *text);
/* Words in LaTeX. UTF-8 characters that pdflatex does not define become commands. */
void sg_put_tex(FILE *out, const char *text);
/* A formula of letters, signs and superscripts, "‖e‖²", which the caller puts between dollars. */
void sg_put_tex_formula(FILE *out, const char *text);
/* Words in LaTeX, followed by the formula if it is not "". */
void sg_put_tex_title(FILE *out, const char *words, const char *formula);

#endif
