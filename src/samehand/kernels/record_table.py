"""The table of records that lie in a buffer: a row for each, places counted from the start of the buffer.

`samehand.kernels.records` fills it. KIND is PAGE, OTHER, or one more than the place of a type in SKIPPED_TYPES. A
record lies in [HEAD, END). Its block starts at BLOCK, the body of a page at BODY. URL and DATE are as the head gives
them. What starts at DIGEST may be the digits of a SHA-1. MIME and CHARSET are places in lists. NONE means
that it is not there.
"""

from typing import Final

KIND, HEAD, BLOCK, END, URL, URL_END, DATE, DATE_END, DIGEST, STATUS, MIME, CHARSET, BODY = range(13)
COLUMNS: Final = 13

PAGE, OTHER = 0, 6
"""OTHER is a sound record that is no plain page: only its HEAD, BLOCK and END are to be used."""
SKIPPED_TYPES: Final = ("warcinfo", "request", "metadata", "revisit", "continuation")
"""Types that are skipped whatever they hold. A conversion may be plain text, so the careful reader looks at it."""
MIMES: Final = ("text/html", "application/xhtml+xml")
UTF_8: Final = 0
"""The place of UTF-8 among the charsets."""
NONE: Final = -1
RECORD_END: Final = 4
"""Bytes between END and the next record: two line ends."""
DIGEST_BYTES: Final = 32
