/* svg_private.h: shared by the files that draw a figure as SVG. Positions are in inches in the layout and in pixels in
 * the drawing. */
/* SPDX-License-Identifier: MIT */
#ifndef SVG_PRIVATE_H
#define SVG_PRIVATE_H

#include "plot_layout.h"

/* Pixels. */
#define SVG_INCH 96.0
#define SVG_LINE 1.28 /* of a line that is one point wide */

/* The drawing of a figure; `id` is the prefix of the ids of its parts, which are unique in a page. */
struct svg_drawing {
    FILE *out;
    const struct sg_figure *f;
    const struct sg_sheet *s;
    const char *id;
};

/* Converts inches to pixels, rounded to a hundredth. */
double svg_pixels(double inches);
/* Position in pixels of a value on an axis from `from` to `to` inches; far below it if a log axis cannot show it. */
double svg_place(const struct sg_axis *axis, double value, double from, double to);

/* Anchor and colour of a text. By default a text is black and starts at its position. */
#define SVG_CENTER " text-anchor=\"middle\""
#define SVG_RIGHT  " text-anchor=\"end\""
#define SVG_GRAY   " text-anchor=\"end\" fill=\"#505050\""
#define SVG_TURNED "rotate"
/* One line of text, the middle of which is at (x, y) in inches; `em` in inches. */
void svg_put_text(const struct svg_drawing *d, const char *text, double x, double y, double em, const char *how);

/* Writes the attributes of a line that is `width` pixels wide; its dashes scale with the width. */
void svg_put_stroke(FILE *out, const struct sg_style *style, double width);
void svg_put_marker(FILE *out, const struct sg_style *style, double x, double y);
/* Draws the curves, bands, bars and markers of panel `p`. */
void svg_put_curves(const struct svg_drawing *drawing, size_t p);

#endif
