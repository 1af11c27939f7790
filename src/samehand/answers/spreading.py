"""From known bad pages to the pages of the same hand, unless they are too small to tell whose hand it was."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.answers.result import Result
from samehand.store.tables import STYLE_FINGERPRINTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from samehand.answers.run import Run

TINY_NOISE = 400
"""Bytes of noise. A page with less is a few tags that strangers write alike: the redirects, errors and default pages of
servers (docs/exports.md has the figures)."""


class Spread(NamedTuple):
    """The pages reached, and those that only tiny evidence leads to."""

    reached: Result
    refused: Result


def spread(run: "Run", seeds: "Iterable[str]", *, cut: float | None) -> Spread:
    """Pages that share a cluster with a seed, parted by how much evidence there is. Seeds are always reached."""
    table = run._style.spread(list(seeds), cut=cut)
    noise = _noise_bytes(run, table.column("page_id").to_numpy())
    table = table.append_column("noise_bytes", pa.array(noise))
    is_sound = (noise >= TINY_NOISE) | table.column("is_seed").to_numpy()
    return Spread(Result(table.filter(pa.array(is_sound))), Result(table.filter(pa.array(~is_sound))))


def _noise_bytes(run: "Run", page_ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bytes of noise of each page."""
    rows = run.folder.page_ids.rows(page_ids)
    found = np.zeros(rows.size, np.int64)
    first = 0
    for batch in run.folder.iterate(STYLE_FINGERPRINTS, ["noise_bytes"]):
        here = (rows >= first) & (rows < first + len(batch))
        found[here] = batch.column("noise_bytes").to_numpy()[rows[here] - first]
        first += len(batch)
    return found
