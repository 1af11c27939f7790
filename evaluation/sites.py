"""Kinds of sites on real home pages and on a generated world: python -m evaluation.sites --data FOLDER.

Prints each figure of the method with its 95 % interval, recall over hands that are left out and over hands that the
labelled pages do not have (sites_hands), farms that are planted among real pages, the reliability of the probabilities
by hand, every miss with what the rules saw, the cost a page, and the paper's tables on the generated world
(sites_generated). Exits with 1 when a floor is missed.

The rules were written with the labelled pages in view: these are figures of training. A hand is left out by taking
away every phrase that no page of another hand shows: what remains is what the rules would know of a hand they have
never seen. Generic wording that only one hand happens to use goes, too, so this is less than an unseen hand would get.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from evaluation.sites_farms import print_farms
from evaluation.sites_generated import HELD_OUT, SEEDS, report_world
from evaluation.sites_hands import made_hands, packaged_hands
from evaluation.sites_owners import print_owners, styles_of
from evaluation.sites_reliability import BOTH_RIGHT, is_right, print_reliability, votes
from evaluation.sites_truth import Home, Read, home_pages, other_pages, read
from evaluation.sites_unseen import print_unseen
from evaluation.style import Floor
from samehand.methods.sites.clusters import Rules
from samehand.methods.sites.features import Features, page_features
from samehand.methods.sites.kinds import RULES, page_rules
from samehand.methods.sites.phrases import SOURCE, compile_phrases, fold, shipped_phrases
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
VENDOR_CLASSES = (
    f"{SOURCE}feed",
    f"{SOURCE}feed-weak",
    f"{SOURCE}parking-host",
    f"{SOURCE}default",
    f"{SOURCE}suspended",
)
"""Classes of signs that name kits and vendors."""


def main() -> None:
    """Prints the report; exits with 1 below a floor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--packaged", type=Path, help="folder of pages out of packages: KIND/HAND/*.html")
    parser.add_argument("--sites", type=int, default=20_000, help="sites of the generated world")
    parser.add_argument("--seeds", type=int, nargs="*", default=[*SEEDS, HELD_OUT])
    given = parser.parse_args()
    homes, others = home_pages(given.data), other_pages(given.data)
    taken = read(homes)
    verdicts = _judged(homes, taken)
    said = verdicts.sites.sort_by("page_id").column("kind").to_pylist()
    floors = _print_kinds(homes, said)
    floors += _print_accused(homes, said, others)
    floors += _print_left_out(homes)
    unseen = [*made_hands(), *(packaged_hands(given.packaged) if given.packaged else [])]
    floors += print_unseen(unseen)
    floors += print_owners(homes, verdicts)
    _print_paper(homes, taken)
    of_farms, farm_voices = print_farms(given.data)
    floors += of_farms
    floors += print_reliability(votes(homes, verdicts, unseen) | {FARM: farm_voices})
    _print_misses(homes, said, verdicts)
    _print_cost(taken)
    for seed in given.seeds:
        floors += report_world(given.data, seed, given.sites)
    print("\nfloors")
    for floor in floors:
        print(f"  {'ok  ' if floor.holds else 'MISS'} {floor.name:52} {floor.reached:.4f} (at least {floor.floor})")
    sys.exit(not all(floor.holds for floor in floors))


def _judged(homes: Sequence[Home], taken: Read, rules: Rules | None = None) -> Verdicts:
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
    clusters, families = styles_of(homes) if rules is None else (None, None)
    return judge(
        sites,
        tag_sequences(taken.markup),
        Features(pa.Table.from_batches([found])),
        rules,
        style_clusters=clusters,
        style_families=families,
        threads=1,
    )


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


def _print_paper(homes: Sequence[Home], taken: Read) -> None:
    """The paper's rule on real pages: all sites in one pool, because nobody knows their name servers."""
    said = _judged(homes, taken, Rules.paper()).sites.sort_by("page_id").column("kind").to_pylist()
    accused = Counter(home.kind for home, kind in zip(homes, said, strict=True) if kind == PARKED_ADS)
    parked = sum(home.kind in GROUPS["parked"] for home in homes)
    found = sum(accused[kind] for kind in GROUPS["parked"])
    print(f"\nthe paper's rule on the same pages: {accused.total()} accused, {found} of {parked} parked ones")
    print(f"  {', '.join(f'{kind} {count}' for kind, count in accused.most_common())}")


def _print_left_out(homes: Sequence[Home]) -> list[Floor]:
    """Recall over hands: the phrases that only a hand shows are taken away before its pages are read."""
    floors = []
    vendors = {pair for pair in shipped_phrases() if pair[0] in VENDOR_CLASSES}
    for name, least in (("parked", 0.75), ("default", 0.7)):
        hands: dict[str, list[Home]] = {}
        for home in homes:
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
