"""Links between pages, as the run folder has them."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.store.folder import RunFolder
from samehand.store.tables import STYLE_EDGES


def weakest_edge(folder: RunFolder, page_ids: NDArray[np.int64]) -> tuple[float, int, int] | None:
    """The weakest of the links that hold pages together: similarity and both pages; None if no link joins any two."""
    edges, ids = folder.read(STYLE_EDGES), pa.array(page_ids)
    ends = (pc.is_in(edges.column(name), ids) for name in ("left_page_id", "right_page_id"))
    inside = edges.filter(pc.and_(*ends))
    if not inside.num_rows:
        return None
    weakest = int(np.argmin(inside.column("similarity").to_numpy()))
    left, right, similarity = (inside.column(name)[weakest].as_py() for name in STYLE_EDGES.fixed_schema.names)
    return similarity, left, right
