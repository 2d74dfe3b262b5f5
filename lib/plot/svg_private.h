/* svg_private.h: shared by the files that draw a figure as SVG. Places are in inches in the layout and in pixels in the
 * drawing. */
#ifndef SVG_PRIVATE_H
#define SVG_PRIVATE_H

#include "plot_layout.h"

/* Pixels. */
#define SVG_INCH 96.0
#define SVG_LINE 1.28 /* of a line that is one point wide */

/* The drawing of a figure; `id` begins the names of its parts, which are unique in a page. */
struct svg_drawing {
    FILE *out;
    const struct sg_figure *f;
    const struct sg_sheet *s;
    const char *id;
};

/* A hundredth of a pixel is the least that is written. */
double svg_pixels(double inches);
/* Where a value lies on an axis from `from` to `to` inches, in pixels. What has no place on a log axis lies far below. */
double svg_place(const struct sg_axis *axis, double value, double from, double to);

/* How a text stands and looks; the default is black and begins at its place. */
#define SVG_CENTER " text-anchor=\"middle\""
#define SVG_RIGHT  " text-anchor=\"end\""
#define SVG_GRAY   " text-anchor=\"end\" fill=\"#505050\""
#define SVG_TURNED "rotate"
/* One line of text, the middle of which is at (x, y) in inches; `em` in inches. */
void svg_put_text(const struct svg_drawing *d, const char *text, double x, double y, double em, const char *how);

/* The attributes of a line of so many pixels, whose dashes are as long as it is wide. */
void svg_put_stroke(FILE *out, const struct sg_style *style, double width);
void svg_put_marker(FILE *out, const struct sg_style *style, double x, double y);
/* All that shows data of panel `p`. SG_ERR_MEMORY. */
SG_CHECKED sg_status svg_put_curves(const struct svg_drawing *drawing, size_t p, struct sg_error *err);

#endif
