"""Policies: small tables that turn kind and probability into an action.

A policy has a table for pages (keep, review, drop) and one for sites, clusters and providers (keep, review, block). A
row names a kind and the probability from which on the action is taken. What no row matches is kept. `block` also
needs evidence from two groups, purpose among them: otherwise it becomes `review`.
"""

import dataclasses
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.errors import SettingsError
from samehand.base.setting import nearest
from samehand.store.shape import fits

KEEP, REVIEW, DROP, BLOCK = "keep", "review", "drop", "block"
PAGE_ACTIONS, SITE_ACTIONS = (DROP, REVIEW), (BLOCK, REVIEW)
STRONGEST_FIRST = (BLOCK, DROP, REVIEW, KEEP)
"""The actions that a policy can name, strongest first. Everything else is kept."""
POLICIES = ("crawl", "corpus", "block")
"""The shipped policies."""

_FOLDER = Path(__file__).parents[2] / "data" / "policies"
_RULES = {str: {str: float}}


@dataclasses.dataclass(frozen=True, slots=True)
class Policy:
    """Least probability by kind and action: `pages["parked-ads"]["drop"]`."""

    name: str
    pages: dict[str, dict[str, float]]
    sites: dict[str, dict[str, float]]

    def strongest(self, part: str) -> str:
        """The strongest action that the policy takes on "pages" or "sites": what a label of an unwanted one means."""
        order = PAGE_ACTIONS if part == "pages" else SITE_ACTIONS
        named = {action for row in getattr(self, part).values() for action in row}
        return next((action for action in order if action in named), KEEP)

    def page_actions(self, kinds: pa.Array, probabilities: NDArray[np.float64]) -> pa.Array:
        """What to do with pages."""
        return pa.array(_actions(self.pages, kinds, probabilities, PAGE_ACTIONS))

    def site_actions(
        self, kinds: pa.Array, probabilities: NDArray[np.float64], may_block: NDArray[np.bool_]
    ) -> pa.Array:
        """What to do with sites, clusters or providers. Those that may not be blocked are reviewed instead."""
        actions = _actions(self.sites, kinds, probabilities, SITE_ACTIONS)
        actions[(actions == BLOCK) & ~may_block] = REVIEW
        return pa.array(actions)


def _actions(
    rules: dict[str, dict[str, float]], kinds: pa.Array, probabilities: NDArray[np.float64], order: tuple[str, ...]
) -> NDArray[np.object_]:
    names = kinds.dictionary_encode()
    codes = names.indices.to_numpy(zero_copy_only=False)
    actions = np.full(len(kinds), KEEP, object)
    for code, kind in enumerate(names.dictionary.to_pylist()):
        for action in reversed(order):
            least = rules.get(kind, {}).get(action)
            if least is not None:
                actions[(codes == code) & (probabilities >= least)] = action
    return actions


def read_policy(name: str) -> Policy:
    """A shipped policy by name, or the policy in a TOML file. SettingsError if it is neither."""
    path = _FOLDER / f"{name}.toml" if name in POLICIES else Path(name)
    if name not in POLICIES and not path.is_file():
        raise SettingsError(f"There is no policy {name!r} and no such file{nearest(name, POLICIES)}")
    try:
        stored = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path} cannot be read ({error.strerror}). Check the path.") from None
    except ValueError as error:
        raise SettingsError(f"{path} is not valid TOML ({error}).") from None
    policy = {part: stored.get(part, {}) for part in ("pages", "sites")}
    if set(stored) - {"about", "pages", "sites"} or not all(fits(rules, _RULES) for rules in policy.values()):
        raise SettingsError(f"{path} is no policy: it needs rows such as [pages.parked-ads] with drop = 0.9.")
    for part, allowed in (("pages", PAGE_ACTIONS), ("sites", SITE_ACTIONS)):
        for kind, row in policy[part].items():
            for action, least in row.items():
                if action not in allowed or not 0 <= least <= 1:
                    raise SettingsError(
                        f"{path}: [{part}.{kind}] has {action} = {least}: give {' or '.join(allowed)}, from 0 to 1."
                    )
    return Policy(name, **policy)
