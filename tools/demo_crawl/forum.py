"""QuillBoard, an invented forum software: many owners, one template engine.

Its pages are of one hand wherever they stand. Owners change little: the logo block, an entry in the menu, and the
number of rows and posts is theirs.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tools.demo_crawl.templates import fill
from tools.demo_crawl.text import Writer

_PAGE = """\
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"
 "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" dir="ltr" lang="en-gb" xml:lang="en-gb">
<head>
<meta http-equiv="content-type" content="text/html; charset=UTF-8" />
<meta http-equiv="content-style-type" content="text/css" />
<meta name="resource-type" content="document" />
<title>@board@ &bull; @title@</title>
<link rel="stylesheet" href="./styles/quill/theme/print.css" type="text/css" media="print" title="printonly" />
<link rel="stylesheet" href="./style.php?sid=@session@&amp;id=4&amp;lang=en" type="text/css" media="screen, tv" />
<script type="text/javascript">
// <![CDATA[
\tvar qb_jump = 'Enter the page number you wish to go to:', qb_on = '@page@', qb_per = '', qb_base = '';
\tvar qb_style = new Array('a--', 'a', 'a+', 'a++'), qb_active = true;
\tfunction qb_popup(url, width, height) {
\t\twindow.open(url.replace(/&amp;/g, '&'), '_popup', 'height=' + height + ',resizable=yes,width=' + width);
\t\treturn false;
\t}
\twindow.onload = function() { for (var i = 0; i < qb_load.length; i++) { eval(qb_load[i] + '()'); } }
// ]]>
</script>
</head>
<body id="quillboard" class="section-@section@ ltr">
<div id="wrap">
\t<a id="top" name="top" accesskey="t"></a>
@logo@
\t<div class="navbar"><div class="inner"><span class="corners-top"><span></span></span>
\t\t<ul class="linklist navlinks">
\t\t\t<li class="icon-home"><a href="./index.php?sid=@session@" accesskey="h">Board index</a>@crumb@</li>
\t\t\t<li class="rightside"><a href="#" onclick="qb_size(1); return false;" title="Change font size">Size</a></li>
\t\t</ul>
\t\t<ul class="linklist leftside">
@menu@
\t\t</ul>
\t\t<form action="./search.php" method="post" id="search"><fieldset>
\t\t\t<input name="keywords" type="text" maxlength="128" class="inputbox search" value="Search&hellip;"
\t\t\t\tonclick="if(this.value=='Search&hellip;')this.value='';" onblur="if(this.value=='')this.value='...';" />
\t\t\t<input class="button2" value="Search" type="submit" /><br />
\t\t\t<a href="./search.php?adv=1" title="View the advanced search options">Advanced search</a>
\t\t</fieldset></form>
\t<span class="corners-bottom"><span></span></span></div></div>
<div id="page-body">
@content@
</div>
<div id="page-footer"><div class="navbar"><div class="inner">
\t<ul class="linklist"><li class="icon-home"><a href="./index.php?sid=@session@">Board index</a></li>
\t\t<li class="rightside"><a href="./memberlist.php?mode=team">The team</a> &bull;
\t\t<a href="./ucp.php?mode=cookies">Delete cookies</a> &bull; All times are UTC [ <abbr title="+1">DST</abbr> ]</li>
\t</ul>
</div></div>
<!-- QuillBoard asks you to leave this line in place: it is how others find the software. -->
\t<div class="copyright">Powered by <a href="http://quillboard.example/">QuillBoard</a>&reg; Forum Software &copy;<br />
\t[ Time : @seconds@s | @queries@ Queries | GZIP : On ]</div>
</div></div>
<div><a id="bottom" name="bottom" accesskey="z"></a><img src="./cron.php?cron_type=tidy" width="1" alt="" /></div>
</body>
</html>
"""
_LOGOS = (
    '\t<div id="site-logo"><a href="/"><img src="/logo.png" alt="@board@" /></a></div>',
    '\t<h1 class="brand"><em>@board@</em></h1>\n\t<p>@motto@</p>',
    "\t<!-- our banner --><center><b>@board@</b><br>@motto@</center>",
    '\t<div class="headerbar"><h1>@board@</h1><p style="display: none;"><a href="#start">Skip</a></p></div>',
    '\t<table width="100%"><tr><td><img src="images/@page@.jpg"></td><td>@board@ | @motto@</td></tr></table>',
)
_MENU_ENTRY = '\t\t\t<li class="icon-@icon@"><a href="./@icon@.php?mode=view" title="@title@">@title@</a></li>'
_CRUMB = ' <strong>&#8249;</strong> <a href="./viewforum.php?f=2">@title@</a>'
_ROWS = """\
\t<div class="forabg"><ul class="topiclist"><li class="header"><dl><dt>@head@</dt></dl></li></ul>
\t<ul class="topiclist">
@rows@
\t</ul></div>"""
_BOARD_ROW = """\
\t\t<li class="row"><dl class="icon" style="background-image: url(./styles/quill/forum_read.gif);">
\t\t\t<dt title="No unread posts"><a href="./viewforum.php?f=@number@" class="forumtitle">@title@</a><br />@text@</dt>
\t\t\t<dd class="topics">@count@ <dfn>Topics</dfn></dd><dd class="lastpost"><span><dfn>Last post</dfn>
\t\t\tby <a href="./memberlist.php?u=@number@">@name@</a></span></dd></dl></li>"""
_TOPIC_ROW = """\
\t\t<li class="row bg@odd@"><dl class="icon" title="@title@">
\t\t\t<dt><a href="./viewtopic.php?f=2&amp;t=@number@" class="topictitle">@title@</a><br />
\t\t\tby <a href="./memberlist.php?u=@number@">@name@</a> &raquo; @day@</dt><dd class="posts">@count@</dd></dl></li>"""
_POST = """\
<div id="p@number@" class="post bg@odd@"><div class="postbody">
\t<ul class="profile-icons"><li><a href="./posting.php?mode=quote&amp;p=@number@"><span>Reply</span></a></li></ul>
\t<h3><a href="#p@number@">Re: @title@</a></h3><p class="author">by <strong>@name@</strong> &raquo; @day@ </p>
\t<div class="content">@text@</div></div></div>"""
_TOPIC = '<h2><a href="./viewtopic.php?f=2&amp;t=@number@">@title@</a></h2>\n@posts@'
_PROFILE = """\
<form method="post" action="./memberlist.php?mode=viewprofile"><div class="panel">
\t<dl class="left-box"><dt>@name@</dt></dl><dl class="details"><dt>Joined:</dt><dd>@day@</dd>
\t<dt>Posts:</dt><dd>@count@ (@odd@% of all)</dd><dt>Topic:</dt><dd>@title@</dd></dl>
\t<div class="signature">@text@</div></div></form>"""


@dataclass(frozen=True)
class ForumSite:
    """What one owner made of the software: the name of the board, its logo block and its menu."""

    board: str
    logo: str
    menu: str

    @classmethod
    def set_up(cls, board: str, writer: Writer) -> "ForumSite":
        logo = fill(writer.rng.choice(_LOGOS), board=board, motto=writer.title(), page=writer.rng.randint(1, 9))
        entries = [("faq", "FAQ"), ("ucp", "Login"), ("register", "Register")]
        entries += [("links", writer.label()) for _ in range(writer.rng.randint(0, 2))]
        return cls(board, logo, "\n".join(fill(_MENU_ENTRY, icon=icon, title=title) for icon, title in entries))

    def page(self, section: str, writer: Writer) -> str:
        """One page of the board; `section` is index, viewforum, viewtopic or profile."""
        title, rng = writer.title(), writer.rng
        return fill(
            _PAGE,
            board=self.board,
            logo=self.logo,
            menu=self.menu,
            title=title,
            section=section,
            content=_CONTENT[section](writer, title),
            crumb="" if section == "index" else fill(_CRUMB, title=title),
            session=f"{rng.getrandbits(128):032x}",
            page=rng.randint(1, 9),
            seconds=f"0.{rng.randint(100, 999)}",
            queries=rng.randint(9, 30),
        )


def _item(template: str, writer: Writer, *, title: str, text: str) -> str:
    """One row, post or profile: the slots all of them share."""
    rng = writer.rng
    day = writer.write("{month}") + f" {rng.randint(1, 28):02d}, 20{rng.randint(10, 19)} {rng.randint(1, 9)}:20 pm"
    values = {"number": rng.randint(10, 9999), "count": rng.randint(1, 400), "odd": rng.randint(1, 2), "day": day}
    return fill(template, title=title, text=text, name=writer.name(), **values)


def _rows(template: str, writer: Writer, *, head: str) -> str:
    count = writer.rng.randint(4, 15)
    rows = [_item(template, writer, title=writer.title(), text=writer.label()) for _ in range(count)]
    return fill(_ROWS, head=head, rows="\n".join(rows))


def _topic(writer: Writer, title: str) -> str:
    rng = writer.rng
    texts = ["<br /><br />".join(writer.paragraphs(rng.randint(1, 2), longest=3)) for _ in range(rng.randint(2, 7))]
    posts = [_item(_POST, writer, title=title, text=text) for text in texts]
    return fill(_TOPIC, number=rng.randint(10, 9999), title=title, posts='\n<hr class="divider" />\n'.join(posts))


_CONTENT: dict[str, Callable[[Writer, str], str]] = {
    "index": lambda writer, title: _rows(_BOARD_ROW, writer, head="Forum"),
    "viewforum": lambda writer, title: _rows(_TOPIC_ROW, writer, head=title),
    "viewtopic": _topic,
    "profile": lambda writer, title: _item(_PROFILE, writer, title=title, text=writer.sentence()),
}
