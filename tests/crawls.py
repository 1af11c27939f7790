"""Small crawls for tests of whole runs: sites of a few templates, and pages that are hard to recognise again."""

import hashlib
import random
from base64 import b32encode
from collections.abc import Mapping
from pathlib import Path

_COMMON_WORDS = (
    "the of and to in is that it was for on are as with his they at be this from have or by one had not but what all "
    "were when we there can an your which their said if do will each about how up out them then she many some so these "
    "would other into has more her two like him see time could no make than first been its who now people my made over "
    "did down only way find use may water long little very after words called just where most know get through back"
)
WORDS = _COMMON_WORDS.split()

TEMPLATES = (
    '<!DOCTYPE html>\n<html><head><title>{title}</title><link rel="stylesheet" href="/s.css?v={n}"></head>\n'
    '<body class="a b"><div id="top"><!-- head -->{title}</div>\n{body}<div class="foot">(c) {title}; all rights.</div>'
    "</body></html>\n",
    "<html>\n <head>\n  <title>{title}</title>\n  <script>var a=[{n}];a.push('x');</script>\n </head>\n <body>\n"
    '  <table border="0" cellpadding="2">\n{body}  </table>\n </body>\n</html>\n',
    "<html><head><title>{title}</title></head><body bgcolor=#ffffff><center><font size=+1>{title}</font><hr>\n{body}"
    "<br><a href='mailto:info@{host}'>mail</a></center></body></html>",
)
ROWS = (
    '<p class="t{k}">{text}.</p><ul><li><a href="/p{k}.html">{short}</a></li></ul>\n',
    "   <tr><td>{short}:</td><td>{text};</td></tr>\n",
    "<b>{short}</b>&nbsp;|&nbsp;<i>{text}!</i><br>\n",
)


def prose(draw: random.Random, words: int) -> str:
    """Words in no order."""
    return " ".join(draw.choices(WORDS, k=words))


def page(kind: int, host: str, number: int, *, words: int = 40, rows: int = 12, text_seed: int | None = None) -> bytes:
    """A page of a template. Pages of one `text_seed` have the same words."""
    draw = random.Random(f"{host} {number}" if text_seed is None else text_seed)
    body = "".join(ROWS[kind].format(k=place, text=prose(draw, words), short=prose(draw, 2)) for place in range(rows))
    return TEMPLATES[kind].format(title=prose(draw, 3), n=number, body=body, host=host).encode()


def small_crawl(seed: int = 1) -> dict[str, bytes]:
    """URLs and pages: three templates on six sites each, some of them with the same text."""
    return {
        f"http://{name}{seed}{site}.example/{path}": page(
            kind, f"{name}{seed}{site}.example", number, text_seed=kind if site < 3 and not path else None
        )
        for kind, name in enumerate(("shop", "news", "page"))
        for site in range(6)
        for number, path in enumerate(("", "about.html"))
    }


def write_warc(path: Path, pages: Mapping[str, bytes], headers: Mapping[str, str] | None = None) -> Path:
    """Pages as a WARC file that is not packed: a byte of a page can be changed and nothing else is. Returns `path`."""
    with path.open("wb") as file:
        for url, body in pages.items():
            kind = (headers or {}).get(url, "text/html")
            block = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode() + body
            digest = b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()
            head = (
                f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
                f"WARC-Payload-Digest: sha1:{digest}\r\nContent-Type: application/http\r\n"
                f"Content-Length: {len(block)}\r\n\r\n"
            )
            file.write(head.encode() + block + b"\r\n\r\n")
    return path


def awkward_pages() -> tuple[dict[str, bytes], dict[str, str]]:
    """Pages that are hard to recognise again, by URL, and their media types where those matter."""
    host = "my-own-name.co.example"
    shown = f"<a href='http://{host}/'>{host}</a> | <b>{host}</b>;\n" * 6
    russian = "<html><head><title>да</title></head><body>" + "<p class='x'>слова, слова: слова;</p>\n" * 20
    large = "<html><body>" + f"<div id='{host}'>{host}: (x) [y] {{z}};</div>\n" * 300
    table = "<html><meta charset=shift_jis><body>" + "<td>漢字 表示</td>;\n" * 40
    pages = {
        f"http://{host}/": f"<html><head><title>{host}</title></head><body>{shown}</body></html>".encode(),
        "http://another-name.example/": b"<html><body>" + b"<p>another-name.example!</p>" * 9 + b"</body></html>",
        "http://tiny.example/": b"<html><p>hi</p></html>",
        "http://tiny.example/second": b"<html><p>hi, you</p></html>",
        "http://own.tiny-name.example/": b"<html><p>own.tiny-name.example</p></html>",
        "http://none.example/": b"words without any mark at all " * 20,
        "http://none.example/letters": b"wordswithoutanymarkatall" * 20,
        "http://wide.example/": b"\xff\xfe" + russian.encode("utf-16-le"),
        "http://wide.example/be": b"\xfe\xff" + russian.encode("utf-16-be"),
        "http://wide.example/small": b"\xff\xfe" + "wörter ohne zeichen".encode("utf-16-le"),
        "http://wide.example/letters": b"\xff\xfe" + "wörterohnezeichen".encode("utf-16-le"),
        "http://cp1251.example/": russian.encode("windows-1251"),
        "http://sjis.example/": table.encode("shift_jis"),
        f"http://{host}/large": large.encode(),
        "http://mirror.example/": f"<html><head><title>{host}</title></head><body>{shown}</body></html>".encode(),
        "http://plain.example/": page(0, "plain.example", 1),
    }
    types = {
        "http://cp1251.example/": "text/html; charset=windows-1251",
    }
    return pages, types
