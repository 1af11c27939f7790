"""NS records from the JSON that DNS tools write: jc, kdig +json, HTTPS resolvers, massdns, zdns, dnsx.

Their formats differ, so one rule reads them all: a record is an object with an owner, the type NS and a target,
anywhere in the JSON. A reply counts only for the name it was asked about. Otherwise the owner of one domain could
speak for another domain.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from samehand.base.names import canonical_name
from samehand.methods.sites.nameservers.pairs import Pair, Taker

BAD_JSON, OTHER_OWNER, TOO_LONG = "bad_json", "other_owner", "too_long"
MOST_NODES = 100_000

_BLANKS = re.compile(r"\s*")
_OWNERS, _TARGETS = ("name", "NAME"), ("data", "answer", "rdataNS", "value")
_ASKED = ("name", "host", "domain", "QNAME")
_QUESTIONS = ("question", "Question", "responseMessage", "queryMessage", "message")
_STATUSES = {"noerror", "nxdomain", "servfail", "refused", "formerr", "notimp", "timeout", "iterative_timeout", "error"}
_CODES = {0: "noerror", 1: "formerr", 2: "servfail", 3: "nxdomain", 4: "notimp", 5: "refused"}


def read_objects(text: bytes, taker: Taker) -> None:
    """Takes the NS records from a text of one or more JSON values."""
    decoder = json.JSONDecoder()
    try:
        whole = text.decode("utf-8").strip()
        place = 0
        while place < len(whole):
            value, place = decoder.raw_decode(whole, _BLANKS.match(whole, place).end())  # type: ignore[union-attr]
            for reply in value if isinstance(value, list) else [value]:
                _read_reply(reply, taker)
    except (ValueError, RecursionError):
        taker.refuse(BAD_JSON, text)


def _read_reply(reply: Any, taker: Taker) -> None:
    if not isinstance(reply, dict):
        taker.refuse(BAD_JSON, repr(reply)[:100].encode("utf-8", "replace"))
        return
    asked = _asked_name(reply)
    taker.outcomes[_status(reply)] += 1
    found = 0
    for owner, target in _records(reply, taker):
        found += 1
        if asked and owner and canonical_name(owner)[0] != canonical_name(asked)[0]:
            taker.refuse(OTHER_OWNER, owner.encode("utf-8", "replace"))
        else:
            taker.take([_pair(owner or asked, target)])
    taker.other += not found


def _pair(owner: str, target: str) -> Pair:
    return owner.encode("utf-8", "surrogatepass"), target.encode("utf-8", "surrogatepass")


def _asked_name(reply: dict[str, Any]) -> str:
    """The name that a reply is about; "" if it does not say."""
    for key in _QUESTIONS:
        question = reply.get(key)
        question = question[0] if isinstance(question, list) and question else question
        if isinstance(question, dict) and (name := _text(question, _ASKED)):
            return name
    return _text(reply, _ASKED)


def _status(reply: dict[str, Any]) -> str:
    """The status of a reply, as one of a few known words, so that a reply cannot invent statuses."""
    for place in (reply, *(value for value in reply.values() if isinstance(value, dict))):
        for key in ("status", "status_code", "Status", "RCODE"):
            value = place.get(key)
            if isinstance(value, int):
                return _CODES.get(value, "other_status")
            if isinstance(value, str):
                return value.lower() if value.lower() in _STATUSES else "other_status"
    results = reply.get("results")  # zdns 2: results by the name of the module
    inner = next(iter(results.values()), None) if isinstance(results, dict) else None
    return _status(inner) if isinstance(inner, dict) and "results" not in inner else "no_status"


def _records(reply: dict[str, Any], taker: Taker) -> Iterator[tuple[str, str]]:
    """Owner and target of the NS records anywhere in `reply`. An empty owner stands for the name asked about."""
    servers = reply.get("ns")
    for target in servers if isinstance(servers, list) else [servers]:  # dnsx, and rows of a table in JSON
        if isinstance(target, str):
            yield "", target
    waiting: list[tuple[str, Any]] = [("", reply)]
    for _ in range(MOST_NODES):
        if not waiting:
            return
        key, value = waiting.pop()
        if isinstance(value, list):
            waiting.extend((key, item) for item in value if isinstance(item, dict | list))
            continue
        if value.get("type") in ("NS", 2) or value.get("TYPE") == 2 or value.get("rrtype") == "NS":
            owner, target = _text(value, _OWNERS), _text(value, _TARGETS)
            if target:
                yield owner, target
            elif key == "servers" and owner:  # the module NSLOOKUP of zdns: the name is the server's
                yield "", owner
        waiting.extend((name, item) for name, item in value.items() if isinstance(item, dict | list))
    taker.refuse(TOO_LONG, b"a reply of too many parts")


def _text(value: dict[str, Any], keys: tuple[str, ...]) -> str:
    return next((found for key in keys if isinstance(found := value.get(key), str)), "")
