"""The columns that every table of verdicts has: what the evidence says, and what labels and the guard make of it."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.methods.verdicts.evidence import BLOCKABLE
from samehand.methods.verdicts.given import ANSWERS, BAD, DECIDING, GOOD, HOW, IDENTICAL, Given
from samehand.methods.verdicts.policy import BLOCK, DROP, KEEP, REVIEW, Policy
from samehand.methods.verdicts.scoring import Scored, may_block
from samehand.store.page_ids import PageIds


def verdict_columns(
    scored: Scored, kinds: pa.Array, given: Given, guard: pa.Array, page_ids: PageIds
) -> dict[str, pa.Array]:
    """Kind, probability with its interval, log-odds, evidence, label and guard. A label decides its unit."""
    decided = np.isin(given.how, DECIDING)
    said = (given.answer == BAD).astype(np.float64)
    curves = (scored.probability, scored.low, scored.high)
    probability, low, high = (np.where(decided, said, part).round(6) for part in curves)
    return {
        "kind": kinds,
        "probability": pa.array(probability),
        "probability_low": pa.array(low),
        "probability_high": pa.array(high),
        "log_odds": pa.array(scored.log_odds),
        "evidence": scored.items,
        **given.columns(page_ids),
        "guard": guard,
    }


def actions_of(table: pa.Table, unit: str, policy: Policy, *, with_guard: bool = True) -> pa.Array:
    """What a policy does with the units of a table of verdicts. The only place where actions are made."""
    kinds = table.column("kind").combine_chunks()
    probability = table.column("probability").to_numpy()
    answer, how = (_codes(table.column(name), names) for name, names in (("label", ANSWERS), ("label_how", HOW)))
    if unit == "pages":
        actions = policy.page_actions(kinds, probability)
        return pa.array(_labelled(actions, answer, how, policy.strongest("pages"), how == IDENTICAL))
    allowed = may_block(table.column("evidence"))
    if unit != "sites":
        allowed &= pc.is_in(kinds, pa.array(BLOCKABLE)).to_numpy(zero_copy_only=False)
    actions = _labelled(
        policy.site_actions(kinds, probability, allowed), answer, how, policy.strongest("sites"), allowed
    )
    if with_guard:
        actions[(actions == BLOCK) & table.column("guard").is_valid().to_numpy()] = REVIEW
    return pa.array(actions)


def with_label(table: pa.Table, given: Given) -> pa.Table:
    """Rows of a table of verdicts as if they had these labels."""
    decided = np.isin(given.how, DECIDING)
    probability = np.where(decided, given.answer == BAD, table.column("probability").to_numpy())
    changed = {
        "probability": pa.array(probability.astype(np.float64)),
        "label": pa.array(np.array(ANSWERS, object)[given.answer], pa.string()),
        "label_how": pa.array(np.array(HOW, object)[given.how], pa.string()),
    }
    for name, column in changed.items():
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def with_actions(columns: dict[str, pa.Array], unit: str, policy: Policy) -> dict[str, pa.Array]:
    """The columns of a table of verdicts with the action before them."""
    return {"action": actions_of(pa.table(columns), unit, policy), **columns}


def decided_action(answer: int, strongest: str) -> str:
    """The action on a unit that a person named, by the answer. The guard comes after that."""
    return strongest if answer == BAD else KEEP


def _labelled(
    actions: pa.Array, answer: NDArray[np.int8], how: NDArray[np.int8], strongest: str, is_sure: NDArray[np.bool_]
) -> NDArray[np.object_]:
    """What labels make of actions. A label decides the unit that a person named. One that spread moves a step: nobody
    looked at the unit, so it is reviewed, unless it `is_sure`."""
    found = np.array(actions.to_pylist(), object)
    decided = np.isin(how, DECIDING)
    for code in (BAD, GOOD):
        found[decided & (answer == code)] = decided_action(code, strongest)
    spread_bad = ~decided & (answer == BAD)
    found[spread_bad & is_sure] = strongest
    if strongest != KEEP:
        found[spread_bad & (found == KEEP)] = REVIEW
    spread_good = ~decided & (answer == GOOD)
    before = found.copy()
    found[spread_good & (before == REVIEW)] = KEEP
    found[spread_good & np.isin(before, (BLOCK, DROP))] = REVIEW
    return found


def _codes(column: pa.ChunkedArray, names: tuple[str, ...]) -> NDArray[np.int8]:
    """The place of each text among `names`; 0 for null and for others."""
    places = pc.fill_null(pc.index_in(column, pa.array(names)), 0)
    return np.asarray(places.to_numpy(), np.int8)
