"""Verdicts on real home pages, by folds that leave out whole hands; fits the weights that ship.

    python -m evaluation.verdicts --data FOLDER            prints the figures, and fails below its floors
    python -m evaluation.verdicts --data FOLDER --write    also writes src/samehand/data/verdict.toml

The labels are those of homepages2018. A site is unwanted if nobody needs it: parked, for sale, a farm, a default page,
or nothing to read. Every hand (kit, template, owner) is one voice in one fold. A page without a hand is its own.
Weights of evidence that these home pages do not show are set by hand: SET_BY_HAND says why, and so does the file.
"""

import argparse
import csv
import dataclasses
import io
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

import samehand
from samehand.methods.verdicts.evidence import BLOCKABLE, UNWANTED_KINDS
from samehand.methods.verdicts.facts import cluster_classes, page_facts
from samehand.methods.verdicts.fitting import calibrate, fit_ridge, hand_weights, wilson
from samehand.methods.verdicts.groups import cluster_sites
from samehand.methods.verdicts.model import SHIPPED_WEIGHTS, Calibration, Weights, read_weights
from samehand.methods.verdicts.policy import read_policy
from samehand.methods.verdicts.scoring import PURPOSE, Evidence, design_matrix, may_block, score
from samehand.methods.verdicts.sites import SiteFacts, site_evidence, site_facts

FOLDS = 10
PRIOR = -2.5
FITTED = {
    "NOTHING_TO_READ": 6.0,
    "PLACEHOLDER": 5.0,
    "PARKED": 6.0,
    "ONE_OWNER": -1.0,
    "FEED": 1.5,
    "OFFER": 1.5,
    "PARKED_WORDING": 1.0,
    "REGISTERED_WORDING": 1.0,
    "TELLS_NAME": 1.0,
    "KEYWORD_LIST": 0.5,
    "COPIED_TEXT": 1.0,
    "NATURAL_TEXT": -0.4,
    "OWN_PROSE": -1.0,
}
"""Evidence that home pages show, and the weights from which the fit starts. The prior is fitted too."""
SET_BY_HAND = {
    "FARM": "no labelled site is called a farm; a farm is reviewed, since farms show no purpose",
    "REPLICA": "home pages have no replicas within a site; a replica alone must reach the 0.9 that policies drop at",
    "LINK_FARM": "no labelled home page is in a link farm; with copied text it must reach a review, and no more",
    "SHARED_TEMPLATE": "software is shared by honest sites: held near 0, whatever the parked pages of this slice say",
    "FAKE_TEXT": "two labelled sites read as if made, both wanted; a made text alone must reach a review, and no more",
    "SHARED_PHRASES": "no labelled site has them; half of FAKE_TEXT, because templates of honest sites have them too",
    "PROVIDER_PARKED": "the slice has no name servers; the most that its group may add",
}
"""Evidence that the labelled home pages do not show, and why its weight is what it is."""
GROUP_NOTES = {
    "sameness": "raised from 3 by hand after the fit, so that LINK_FARM and COPIED_TEXT together reach a review",
}
STRENGTH = 2.0
"""How much a weight is held to its start: as much as so many voices."""
BLOCK_FLOOR = 0.99


class Labelled(NamedTuple):
    """The labelled sites of a run: their rows among all sites, kinds and hands."""

    rows: NDArray[np.int64]
    kinds: NDArray[np.object_]
    hands: NDArray[np.object_]

    @property
    def unwanted(self) -> NDArray[np.bool_]:
        """Whether nobody needs the site."""
        return np.isin(self.kinds, UNWANTED_KINDS)


def main() -> None:
    """Prints all figures; ends with 1 below a floor."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--run", type=Path, help="A run of homepages2018 with all methods, to use or to make.")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        run = home_page_run(options.data, options.run or Path(scratch) / "run", Path(scratch))
        weights = read_weights()
        sites, evidence = _evidence(run, weights)
        labelled = _labels(options.data / "homepages2018_labels.tsv", sites)
        _print_reach(labelled)
        held_out = _held_out(evidence, labelled, weights)
        print("\nEach site by weights that never saw its hand:")
        is_low = _print_figures(held_out, labelled, sites, weights)
        _print_reliability(held_out, labelled)
        _print_control(evidence, labelled, weights)
        if options.write:
            fitted = _fitted(evidence, labelled, weights)
            _write(fitted, evidence, labelled)
    sys.exit(1 if is_low else 0)


def home_page_run(data: Path, out: Path, scratch: Path) -> samehand.Run:
    """A run of homepages2018 with all methods. An existing one is used as it is."""
    if (out / "run.json").is_file():
        return samehand.open_run(out)
    archive = data / "homepages2018.tar.xz"
    if not archive.is_file():
        sys.exit(f"{archive} is not there: this evaluation needs it. Say where it is with --data FOLDER.")
    warc = scratch / "homepages.warc.gz"
    with tarfile.open(archive) as tar, warc.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for member in tar:
            handle = tar.extractfile(member) if member.isfile() and "/pages/" in f"/{member.name}" else None
            if handle:
                _write_page(writer, Path(member.name).parts[-2], handle.read())
    return samehand.scan(warc, out, signals="all", settings=samehand.Settings(keep_pages=True), workers=2)


def _write_page(writer: WARCWriter, domain: str, body: bytes) -> None:
    head = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
    writer.write_record(
        writer.create_warc_record(f"http://{domain}/", "response", payload=io.BytesIO(body), http_headers=head)
    )


def _evidence(run: samehand.Run, weights: Weights) -> tuple[SiteFacts, Evidence]:
    facts = page_facts(run.folder)
    sites = site_facts(run.folder, facts)
    classes = cluster_classes(run.folder)
    sizes = cluster_sites(facts, len(classes)).sizes()
    return sites, site_evidence(facts, sites, classes, sizes, weights)


def _labels(path: Path, sites: SiteFacts) -> Labelled:
    """Labels of the sites of the run; `unsure` ones are left out."""
    places = {name: place for place, name in enumerate(sites.names.to_pylist())}
    with path.open(encoding="utf-8") as handle:
        rows = [row for row in csv.DictReader(handle, delimiter="\t") if row["kind"] != "unsure"]
    found = [
        (places[row["domain"]], row["kind"], row["hand"] or row["domain"]) for row in rows if row["domain"] in places
    ]
    place, kinds, hands = zip(*found, strict=True)
    return Labelled(np.array(place), np.array(kinds, object), np.array(hands, object))


def _print_reach(labelled: Labelled) -> None:
    hands = len(set(labelled.hands[labelled.unwanted].tolist()))
    print(f"{labelled.rows.size:,} labelled sites, {labelled.unwanted.sum():,} unwanted, of {hands:,} hands.")


class HeldOut(NamedTuple):
    """What folds said of each labelled site: log-odds, probability, and whether it may be blocked."""

    log_odds: NDArray[np.float64]
    probability: NDArray[np.float64]
    may_block: NDArray[np.bool_]


def _held_out(
    evidence: Evidence, labelled: Labelled, weights: Weights, truth: NDArray[np.bool_] | None = None
) -> HeldOut:
    truth = labelled.unwanted if truth is None else truth
    hands, place = np.unique(labelled.hands.astype(str), return_inverse=True)
    fold_of = np.random.default_rng(7).permutation(hands.size)[place] % FOLDS
    odds, probability = np.zeros(truth.size), np.zeros(truth.size)
    blocks = np.zeros(truth.size, np.bool_)
    for fold in range(FOLDS):
        train, test = fold_of != fold, fold_of == fold
        fitted = _fitted(evidence, labelled, weights, train, truth)
        scored = score(evidence, fitted)
        odds[test] = scored.log_odds[labelled.rows[test]]
        probability[test] = scored.probability[labelled.rows[test]]
        blocks[test] = may_block(pa.chunked_array([scored.items]))[labelled.rows[test]]
    return HeldOut(odds, probability, blocks)


def _fitted(
    evidence: Evidence,
    labelled: Labelled,
    weights: Weights,
    train: NDArray[np.bool_] | None = None,
    truth: NDArray[np.bool_] | None = None,
) -> Weights:
    """Weights and calibration, fitted on the sites of `train`."""
    truth = labelled.unwanted if truth is None else truth
    train = np.ones(truth.size, np.bool_) if train is None else train
    names = list(weights.symbols)
    matrix = design_matrix(evidence, len(names))[labelled.rows[train]]
    matrix = np.concatenate([np.ones((len(matrix), 1)), matrix], axis=1)
    voices = hand_weights(labelled.hands[train])
    towards = np.array([PRIOR, *(FITTED.get(name, weights.symbols[name].weight) for name in names)])
    strength = np.array([0.1, *(STRENGTH if name in FITTED else 1e9 for name in names)])
    found = fit_ridge(matrix, truth[train], voices, towards, strength)
    symbols = {}
    for name, value in zip(names, found[1:].tolist(), strict=True):
        least = 0.0 if weights.symbols[name].group == PURPOSE else value
        symbols[name] = dataclasses.replace(weights.symbols[name], weight=round(max(least, value), 2))
    moved = Weights(round(float(found[0]), 2), weights.groups, symbols, weights.calibration, "")
    odds = score(evidence, moved).log_odds[labelled.rows[train]]
    return Weights(moved.prior, weights.groups, symbols, calibrate(odds, truth[train], voices), "")


def _print_figures(held: HeldOut, labelled: Labelled, sites: SiteFacts, weights: Weights) -> bool:
    """Precision and recall of unwanted sites and of blocked ones. True if a floor is missed."""
    truth, kinds = labelled.unwanted, sites.shown.kind[labelled.rows]
    said = held.probability >= 0.5
    _print_row("unwanted, probability of 0.5 and more", said, truth, labelled)
    actions = read_policy("block").site_actions(pa.array(kinds, pa.string()), held.probability, held.may_block)
    blocked = np.array([action == "block" for action in actions.to_pylist()])
    accused = np.isin(labelled.kinds, BLOCKABLE)
    precision = _print_row("blocked", blocked, accused, labelled)
    real = np.isin(labelled.kinds, ("real", "network", "copies"))
    print(f"real sites blocked: {(blocked & real).sum()} of {real.sum():,}")
    for row in np.flatnonzero(blocked & ~accused):
        place = labelled.rows[row]
        print(f"  wrongly blocked: {sites.names[place]} is {labelled.kinds[row]}, said {kinds[row]}")
    missed = np.flatnonzero(accused & ~blocked)
    for row in missed:
        place = labelled.rows[row]
        print(f"  not blocked: {sites.names[place]}, {labelled.kinds[row]}: {kinds[row]} {held.probability[row]:.2f}")
    return bool(precision < BLOCK_FLOOR or (blocked & real).any())


def _print_row(what: str, said: NDArray[np.bool_], truth: NDArray[np.bool_], labelled: Labelled) -> float:
    right = int((said & truth).sum())
    low, high = wilson(right, int(said.sum()))
    hands = len(set(labelled.hands[said].tolist()))
    precision = right / max(1, said.sum())
    print(
        f"{what}: precision {right} of {said.sum()} = {precision:.3f} ({low:.3f} to {high:.3f}), of {hands} hands; "
        f"recall {right} of {truth.sum()} = {right / max(1, truth.sum()):.3f}"
    )
    return precision


def _print_reliability(held: HeldOut, labelled: Labelled) -> None:
    """Five bins of probability, each hand one voice."""
    voices = hand_weights(labelled.hands)
    print("\nprobability   voices   mean   unwanted   95 % interval")
    for low, high in ((0, 0.05), (0.05, 0.5), (0.5, 0.9), (0.9, 0.97), (0.97, 1.01)):
        inside = (held.probability >= low) & (held.probability < high)
        total = voices[inside].sum()
        if total:
            mean = np.average(held.probability[inside], weights=voices[inside])
            right = (voices * labelled.unwanted)[inside].sum()
            span = wilson(right, total)
            print(
                f"{low:4.2f} to {min(high, 1):4.2f}  {total:7.1f}  {mean:.3f}     {right / total:.3f}   "
                f"{span[0]:.3f} to {span[1]:.3f}"
            )
    print(f"log loss by hand: {_log_loss(held, labelled.unwanted, voices):.3f}")


def _log_loss(held: HeldOut, truth: NDArray[np.bool_], voices: NDArray[np.float64]) -> float:
    chance = np.clip(held.probability, 1e-4, 1 - 1e-4)
    return float(np.average(-np.where(truth, np.log(chance), np.log(1 - chance)), weights=voices))


def _print_control(evidence: Evidence, labelled: Labelled, weights: Weights) -> None:
    """With shuffled labels there is nothing to learn: the log loss must rise to the entropy."""
    voices = hand_weights(labelled.hands)
    shuffled = np.random.default_rng(3).permutation(labelled.unwanted)
    held = _held_out(evidence, labelled, weights, shuffled)
    share = np.average(shuffled, weights=voices)
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    print(f"control, labels shuffled: log loss {_log_loss(held, shuffled, voices):.3f}, entropy {entropy:.3f}")


def _write(fitted: Weights, evidence: Evidence, labelled: Labelled) -> None:
    """Writes prior, weights with their counts, and calibration into the shipped file."""
    matrix = design_matrix(evidence, len(fitted.symbols))[labelled.rows] > 0
    voices = hand_weights(labelled.hands)
    lines = [line for line in SHIPPED_WEIGHTS.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    lines += [f"prior = {fitted.prior}", "", "[groups]"]
    for name, (low, high) in fitted.groups.items():
        note = f" # {GROUP_NOTES[name]}" if name in GROUP_NOTES else ""
        lines.append(f"{name} = {{ low = {low}, high = {high} }}{note}")
    for place, symbol in enumerate(fitted.symbols.values()):
        seen = matrix[:, place]
        bad, good = ((voices * part)[seen].sum() for part in (labelled.unwanted, ~labelled.unwanted))
        how = (
            f"fitted: {bad:.1f} voices unwanted, {good:.1f} wanted"
            if symbol.name in FITTED
            else f"set by hand: {SET_BY_HAND[symbol.name]}"
        )
        lines += ["", f"[symbols.{symbol.name}] # {how}", f'group = "{symbol.group}"', f"weight = {symbol.weight}"]
        lines.append(f'sentence = "{symbol.sentence}"')
    lines += ["", "[calibration]"]
    for field in dataclasses.fields(Calibration):
        numbers = ", ".join(f"{value:.4f}" for value in getattr(fitted.calibration, field.name))
        lines.append(f"{field.name} = [{numbers}]")
    SHIPPED_WEIGHTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
