"""Messages as Pages: a message's place is its URL, and its content is text, not HTML."""

from collections.abc import Iterator

from samehand.base.page import Page, Reject
from samehand.base.settings import Settings
from samehand.sources.mail.messages import Mail, read_mailbox
from samehand.sources.unit import Outcome, Reading, Source, Unit

PLAIN_TEXT = "text/plain"


def read_mail(unit: Unit, settings: Settings, reading: Reading) -> Iterator[Outcome]:
    """The messages of a mailbox."""
    for item in read_mailbox(unit.source.path, unit.source.name, settings):
        yield item if isinstance(item, Reject) else page_of(item)


def page_of(mail: Mail) -> Page:
    """A message as a page."""
    return Page(
        url=mail.place,
        content=mail.text,
        warc_filename=mail.place,
        warc_record_offset=mail.offset,
        warc_record_length=mail.size,
        content_mime_detected=PLAIN_TEXT,
        content_charset="UTF-8",
        content_truncated=mail.truncated,
    )


def find_mail(source: Source, place: str, *, settings: Settings) -> Outcome | None:
    """The message at a place; mailboxes have no index, so they are read up to it."""
    for item in read_mailbox(source.path, source.name, settings):
        if isinstance(item, Mail) and item.place == place:
            return page_of(item)
    return None
