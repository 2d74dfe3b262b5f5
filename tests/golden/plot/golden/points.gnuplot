# Figure 2a: ResNet-18 on CIFAR-10, 8 workers
# recipe fig2a (sha256 fedcba987654), dataset cifar10 (file), sparsegrad 0.1.0 (1a2b3c4d5e)
# draw: gnuplot -d THIS > figure.svg, or gnuplot -d -e "format='pdf'" THIS > figure.pdf (svg, png, pdf)
# SGD
$p1c1 << EOD
0.000515628186298396 94.14999999999999 93.94999999999999 94.35
0.008727218797530653 94.14999999999999 93.94999999999999 94.35
EOD
# Top-k
$p1c2 << EOD
0.0006 91.1 90.94999999999999 91.25
0.0025 92.4 92.25 92.55000000000001
0.0075 93.2 93.05 93.35000000000001
EOD
# Hard-threshold
$p1c3 << EOD
0.0006 93.9 93.75 94.05000000000001
0.0025 94 93.85 94.15
0.0075 94.2 94.05 94.35000000000001
EOD
if (!exists("format")) format = 'svg'
if (format eq 'svg') { set terminal svg enhanced size 442,380 font 'Helvetica,Arial,sans-serif,12' background 'white' }
if (format eq 'png') { set terminal pngcairo enhanced size 883,760 font 'sans-serif,9' fontscale 2 linewidth 2 pointscale 2 background 'white' }
if (format eq 'pdf') { set terminal pdfcairo enhanced size 4.60in,3.96in font 'sans-serif,9' linewidth 1 pointscale 0.5 background 'white' }
if (GPVAL_ENCODING ne 'utf8' && GPVAL_ENCODING ne 'default') set encoding utf8
set border 3 lw 0.8
set tics nomirror out scale 0.6,0.3
set grid xtics ytics lt 100 lc rgb '#d9d9d9' lw 0.6 dt 1
set style line 100 lc rgb '#d9d9d9'
set xlabel offset 0,0.3
unset key
set multiplot
small = (format eq 'svg') ? ',10' : ',7.5'
set linetype 1 lc rgb '#000000' lw 1.41 pt 6 ps 0.7 dt (10,6)
set linetype 2 lc rgb '#0072B2' lw 1.79 pt 7 ps 0.7 dt 1
set linetype 3 lc rgb '#D55E00' lw 1.79 pt 5 ps 0.7 dt 1

# legend
set arrow 1 from screen 0.1409, screen 0.8889 to screen 0.2148, screen 0.8889 nohead lt 1
set label 100 'SGD' at screen 0.2300, screen 0.8889 left noenhanced
set arrow 2 from screen 0.3270, screen 0.8889 to screen 0.4009, screen 0.8889 nohead lt 2
set label 103 '' at screen 0.3639, screen 0.8889 point lt 2
set label 102 'Top-k' at screen 0.4161, screen 0.8889 left noenhanced
set arrow 3 from screen 0.5443, screen 0.8889 to screen 0.6183, screen 0.8889 nohead lt 3
set label 105 '' at screen 0.5813, screen 0.8889 point lt 3
set label 104 'Hard-threshold' at screen 0.6335, screen 0.8889 left noenhanced
set label 10 'Figure 2a: ResNet-18 on CIFAR-10, 8 workers' at screen 0.5, screen 0.9596 center noenhanced
set label 3 'mean, bars: ±1 standard deviation over 3 seeds' at screen 0.9652, screen 0.0278 right font small tc rgb '#606060' noenhanced

# panel 1: accuracy over density
set lmargin at screen 0.1609; set rmargin at screen 0.9652; set tmargin at screen 0.8333; set bmargin at screen 0.1869
set logscale x
set xrange [0.000515628186298396:0.008727218797530653]
set xtics ('10^{-3}' 0.001, '2×10^{-3}' 0.002, '5×10^{-3}' 0.005)
unset mxtics
unset logscale y
set yrange [90.77999999999999:94.52000000000001]
set ytics ('91' 91, '91.5' 91.5, '92' 92, '92.5' 92.5, '93' 93, '93.5' 93.5, '94' 94, '94.5' 94.5)
unset mytics
set xlabel 'density k/d' noenhanced
set label 1 'accuracy (%)' at screen 0.0283, screen 0.5101 center rotate by 90 noenhanced
set label 2 '' at graph 0, graph 1 left offset 0,0.7 noenhanced
plot $p1c1 using 1:3:4 with filledcurves lt 1 fs transparent solid 0.2 noborder, \
     $p1c2 using 1:2 with lines lt 2 lw 1, \
     $p1c2 using 1:2:3:4 with yerrorbars lt 2 dt 1, \
     $p1c3 using 1:2 with lines lt 3 lw 1, \
     $p1c3 using 1:2:3:4 with yerrorbars lt 3 dt 1, \
     $p1c1 using 1:2 with lines lt 1
unset label; unset arrow
unset multiplot
