"""Filling templates, and the pages that come out of one template each: the manual, the notice, the generated blog.

A template is a string with @name@ slots. What stands around the slots is the hand of its maker: the same on every
page, whatever the site writes into the slots.
"""

import re
from html import escape

from tools.demo_crawl.text import Writer, words

_SLOT = re.compile(r"@(\w+)@")


def fill(template: str, **values: object) -> str:
    """`template` with each @name@ replaced; a name without a value is an error, so no slot reaches a page."""
    return _SLOT.sub(lambda match: str(values[match[1]]), template)


# --- the manual of Tarnwick, an invented program, which stands on several mirrors ------------------------------------

MANUAL_CHAPTERS = words("index install quickstart create extract list verify options filters remote errors history")
_MANUAL_PAGE = """\
<!doctype html>
<html lang=en>
<meta charset=utf-8><meta name=viewport content="width=device-width,initial-scale=1">
<title>@chapter@ | Tarnwick manual</title>
<link rel=stylesheet href=/_static/manual.css?v=3><link rel=next href=@after@.html>
<script>const D=document.documentElement,k=localStorage["theme"];if(k)D.dataset.theme=k;
addEventListener("keydown",e=>{if(e.key==="/"){e.preventDefault();q.focus()}})</script>
<header><b>tarnwick<sup>3.2</sup></b> <a href=/>/</a> <a href=/blog/>/blog</a>
<form action=/search><input id=q name=q placeholder="Search... (press /)"></form></header>
<nav aria-label=chapters><details open><summary>Contents (12)</summary><ol>
@toc@
</ol></details>
<select onchange="location=this.value"><option value=/3.2/>3.2<option value=/3.1/>3.1 (old)</select></nav>
<main role=main id=@chapter@>
@content@
</main>
<aside><dl><dt>See also<dd><a href=/faq.html>/faq</a>, <a href=/api/>/api/</a>
<dt>Bugs<dd>bugs(at)tarnwick.example</dl></aside>
<footer><small>Tarnwick manual / 3.2 / <a href=https://tarnwick.example/src/@chapter@.rst>source</a></small>
<small class=mirror>Mirror hosted by @sponsor@</small></footer>
</html>
"""
_MANUAL_SECTION = """\
<section id=@anchor@><h2>@title@<a class=anchor href="#@anchor@">#</a></h2>
<p>@text@
<pre class=sh><b>$</b> tarnwick @command@ --level=@level@ -o @anchor@.tw @anchor@/*.@ending@
<i># @remark@</i></pre>
<p><code>--@flag@</code>: @more@</section>"""


def manual_content(writer: Writer, chapter: str) -> str:
    """The text of one chapter: made once, then put on every mirror."""

    def section(number: int) -> str:
        text, more = writer.paragraphs(2, longest=3)
        shown = {"title": writer.title(), "text": text, "more": more, "remark": writer.label()}
        typed = {"flag": writer.rng.choice(writer.nouns), "ending": writer.rng.choice(writer.nouns), "command": chapter}
        return fill(_MANUAL_SECTION, anchor=f"s{number}", level=number, **shown, **typed)

    return "\n".join(section(number) for number in range(1, writer.rng.randint(3, 5)))


def manual_page(chapter: str, content: str, *, sponsor: str) -> str:
    toc = "\n".join(f"<li><a href={name}.html>{name.capitalize()}</a>" for name in MANUAL_CHAPTERS)
    after = MANUAL_CHAPTERS[(MANUAL_CHAPTERS.index(chapter) + 1) % len(MANUAL_CHAPTERS)]
    return fill(_MANUAL_PAGE, chapter=chapter, after=after, toc=toc, content=content, sponsor=sponsor)


# --- a notice that many site owners paste into a page of their own ---------------------------------------------------

_NOTICE_PAGE = """\
<HTML>
<HEAD><TITLE>@title@</TITLE></HEAD>
<BODY BGCOLOR="#FFFFFF">
<H2 ALIGN="CENTER">Notice to visitors of this site</H2>

<P><B>1. What this notice is.</B> This page tells you what you may expect of us, and what we expect of you; it is not
a contract. If you disagree with any of it, please leave, and no hard feelings.</P>

<P><B>2. Words and pictures.</B> All words, drawings, photographs and tables ("the material") belong to those who made
them. You may read, print and keep one copy for your own use. You may <I>not</I>:</P>
<UL>
<LI>sell the material, whole or in part;
<LI>put your own name under it;
<LI>place it on another site, unless (a) you asked first, and (b) we said yes in writing.
</UL>

<P><B>3. Mistakes.</B> We check what we write, but we do make mistakes. Do not rely on this site when money, health or
a boat is at stake: ask somebody who knows. We accept no claim for loss, damage, delay, or wet feet.</P>

<P><B>4. Links.</B> Some links lead elsewhere. We looked at those pages once; they may have changed since. A link is
no praise, and no promise.</P>

<P><B>5. Your letters.</B> Letters sent to us are read by one person, answered (mostly) within two weeks, and then
thrown away. We keep no list of addresses &amp; we never pass one on. "Never" means never.</P>

<TABLE BORDER="1" CELLPADDING="4">
<TR><TH>What</TH><TH>How long we keep it</TH></TR>
<TR><TD>Log of visits</TD><TD>30 days</TD></TR>
<TR><TD>Letters</TD><TD>14 days, or until answered</TD></TR>
<TR><TD>Guest book</TD><TD>for ever - it is public!</TD></TR>
</TABLE>

<P><B>6. Changes.</B> This notice may change; the date below tells when it last did. Older notices lose their force
on the day a newer one appears, except for point 2, which stays.</P>

<HR>
<P><SMALL>Last changed: 3/1/2009. <A HREF="@back@">Back to @site@</A></SMALL></P>
</BODY>
</HTML>
"""


def notice_page(site: str, *, title: str, back: str) -> str:
    """The notice as pasted by the owner of `site`: only the title and the way back are theirs."""
    return fill(_NOTICE_PAGE, site=site, title=title, back=back)


# --- blogs of generated text, put up to be found by search engines ----------------------------------------------------

_GENERATED_PAGE = """\
<!DOCTYPE html>
<html lang="en-US" prefix="og: https://opengraph.example/ns#">
  <head>
    <meta charset="utf-8"/><title>@title@ | @site@</title>
    <meta property="og:title" content="@title@"/><meta property="og:url" content="https://@host@/@slug@/"/>
    <meta property="og:type" content="article"/><meta name="twitter:card" content="summary_large_image"/>
    <link rel="canonical" href="https://@host@/@slug@/"/>
    <script type="application/json">{"context":"https://schema.example","type":"BlogPosting","headline":"@title@",
      "author":{"type":"Person","name":"admin"},"page":{"id":"https://@host@/@slug@/"},"serial":@serial@}</script>
    <style>body{font:16px/1.6 sans-serif;margin:0 auto;max-width:720px}h1{font-size:2em}.rel>li{display:inline}
      #menu ul{list-style:none;margin:0;padding:0}#menu li{float:left}#menu a:hover,#menu a:focus{color:#c00}
      @media (max-width:600px){#menu{display:none}.toggle{display:block!important}}.share a+a{margin-left:.5em}
      input[type="text"],input[type="email"],textarea{border:1px solid rgba(0,0,0,.2);width:100%}</style>
  </head>
  <body class="single single-post post-id-@serial@">
    <a class="skip" href="#content">Skip to content</a>
    <header id="masthead"><div class="brand"><a href="https://@host@/" rel="home">@site@</a></div>
      <button class="toggle" aria-controls="menu" aria-expanded="false"><span>&#9776;</span></button>
      <nav id="menu" role="navigation"><ul><li class="item-1"><a href="https://@host@/">Home</a></li>
        <li class="item-2"><a href="https://@host@/blog/">Blog</a></li><li class="item-3"><a
        href="https://@host@/about/">About</a></li></ul></nav></header>
    <article id="post-@serial@" itemscope itemtype="https://schema.example/Article">
      <h1 itemprop="headline">@title@</h1><time datetime="2019-0@digit@-1@digit@T08:00:00+00:00">@digit@ days ago</time>
@content@
    </article>
    <div class="share"><a href="mailto:?subject=@slug@&amp;body=https%3A%2F%2F@host@" title="Mail">&#9993;</a> <a
      onclick="open(this.href,'_blank','width=600,height=400');return!1" href="https://@host@/share?u=@slug@">+1</a>
      <a href="https://@host@/feed/?p=@serial@&amp;type=rss" rel="alternate nofollow">RSS</a></div>
    <ul class="rel">@related@</ul>
    <section id="respond"><h3>Leave a reply <small><a rel="nofollow" href="#respond" hidden>(Cancel)</a></small></h3>
      <form action="https://@host@/post.php" method="post" novalidate><textarea id="c" name="c" rows="8"></textarea>
        <p><label for="n">Name <b>*</b></label><input id="n" name="n" type="text" value="" size="30" required/></p>
        <p><label for="m">Mail <b>*</b></label><input id="m" name="m" type="email" value="" size="30" required/></p>
        <input type="hidden" name="id" value="@serial@"/><input type="submit" value="Post &raquo;"/></form></section>
    <footer>&copy; 2019 @site@ | <a href="https://@host@/privacy/">Privacy</a> | All rights reserved.</footer>
    <script>var cfg={"url":"https://@host@/ajax.php","l10n":{"more":"...","ok":"OK"},"a":[[1,"top"],[2,"end"]]};
      document.querySelectorAll('a[href^="http"]').forEach(function(a,i){if(a.host!=location.host){a.rel="nofollow"}});
      (cfg.l10n||{}).ok&&!/bot|crawl/i.test(navigator.userAgent)?load(cfg.a[0][1],{once:!0}):void 0;</script>
    <script>(function(w,d){var s=d.createElement('script');s.async=!0;s.src='//cdn.@host@/t.js?'+(+new Date);
      d.body.appendChild(s);w._tq=w._tq||[];w._tq.push(['view','@serial@'])})(window,document);</script>
  </body>
</html>
"""


def generated_page(host: str, *, title: str, paragraphs: list[str], related: list[str], serial: int) -> str:
    """A page whose paragraphs were made by a program and whose links lead to more of the same."""
    return fill(
        _GENERATED_PAGE,
        host=host,
        site=host.split(".")[1].capitalize(),
        slug=title.lower().replace(" ", "-"),
        title=title,
        serial=serial,
        digit=serial % 9 + 1,
        content="\n".join(f"      <p>{escape(paragraph)}</p>" for paragraph in paragraphs),
        related="".join(f'<li><a href="https://{host}/{word}/">{word}</a></li>' for word in related),
    )
