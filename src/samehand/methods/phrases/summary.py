"""From words to the answers of a run: text groups and their members."""

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.settings import Settings
from samehand.methods.phrases.candidates import Candidates, find_candidates
from samehand.methods.phrases.groups import BRANCHING, ONE_OWNER, TextGroups, find_groups
from samehand.store.folder import RunFolder
from samehand.store.tables import PAGES, PHRASES_GROUPS, PHRASES_MEMBERS, PHRASES_WORDS

ALTERNATIVES, TEMPLATE, OWNER = "alternatives", "template", "one owner"
_PAGE_COLUMNS = ["url", "doc_id", "url_host_name", "url_host_private_domain"]


def group_phrases(folder: RunFolder, settings: Settings) -> dict[str, Any]:
    """Writes text groups and their members; returns their counts."""
    found = find_candidates(folder, settings)
    groups = find_groups(found, settings.min_phrase_share)
    members = _members(folder, found, groups)
    ranked = _ranked(members, found, groups)
    folder.write(PHRASES_GROUPS, ranked)
    numbers = pc.index_in(members.column("text_group_id"), ranked.column("text_group_id").combine_chunks())
    members = members.append_column("text_group_number", pc.add(numbers.cast(pa.int64()), 1))
    folder.write(PHRASES_MEMBERS, members)
    kinds = {row["values"]: row["counts"] for row in pc.value_counts(ranked.column("group_kind")).to_pylist()}
    cut = sum(
        pc.sum(batch.column("has_more_words")).as_py() or 0
        for batch in folder.iterate(PHRASES_WORDS, ["has_more_words"])
    )
    return {
        "groups": ranked.num_rows,
        "grouped_pages": members.num_rows,
        "kinds": dict(sorted(kinds.items())),
        "pages_cut": cut,
    }


def _members(folder: RunFolder, found: Candidates, groups: TextGroups) -> pa.Table:
    """The pages in groups, in order, with what they share and where they stand."""
    inside = np.flatnonzero(groups.labels >= 0)
    rows = found.rows[inside]
    named = folder.read(PAGES, _PAGE_COLUMNS).take(pa.array(rows))
    page_ids = folder.page_ids.ids(rows)
    host = named.column("url_host_name")
    # A page without a host is a site of its own, here as where phrases are counted.
    alone = pa.array(page_ids).cast(pa.string())
    site = pc.coalesce(named.column("url_host_private_domain"), host, alone)
    covered, words = groups.covered[inside], found.words[inside]
    return pa.table(
        {
            "url": named.column("url"),
            "doc_id": named.column("doc_id"),
            "page_id": page_ids,
            "text_group_id": folder.page_ids.ids(found.rows[groups.labels[inside]]),
            "share": (covered / words).astype(np.float32),
            "shared_phrases": groups.common[inside].astype(np.int64),
            "host": pc.coalesce(host, alone),
            "site": site,
            "group": groups.labels[inside],
        }
    )


def _ranked(members: pa.Table, found: Candidates, groups: TextGroups) -> pa.Table:
    """A row for each group, largest first."""
    owned = groups.owners[groups.owners >= 0]
    phrases = np.bincount(owned, minlength=found.rows.size + 1)
    branches = np.bincount(groups.owners[groups.is_branching], minlength=found.rows.size + 1)
    rows = [_figures(part, phrases, branches) for part in _by_group(members)]
    rows.sort(key=lambda row: (-row["pages"], row["text_group_id"]))
    numbered = [{"text_group_number": number, **row} for number, row in enumerate(rows, 1)]
    return pa.Table.from_pylist(numbered, PHRASES_GROUPS.fixed_schema)


def _by_group(members: pa.Table) -> list[pa.Table]:
    """The members of each group."""
    ordered = members.sort_by([("text_group_id", "ascending"), ("page_id", "ascending")])
    ids = ordered.column("text_group_id").to_numpy()
    cuts = np.concatenate([np.flatnonzero(np.diff(ids, prepend=-1)), [ids.size]]).tolist()
    return [ordered.slice(begin, end - begin) for begin, end in itertools.pairwise(cuts)]


def _figures(part: pa.Table, phrases: NDArray[np.int64], branches: NDArray[np.int64]) -> dict[str, Any]:
    """One group."""
    group, typical = part.column("group")[0].as_py(), int(np.argmax(part.column("share").to_numpy()))
    sites = [row["counts"] for row in pc.value_counts(part.column("site")).to_pylist()]
    share = branches[group] / max(1, phrases[group])
    return {
        "text_group_id": part.column("text_group_id")[0].as_py(),
        "group_kind": _kind(max(sites) / len(part), share),
        "pages": len(part),
        "hosts": len(part.column("host").unique()),
        "sites": len(sites),
        "phrases": int(phrases[group]),
        "branching": share,
        "mean_share": float(np.mean(part.column("share").to_numpy())),
        "typical_page_id": part.column("page_id")[typical].as_py(),
        "typical_url": part.column("url")[typical].as_py(),
    }


def _kind(on_one_site: float, branching: float) -> str:
    """What a group looks like, by the part of its pages on one site and of its phrases that go on in several ways."""
    if on_one_site >= ONE_OWNER:
        return OWNER
    return ALTERNATIVES if branching >= BRANCHING else TEMPLATE
