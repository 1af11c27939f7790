"""Names of domains and hosts in their canonical form. They were written by strangers, so other forms are refused."""

import re

import ada_url

BAD_NAME, NO_NAME, ADDRESS = "bad_name", "no_name", "address"
LONGEST_NAME = 253

LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
"""Letters, digits, underscores, and hyphens inside: nothing that a zone file, terminal or spreadsheet interprets."""

NAME = rf"(?:{LABEL}\.)*{LABEL}"
_WHOLE_NAME = re.compile(NAME)


def canonical_name(name: str) -> tuple[str, str]:
    """`name` in lower case, in punycode and without its last dot; or "", and the reason why it is refused."""
    if not name.isascii():
        name = _punycode(name)
    elif not name.removesuffix("."):
        return "", NO_NAME
    name = name.lower().removesuffix(".")
    if not 0 < len(name) <= LONGEST_NAME or not _WHOLE_NAME.fullmatch(name):
        return "", BAD_NAME
    if name[name.rfind(".") + 1 :].isdigit():
        return "", ADDRESS
    return name, ""


def _punycode(name: str) -> str:
    """The name in punycode; "" if it has none or is too long."""
    if len(name) > LONGEST_NAME:
        return ""
    try:
        return ada_url.idna_to_ascii(name).decode("ascii")
    except (UnicodeError, ValueError):
        return ""
