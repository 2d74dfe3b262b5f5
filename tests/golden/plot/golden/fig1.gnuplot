# Figure 1: logistic regression, 20 workers — generated data (gisette-like)
# recipe fig1 (sha256 0123456789ab), dataset gisette (generated), sparsegrad 0.1.0 (1a2b3c4d5e)
# draw: gnuplot -d THIS > figure.svg, or gnuplot -d -e "format='pdf'" THIS > figure.pdf (svg, png, pdf)
# SGD
$p1c1 << EOD
0 8.15 8.15 8.15
0.5 1.62 1.51 1.7300000000000002
1 0.24 0.21 0.27
2 0.0021 0.0017 0.0025
5 0.0013 0.0007999999999999999 0.0018
10 0.0012 0.0004999999999999999 0.0018999999999999998
EOD
# Top-k
$p1c2 << EOD
0 8.15 8.15 8.15
0.5 4.1 3.8999999999999995 4.3
1 1.9 1.7799999999999998 2.02
2 0.052 0.046 0.057999999999999996
5 0.0125 0.0105 0.0145
10 0.0041 0.0035000000000000005 0.0047
EOD
# Hard-threshold
$p1c3 << EOD
0 8.15 8.15 8.15
0.5 1.7 1.5999999999999999 1.8
1 0.26 0.22 0.3
2 0.0023 0.002 0.0026
5 0.0014 0.0008 0.002
10 0.0013 0.00026491425120378953 0.0029
EOD
# Top-k
$p2c1 << EOD
0 8.15 8.15 8.15
96000 4.1 3.8999999999999995 4.3
192000 1.9 1.7799999999999998 2.02
384000 0.052 0.046 0.057999999999999996
960000 0.0125 0.0105 0.0145
1920000 0.0041 0.0035000000000000005 0.0047
EOD
# Hard-threshold
$p2c2 << EOD
0 8.15 8.15 8.15
1100000 1.7 1.5999999999999999 1.8
1300000 0.26 0.22 0.3
1450000 0.0023 0.002 0.0026
1600000 0.0014 0.0008 0.002
1900000 0.0013 0.00026491425120378953 0.0029
EOD
# Top-k
$p3c1 << EOD
0 0 0 0
0.5 4.83 4.5200000000000005 5.14
1 0.71 0.63 0.7899999999999999
2 0.052 0.048 0.055999999999999994
5 0.049 0.046 0.052000000000000005
10 0.05 0.048 0.052000000000000005
EOD
# Hard-threshold
$p3c2 << EOD
0 0 0 0
0.5 0.031 0.03 0.032
1 0.034 0.033 0.035
2 0.035 0.033 0.037000000000000005
5 0.0355 0.034499999999999996 0.0365
10 0.036 0.034999999999999996 0.037
EOD
if (!exists("format")) format = 'svg'
if (format eq 'svg') { set terminal svg enhanced size 1008,327 font 'Helvetica,Arial,sans-serif,12' background 'white' }
if (format eq 'png') { set terminal pngcairo enhanced size 2016,655 font 'sans-serif,9' fontscale 2 linewidth 2 pointscale 2 background 'white' }
if (format eq 'pdf') { set terminal pdfcairo enhanced size 10.50in,3.41in font 'sans-serif,9' linewidth 1 pointscale 0.5 background 'white' }
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
set arrow 1 from screen 0.3427, screen 0.8710 to screen 0.3750, screen 0.8710 nohead lt 1
set label 100 'SGD' at screen 0.3817, screen 0.8710 left noenhanced
set arrow 2 from screen 0.4242, screen 0.8710 to screen 0.4566, screen 0.8710 nohead lt 2
set label 102 'Top-k' at screen 0.4632, screen 0.8710 left noenhanced
set arrow 3 from screen 0.5194, screen 0.8710 to screen 0.5518, screen 0.8710 nohead lt 3
set label 104 'Hard-threshold' at screen 0.5585, screen 0.8710 left noenhanced
set label 10 'Figure 1: logistic regression, 20 workers — generated data (gisette-like)' at screen 0.5, screen 0.9531 center noenhanced
set label 3 'mean, band: ±1 standard deviation over 2 seeds' at screen 0.9848, screen 0.0323 right font small tc rgb '#606060' noenhanced

# panel 1: suboptimality over epoch
set lmargin at screen 0.0705; set rmargin at screen 0.3181; set tmargin at screen 0.7478; set bmargin at screen 0.2170
unset logscale x
set xrange [0:10]
set xtics ('0' 0, '2' 2, '4' 4, '6' 6, '8' 8, '10' 10)
unset mxtics
set logscale y
set yrange [0.00026491425120378953:13.331357790751225]
set ytics 1e-3,1e1; set mytics 10; set format y '10^{%T}'
set xlabel 'epoch' noenhanced
set label 1 'suboptimality f(x) − f*' at screen 0.0124, screen 0.4824 center rotate by 90 noenhanced
set label 2 '(a)' at graph 0, graph 1 left offset 0,0.7 noenhanced
plot $p1c1 using 1:3:4 with filledcurves lt 1 fs transparent solid 0.2 noborder, \
     $p1c2 using 1:3:4 with filledcurves lt 2 fs transparent solid 0.2 noborder, \
     $p1c3 using 1:3:4 with filledcurves lt 3 fs transparent solid 0.2 noborder, \
     $p1c2 using 1:2 with lines lt 2, \
     $p1c3 using 1:2 with lines lt 3, \
     $p1c1 using 1:2 with lines lt 1
unset label; unset arrow

# panel 2: suboptimality over bits
set lmargin at screen 0.4038; set rmargin at screen 0.6514; set tmargin at screen 0.7478; set bmargin at screen 0.2170
unset logscale x
set xrange [0:1920000]
set xtics ('0' 0, '0.5' 500000, '1' 1000000, '1.5' 1500000)
unset mxtics
set logscale y
set yrange [0.00026491425120378953:13.331357790751225]
set ytics 1e-3,1e1; set mytics 10; set format y '10^{%T}'
set xlabel 'bits per worker (×10⁶)' noenhanced
set label 1 'suboptimality f(x) − f*' at screen 0.3457, screen 0.4824 center rotate by 90 noenhanced
set label 2 '(b)' at graph 0, graph 1 left offset 0,0.7 noenhanced
plot $p2c1 using 1:3:4 with filledcurves lt 2 fs transparent solid 0.2 noborder, \
     $p2c2 using 1:3:4 with filledcurves lt 3 fs transparent solid 0.2 noborder, \
     $p2c1 using 1:2 with lines lt 2, \
     $p2c2 using 1:2 with lines lt 3

# panel 3: error_norm over epoch
set lmargin at screen 0.7371; set rmargin at screen 0.9848; set tmargin at screen 0.7478; set bmargin at screen 0.2170
unset logscale x
set xrange [0:10]
set xtics ('0' 0, '2' 2, '4' 4, '6' 6, '8' 8, '10' 10)
unset mxtics
unset logscale y
set yrange [0:5.396999999999999]
set ytics ('0' 0, '1' 1, '2' 2, '3' 3, '4' 4, '5' 5)
unset mytics
set xlabel 'epoch' noenhanced
set label 1 'error norm ‖e‖²' at screen 0.6790, screen 0.4824 center rotate by 90 noenhanced
set label 2 '(c)' at graph 0, graph 1 left offset 0,0.7 noenhanced
plot $p3c1 using 1:3:4 with filledcurves lt 2 fs transparent solid 0.2 noborder, \
     $p3c2 using 1:3:4 with filledcurves lt 3 fs transparent solid 0.2 noborder, \
     $p3c1 using 1:2 with lines lt 2, \
     $p3c2 using 1:2 with lines lt 3
unset multiplot
