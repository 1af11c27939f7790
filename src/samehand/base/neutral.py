"""Crawled text made safe to show. Every writer of the product uses this one function."""

import unicodedata

UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def neutral(text: str) -> str:
    """`text` with control, format and direction characters made visible: \\x1b instead of an escape."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if unicodedata.category(char) not in UNSAFE else char.encode("unicode_escape").decode() for char in text
    )
