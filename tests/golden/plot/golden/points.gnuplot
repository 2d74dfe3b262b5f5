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
if (format eq 'svg') { set terminal svg enhanced size 442,335 font 'Helvetica,Arial,sans-serif,12' background 'white' }
if (format eq 'png') { set terminal pngcairo enhanced size 883,670 font 'sans-serif,9' fontscale 2 linewidth 2 pointscale 2 background 'white' }
if (format eq 'pdf') { set terminal pdfcairo enhanced size 4.60in,3.49in font 'sans-serif,9' fontscale 0.75 linewidth 1.5 pointscale 0.75 background 'white' }
small = (format eq 'svg') ? ',10.8' : ',8.1'
if (GPVAL_ENCODING ne 'utf8' && GPVAL_ENCODING ne 'default') set encoding utf8
set border 3 lw 0.8
set tics nomirror out scale 0.6,0.3
set grid xtics ytics lt 100 lc rgb '#d9d9d9' lw 0.6 dt 1
set style line 100 lc rgb '#d9d9d9'
unset key
set multiplot
set linetype 1 lc rgb '#000000' lw 1.41 pt 6 ps 0.7 dt (10,6)
set linetype 2 lc rgb '#0072B2' lw 1.79 pt 7 ps 0.7 dt 1
set linetype 3 lc rgb '#D55E00' lw 1.79 pt 5 ps 0.7 dt 1
set label 1 'Figure 2a: ResNet-18 on CIFAR-10, 8 workers' at screen 0.5000, screen 0.9604 center noenhanced
set label 2 'mean over 3 seeds; bars: ±1 standard deviation' at screen 0.9783, screen 0.0373 right font small tc rgb '#505050' noenhanced
set arrow 3 from screen 0.2107, screen 0.9050 to screen 0.2704, screen 0.9050 nohead lt 1
set label 4 'SGD' at screen 0.2840, screen 0.9050 left font small noenhanced
set arrow 5 from screen 0.3643, screen 0.9050 to screen 0.4240, screen 0.9050 nohead lt 2
set label 6 '' at screen 0.3942, screen 0.9050 point lt 2
set label 7 'Top-k' at screen 0.4376, screen 0.9050 left font small noenhanced
set arrow 8 from screen 0.5330, screen 0.9050 to screen 0.5928, screen 0.9050 nohead lt 3
set label 9 '' at screen 0.5629, screen 0.9050 point lt 3
set label 10 'Hard-threshold' at screen 0.6064, screen 0.9050 left font small noenhanced

# panel 1: accuracy over density
set lmargin at screen 0.1144; set rmargin at screen 0.9565; set tmargin at screen 0.8539; set bmargin at screen 0.1953
set logscale x
set xrange [0.000515628186298396:0.008727218797530653]
set xtics ('' 0.0006 1, '' 0.0007 1, '' 0.0008 1, '' 0.0009 1, '' 0.001, '' 0.002, '' 0.003 1, '' 0.004 1, '' 0.005, '' 0.006 1, '' 0.007 1, '' 0.008 1)
set label 11 '0.001' at first 0.001, screen 0.1487 center
set label 12 '0.002' at first 0.002, screen 0.1487 center
set label 13 '0.005' at first 0.005, screen 0.1487 center
set label 14 'density k/d' at screen 0.5355, screen 0.0950 center noenhanced
unset logscale y
set yrange [90.77999999999999:94.52000000000001]
set ytics ('' 91, '' 92, '' 93, '' 94)
set label 15 '91' at screen 0.0954, first 91 right
set label 16 '92' at screen 0.0954, first 92 right
set label 17 '93' at screen 0.0954, first 93 right
set label 18 '94' at screen 0.0954, first 94 right
set label 19 'accuracy (%)' at screen 0.0300, screen 0.5246 center rotate by 90 noenhanced
plot $p1c1 using 1:3:4 with filledcurves lt 1 fs transparent solid 0.18 noborder, \
     $p1c2 using 1:2 with lines lt 2 lw 1, \
     $p1c2 using 1:3:(0):($4-$3) with vectors heads size graph 0.012,90 lt 2 dt 1 lw 1, \
     $p1c2 using 1:2 with points lt 2 dt 1, \
     $p1c3 using 1:2 with lines lt 3 lw 1, \
     $p1c3 using 1:3:(0):($4-$3) with vectors heads size graph 0.012,90 lt 3 dt 1 lw 1, \
     $p1c3 using 1:2 with points lt 3 dt 1, \
     $p1c1 using 1:2 with lines lt 1
unset label; unset arrow
unset multiplot
