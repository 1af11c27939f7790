"""Runs that hold fingerprints and nothing else, planted so that grouping has all its work to do."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from samehand.base.settings import Settings
from samehand.kernels.noise import EMPTY
from samehand.kernels.sketches import count_filled
from samehand.methods.style.noise import style_schema
from samehand.methods.style.sketches import FINGERPRINTS
from samehand.store.folder import RunFolder

SETTINGS = Settings()


def planted(seed: int, *, crowd: int, worm: int) -> NDArray[np.uint32]:
    """Near-identical pages that fill buckets, a worm, families, equal pages, small ones, strangers: in no order."""
    rng = np.random.default_rng(seed)
    dimensions = SETTINGS.dimensions

    def strangers(count: int) -> NDArray[np.uint32]:
        return rng.integers(0, 1 << 32, (count, dimensions), dtype=np.uint32)

    def near(rows: NDArray[np.uint32], share: float) -> NDArray[np.uint32]:
        return np.where(rng.random(rows.shape) < share, strangers(len(rows)), rows)

    chain = [strangers(1)[0]]
    for step in range(worm):
        chain.append(chain[-1].copy())
        chain[-1][(16 * step + np.arange(16)) % dimensions] = strangers(1)[0, :16]
    centres = near(np.repeat(strangers(6), 6, axis=0), 0.62)
    values = [
        near(np.repeat(strangers(1), crowd, axis=0), 0.02),
        near(np.repeat(strangers(1), crowd // 8, axis=0), 0.7),
        np.array(chain),
        near(np.repeat(centres, 12, axis=0), 0.08),
        np.repeat(strangers(20), 5, axis=0),
        strangers(100),
    ]
    small = np.repeat(strangers(8), 4, axis=0)
    small[:, SETTINGS.min_filled // 2 :] = EMPTY
    half = near(np.repeat(strangers(4), 10, axis=0), 0.2)
    half[rng.random(half.shape) < 0.4] = EMPTY
    return rng.permutation(np.concatenate([*values, small, half]).astype(np.uint32))


def table_of(values: NDArray[np.uint32], first_page_id: int) -> pa.Table:
    """Fingerprints as a part holds them."""
    filled = count_filled(values)
    # Pages too small to compare are the same where this key is; some are the same as nothing.
    equality = np.where(filled < SETTINGS.min_filled, values[:, 0].astype(np.uint64) * (values[:, 0] % 3 != 0), 0)
    return pa.table(
        [
            np.arange(first_page_id, first_page_id + len(values)),
            np.zeros(len(values), np.int64),
            np.zeros(len(values), np.uint64),
            equality.astype(np.uint64),
            filled,
            pa.array([row.tobytes() for row in values], pa.binary(4 * SETTINGS.dimensions)),
        ],
        schema=style_schema(SETTINGS),
    )


def write_run(path: Path, parts: list[NDArray[np.uint32]]) -> RunFolder:
    """A run folder with the parts of style/fingerprints; units between them read no page."""
    folder = RunFolder(path)
    (path / FINGERPRINTS).mkdir(parents=True)
    for number, values in enumerate(parts):
        unit = 3 * number + 1
        pq.write_table(table_of(values, unit << 32), folder.part_path(FINGERPRINTS, unit))
    return folder
