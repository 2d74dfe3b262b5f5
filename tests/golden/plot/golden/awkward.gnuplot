# 100 % of "A_b", {x} & <y> it's
# recipe awkward (sha256 000000000000), dataset two (file), sparsegrad 0.1.0 (1a2b3c4d5e)
# draw: gnuplot -d THIS > figure.svg, or gnuplot -d -e "format='pdf'" THIS > figure.pdf (svg, png, pdf)
# a,"b"_c
$p1c1 << EOD
1 1.5
3 0.1
4 1e-17
EOD
# # λ=½ | $x$
$p1c2 << EOD
1 0.30000000000000004
4 123456789.123
EOD
if (!exists("format")) format = 'svg'
if (format eq 'svg') { set terminal svg enhanced size 442,361 font 'Helvetica,Arial,sans-serif,12' background 'white' }
if (format eq 'png') { set terminal pngcairo enhanced size 883,722 font 'sans-serif,9' fontscale 2 linewidth 2 pointscale 2 background 'white' }
if (format eq 'pdf') { set terminal pdfcairo enhanced size 4.60in,3.76in font 'sans-serif,9' linewidth 1 pointscale 0.5 background 'white' }
if (GPVAL_ENCODING ne 'utf8' && GPVAL_ENCODING ne 'default') set encoding utf8
set border 3 lw 0.8
set tics nomirror out scale 0.6,0.3
set grid xtics ytics lt 100 lc rgb '#d9d9d9' lw 0.6 dt 1
set style line 100 lc rgb '#d9d9d9'
set xlabel offset 0,0.3
unset key
set multiplot
small = (format eq 'svg') ? ',10' : ',7.5'
set linetype 1 lc rgb '#0072B2' lw 1.79 pt 7 ps 0.7 dt 1
set linetype 2 lc rgb '#D55E00' lw 1.79 pt 5 ps 0.7 dt 1

# legend
set arrow 1 from screen 0.2417, screen 0.8830 to screen 0.3157, screen 0.8830 nohead lt 1
set label 100 'a,"b"_c' at screen 0.3309, screen 0.8830 left noenhanced
set arrow 2 from screen 0.4904, screen 0.8830 to screen 0.5643, screen 0.8830 nohead lt 2
set label 102 '# λ=½ | $x$' at screen 0.5796, screen 0.8830 left noenhanced
set label 10 '100 % of "A_b", {x} & <y> it’s' at screen 0.5, screen 0.9574 center noenhanced

# panel 1: loss over step
set lmargin at screen 0.1609; set rmargin at screen 0.9652; set tmargin at screen 0.8245; set bmargin at screen 0.1436
unset logscale x
set xrange [1:4]
set xtics ('1' 1, '1.5' 1.5, '2' 2, '2.5' 2.5, '3' 3, '3.5' 3.5, '4' 4)
unset mxtics
set logscale y
set yrange [5.56447571186518e-19:2218659861.516729]
set ytics 1e-16,1e4; set mytics 4; set format y '10^{%T}'
set xlabel 'step' noenhanced
set label 1 'loss f(x)' at screen 0.0283, screen 0.4840 center rotate by 90 noenhanced
set label 2 '' at graph 0, graph 1 left offset 0,0.7 noenhanced
plot $p1c1 using 1:2 with lines lt 1, \
     $p1c2 using 1:2 with lines lt 2
unset label; unset arrow
unset multiplot
