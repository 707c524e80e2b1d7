# gnuplot mean-power.gp draws mean-power.svg; gnuplot -e "format='pdf'" mean-power.gp draws mean-power.pdf
if (!exists('format')) format = 'svg'
if (!exists('target')) target = 'mean-power.'.format
set encoding utf8
if (format eq 'pdf') {
    set terminal pdfcairo noenhanced size 16cm,10.6cm font 'Helvetica,11'
} else {
    set terminal svg noenhanced size 800,530 font 'Helvetica,Arial,sans-serif,14' background '#ffffff'
}
set output target
$data1 << EOD
-0.2 31 29 33
0.8 58.5 55 60

EOD
$data2 << EOD
0.2 120
1.2 240
2.2 470
EOD
set title 'Mean power of a configuration (estimated values)'
set xlabel 'configuration'
set xrange [-0.87:2.87]
set xtics nomirror ('1 worker' 0, '2 workers' 1, '4 workers' 2)
set ylabel 'mean power [W]'
set yrange [0:493.5]
set ytics nomirror ('0' 0, '100' 100, '200' 200, '300' 300, '400' 400)
set border 3 lc rgb '#444444'
set grid lc rgb '#dddddd' lt 1 lw 0.7
set bmargin 4.8
set key at screen 0.5, screen 0.015 center bottom horizontal maxcols 4 Left reverse samplen 2 width 1
plot $data1 using 1:2:(0.368) with boxes fc rgb '#0072b2' fs solid 0.85 noborder notitle, \
     $data1 using 1:3:(0):($4-$3) with vectors heads size graph 0.006,90 lc rgb '#333333' lw 1.2 notitle, \
     $data2 using 1:2:(0.368) with boxes fc rgb '#d55e00' fs solid 0.85 noborder notitle, \
     keyentry with boxes fc rgb '#0072b2' fs solid 0.85 noborder title 'cpu', \
     keyentry with boxes fc rgb '#d55e00' fs solid 0.85 noborder title 'gpu'
