# gnuplot hostile.gp draws hostile.svg; gnuplot -e "format='pdf'" hostile.gp draws hostile.pdf
if (!exists('format')) format = 'svg'
if (!exists('target')) target = 'hostile.'.format
set encoding utf8
if (format eq 'pdf') {
    set terminal pdfcairo noenhanced size 16cm,10.6cm font 'Helvetica,11'
} else {
    set terminal svg noenhanced size 800,530 font 'Helvetica,Arial,sans-serif,14' background '#ffffff'
}
set output target
$data1 << EOD
1 1
2 2
3 3
EOD
$data2 << EOD
1 1
2 2
3 3
EOD
set title '</script><script>alert(1)</script> "q" ''a'' `touch hacked` $(id) \end{table} a_b^{c} 50% & #1 ~ | * [x](y) <!-- �   µ'
set xlabel '</script><script>alert(1)</script> "q" ''a'' `touch hacked` $(id) \end{table} a_b^{c} 50% & #1 ~ | * [x](y) <!-- �   µ [</script><script>alert(1)</script> "q" ''a'' `touch hacked` $(id) \end{table} a_b^{c} 50% & #1 ~ | * [x](y) <!-- �   µ]'
set xrange [1:3]
set xtics nomirror ('1' 1, '1.5' 1.5, '2' 2, '2.5' 2.5, '3' 3)
set ylabel '</script><script>alert(1)</script> "q" ''a'' `touch hacked` $(id) \end{table} a_b^{c} 50% & #1 ~ | * [x](y) <!-- �   µ [</script><script>alert(1)</script> "q" ''a'' `touch hacked` $(id) \end{table} a_b^{c} 50% & #1 ~ | * [x](y) <!-- �   µ]'
set yrange [0.8916666667:3.275]
set ytics nomirror ('1' 1, '1.5' 1.5, '2' 2, '2.5' 2.5, '3' 3)
set border 3 lc rgb '#444444'
set grid lc rgb '#dddddd' lt 1 lw 0.7
set arrow from 2, graph 0 to 2, graph 1 nohead lc rgb '#888888' lw 0.8 dt 3
set label '</script><script>alert(1)</script> "q" ''a'' `touch hacked` $(id) \end{table} a_b^{c} 50% & #1 ~ | * [x](y) <!-- �   µ' at 2, graph 0.985 offset 0.4,0 left font ',10' tc rgb '#666666'
set bmargin 5.9
set key at screen 0.5, screen 0.015 center bottom horizontal maxcols 1 Left reverse samplen 2 width 1
plot $data2 using 1:2 with lines lc rgb '#d55e00' lw 1.8 notitle, \
     $data1 using 1:2 with points lc rgb '#0072b2' pt 7 ps 0.8 notitle, \
     keyentry with points lc rgb '#0072b2' pt 7 ps 0.8 title '</script><script>alert(1)</script> "q" ''a'' `touch hacked` $(id) \end{table} a_b^{c} 50% & #1 ~ | * [x](y) <!-- �   µ', \
     keyentry with lines lc rgb '#d55e00' lw 1.8 title 'other'
