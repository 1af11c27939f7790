"""Pages made to be sold or clicked: two link farms and the landing pages of two parking providers.

Each is one script with a list of domains. Parking pages are small and carry random tokens (keys, signatures, ids);
their base64 letters + / = are noise that differs from page to page, as on real ones.
"""

import base64
import random

from tools.demo_crawl.templates import fill
from tools.demo_crawl.text import Writer

# --- link farm one: upper-case tables, every page links to many of its sisters ---------------------------------------

_LOANS_PAGE = """\
<HTML><HEAD><TITLE>@keyword@ - @others@</TITLE>
<META NAME="keywords" CONTENT="@others@">
<META NAME="description" CONTENT="@keyword@! @keyword@? Find @keyword@ here.">
<META NAME="robots" CONTENT="index,follow,all"></HEAD>
<BODY bgcolor=#EEF2FF text=#000044 link=#0000CC topmargin=0><CENTER>
<TABLE width=780 border=0 cellspacing=2 cellpadding=3>
<TR><TD colspan=3><H1><FONT color=#CC0000>@keyword@</FONT></H1></TD></TR>
<TR valign=top><TD width=160 bgcolor=#DDE6FF>
@left@
</TD><TD>
@offer@<P><B>@keyword@</B>, @others@. <I>@keyword@</I> and <U>@second@</U>: <B>@others@</B>!</P>
@blurbs@
<P><A HREF="http://@sister@/apply.cgi?id=@serial@&k=@serial@">&gt;&gt;&gt; Apply now for @keyword@ &lt;&lt;&lt;</A></P>
</TD><TD width=160 bgcolor=#DDE6FF>
@right@
</TD></TR></TABLE>
<FONT size=1>@bottom@</FONT>
<!-- p@serial@ --><SCRIPT language=JavaScript>
document.write('<IMG SRC="http://@sister@/c.gif?'+escape(document.referrer)+'" width=1>');</SCRIPT>
</CENTER></BODY></HTML>
"""
_LOANS_OFFER = "<DIV align=center><BLINK><FONT size=+2>** @second@: only @serial@% **</FONT></BLINK></DIV><BR>\n"


def loans_page(writer: Writer, sisters: list[str]) -> str:
    """One page of the loans farm; the links go to `sisters`, the other hosts of the farm. Half the pages shout."""
    rng = writer.rng

    def links(pattern: str, count: int) -> list[str]:
        return [pattern.format(_loans_link(writer, sisters)) for _ in range(count)]

    offer = _LOANS_OFFER if rng.random() < 0.5 else ""
    return fill(
        _LOANS_PAGE.replace("@offer@", offer),
        keyword=writer.keyword(),
        second=writer.keyword(),
        others=", ".join(writer.keywords(rng.randint(4, 9))),
        left="\n".join(links("&#149; {}<BR>", rng.randint(8, 20))),
        right="\n".join(links("{}<BR>", rng.randint(8, 20))),
        blurbs="\n".join(links("<P>{}: " + ", ".join(writer.keywords(3)) + "...</P>", rng.randint(4, 9))),
        bottom=" | ".join(links("{}", rng.randint(10, 16))),
        sister=rng.choice(sisters),
        serial=rng.randint(1000, 9999),
    )


def _loans_link(writer: Writer, sisters: list[str]) -> str:
    keyword = writer.keyword()
    return f'<A HREF="http://{writer.rng.choice(sisters)}/{keyword.replace(" ", "-")}.html">{keyword}</A>'


# --- link farm two: a shop front whose script swaps blocks so that no two pages look the same ------------------------

_GADGETS_HEAD = """\
<!DOCTYPE html><html><head><meta charset='utf-8'><title>@keyword@ :: @host@</title>
<link href='//static.@host@/css/?f=reset,grid,shop&amp;v=@serial@' rel='stylesheet'></head><body class='p-@serial@'>
<div id='hd'><a class='lg' href='/'><span>@host@</span></a>
<form action='/find' role='search'><input name='q' value='@keyword@'><button>Go</button></form></div>
"""
_GADGETS_TAIL = """
<div id='ft'><a href='/about'>About</a> &middot; <a href='/terms'>Terms</a> &middot; <span>&copy; @host@</span></div>
<script>var _s=_s||[];_s.push({id:@serial@,u:'@host@',e:['view','cart'],t:+new Date()});</script></body></html>
"""
_GADGETS_BLOCKS = (
    "<div class='b b-hero'><h1>@keyword@</h1><p>From <b class='pr'>$@price@.99</b> (was <s>$@serial@</s>)</p></div>",
    "<div class='b b-list'><ul>@items@</ul></div>",
    "<div class='b b-stars' data-score='@price@.5'>&#9733;&#9733;&#9733;&#9734; <em>@serial@ reviews</em> / FAQ</div>",
    "<div class='b b-tags'>@tags@</div>",
    "<div class='b b-buy'><form method='post' action='//@sister@/go?sku=@serial@'>\n"
    "<input type='hidden' name='ref' value='@host@'><button class='btn btn-xl'>Buy &rarr;</button></form></div>",
    "<div class='b b-text'><h2>Why @keyword@?</h2><p>@keyword@! @text@.</p></div>",
    "<div class='b b-more'><table class='cmp'><tr><th>Model</th><th>$</th></tr>\n"
    "<tr><td><a href='//@sister@/c/@serial@'>@keyword@</a></td><td>@price@.00</td></tr></table></div>",
)


def gadgets_page(writer: Writer, host: str, *, sisters: list[str]) -> str:
    """One page of the gadgets farm: the same blocks, two neighbours of which have changed places."""
    rng = writer.rng
    blocks = list(_GADGETS_BLOCKS)
    swapped = rng.randrange(len(blocks) - 1)
    blocks[swapped], blocks[swapped + 1] = blocks[swapped + 1], blocks[swapped]
    links = ((f"//{rng.choice(sisters)}/c/{rng.randint(1, 99)}", word) for word in writer.keywords(rng.randint(4, 12)))
    tags = writer.keywords(rng.randint(4, 9))
    return fill(
        _GADGETS_HEAD + "\n".join(blocks) + _GADGETS_TAIL,
        host=host,
        keyword=writer.keyword(),
        items="".join(f"<li><a href='{target}'>{word}</a></li>" for target, word in links),
        tags=" ".join(f"<a href='/t/{word.replace(' ', '+')}'>#{word}</a>" for word in tags),
        text=", ".join(writer.keywords(rng.randint(2, 5))),
        sister=rng.choice(sisters),
        price=rng.randint(10, 99),
        serial=rng.randint(100, 999),
    )


# --- parking providers -----------------------------------------------------------------------------------------------

_PARKWELL_SEARCH = """\
<!DOCTYPE html>
<html data-adblockkey="MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAKdemo/Wel+1PQ==_@signature@" lang="en">
<head><meta http-equiv="Content-Type" content="text/html; charset=utf-8" />
<title>@domain@ - @domain@ Resources and Information.</title>
<meta name="viewport" content="width=device-width, initial-scale=1, maximum-scale=1, user-scalable=0" />
<style type="text/css">*{margin:0;padding:0}body{background:#0e162e;font:14px Arial,sans-serif;text-align:center}
#searches a:hover{color:#fff}.foot{font-size:.7em;color:#888}</style>
<script type="text/javascript">
var pw = {"id":"@token@","d":"@domain@","feed":"//feed.parkwell.example/v2?c=@token@&d=@domain@&t=rs",
"ch":["@channel@"],"n":@count@,"ads":{"on":true,"max":3},"k":"@signature@"};
(function(){var s=document.createElement("script");s.src=pw.feed+"&r="+Math.random();
document.getElementsByTagName("head")[0].appendChild(s);})();
</script></head>
<body onload="pwInit('@domain@');"><div id="main"><h1>@domain@</h1>
<p class="sale">This domain may be for sale!
<a href="http://parkwell.example/buy/?d=@domain@&amp;s=@channel@" target="_blank">Inquire &raquo;</a></p>
<div id="searches"><h2>Related searches:</h2><ul>
@links@
</ul></div>
<div class="foot"><a href="javascript:void(0);" onclick="window.open('/pp.php','pp','w=600');">Privacy</a></div></div>
<noscript><img src="http://feed.parkwell.example/px.gif?e=@token@" alt="" /></noscript></body></html>
"""
_PARKWELL_SEARCH_LINK = '<li><a href="/?q=@query@&amp;sig=@token@" rel="nofollow" class="rs">@keyword@</a></li>'
_PARKWELL_FRAME = """\
<html>
<head>
  <title>@domain@</title>
  <script>
    /* parkwell lander */
    var a = location.search.substr(1).split('&'), k = '@signature@';
    if (top !== self) { top.location.replace(self.location.href + '?fp=' + k); }
  </script>
</head>
<frameset rows='100%,*' frameborder='no' border='0' framespacing='0'>
  <frame name='top' src='http://lander.parkwell.example/@token@?domain=@domain@' noresize>
  <noframes><body>Please visit @links@.</body></noframes>
</frameset>
</html>
"""
_PARKWELL_FRAME_LINK = "<a href='/@query@'>@keyword@</a>"
_LOTSIDE = """\
<!doctype html><html lang=en><head><meta charset=utf-8><title>@domain@</title>\
<script>window.lot="@blob@"</script></head>\
<body><div id=target style="opacity:0"></div><h3>@domain@ is parked with Lotside</h3>@links@\
<script src="/b@token@.js?k=@signature@" async></script></body></html>
"""
_LOTSIDE_LINK = "<p><a href=/s?@query@>@keyword@</a>"

_PARKING_TEMPLATES = {
    "parkwell/search": (_PARKWELL_SEARCH, _PARKWELL_SEARCH_LINK, 6, 14),
    "parkwell/frame": (_PARKWELL_FRAME, _PARKWELL_FRAME_LINK, 1, 4),
    "lotside/script": (_LOTSIDE, _LOTSIDE_LINK, 2, 6),
}


def parked_page(template: str, domain: str, *, writer: Writer) -> str:
    """The landing page a provider serves for `domain`; `template` is one of its designs."""
    page, link, fewest, most = _PARKING_TEMPLATES[template]
    rng = writer.rng
    keywords = writer.keywords(rng.randint(fewest, most))
    links = [fill(link, keyword=word, query=word.replace(" ", "+"), token=_hex_token(rng)) for word in keywords]
    blob = f'{{"d":"{domain}","u":"{_hex_token(rng)}","n":{len(links)}}}'
    return fill(
        page,
        domain=domain,
        links="\n".join(links),
        count=len(links),
        channel=f"{rng.randint(1, 999):05d}",
        token=_hex_token(rng),
        signature=base64.b64encode(rng.randbytes(16)).decode(),
        blob=base64.b64encode(blob.encode()).decode(),
    )


def _hex_token(rng: random.Random) -> str:
    return f"{rng.getrandbits(64):016x}"
