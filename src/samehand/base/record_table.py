"""The table of records that lie in a buffer: a row for each, places counted from the start of the buffer.

`samehand.kernels.records` fills it. KIND is PAGE, OTHER, or one more than the place of a type in SKIPPED_TYPES. A record
lies in [HEAD, END), its block starts at BLOCK and the body of a page at BODY. TIME is in milliseconds since 1970. DIGEST
is where the digits of a SHA-1 start. MIME and CHARSET are places in lists. NONE is what is not there.
"""

from typing import Final

KIND, HEAD, BLOCK, END, URL, URL_END, TIME, DIGEST, STATUS, MIME, CHARSET, BODY = range(12)
COLUMNS: Final = 12

PAGE, OTHER = 0, 7
"""OTHER is a sound record that is no plain page: only its HEAD, BLOCK and END are to be used."""
SKIPPED_TYPES: Final = ("warcinfo", "request", "metadata", "revisit", "conversion", "continuation")
MIMES: Final = ("text/html", "application/xhtml+xml")
NONE: Final = -1
RECORD_END: Final = 4
"""Bytes between END and the next record: two line ends."""
DIGEST_BYTES: Final = 32
