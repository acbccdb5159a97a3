package figure

// Colors is how many series have a colour of their own.
const Colors = 6

// Style is the CSS of figures, for the one style element of a page. It has light
// and dark colours by light-dark(), so that the page's color-scheme decides.
//
// The colours are those of Masataka Okabe and Kei Ito, "Color universal design"
// (2002, revised 2008, https://jfly.uni-koeln.de/color/), which people with any
// kind of colour blindness tell apart, in an order that begins with those of the
// highest contrast to white; yellow is left out, as it has next to none, and on
// dark ground the two blues change places. Each has dashes of its own too, for
// print without colours.
const Style = `.figure{display:block;width:100%;height:auto;overflow:visible;
--k0:light-dark(#0072b2,#56b4e9);
--k1:#d55e00;
--k2:light-dark(#007d5c,#009e73);
--k3:light-dark(#b35f8f,#cc79a7);
--k4:light-dark(#b97f00,#e69f00);
--k5:light-dark(#3d93c4,#4f9fd6)}
.figure text{font:12px system-ui,sans-serif;fill:currentColor}
.figure .name{font-weight:600}
.figure .weak{opacity:.72}
.figure path,.figure rect{vector-effect:non-scaling-stroke}
.figure .axis{fill:none;stroke:currentColor;opacity:.6}
.figure .grid{fill:none;stroke:currentColor;opacity:.13}
.figure .level{fill:none;stroke:currentColor;stroke-width:1.2;stroke-dasharray:1 3}
.figure .l1{stroke-dasharray:8 3}
.figure .l2{stroke-dasharray:8 3 1 3}
.figure .law{fill:none;stroke:currentColor;stroke-width:1;opacity:.75}
.figure .mark{fill:none;stroke:currentColor;stroke-width:1;stroke-dasharray:5 3}
.figure .span{fill:currentColor;opacity:.09}
.figure .line{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}
.figure .whisker{fill:none;stroke-width:1.2}
.figure .band{opacity:.22}
.figure .dot{opacity:.65}
.figure .box{stroke:none}
.figure .h0{fill:var(--k0);opacity:.14}.figure .h1{fill:var(--k1);opacity:.3}.figure .h2{fill:var(--k1);opacity:.46}.figure .h3{fill:var(--k1);opacity:.6}.figure .h4{fill:var(--k1);opacity:.75}
.figure .hollow{fill:none;stroke:currentColor;stroke-width:1.5}
.figure .move{fill:none;stroke:currentColor;stroke-width:1.2;opacity:.6}
.figure .c0{stroke:var(--k0)}.figure .c1{stroke:var(--k1)}.figure .c2{stroke:var(--k2)}.figure .c3{stroke:var(--k3)}.figure .c4{stroke:var(--k4)}.figure .c5{stroke:var(--k5)}
.figure .f0{fill:var(--k0)}.figure .f1{fill:var(--k1)}.figure .f2{fill:var(--k2)}.figure .f3{fill:var(--k3)}.figure .f4{fill:var(--k4)}.figure .f5{fill:var(--k5)}
.figure .d1{stroke-dasharray:7 3}.figure .d2{stroke-dasharray:2 3}.figure .d3{stroke-dasharray:9 3 2 3}.figure .d4{stroke-dasharray:4 4}.figure .d5{stroke-dasharray:9 3 2 3 2 3}
`
