"""I-Match with randomised lexicons on real mail, pages and news: `python -m evaluation.replica --data FOLDER`.

The experiments of the paper (Kolcz, Chowdhury, Alspector, KDD 2004) on public data, beside the paper's figures and
beside MinHash; then speed. Pairs that are found are scored by word 5-grams, which decide nothing. Prints one report and
exits with 1 when a floor is missed. `evaluation.evasion_replica` has the disguises.

The paper gives no smallest overlap, and this data decided ours; the defaults were chosen on the collections of the
first tables too. So every figure on false positives is told for several seeds, and the defaults are measured again on
two collections that had no part in the choice.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.replica_benchmark import (
    BENCHMARK,
    CHECK,
    Benchmark,
    agreeing,
    arrow,
    benchmark,
    checked_pairs,
    gram_jaccard,
    grouped_pairs,
    learn,
    sign,
)
from evaluation.style import Floor
from evaluation.texts import (
    HAM,
    SPAM,
    RevisionPairs,
    datasketch_pairs,
    datasketch_seconds,
    documentation,
    mails,
    reuters,
    revision_pairs,
    written_news,
)
from samehand.base.buffers import column_buffers
from samehand.base.settings import Settings
from samehand.methods.replica.groups import find_replicas
from samehand.methods.replica.lexicon import MAIL_RANGE, WEB_RANGE, Lexicon
from samehand.methods.replica.method import SHIPPED_LEXICON
from samehand.methods.replica.signatures import PAPER, Signed, Signer, kept_shares

LEXICONS = (0, 1, 2, 5, 10)
SEEDS = tuple(range(1, 13))
CAMPAIGNS = (1, 3, 5, 8, 12)
CHANGES = (1, 2, 3, 4, 6, 8)
NO_FALSE_POSITIVES = 10
"""The smallest of the overlaps tried that finds no legitimate mail by bare agreement, whatever the seed."""

GAIN_HONEYPOT, GAIN_CLUSTER = 0.21, 0.52
GAIN_WITHOUT_FALSE = 0.15
"""The gain at the setting that has no false positives. The paper has 0.21 and none; here it is 0.18 and none."""

MISSED_HONEYPOT = 0.41
"""Of the recall that the original lexicon misses, the share that K = 10 finds: the better one in the paper."""

MEGABYTES_PER_SECOND, TIMES_DATASKETCH = 40.0, 10.0
SAMPLE = 2000
_TABLE_1 = (
    ("Honeypot-Spam", "0.66          0.72   0.76   0.80     +21%             41%"),
    ("Cluster-Spam", "0.40          0.49   0.55   0.61     +52%             35%"),
)
_JACCARD = ((0.9, 1.1), (0.5, 0.9), (0.0, 0.5))
_HEAD = f"{'K =':>56} {'  '.join(f'{lexicons:5}' for lexicons in LEXICONS)}     gain   of the missed"


def main() -> None:
    """Prints the report; exits with 1 below a floor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    floors = _report(parser.parse_args().data)
    print("\nfloors")
    for floor in floors:
        print(f"  {'ok  ' if floor.holds else 'MISS'} {floor.name:66} {floor.reached:8.3f} (at least {floor.floor})")
    sys.exit(not all(floor.holds for floor in floors))


def _report(data: Path) -> list[Floor]:
    folders, news, pages = mails(data), reuters(data), revision_pairs(data)
    spam, ham = ([text for folder in names for text in folders[folder]] for names in (SPAM, HAM))
    sources = {"Reuters": news, "spam": spam, "ham": ham, "pages": [*pages.older, *pages.newer]}
    unseen = {"documentation": documentation(data), "written news": written_news(data)}
    lexicon = learn("Reuters", news, WEB_RANGE)
    sets = {name: benchmark(name, texts, lexicon) for name, texts in sources.items() if name != "ham"}
    unseen_sets = {name: benchmark(name, texts, lexicon) for name, texts in unseen.items()}
    _print_collections({**sources, **unseen}, {**sets, **unseen_sets})
    floors = _print_spam(sets["spam"], sources)
    floors += _print_false_positives(sets["spam"], sources)
    _print_recall("", sets, sources)
    _print_recall(", collections that had no part in choosing the defaults", unseen_sets, {"Reuters": news, **unseen})
    floors += _print_revisions(pages, sources)
    floors += _print_stability([*spam, *sources["pages"]], lexicon)
    floors += _print_mail(folders)
    floors += _print_peers({**sets, **unseen_sets}, lexicon)
    return floors + _print_speed([text for texts in sources.values() for text in texts], lexicon)


def _print_collections(sources: dict[str, list[bytes]], sets: dict[str, Benchmark]) -> None:
    print("collection      documents   without trivial duplicates   queries with a neighbour at cosine 0.9   pairs")
    for name, texts in sources.items():
        own = sets.get(name)
        tail = f"{len(own.texts):26}   {own.queries:38}   {len(own.pairs) // 2:5}" if own else ""
        print(f"  {name:13} {len(texts):9}   {tail}")


def _row(name: str, recalls: Sequence[float]) -> str:
    gain, missed = recalls[-1] / recalls[0] - 1, (recalls[-1] - recalls[0]) / (1 - recalls[0])
    return f"  {name:54} {'  '.join(f'{value:.3f}' for value in recalls)}   {gain:+6.0%}   {missed:13.0%}"


def _print_spam(spam: Benchmark, sources: dict[str, list[bytes]]) -> list[Floor]:
    """Table 1 of the paper: recall on two sets of spam, lexicon from news; then from other collections.

    Its Cluster-Spam are 28 large campaigns. Ours are found by the cosine, and the gain hangs on how large they are to
    be: all sizes are told. The gain has a ceiling besides, 1 / recall at K = 0, which the last column is free of.
    """
    print(f"\nspam, the paper's settings (nidf 0.2 to 0.3, two thirds kept), mean of {len(SEEDS)} seeds\n{_HEAD}")
    for name, figures in _TABLE_1:
        print(f"  {f'the paper, {name}, lexicon from news':54} {figures}")
    found: dict[tuple[str, int], tuple[float, float]] = {}
    for source in ("Reuters", "spam", "ham", "pages"):
        lexicon = learn(source, sources[source], MAIL_RANGE)
        signed = [sign(lexicon, spam.texts, seed=seed, **PAPER) for seed in SEEDS]
        for size in CAMPAIGNS if source in ("Reuters", "spam") else CAMPAIGNS[:1]:
            chosen = spam.campaigns >= size
            recalls = [float(np.mean([spam.recall(one, k, chosen=chosen) for one in signed])) for k in LEXICONS]
            label = "spam" if size == 1 else f"campaigns of {size} and more"
            print(_row(f"{label}, lexicon from {source}", recalls))
            found[source, size] = recalls[0], recalls[-1]
    gains = {which: last / first - 1 for which, (first, last) in found.items()}
    missed = [(last - first) / (1 - first) for first, last in found.values()]
    return [
        Floor("spam, lexicon from news: gain of K = 10", gains["Reuters", 1], GAIN_HONEYPOT),
        Floor(
            "campaigns, lexicon from the target, any size: gain", min(gains["spam", n] for n in CAMPAIGNS), GAIN_CLUSTER
        ),
        Floor("spam and campaigns, any lexicon: share of the missed", min(missed), MISSED_HONEYPOT),
    ]


def _print_false_positives(spam: Benchmark, sources: dict[str, list[bytes]]) -> list[Floor]:
    """Section 7.2: legitimate mail that agrees with any spam, by bare agreement and with the cosine checked."""
    seeds = f"K = 10, for each of {len(SEEDS)} seeds"
    print(f"\nlegitimate mails (of {len(sources['ham'])}) found to be replicas of spam, {seeds}")
    print(f"  {'settings, lexicon':50} {'by any agreement':38} cosine {CHECK}, all seeds   recall   gain")
    rows: list[tuple[str, tuple[float, float], dict[str, Any]]] = [
        *(
            (f"paper, overlap {least}", MAIL_RANGE, {**PAPER, "min_overlap": least})
            for least in (5, 8, NO_FALSE_POSITIVES)
        ),
        ("paper, overlap 5, commoner secondary words", MAIL_RANGE, {**PAPER, "secondary": "commoner"}),
        ("default", WEB_RANGE, {}),
    ]
    bare, checked, gains = {}, {}, {}
    for label, nidf, settings in rows:
        for source in ("Reuters", "spam"):
            counts, recalls = _stream_counts(spam, sources["ham"], learn(source, sources[source], nidf), settings)
            name = f"{label}, {source}"
            bare[name], checked[name] = [hit for hit, _ in counts], sum(near for _, near in counts)
            gains[name] = recalls[1] / recalls[0] - 1
            print(f"  {name:50} {bare[name]!s:38} {checked[name]:21}   {recalls[1]:.3f}   {gains[name]:+5.0%}")
    strict = f"paper, overlap {NO_FALSE_POSITIVES}, Reuters"
    return [
        Floor(f"- mails found, {strict}, any agreement, worst seed", -max(bare[strict]), 0),
        Floor(f"gain of K = 10 at that same setting, {strict}", gains[strict], GAIN_WITHOUT_FALSE),
        Floor("- mails found, cosine checked, all rows and seeds", -sum(checked.values()), 0),
    ]


def _stream_counts(
    spam: Benchmark, ham: list[bytes], lexicon: Lexicon, settings: dict[str, Any]
) -> tuple[list[tuple[int, int]], tuple[float, float]]:
    """Mails found for each seed (any agreement, checked), and the mean recall on spam at K = 0 and K = 10."""
    counts, recalls = [], []
    for seed in SEEDS:
        known = sign(lexicon, spam.texts, seed=seed, **settings)
        counts.append(agreeing(sign(lexicon, ham, seed=seed, **settings), known))
        recalls.append((spam.recall(known, 0), spam.recall(known, 10)))
    first, last = np.mean(recalls, axis=0)
    return counts, (float(first), float(last))


def _print_recall(title: str, sets: dict[str, Benchmark], sources: dict[str, list[bytes]]) -> None:
    """Figure 2 of the paper (whose values stand in a picture only), and our defaults."""
    rows: tuple[tuple[str, dict[str, Any]], ...] = (("the paper's settings", PAPER), ("default", {}))
    for label, settings in rows:
        print(f"\nrecall{title}, {label}, nidf 0.2 to 0.8\n{_HEAD}")
        for name, own in sets.items():
            for source, texts in sources.items():
                if source in (name, "Reuters") or name in ("Reuters", "spam"):
                    signed = sign(learn(source, texts, WEB_RANGE), own.texts, **settings)
                    origin = "itself" if source == name else source
                    print(_row(f"{name}, lexicon from {origin}", [own.recall(signed, k) for k in LEXICONS]))


def _print_revisions(pages: RevisionPairs, sources: dict[str, list[bytes]]) -> list[Floor]:
    """The same pages in two releases; a pair of a Jaccard similarity below 0.5 that is found counts as wrong."""
    print(
        "\n529 revision pairs: share found, by Jaccard similarity of their word 5-grams; precision: found with >= 0.5"
    )
    print(f"  {'':46} >= 0.9   0.5 to 0.9   below 0.5   precision")
    rows: tuple[tuple[str, dict[str, Any]], ...] = (
        ("paper, K = 0", {**PAPER, "lexicons": 0}),
        ("paper, K = 10", PAPER),
        ("default", {}),
    )
    precisions = []
    for source in ("pages", "Reuters"):
        lexicon = learn(source, sources[source], WEB_RANGE)
        for label, settings in rows:
            found = _found_revisions(pages, lexicon, settings)
            shares = [found[(pages.jaccard >= low) & (pages.jaccard < high)].mean() for low, high in _JACCARD]
            precisions.append(float((pages.jaccard[found] >= 0.5).mean()))
            name = f"{label}, lexicon from {source}"
            print(f"  {name:46} {'        '.join(f'{s:.3f}' for s in shares)}       {precisions[-1]:.3f}")
    return [Floor("revision pairs: precision, worst of all rows", min(precisions), 0.95)]


def _found_revisions(pages: RevisionPairs, lexicon: Lexicon, settings: dict[str, Any]) -> NDArray[np.bool_]:
    """Which pairs are near replicas: by agreement, and for our defaults (no settings) by cosine too."""
    count = len(pages.older)
    signed = sign(lexicon, [*pages.older, *pages.newer], **settings)
    keys = signed.keys()
    found = ((keys[:count] == keys[count:]) & (keys[:count] != 0)).any(axis=1)
    if not settings:
        found &= signed.sets.similarities(np.arange(count), np.arange(count, 2 * count)) >= CHECK
    return np.asarray(found)


def _print_stability(texts: Sequence[bytes], lexicon: Lexicon) -> list[Floor]:
    """Figure 1 of the paper: how often a signature outlives n words of the lexicon put in or taken out."""
    print("\ndocuments of which a randomised signature outlives n random insertions and deletions of lexicon words,")
    print(f"mean of {len(SEEDS)} seeds / 1 - (1 - p^n)^K, where the default has a p of its own for each lexicon")
    print(f"  {'':24}{''.join(f'n = {changes:<13}' for changes in CHANGES)}")
    documents = _lexicon_documents(texts, lexicon)
    worst = 0.0
    for label, least in (("paper", PAPER["keep_least"]), ("default", 1 / 32)):
        missing = 1 - kept_shares(10, 2 / 3, least)
        kept = {changes: _outliving(documents, lexicon, changes, least) for changes in CHANGES}
        for k in LEXICONS[1:]:
            measured = [kept[changes][:, :k].any(axis=1).mean() for changes in CHANGES]
            formula = [1 - np.prod(1 - missing[:k] ** changes) for changes in CHANGES]
            cells = "    ".join(f"{m:.3f} / {f:.3f}" for m, f in zip(measured, formula, strict=True))
            print(f"  {f'{label}, K = {k}':24}{cells}")
            worst = max(worst, float(np.abs(np.subtract(measured, formula)).max()))
    return [Floor(f"- stability: distance from the formula, {len(documents)} documents", -worst, -0.05)]


def _lexicon_documents(texts: Sequence[bytes], lexicon: Lexicon) -> list[list[str]]:
    """Documents as the words they have of the primary lexicon, those with enough for the smallest lexicon."""
    first, end = lexicon.primary()
    known = set(lexicon.texts.slice(first, end - first).to_pylist())
    words = (sorted(known & set(text.decode("utf-8", "replace").lower().split())) for text in texts)
    return [own for own in words if len(own) >= 150]


def _outliving(documents: list[list[str]], lexicon: Lexicon, changes: int, least: float) -> NDArray[np.bool_]:
    """Which randomised signatures of each document are the same after so many changes, for each of the seeds."""
    first, end = lexicon.primary()
    vocabulary = lexicon.texts.slice(first, end - first).to_pylist()
    draw = np.random.default_rng(changes)
    before = [" ".join(words).encode() for words in documents]
    same = []
    for seed in SEEDS:
        settings: dict[str, Any] = {"keep_least": least, "min_overlap": 1, "min_share": 0.0, "seed": seed}
        after = [_changed(words, vocabulary, changes, draw) for words in documents]
        left, right = (sign(lexicon, texts, **settings).signatures[:, 1:] for texts in (before, after))
        same.append((left == right) & (left != 0))
    return np.concatenate(same)


def _changed(words: list[str], vocabulary: list[str], changes: int, draw: np.random.Generator) -> bytes:
    """The document with so many words of the lexicon deleted or inserted."""
    deleted = set(draw.choice(words, draw.binomial(changes, 0.5), replace=False).tolist())
    inserted: set[str] = set()
    while len(inserted) < changes - len(deleted):
        inserted |= {vocabulary[draw.integers(len(vocabulary))]} - set(words)
    return " ".join((set(words) - deleted) | inserted).encode()


def _print_peers(sets: dict[str, Benchmark], lexicon: Lexicon) -> list[Floor]:
    """Beside MinHash, by measures that neither of the two decides by, and by the cosine of the paper."""
    print("\nbeside MinHash (datasketch, word 3-grams, 128 permutations); ours: pairs in groups, and the words alone")
    print(f"recall: of the pairs with a cosine of {BENCHMARK}. Of up to {SAMPLE} found pairs, those with a cosine of")
    print(f"{BENCHMARK}, and those with a Jaccard similarity of word 5-grams of 0.5, 0.2, and below 0.1")
    print(f"  {'':38} recall    pairs   cosine {BENCHMARK}   5-grams 0.5     0.2   < 0.1   seconds")
    wrong = {}
    for name, own in sets.items():
        began = time.perf_counter()
        signed = sign(lexicon, own.texts)
        pairs = grouped_pairs(find_replicas(np.arange(len(own.texts)), signed, Settings()))
        seconds = time.perf_counter() - began
        wrong[name] = _print_pairs(f"{name}, samehand", own, signed, pairs, seconds)
        _print_pairs(f"{name}, signatures and cosine alone", own, signed, checked_pairs(signed), seconds)
        for threshold in (0.8, 0.5):
            found, spent = datasketch_pairs(own.texts, threshold)
            _print_pairs(f"{name}, datasketch {threshold}", own, signed, found, spent)
    worst = max(share for name, share in wrong.items() if name != "Reuters")  # short notes of numbers; docs/replica.md
    return [Floor("- pairs in groups with a 5-gram Jaccard below 0.1, worst but Reuters", -worst, -0.02)]


def _print_pairs(label: str, own: Benchmark, signed: Signed, pairs: set[tuple[int, int]], seconds: float) -> float:
    """One row; returns the share of pairs with a 5-gram Jaccard below 0.1."""
    found = np.array(sorted(pairs)).reshape(-1, 2)
    if len(found) > SAMPLE:
        found = found[np.random.default_rng(1).choice(len(found), SAMPLE, replace=False)]
    cosines = signed.sets.similarities(found[:, 0].copy(), found[:, 1].copy())
    likeness = np.array([gram_jaccard(own.texts[left], own.texts[right]) for left, right in found.tolist()])
    shares = [(cosines >= np.float32(BENCHMARK)).mean(), *((likeness >= limit).mean() for limit in (0.5, 0.2))]
    cells = f"{shares[0]:10.3f}   {shares[1]:11.3f}   {shares[2]:5.3f}   {(likeness < 0.1).mean():5.3f}"
    print(f"  {label:38} {own.recall_of(pairs):.3f}  {len(pairs):7}   {cells}   {seconds:7.2f}", flush=True)
    return float((likeness < 0.1).mean())


def _print_mail(folders: dict[str, list[bytes]]) -> list[Floor]:
    """Mail with the shipped lexicon: recall, groups that are far from their medoid, groups of spam and ham together."""
    texts = [text for names in (SPAM, HAM) for folder in names for text in folders[folder]]
    spam = sum(len(folders[folder]) for folder in SPAM)
    settings = Settings(profile="mail")
    lexicon = Lexicon.load(SHIPPED_LEXICON)
    own = benchmark("mail", texts, lexicon)
    signed = sign(lexicon, texts)
    found = find_replicas(np.arange(len(texts)), signed, settings)
    groups = found.members
    ids, group = groups.column("page_id").to_numpy(), groups.column("replica_group_id").to_numpy()
    names, places = np.unique(group, return_inverse=True)
    bad, size = np.bincount(places, weights=ids < spam), np.bincount(places)
    mixed = int(np.count_nonzero((bad > 0) & (bad < size)))
    kept = sign(lexicon, own.texts)
    recall = own.recall_of(grouped_pairs(find_replicas(np.arange(len(own.texts)), kept, settings)))
    far = float((groups.column("cosine").to_numpy() < 0.5).mean())
    print(f"\n{len(texts)} mails, shipped lexicon: {len(names)} groups of {len(ids)} mails, {mixed} of spam and ham;")
    print(f"  recall of pairs at cosine {BENCHMARK}: {recall:.3f}; members below cosine 0.5 to their medoid: {far:.4f}")
    return [
        Floor("mail: recall in groups of pairs at cosine 0.9", recall, 0.99),
        Floor("- mail: groups that mix spam and ham", -mixed, 0),
    ]


def _print_speed(texts: list[bytes], lexicon: Lexicon) -> list[Floor]:
    """Text to signatures, K = 10, one core, beside datasketch's sketches of every 20th of the same texts."""
    signer, buffers = Signer(lexicon), column_buffers(arrow(texts))
    rate = sum(map(len, texts)) / 1e6 / min(_timed(signer, buffers) for _ in range(5))
    few = texts[::20]
    peer = sum(map(len, few)) / 1e6 / min(datasketch_seconds(few) for _ in range(2))
    print(f"\nspeed on one core, {sum(map(len, texts)) / 1e6:.1f} MB of text, K = 10")
    print(f"  samehand {rate:.1f} MB/s, datasketch {peer:.2f} MB/s: {rate / peer:.0f} times")
    return [
        Floor("signatures, MB/s of text on one core", rate, MEGABYTES_PER_SECOND),
        Floor("signatures, times datasketch MinHash", rate / peer, TIMES_DATASKETCH),
    ]


def _timed(signer: Signer, buffers: tuple[NDArray[np.uint8], NDArray[np.int64]]) -> float:
    began = time.perf_counter()
    signer.sign(*buffers)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
