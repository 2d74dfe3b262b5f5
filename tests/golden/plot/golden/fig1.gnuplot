# Figure 1: logistic regression, 20 workers — generated data (gisette-like)
# recipe fig1 (sha256 0123456789ab), dataset gisette (generated), sparsegrad 0.1.0 (1a2b3c4d5e)
# mean over 2 seeds; bands: ±1 standard deviation, downwards by the same factor on a logarithmic axis
# draw: gnuplot -d THIS > figure.svg, or gnuplot -d -e "format='pdf'" THIS > figure.pdf (svg, png, pdf)
# SGD
$p1c1 << EOD
0 8.15 8.15 8.15
0.5 1.62 1.5169942196531792 1.7300000000000002
1 0.24 0.21333333333333332 0.27
2 0.0021 0.001764 0.0025
5 0.0013 0.0009388888888888888 0.0018
10 0.0012 0.0007578947368421051 0.0018999999999999998
EOD
# Top-k
$p1c2 << EOD
0 8.15 8.15 8.15
0.5 4.1 3.909302325581395 4.3
1 1.9 1.7871287128712872 2.02
2 0.052 0.04662068965517241 0.057999999999999996
5 0.0125 0.010775862068965518 0.0145
10 0.0041 0.003576595744680852 0.0047
EOD
# Hard-threshold
$p1c3 << EOD
0 8.15 8.15 8.15
0.5 1.7 1.6055555555555554 1.8
1 0.26 0.22533333333333336 0.3
2 0.0023 0.0020346153846153847 0.0026
5 0.0014 0.00098 0.002
10 0.0013 0.0005827586206896551 0.0029
EOD
# Top-k
$p2c1 << EOD
0 8.15 8.15 8.15
96000 4.1 3.909302325581395 4.3
192000 1.9 1.7871287128712872 2.02
384000 0.052 0.04662068965517241 0.057999999999999996
960000 0.0125 0.010775862068965518 0.0145
1920000 0.0041 0.003576595744680852 0.0047
EOD
# Hard-threshold
$p2c2 << EOD
0 8.15 8.15 8.15
1100000 1.7 1.6055555555555554 1.8
1300000 0.26 0.22533333333333336 0.3
1450000 0.0023 0.0020346153846153847 0.0026
1600000 0.0014 0.00098 0.002
1900000 0.0013 0.0005827586206896551 0.0029
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
if (format eq 'svg') { set terminal svg enhanced size 1325,384 background 'white' }
if (format eq 'png') { set terminal pngcairo enhanced size 1325,384 background 'white' }
if (format eq 'pdf') { set terminal pdfcairo enhanced size 13.80in,4.00in background 'white' }
if (GPVAL_ENCODING ne 'utf8' && GPVAL_ENCODING ne 'default') set encoding utf8
set border 3; set tics nomirror out; set grid; set key below
set linetype 1 lc rgb '#000000' lw 1.41 pt 6 ps 0.7 dt (10,6)
set linetype 2 lc rgb '#0072B2' lw 1.79 pt 7 ps 0.7 dt 1
set linetype 3 lc rgb '#D55E00' lw 1.79 pt 5 ps 0.7 dt 1
set multiplot layout 1,3 title 'Figure 1: logistic regression, 20 workers — generated data (gisette-like)' noenhanced

# panel 1: suboptimality over epoch
set title '(a) suboptimality over epoch' noenhanced
unset logscale x; set xrange [0:10]; set xtics autofreq; set xlabel 'epoch' noenhanced
set logscale y; set yrange [0.0003615807169980153:13.135331989086017]; set ytics autofreq; set ylabel 'suboptimality f(x) − f*' noenhanced
plot $p1c1 using 1:3:4 with filledcurves lt 1 fs transparent solid 0.18 noborder notitle, \
     $p1c2 using 1:3:4 with filledcurves lt 2 fs transparent solid 0.18 noborder notitle, \
     $p1c3 using 1:3:4 with filledcurves lt 3 fs transparent solid 0.18 noborder notitle, \
     $p1c1 using 1:2 with lines lt 1 title 'SGD' noenhanced, \
     $p1c2 using 1:2 with lines lt 2 title 'Top-k' noenhanced, \
     $p1c3 using 1:2 with lines lt 3 title 'Hard-threshold' noenhanced

# panel 2: suboptimality over bits
set title '(b) suboptimality over bits per worker' noenhanced
unset logscale x; set xrange [0:1920000]; set xtics autofreq; set xlabel 'bits per worker' noenhanced
set logscale y; set yrange [0.0003615807169980153:13.135331989086017]; set ytics autofreq; set ylabel 'suboptimality f(x) − f*' noenhanced
plot $p2c1 using 1:3:4 with filledcurves lt 2 fs transparent solid 0.18 noborder notitle, \
     $p2c2 using 1:3:4 with filledcurves lt 3 fs transparent solid 0.18 noborder notitle, \
     $p2c1 using 1:2 with lines lt 2 title 'Top-k' noenhanced, \
     $p2c2 using 1:2 with lines lt 3 title 'Hard-threshold' noenhanced

# panel 3: error_norm over epoch
set title '(c) error norm over epoch' noenhanced
unset logscale x; set xrange [0:10]; set xtics autofreq; set xlabel 'epoch' noenhanced
unset logscale y; set yrange [0:5.396999999999999]; set ytics autofreq; set ylabel 'error norm ‖e‖²' noenhanced
plot $p3c1 using 1:3:4 with filledcurves lt 2 fs transparent solid 0.18 noborder notitle, \
     $p3c2 using 1:3:4 with filledcurves lt 3 fs transparent solid 0.18 noborder notitle, \
     $p3c1 using 1:2 with lines lt 2 title 'Top-k' noenhanced, \
     $p3c2 using 1:2 with lines lt 3 title 'Hard-threshold' noenhanced
unset multiplot
