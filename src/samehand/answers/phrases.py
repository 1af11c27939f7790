"""The skeleton of a text group. Its pages are read again, out of the run folder or out of unchanged inputs."""

import pyarrow as pa

from samehand.answers.pages import RunPages
from samehand.base.settings import Settings
from samehand.methods.phrases.skeleton import Skeleton, make_skeleton

MOST_PAGES = 30
"""Pages that a skeleton is made of, those with the largest share first."""


def skeleton_of(pages: RunPages, members: pa.Table, settings: Settings) -> Skeleton:
    """What the members of a group share, best first. RunError if they name no pages of the run."""
    ids = members.slice(0, MOST_PAGES).column("page_id").to_numpy()
    texts = [pages.prose(row) for row in pages.folder.page_ids.rows(ids).tolist()]
    return make_skeleton(texts, settings.max_phrase_words)
