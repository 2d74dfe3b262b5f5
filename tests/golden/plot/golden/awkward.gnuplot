# 100 % of "A_b", {x} & <y> it's
# recipe awkward (sha256 000000000000), dataset two (file), sparsegrad 0.1.0 (1a2b3c4d5e)
# 
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
if (format eq 'svg') { set terminal svg enhanced size 442,384 background 'white' }
if (format eq 'png') { set terminal pngcairo enhanced size 442,384 background 'white' }
if (format eq 'pdf') { set terminal pdfcairo enhanced size 4.60in,4.00in background 'white' }
if (GPVAL_ENCODING ne 'utf8' && GPVAL_ENCODING ne 'default') set encoding utf8
set border 3; set tics nomirror out; set grid; set key below
set linetype 1 lc rgb '#0072B2' lw 1.79 pt 7 ps 0.7 dt 1
set linetype 2 lc rgb '#D55E00' lw 1.79 pt 5 ps 0.7 dt 1
set multiplot layout 1,1 title '100 % of "A_b", {x} & <y> it’s' noenhanced

# panel 1: loss over step
set title '' noenhanced
unset logscale x; set xrange [1:4]; set xtics autofreq; set xlabel 'step' noenhanced
set logscale y; set yrange [5.56447571186518e-19:2218659861.516729]; set ytics autofreq; set ylabel 'loss f(x)' noenhanced
plot $p1c1 using 1:2 with lines lt 1 title 'a,"b"_c' noenhanced, \
     $p1c2 using 1:2 with lines lt 2 title '# λ=½ | $x$' noenhanced
unset multiplot
