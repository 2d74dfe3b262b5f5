/* plot_style.h: the one place that decides how the curves of a figure look, for every writer of figures. The hue says
 * which method a curve is of, in all panels; shade, dash and marker tell the variants and parameters of a method. */
#ifndef PLOT_STYLE_H
#define PLOT_STYLE_H

#include "sg_plot.h"

/* Okabe and Ito's colours without yellow, which cannot be seen on white, and two more; all differ for the
 * colour-blind. */
enum { SG_STYLE_HUES = 8 };

/* Sets `style` of every entry of the legend. Entries that start with the same word and have the same compressor are of
 * one method: "Top-k k=1", "Top-k k=5" and "Top-k, shuffled" share a hue. Baselines are black and dashed. The paper's
 * two methods have the same hues in all figures, and methods of one panel differ in hue while there are enough. */
SG_CHECKED sg_status sg_plot_choose_styles(struct sg_figure *figure, struct sg_error *err);

/* Are two entries of one method, as above? */
bool sg_plot_is_same_method(const struct sg_legend *a, const struct sg_legend *b);

#endif
