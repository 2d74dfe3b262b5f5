/* sg_markup.h: text as it is written into HTML, Markdown and LaTeX, where none of its characters is markup. */
#ifndef SG_MARKUP_H
#define SG_MARKUP_H

#include <stdio.h>

/* Also within quoted attributes. */
void sg_put_html(FILE *out, const char *text);
/* The same between `open` and `close`, which are markup. */
void sg_put_element(FILE *out, const char *open, const char *text, const char *close);
void sg_put_markdown(FILE *out, const char *text);
/* Words in LaTeX, of which UTF-8 that pdflatex does not know by itself becomes commands. */
void sg_put_tex(FILE *out, const char *text);
/* A formula of letters, signs and superscripts, "‖e‖²", which the caller puts between dollars. */
void sg_put_tex_formula(FILE *out, const char *text);
/* Words, and the formula behind them, if it is not "". */
void sg_put_tex_title(FILE *out, const char *words, const char *formula);

#endif
