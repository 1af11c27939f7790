"""From known bad pages to the pages of the same hand, unless they are too small to tell whose hand it was."""

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from samehand.answers.result import Result
from samehand.methods.verdicts.links import TINY_NOISE, noise_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from samehand.answers.run import Run


class Spread(NamedTuple):
    """The pages reached, and those that only tiny evidence leads to."""

    reached: Result
    refused: Result


def spread(run: "Run", seeds: "Iterable[str]", *, cut: float | None) -> Spread:
    """Pages that share a cluster with a seed, parted by how much evidence there is. Seeds are always reached."""
    table = run._style.spread(list(seeds), cut=cut)
    noise = noise_bytes(run.folder)[run.folder.page_ids.rows(table.column("page_id").to_numpy())]
    table = table.append_column("noise_bytes", pa.array(noise))
    is_sound = (noise >= TINY_NOISE) | table.column("is_seed").to_numpy()
    return Spread(Result(table.filter(pa.array(is_sound))), Result(table.filter(pa.array(~is_sound))))
