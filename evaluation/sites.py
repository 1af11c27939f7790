"""Kinds of sites on real home pages and on a generated world: python -m evaluation.sites --data FOLDER.

Prints each figure of the method with its 95 % interval, recall over hands that are left out, the reliability of the
probabilities by hand, every miss with what the rules saw, the cost a page, and the paper's tables on the generated
world (sites_generated). Exits with 1 when a floor is missed.

The rules were written with the labelled pages in view: these are figures of training. A hand is left out by taking
away every phrase that no page of another hand shows: what remains is what the rules would know of a hand they have
never seen. Generic wording that only one hand happens to use goes, too, so this is less than an unseen hand would get.
"""

import argparse
import itertools
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from evaluation.sites_generated import HELD_OUT, SEEDS, report_world
from evaluation.sites_owners import print_owners, styles_of
from evaluation.sites_truth import Home, Read, home_pages, more_defaults, other_pages, read
from evaluation.style import Floor
from samehand.methods.sites.features import Features, page_features
from samehand.methods.sites.kinds import RULES, page_rules
from samehand.methods.sites.phrases import SOURCE, compile_phrases, fold, shipped_phrases
from samehand.methods.sites.probability import FIGURES
from samehand.methods.sites.providers import judge, share_bounds
from samehand.methods.sites.signs import page_signs
from samehand.methods.sites.tags import tag_sequences
from samehand.methods.sites.verdicts import (
    ACCUSING,
    CHALLENGE,
    COPIES,
    DEFAULTS,
    EMPTY,
    ERROR,
    FARM,
    FOR_SALE,
    KINDS,
    NETWORK,
    PARKED_ADS,
    REAL,
    REDIRECT,
    REGISTRAR,
    SHELL,
    UNSURE,
    Verdicts,
)

OWNED = (COPIES, NETWORK)
GROUPS = {
    "parked": (PARKED_ADS, FOR_SALE),
    "default": DEFAULTS,
    "nothing": (EMPTY, SHELL),
    "honest": (REAL, UNSURE, FARM, *OWNED),
}
BOTH_RIGHT = "namecheap-parked"
"""Pages of a registrar that carry ads: registrar-default and parked-ads are both right."""
VENDOR_CLASSES = (f"{SOURCE}feed", f"{SOURCE}parking-host", f"{SOURCE}default", f"{SOURCE}suspended")
"""Classes of signs that name kits and vendors."""
BINS = (0.0, 0.5, 0.8, 0.9, 0.95, 1.01)


def main() -> None:
    """Prints the report; exits with 1 below a floor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--defaults", type=Path, help="folder of default pages of software: HAND/*.html")
    parser.add_argument("--sites", type=int, default=20_000, help="sites of the generated world")
    parser.add_argument("--seeds", type=int, nargs="*", default=[*SEEDS, HELD_OUT])
    given = parser.parse_args()
    homes, others = home_pages(given.data), other_pages(given.data)
    taken = read(homes)
    verdicts = _judged(homes, taken)
    said = verdicts.sites.sort_by("page_id").column("kind").to_pylist()
    floors = _print_kinds(homes, said)
    floors += _print_accused(homes, said, others)
    floors += _print_left_out(homes, more_defaults(given.defaults) if given.defaults else [])
    print_owners(homes, verdicts)
    _print_reliability(homes, taken)
    _print_misses(homes, said, verdicts)
    _print_cost(taken)
    for seed in given.seeds:
        floors += report_world(given.data, seed, given.sites)
    print("\nfloors")
    for floor in floors:
        print(f"  {'ok  ' if floor.holds else 'MISS'} {floor.name:52} {floor.reached:.4f} (at least {floor.floor})")
    sys.exit(not all(floor.holds for floor in floors))


def _judged(homes: Sequence[Home], taken: Read) -> Verdicts:
    """The whole method, without name servers."""
    found = page_features(taken.rows, taken.markup, data=taken.data, offsets=taken.offsets)
    sites = pa.table(
        {
            "site": [home.domain for home in homes],
            "page_id": taken.rows.column("page_id"),
            "url": [f"http://{home.domain}/" for home in homes],
            "providers": pa.array([[]] * len(homes), pa.list_(pa.string())),
        }
    )
    clusters, families = styles_of(homes)
    return judge(
        sites,
        tag_sequences(taken.markup),
        Features(pa.Table.from_batches([found])),
        style_clusters=clusters,
        style_families=families,
        threads=1,
    )


def is_right(home: Home, kind: str) -> bool:
    """Whether a kind is right; honest kinds are not told apart here."""
    if home.hand == BOTH_RIGHT and kind in (REGISTRAR, PARKED_ADS):
        return True
    honest = GROUPS["honest"]
    return home.kind == kind or (home.kind in honest and kind in honest)


def _figures(truth: Sequence[bool], found: Sequence[bool]) -> tuple[float, float, float, str]:
    """Precision, recall and F1, and a line with their intervals."""
    right = sum(a and b for a, b in zip(truth, found, strict=True))
    precision, recall = right / max(1, sum(found)), right / max(1, sum(truth))
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    bounds = [share_bounds(right, sum(found)), share_bounds(right, sum(truth))]
    shown = [
        f"{value:.3f} [{low:.3f}, {high:.3f}]" for value, (low, high) in zip((precision, recall), bounds, strict=True)
    ]
    line = f"n {sum(truth):5} said {sum(found):5} right {right:5}  P {shown[0]}  R {shown[1]}  F1 {f1:.3f}"
    return precision, recall, f1, line


def _print_kinds(homes: Sequence[Home], said: Sequence[str]) -> list[Floor]:
    print(f"kinds on {len(homes)} labelled home pages (training figures, no name servers)")
    for kind in KINDS:
        truth, found = [home.kind == kind for home in homes], [kind == one for one in said]
        if any(truth) or any(found):
            print(f"  {kind:18} {_figures(truth, found)[3]}")
    floors = []
    for name, kinds in GROUPS.items():
        truth = [
            home.kind in kinds or (home.hand == BOTH_RIGHT and one in kinds)
            for home, one in zip(homes, said, strict=True)
        ]
        precision, recall, f1, line = _figures(truth, [one in kinds for one in said])
        print(f"  {name:18} {line}")
        if name == "parked":
            floors += [Floor("parked: precision", precision, 0.98), Floor("parked: recall", recall, 0.9)]
        if name == "nothing":
            floors.append(Floor("nothing to read: F1", f1, 0.85))
    for kind, floor in ((REDIRECT, 0.98), (ERROR, 0.95), (CHALLENGE, 0.95)):
        f1 = _figures([home.kind == kind for home in homes], [kind == one for one in said])[2]
        floors.append(Floor(f"{kind}: F1", f1, floor))
    return floors


def _print_accused(homes: Sequence[Home], said: Sequence[str], others: Sequence[Home]) -> list[Floor]:
    honest = [(home.domain, kind) for home, kind in zip(homes, said, strict=True) if home.kind in (REAL, *OWNED)]
    taken = read(others)
    rules = page_rules(page_signs(taken.rows, taken.markup, data=taken.data, offsets=taken.offsets))
    honest += [
        (home.domain, RULES[rule].kind if rule >= 0 else REAL)
        for home, rule in zip(others, rules.tolist(), strict=True)
    ]
    accused = [domain for domain, kind in honest if kind in ACCUSING]
    most = share_bounds(len(accused), len(honest))[1]
    print(f"\nreal sites accused: {len(accused)} of {len(honest)}, at most {most:.4f}")
    print(f"  {', '.join(accused) or 'none'}")
    return [Floor("real sites not accused", 1 - len(accused) / len(honest), 1 - 1 / 2000)]


def _print_left_out(homes: Sequence[Home], more: Sequence[Home]) -> list[Floor]:
    """Recall over hands: the phrases that only a hand shows are taken away before its pages are read."""
    floors = []
    vendors = {pair for pair in shipped_phrases() if pair[0] in VENDOR_CLASSES}
    for name, pool, least in (("parked", homes, 0.75), ("default", [*homes, *more], 0.7)):
        hands: dict[str, list[Home]] = {}
        for home in pool:
            if home.kind in GROUPS[name]:
                hands.setdefault(home.hand, []).append(home)
        shown = {hand: _phrases_on(pages) for hand, pages in hands.items()}
        print(
            f"\n{name}: {len(hands)} hands left out one by one; found, without any sign of vendors, pages, hand, kinds"
        )
        found, bare = 0, 0
        for hand, pages in sorted(hands.items()):
            known = set().union(*(phrases for other, phrases in shown.items() if other != hand))
            kinds = _kinds_without(pages, shown[hand] - known)
            right = _right(pages, kinds, GROUPS[name])
            right_bare = _right(pages, _kinds_without(pages, (shown[hand] - known) | vendors), GROUPS[name])
            found, bare = found + (2 * right >= len(pages)), bare + (2 * right_bare >= len(pages))
            print(f"  {right:3} {right_bare:3} {len(pages):3}  {hand:32} {dict(Counter(kinds))}")
        low, high = share_bounds(found, len(hands))
        print(f"  hands found {found} of {len(hands)} [{low:.2f}, {high:.2f}]; without any sign of vendors {bare}")
        floors.append(Floor(f"{name}: hands found, each left out", found / len(hands), least))
    return floors


def _right(pages: Sequence[Home], kinds: Sequence[str], group: Sequence[str]) -> int:
    return sum(is_right(page, kind) or kind in group for page, kind in zip(pages, kinds, strict=True))


def _phrases_on(pages: Sequence[Home]) -> set[tuple[str, str]]:
    """All phrases that some page shows, with their classes."""
    taken = read(pages)
    texts = fold(
        taken.markup.text.tobytes().decode("utf-8", "replace")
        + "\n"
        + taken.markup.titles.tobytes().decode("utf-8", "replace")
    )
    texts = texts.replace("\n", " ")
    for page in pages:
        texts += " " + texts.replace(page.domain, "domain") if page.domain in texts and len(pages) < 30 else ""
    source = taken.data.tobytes().decode("latin-1").lower()
    return {
        (name, phrase)
        for name, phrase in shipped_phrases()
        if (phrase.lower() in source if name.startswith(SOURCE) else fold(phrase) in texts)
    }


def _kinds_without(pages: Sequence[Home], gone: set[tuple[str, str]]) -> list[str]:
    """The kinds of pages by rules that do not know some phrases."""
    kept = [pair if pair not in gone else (pair[0], f"\x01{pair[1]}") for pair in shipped_phrases()]
    texts = compile_phrases([pair for pair in kept if not pair[0].startswith(SOURCE)])
    sources = compile_phrases([pair for pair in kept if pair[0].startswith(SOURCE)])
    taken = read(pages)
    signs = page_signs(taken.rows, taken.markup, data=taken.data, offsets=taken.offsets, phrases=(texts, sources))
    return [RULES[rule].kind if rule >= 0 else REAL for rule in page_rules(signs).tolist()]


def _print_reliability(homes: Sequence[Home], taken: Read) -> None:
    """Figures of the rules by hand, and how often a probability is right that was made without the hand itself."""
    signs = page_signs(taken.rows, taken.markup, data=taken.data, offsets=taken.offsets)
    voices: dict[str, dict[tuple[str, str], list[bool]]] = {}
    for home, rule in zip(homes, page_rules(signs).tolist(), strict=True):
        name, kind = (RULES[rule].name, RULES[rule].kind) if rule >= 0 else (REAL, REAL)
        voices.setdefault(name, {}).setdefault((home.hand, home.kind), []).append(is_right(home, kind))
    print("\nvoices of the rules, each hand one: right, all (samehand/methods/sites/probability.py)")
    votes = {name: [2 * sum(given) >= len(given) for given in hands.values()] for name, hands in voices.items()}
    for name, given in votes.items():
        note = "" if FIGURES.get(name) == (sum(given), len(given)) else "  # not as stored"
        print(f'    "{name}": ({sum(given)}, {len(given)}),{note}')
    pairs = [((sum(given) - one + 1) / (len(given) + 1), one, name) for name, given in votes.items() for one in given]
    accusing = {rule.name for rule in RULES if rule.kind in ACCUSING}
    _print_bins("all kinds", [(p, one) for p, one, _ in pairs])
    _print_bins("accusing kinds", [(p, one) for p, one, name in pairs if name in accusing])


def _print_bins(title: str, pairs: Sequence[tuple[float, bool]]) -> None:
    print(f"reliability by hand, each left out of its own probability: {title}")
    for low, high in itertools.pairwise(BINS):
        inside = [(p, one) for p, one in pairs if low <= p < high]
        if inside:
            right = sum(one for _, one in inside)
            bounds = share_bounds(right, len(inside))
            mean = sum(p for p, _ in inside) / len(inside)
            shown = f"right {right / len(inside):.3f} [{bounds[0]:.3f}, {bounds[1]:.3f}]"
            print(f"  {low:.2f} to {min(high, 1):.2f}: {len(inside):5} voices, mean p {mean:.3f}, {shown}")


def _print_misses(homes: Sequence[Home], said: Sequence[str], verdicts: Verdicts) -> None:
    print("\nmisses: truth, said, domain, reason")
    reasons = dict(zip(*(verdicts.sites.column(name).to_pylist() for name in ("page_id", "reason")), strict=True))
    for number, (home, kind) in enumerate(zip(homes, said, strict=True)):
        if not is_right(home, kind):
            print(f"  {home.kind:18} {kind:18} {home.domain:32} {reasons[number][:100]}")


def _print_cost(taken: Read) -> None:
    began = time.process_time()
    page_features(taken.rows, taken.markup, data=taken.data, offsets=taken.offsets)
    spent = time.process_time() - began
    print(f"\ncost of the stage: {1000 * spent / taken.rows.num_rows:.3f} CPU ms a page ({taken.rows.num_rows} pages)")


if __name__ == "__main__":
    main()
