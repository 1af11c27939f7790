"""Questions about text groups. For a skeleton pages are read again: from the run folder, or from unchanged inputs."""

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from samehand.answers.arguments import number_of
from samehand.answers.opened import OpenedRun
from samehand.answers.result import Result
from samehand.base.errors import RunError
from samehand.store.folder import DAMAGED
from samehand.store.tables import PHRASES_GROUPS, PHRASES_MEMBERS

if TYPE_CHECKING:
    from samehand.methods.phrases.skeleton import Skeleton

MOST_PAGES = 30
"""Pages that a skeleton is made of, those with the largest share first."""


class TextGroups(OpenedRun):
    """Text groups of a run. They are computed first where the run lacks them."""

    def phrases(self) -> Result:
        """Text groups: pages on several sites whose texts are made from the same phrases, largest first.

        Returns:
            One row per group.
        """
        self._ensure("phrases")
        return Result(self.folder.read(PHRASES_GROUPS))

    def phrase_members(self, number: int | None = None) -> Result:
        """The pages in text groups.

        Args:
            number: The `text_group_number`; the members of all groups if not given.

        Returns:
            One row per page; those of one group by the share of their words in its phrases.
        """
        self._ensure("phrases")
        members = self.folder.read(PHRASES_MEMBERS)
        if number is None:
            return Result(members)
        group_id = self._numbered(self.folder.read(PHRASES_GROUPS), number, "text group", "text_group_id")
        found = members.filter(pc.equal(members.column("text_group_id"), group_id))
        if not len(found):
            raise RunError(f"{self.path / PHRASES_MEMBERS.path} lacks the members of text group {number}. {DAMAGED}")
        return Result(found.sort_by([("share", "descending"), ("page_id", "ascending")]))

    def skeleton(self, number: int) -> "Skeleton":
        """What the pages of a text group share, and the alternatives that stand between.

        Args:
            number: The `text_group_number`.

        Returns:
            The phrases that most pages hold, and one page with its slots. At most 30 pages are read for it.

        Raises:
            InputError: The input changed since the scan, or is gone.
        """
        from samehand.methods.phrases.skeleton import make_skeleton

        members = self.phrase_members(number_of(number, "The number of a text group"))
        rows = self.folder.page_ids.rows(members.table.slice(0, MOST_PAGES).column("page_id").to_numpy())
        return make_skeleton([self._pages.prose(row) for row in rows.tolist()])
