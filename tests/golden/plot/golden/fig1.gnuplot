# Figure 1: logistic regression, 20 workers — generated data (gisette-like)
# recipe fig1 (sha256 0123456789ab), dataset gisette (generated), sparsegrad 0.1.0 (1a2b3c4d5e)
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
if (format eq 'svg') { set terminal svg enhanced size 1008,300 font 'Helvetica,Arial,sans-serif,12' background 'white' }
if (format eq 'png') { set terminal pngcairo enhanced size 2016,601 font 'sans-serif,9' fontscale 2 linewidth 2 pointscale 2 background 'white' }
if (format eq 'pdf') { set terminal pdfcairo enhanced size 10.50in,3.13in font 'sans-serif,9' fontscale 0.75 linewidth 1.5 pointscale 0.75 background 'white' }
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
set label 1 'Figure 1: logistic regression, 20 workers — generated data (gisette-like)' at screen 0.5000, screen 0.9559 center noenhanced
set label 2 'mean over 2 seeds; bands: ±1 standard deviation, downwards by the same factor on a logarithmic axis' at screen 0.9905, screen 0.0416 right font small tc rgb '#505050' noenhanced
set arrow 3 from screen 0.3732, screen 0.8940 to screen 0.3994, screen 0.8940 nohead lt 1
set label 4 'SGD' at screen 0.4054, screen 0.8940 left font small noenhanced
set arrow 5 from screen 0.4405, screen 0.8940 to screen 0.4667, screen 0.8940 nohead lt 2
set label 6 'Top-k' at screen 0.4727, screen 0.8940 left font small noenhanced
set arrow 7 from screen 0.5145, screen 0.8940 to screen 0.5407, screen 0.8940 nohead lt 3
set label 8 'Hard-threshold' at screen 0.5466, screen 0.8940 left font small noenhanced

# panel 1: suboptimality over epoch
set lmargin at screen 0.0642; set rmargin at screen 0.3143; set tmargin at screen 0.7871; set bmargin at screen 0.2178
unset logscale x
set xrange [0:10]
set xtics ('' 0, '' 2, '' 4, '' 6, '' 8, '' 10)
set label 9 '0' at first 0, screen 0.1659 center
set label 10 '2' at first 2, screen 0.1659 center
set label 11 '4' at first 4, screen 0.1659 center
set label 12 '6' at first 6, screen 0.1659 center
set label 13 '8' at first 8, screen 0.1659 center
set label 14 '10' at first 10, screen 0.1659 center
set label 15 'epoch' at screen 0.1892, screen 0.1060 center noenhanced
set logscale y
set yrange [0.0003615807169980153:13.135331989086017]
set ytics ('' 0.0004 1, '' 0.0005 1, '' 0.0006 1, '' 0.0007 1, '' 0.0008 1, '' 0.0009 1, '' 0.001, '' 0.002 1, '' 0.003 1, '' 0.004 1, '' 0.005 1, '' 0.006 1, '' 0.007 1, '' 0.008 1, '' 0.009 1, '' 0.01, '' 0.02 1, '' 0.03 1, '' 0.04 1, '' 0.05 1, '' 0.06 1, '' 0.07 1, '' 0.08 1, '' 0.09 1, '' 0.1, '' 0.2 1, '' 0.3 1, '' 0.4 1, '' 0.5 1, '' 0.6 1, '' 0.7 1, '' 0.8 1, '' 0.9 1, '' 1, '' 2 1, '' 3 1, '' 4 1, '' 5 1, '' 6 1, '' 7 1, '' 8 1, '' 9 1, '' 10)
set label 16 '10^{−3}' at screen 0.0559, first 0.001 right
set label 17 '10^{−2}' at screen 0.0559, first 0.01 right
set label 18 '10^{−1}' at screen 0.0559, first 0.1 right
set label 19 '10^{0}' at screen 0.0559, first 1 right
set label 20 '10^{1}' at screen 0.0559, first 10 right
set label 21 'suboptimality f(x) − f*' at screen 0.0132, screen 0.5025 center rotate by 90 noenhanced
set label 22 '(a) suboptimality over epoch' at screen 0.0642, screen 0.8321 left noenhanced
plot $p1c1 using 1:3:4 with filledcurves lt 1 fs transparent solid 0.18 noborder, \
     $p1c2 using 1:3:4 with filledcurves lt 2 fs transparent solid 0.18 noborder, \
     $p1c3 using 1:3:4 with filledcurves lt 3 fs transparent solid 0.18 noborder, \
     $p1c2 using 1:2 with lines lt 2, \
     $p1c3 using 1:2 with lines lt 3, \
     $p1c1 using 1:2 with lines lt 1
unset label; unset arrow

# panel 2: suboptimality over bits
set lmargin at screen 0.3975; set rmargin at screen 0.6476; set tmargin at screen 0.7871; set bmargin at screen 0.2178
unset logscale x
set xrange [0:1920000]
set xtics ('' 0, '' 500000, '' 1000000, '' 1500000)
set label 23 '0' at first 0, screen 0.1659 center
set label 24 '0.5' at first 500000, screen 0.1659 center
set label 25 '1' at first 1000000, screen 0.1659 center
set label 26 '1.5' at first 1500000, screen 0.1659 center
set label 27 'bits per worker (×10⁶)' at screen 0.5226, screen 0.1060 center noenhanced
set logscale y
set yrange [0.0003615807169980153:13.135331989086017]
set ytics ('' 0.0004 1, '' 0.0005 1, '' 0.0006 1, '' 0.0007 1, '' 0.0008 1, '' 0.0009 1, '' 0.001, '' 0.002 1, '' 0.003 1, '' 0.004 1, '' 0.005 1, '' 0.006 1, '' 0.007 1, '' 0.008 1, '' 0.009 1, '' 0.01, '' 0.02 1, '' 0.03 1, '' 0.04 1, '' 0.05 1, '' 0.06 1, '' 0.07 1, '' 0.08 1, '' 0.09 1, '' 0.1, '' 0.2 1, '' 0.3 1, '' 0.4 1, '' 0.5 1, '' 0.6 1, '' 0.7 1, '' 0.8 1, '' 0.9 1, '' 1, '' 2 1, '' 3 1, '' 4 1, '' 5 1, '' 6 1, '' 7 1, '' 8 1, '' 9 1, '' 10)
set label 28 '10^{−3}' at screen 0.3892, first 0.001 right
set label 29 '10^{−2}' at screen 0.3892, first 0.01 right
set label 30 '10^{−1}' at screen 0.3892, first 0.1 right
set label 31 '10^{0}' at screen 0.3892, first 1 right
set label 32 '10^{1}' at screen 0.3892, first 10 right
set label 33 'suboptimality f(x) − f*' at screen 0.3465, screen 0.5025 center rotate by 90 noenhanced
set label 34 '(b) suboptimality over bits per worker' at screen 0.3975, screen 0.8321 left noenhanced
plot $p2c1 using 1:3:4 with filledcurves lt 2 fs transparent solid 0.18 noborder, \
     $p2c2 using 1:3:4 with filledcurves lt 3 fs transparent solid 0.18 noborder, \
     $p2c1 using 1:2 with lines lt 2, \
     $p2c2 using 1:2 with lines lt 3
unset label; unset arrow

# panel 3: error_norm over epoch
set lmargin at screen 0.7092; set rmargin at screen 0.9810; set tmargin at screen 0.7871; set bmargin at screen 0.2178
unset logscale x
set xrange [0:10]
set xtics ('' 0, '' 2, '' 4, '' 6, '' 8, '' 10)
set label 35 '0' at first 0, screen 0.1659 center
set label 36 '2' at first 2, screen 0.1659 center
set label 37 '4' at first 4, screen 0.1659 center
set label 38 '6' at first 6, screen 0.1659 center
set label 39 '8' at first 8, screen 0.1659 center
set label 40 '10' at first 10, screen 0.1659 center
set label 41 'epoch' at screen 0.8451, screen 0.1060 center noenhanced
unset logscale y
set yrange [0:5.396999999999999]
set ytics ('' 0, '' 1, '' 2, '' 3, '' 4, '' 5)
set label 42 '0' at screen 0.7008, first 0 right
set label 43 '1' at screen 0.7008, first 1 right
set label 44 '2' at screen 0.7008, first 2 right
set label 45 '3' at screen 0.7008, first 3 right
set label 46 '4' at screen 0.7008, first 4 right
set label 47 '5' at screen 0.7008, first 5 right
set label 48 'error norm ‖e‖²' at screen 0.6798, screen 0.5025 center rotate by 90 noenhanced
set label 49 '(c) error norm over epoch' at screen 0.7092, screen 0.8321 left noenhanced
plot $p3c1 using 1:3:4 with filledcurves lt 2 fs transparent solid 0.18 noborder, \
     $p3c2 using 1:3:4 with filledcurves lt 3 fs transparent solid 0.18 noborder, \
     $p3c1 using 1:2 with lines lt 2, \
     $p3c2 using 1:2 with lines lt 3
unset label; unset arrow
unset multiplot
