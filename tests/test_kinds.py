# ruff: noqa: E501
"""Kinds of pages by themselves: what they say, in many languages and encodings, and what must not be taken for them."""

import numpy as np
import pyarrow as pa
import pytest

from samehand.html import parse_pages
from samehand.methods.sites.features import page_features
from samehand.methods.sites.kinds import RULES
from samehand.methods.sites.phrases import fold, shipped_phrases
from samehand.methods.sites.verdicts import ACCUSING, KINDS

PROSE = "<p>" + " ".join(f"word{number} in a sentence that goes on and on," for number in range(40)) + "</p>"
MENU = "".join(f"<li><a href=/{number}>Chapter {number}</a></li>" for number in range(60))


def kind_of(page: str, domain: str = "bakery.example", status: int | None = None) -> str:
    data = np.frombuffer(page.encode() + b" ", np.uint8)
    offsets = np.array([0, data.size - 1])
    table = pa.table(
        {
            "page_id": pa.array([0], pa.int64()),
            "url_host_name": [f"www.{domain}"],
            "url_host_private_domain": [domain],
            "fetch_status": pa.array([status], pa.int16()),
        }
    )
    found = page_features(table, parse_pages(data, offsets), data=data, offsets=offsets)
    return str(found.column("kind")[0].as_py())


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        (
            "<title>301 Moved Permanently</title><h1>Moved Permanently</h1>The document has moved <a href=x>here</a>.",
            "redirect",
        ),
        ("<head><title>Objekt verschoben</title></head><h1>Objekt verschoben</h1>", "redirect"),
        ("Found", "redirect"),
        ("<meta http-equiv='refresh' content='0; url=/shop/'><body></body>", "redirect"),
        ("<script>window.location.href='/de/'</script>", "redirect"),
        (
            "<title>403 Forbidden</title><h1>Forbidden</h1><p>You don't have permission to access / on this server.",
            "error",
        ),
        ("<title>Ошибка 404</title><h1>Страница не найдена</h1>", "error"),
        (
            "<title>Attention Required! | Cloudflare</title><h1>One more step</h1><p>Please complete the security check",
            "challenge",
        ),
        ("<script>document.cookie='a=b';location.reload()</script>", "challenge"),
        ("<h1>Sind Sie über 18?</h1><a href=/in>Ja</a>", "challenge"),
        ("<html></html>", "empty"),
        ("<title>Shop</title><div id=app></div><script src=/main.js></script>", "shell"),
        ("<title>Login</title><form><input name=u><input type=password><button>Log in</button></form>", "login"),
        (
            "<title>Welcome to nginx!</title><h1>Welcome to nginx!</h1><p>If you see this page, the nginx web server is",
            "hosting-default",
        ),
        ("<h1>It works!</h1>", "hosting-default"),
        ("<title>IIS7</title><a href='http://go.microsoft.example/'><img src=welcome.png></a>", "hosting-default"),
        (
            "<title>bakery.example</title><h1>bakery.example</h1><p>Questo dominio è stato registrato",
            "registrar-default",
        ),
        ("<title>My site</title><h1>Welcome</h1><p>No front page content has been created yet.", "cms-default"),
        ("<title>Anna</title><h1>Sitio en construcción</h1>", "coming-soon"),
        ("<title>Account Suspended</title><h1>This account has been suspended.</h1>", "suspended"),
        (
            "<title>bakery.example</title><h1>bakery.example</h1><p>This domain is for sale! <a href=/offer>Offer</a>",
            "for-sale",
        ),
        ("<title>bakery.example</title><p>Домен bakery.example продаётся", "for-sale"),
        ("<title>【bakery.example】域名出售</title><p>域名出售中", "for-sale"),
        ("<title>bakery.example</title><p>bakery.example is parked free, courtesy of a registrar", "parked-ads"),
        ("<html data-adblockkey=x><title></title><script src=x></script></html>", "parked-ads"),
        ("<body><iframe src='http://mcc.park.example/park/abc' width=100%></iframe></body>", "parked-ads"),
    ],
)
def test_pages_say_what_they_are(page: str, kind: str) -> None:
    assert kind_of(page) == kind


@pytest.mark.parametrize(
    "page",
    [
        f"<title>Domain names</title><h1>This domain is for sale</h1>{PROSE}<ul>{MENU}</ul>",
        f"<title>404 ways to bake bread</title>{PROSE}{PROSE}",
        f"<title>Bakery</title><p>Coming soon: our new oven</p>{PROSE}",
        f"<title>Bakery</title><p>Related searches</p>{PROSE}<script src='http://x/adsense/domains/caf.js'></script>",
        f"<title>Web hosting</title><p>Default page, it works!</p>{PROSE}<ul>{MENU}</ul>",
        f"<title>Jordan</title><a href='http://jordan.com/'>Jordan</a>{PROSE}",
    ],
)
def test_wording_does_not_decide_on_a_long_page(page: str) -> None:
    assert kind_of(page) == ""


def test_a_market_of_domains_is_not_for_sale_itself() -> None:
    page = "<title>Dan.com: buy domains</title><p>This domain is for sale: every one</p><script src=//dan.com/x.js></script>"
    assert kind_of(page, "dan.com") not in ACCUSING


def test_a_status_decides_where_nothing_else_does() -> None:
    assert kind_of("<p>All is well here today", status=301) == "redirect"
    assert kind_of("<p>All is well here today", status=503) == "error"


def test_every_rule_has_a_kind_and_a_name_of_its_own() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert {rule.kind for rule in RULES} <= set(KINDS)


def test_phrases_are_written_once_and_folded_alike() -> None:
    assert fold("  ＤＯＭＡＩＮ\u200b à  la\n vente’s ") == "domain a la\nvente's"
    pairs = [(name, fold(phrase)) for name, phrase in shipped_phrases()]
    assert len(pairs) > 1_500
    assert all(phrase for _, phrase in pairs)


def test_a_page_that_pretends_every_kind_gets_one_answer_in_linear_time() -> None:
    everything = " ".join(phrase for _, phrase in shipped_phrases())
    assert kind_of(f"<title>{everything}</title><p>{everything}") in ("", *KINDS)
    assert kind_of("<p>" * 300_000) == "empty"
