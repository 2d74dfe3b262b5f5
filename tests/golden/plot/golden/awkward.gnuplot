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
if (format eq 'svg') { set terminal svg enhanced size 442,322 font 'Helvetica,Arial,sans-serif,12' background 'white' }
if (format eq 'png') { set terminal pngcairo enhanced size 883,643 font 'sans-serif,9' fontscale 2 linewidth 2 pointscale 2 background 'white' }
if (format eq 'pdf') { set terminal pdfcairo enhanced size 4.60in,3.35in font 'sans-serif,9' fontscale 0.75 linewidth 1.5 pointscale 0.75 background 'white' }
small = (format eq 'svg') ? ',10.8' : ',8.1'
if (GPVAL_ENCODING ne 'utf8' && GPVAL_ENCODING ne 'default') set encoding utf8
set border 3 lw 0.8
set tics nomirror out scale 0.6,0.3
set grid xtics ytics lt 100 lc rgb '#d9d9d9' lw 0.6 dt 1
set style line 100 lc rgb '#d9d9d9'
unset key
set multiplot
set linetype 1 lc rgb '#0072B2' lw 1.79 pt 7 ps 0.7 dt 1
set linetype 2 lc rgb '#D55E00' lw 1.79 pt 5 ps 0.7 dt 1
set label 1 '100 % of "A_b", {x} & <y> it’s' at screen 0.5000, screen 0.9588 center noenhanced
set arrow 2 from screen 0.2900, screen 0.9010 to screen 0.3498, screen 0.9010 nohead lt 1
set label 3 'a,"b"_c' at screen 0.3634, screen 0.9010 left font small noenhanced
set arrow 4 from screen 0.4769, screen 0.9010 to screen 0.5367, screen 0.9010 nohead lt 2
set label 5 '# λ=½ | $x$' at screen 0.5503, screen 0.9010 left font small noenhanced

# panel 1: loss over step
set lmargin at screen 0.1605; set rmargin at screen 0.9565; set tmargin at screen 0.8478; set bmargin at screen 0.1615
unset logscale x
set xrange [1:4]
set xtics ('' 1, '' 1.5, '' 2, '' 2.5, '' 3, '' 3.5, '' 4)
set label 6 '1' at first 1, screen 0.1130 center
set label 7 '1.5' at first 1.5, screen 0.1130 center
set label 8 '2' at first 2, screen 0.1130 center
set label 9 '2.5' at first 2.5, screen 0.1130 center
set label 10 '3' at first 3, screen 0.1130 center
set label 11 '3.5' at first 3.5, screen 0.1130 center
set label 12 '4' at first 4, screen 0.1130 center
set label 13 'step' at screen 0.5585, screen 0.0571 center noenhanced
set logscale y
set yrange [5.56447571186518e-19:2218659861.516729]
set ytics ('' 1e-18 1, '' 1e-17 1, '' 1e-16, '' 1e-15 1, '' 1e-14 1, '' 1e-13 1, '' 1e-12, '' 1e-11 1, '' 1e-10 1, '' 1e-09 1, '' 1e-08, '' 1e-07 1, '' 1e-06 1, '' 1e-05 1, '' 0.0001, '' 0.001 1, '' 0.01 1, '' 0.1 1, '' 1, '' 10 1, '' 100 1, '' 1000 1, '' 10000, '' 100000 1, '' 1000000 1, '' 10000000 1, '' 100000000, '' 1000000000 1)
set label 14 '10^{−16}' at screen 0.1415, first 1e-16 right
set label 15 '10^{−12}' at screen 0.1415, first 1e-12 right
set label 16 '10^{−8}' at screen 0.1415, first 1e-08 right
set label 17 '10^{−4}' at screen 0.1415, first 0.0001 right
set label 18 '10^{0}' at screen 0.1415, first 1 right
set label 19 '10^{4}' at screen 0.1415, first 10000 right
set label 20 '10^{8}' at screen 0.1415, first 100000000 right
set label 21 'loss f(x)' at screen 0.0300, screen 0.5047 center rotate by 90 noenhanced
plot $p1c1 using 1:2 with lines lt 1, \
     $p1c2 using 1:2 with lines lt 2
unset label; unset arrow
unset multiplot
