# Figure 2a: ResNet-18 on CIFAR-10, 8 workers
# recipe fig2a (sha256 fedcba987654), dataset cifar10 (file), sparsegrad 0.1.0 (1a2b3c4d5e)
# mean over 3 seeds; bars: ±1 standard deviation
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
if (format eq 'svg') { set terminal svg enhanced size 442,384 background 'white' }
if (format eq 'png') { set terminal pngcairo enhanced size 442,384 background 'white' }
if (format eq 'pdf') { set terminal pdfcairo enhanced size 4.60in,4.00in background 'white' }
if (GPVAL_ENCODING ne 'utf8' && GPVAL_ENCODING ne 'default') set encoding utf8
set border 3; set tics nomirror out; set grid; set key below
set linetype 1 lc rgb '#000000' lw 1.41 pt 6 ps 0.7 dt (10,6)
set linetype 2 lc rgb '#0072B2' lw 1.79 pt 7 ps 0.7 dt 1
set linetype 3 lc rgb '#D55E00' lw 1.79 pt 5 ps 0.7 dt 1
set multiplot layout 1,1 title 'Figure 2a: ResNet-18 on CIFAR-10, 8 workers' noenhanced

# panel 1: accuracy over density
set title '' noenhanced
set logscale x; set xrange [0.000515628186298396:0.008727218797530653]; set xtics autofreq; set xlabel 'density k/d' noenhanced
unset logscale y; set yrange [90.77999999999999:94.52000000000001]; set ytics autofreq; set ylabel 'accuracy (%)' noenhanced
plot $p1c1 using 1:3:4 with filledcurves lt 1 fs transparent solid 0.18 noborder notitle, \
     $p1c2 using 1:2:3:4 with yerrorbars lt 2 dt 1 notitle, \
     $p1c3 using 1:2:3:4 with yerrorbars lt 3 dt 1 notitle, \
     $p1c1 using 1:2 with lines lt 1 title 'SGD' noenhanced, \
     $p1c2 using 1:2 with linespoints lt 2 title 'Top-k' noenhanced, \
     $p1c3 using 1:2 with linespoints lt 3 title 'Hard-threshold' noenhanced
unset multiplot
