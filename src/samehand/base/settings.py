"""Every setting once: name, default, help. The command line, docs/settings.md and run.json are made from this table.

Defaults are what the evaluation found best (docs/style.md has the numbers); `Settings.preset("paper")` is what the
hidden style similarity paper used.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Self

from samehand.base.errors import SettingsError

PUBLIC_KEY = "samehand"
ESTIMATORS = ("filled", "paper")
PROFILES = ("web", "mail")
SKETCH_BITS = (8, 32)
CHOICES = {"estimator": ESTIMATORS, "profile": PROFILES}
"""Settings that are one of a few words."""


def _setting(default: Any, group: str, help_text: str) -> Any:
    return dataclasses.field(default=default, metadata={"group": group, "help": help_text})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a scan does and how. Frozen: a run has one, and keeps it in run.json."""

    profile: str = _setting("web", "read", "What the inputs hold: web pages, or mail (.eml, mbox, Maildir).")
    max_page_bytes: int = _setting(10_000_000, "read", "Longest page in decoded bytes; a longer one is cut and marked.")
    max_ratio: int = _setting(
        200, "read", "Reject a page that unpacks to more than this many times its size (and 1 MB)."
    )
    any_status: bool = _setting(False, "read", "Make pages of HTTP errors and redirects too, not of status 2xx alone.")
    split_bytes: int = _setting(256_000_000, "read", "Split WARC and JSONL files longer than this between workers.")
    keep_pages: bool = _setting(False, "read", "Keep the pages' bytes in the run folder, so that the inputs may go.")

    part_bytes: int = _setting(16, "style", "Bytes of noise in one part (the paper's n).")
    dimensions: int = _setting(128, "style", "Dimensions of a fingerprint (the paper's m): a power of two.")
    fold_spaces: bool = _setting(True, "style", "Make each run of white space in the noise one blank.")
    key: str = _setting(PUBLIC_KEY, "style", "Key of the rolling hash: keep one of your own secret from spammers.")
    estimator: str = _setting("filled", "style", "Divide matches by dimensions filled in either page, or as the paper.")
    own_name_bytes: int = _setting(8_192, "style", "Pages up to this long leave out the dots of their own host name.")
    min_filled: int = _setting(48, "style", "Pages with fewer filled dimensions are grouped by equal noise and tags.")
    min_punctuation: int = _setting(16, "style", "Such pages with less noise, tags and blanks aside, by equal bytes.")

    loose: float = _setting(0.14, "grouping", "Similarity that makes a family: pages of the same software.")
    tight: float = _setting(0.6, "grouping", "Similarity that makes a cluster: pages of the same hand.")
    firm: float = _setting(0.25, "grouping", "Links below this need support: clusters at both ends alike on average.")
    support: float = _setting(0.12, "grouping", "Mean similarity between the clusters at the ends of such a link.")
    cohesion: float = _setting(0.7, "grouping", "Share of the cut a member must reach towards its cluster's centre.")
    miss: float = _setting(
        0.01, "grouping", "Wanted probability to miss a pair at the loose threshold; gives the probes."
    )
    probes: int = _setting(0, "grouping", "Probes (the paper's p); 0 derives them from --miss.")
    probe_dimensions: int = _setting(1, "grouping", "Dimensions a probe compares at once (the paper's k).")
    full_check: int = _setting(64, "grouping", "Buckets up to this size check all pairs, larger ones leaders only.")
    max_leaders: int = _setting(64, "grouping", "Leaders a large bucket compares with; hits of this cap are counted.")
    sketch_bits: int = _setting(8, "grouping", "Bits of each dimension that a check compares: 8, or all 32.")

    attribute_texts: bool = _setting(False, "markup", "Count the texts of alt and title attributes as visible.")
    max_tokens: int = _setting(1_000_000, "markup", "Tags and comments of a page; its text ends there, and is marked.")
    max_attributes: int = _setting(1_000, "markup", "Attributes of a tag, likewise.")
    max_value_bytes: int = _setting(1 << 22, "markup", "Bytes of an attribute's value, likewise.")

    lexicon: str = _setting("", "replica", "Lexicon file that near replicas are judged by; empty for the shipped one.")
    lexicons: int = _setting(10, "replica", "Randomised lexicons beside the original one (the paper's K).")
    lexicon_keep: float = _setting(2 / 3, "replica", "Largest share of the words a randomised lexicon keeps.")
    lexicon_keep_least: float = _setting(1 / 32, "replica", "Smallest such share; lexicons are spread between the two.")
    lexicon_seed: int = _setting(1, "replica", "Seed of the randomised lexicons.")
    min_words: int = _setting(5, "replica", "Documents of fewer distinct words are skipped, and counted.")
    min_overlap: int = _setting(4, "replica", "Fewest words of a lexicon that make a signature.")
    min_overlap_share: float = _setting(
        0.1, "replica", "Below this share of its words a document takes rarer ones too."
    )
    replica_cosine: float = _setting(0.8, "replica", "Cosine of their words that makes two candidates near replicas.")
    replica_weakest: float = _setting(0.7, "replica", "Least cosine of a member to the centre of its group.")

    language_model: str = _setting("", "language", "Model that texts are judged by; empty for the shipped English one.")
    max_text_bytes: int = _setting(1_000_000, "language", "A page's text is judged by this much of it, and is marked.")
    judge_words: int = _setting(150, "language", "Texts of fewer words are too short to judge.")
    fake_threshold: float = _setting(0.5, "language", "Probability from which on a text is called fake.")

    max_tags: int = _setting(20_000, "structure", "Tags of a page that are kept; those of longer pages are cut off.")

    structure_clusters: int = _setting(16, "providers", "Clusters of a provider's sites (the paper's k).")
    spam_distance: float = _setting(0.25, "providers", "Mean distance to the centre that makes a cluster (δ).")
    min_sites: int = _setting(5, "providers", "Providers with fewer sites get no verdict; they are judged in one pool.")
    dns_resolvers: str = _setting("", "providers", "Resolvers for --resolve, with commas between; empty: the system's.")
    dns_rate: float = _setting(50.0, "providers", "DNS queries a second.")
    dns_at_once: int = _setting(20, "providers", "DNS queries under way at once.")
    dns_timeout: float = _setting(5.0, "providers", "Seconds to wait for an answer.")
    dns_tries: int = _setting(3, "providers", "Queries for a domain before it is given up.")

    label_seed: int = _setting(0, "labels", "Seed of the order in which pages are shown for labels.")

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise SettingsError(f"{name} is {value}: choose a value from {low} to {high}.")
        if self.dimensions & (self.dimensions - 1):
            raise SettingsError(f"dimensions is {self.dimensions}: choose a power of two, such as 64, 128 or 256.")
        for name, words in CHOICES.items():
            if getattr(self, name) not in words:
                raise SettingsError(f"{name} is {getattr(self, name)!r}: choose one of {', '.join(words)}.")
        if self.lexicon_keep_least > self.lexicon_keep:
            raise SettingsError("lexicon_keep_least is above lexicon_keep: give the smaller share first.")
        if self.loose > self.tight:
            raise SettingsError(f"loose ({self.loose}) is above tight ({self.tight}): families hold clusters.")
        if self.probes * self.probe_dimensions > self.dimensions * self.dimensions:
            raise SettingsError(f"{self.probes} probes are more than {self.dimensions} dimensions have use for.")
        if self.sketch_bits not in SKETCH_BITS:
            raise SettingsError(f"sketch_bits is {self.sketch_bits}: choose 8 or 32.")
        if not self.key:
            raise SettingsError("key is empty: leave it out for the public one, or give a secret.")

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """The named preset ("default" or "paper"), with single settings changed."""
        try:
            return cls(**{**PRESETS[name], **changes})
        except KeyError:
            raise SettingsError(f"There is no preset {name!r}: choose one of {', '.join(PRESETS)}.") from None

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Settings from their `as_dict` form."""
        unknown = sorted(set(stored) - {field.name for field in dataclasses.fields(cls)})
        if unknown:
            raise SettingsError(f"Unknown settings {', '.join(unknown)}: the run was made by another version.")
        return cls(**stored)

    def as_dict(self) -> dict[str, Any]:
        """All settings by name, the secret key included."""
        return dataclasses.asdict(self)

    def digest(self, *groups: str) -> str:
        """Digest of the settings in `groups`: what a stored part was made with."""
        chosen = {field.name: getattr(self, field.name) for field in fields_of(*groups)}
        return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()[:16]


_RANGES: dict[str, tuple[float, float]] = {
    "max_page_bytes": (1_000, 1_000_000_000),
    "max_ratio": (10, 100_000),
    "split_bytes": (1_000, 1 << 50),
    "part_bytes": (2, 63),
    "dimensions": (16, 4096),
    "own_name_bytes": (0, 1 << 30),
    "min_filled": (0, 4096),
    "min_punctuation": (1, 4096),
    "loose": (0.01, 1.0),
    "tight": (0.01, 1.0),
    "firm": (0.0, 1.0),
    "support": (0.0, 1.0),
    "cohesion": (0.0, 1.0),
    "miss": (1e-12, 0.5),
    "probes": (0, 1 << 16),
    "probe_dimensions": (1, 16),
    "full_check": (2, 4096),
    "max_leaders": (1, 4096),
    "lexicons": (0, 30),
    "lexicon_keep": (0.001, 0.999),
    "lexicon_keep_least": (0.001, 0.999),
    "lexicon_seed": (0, 1 << 62),
    "max_tokens": (100, 1 << 40),
    "max_attributes": (10, 1 << 40),
    "max_value_bytes": (100, 1 << 40),
    "min_words": (1, 1000),
    "min_overlap": (1, 1000),
    "min_overlap_share": (0.0, 1.0),
    "replica_cosine": (0.1, 1.0),
    "replica_weakest": (0.0, 1.0),
    "max_text_bytes": (1_000, 1 << 30),
    "judge_words": (20, 1 << 30),
    "fake_threshold": (0.0, 1.0),
    "max_tags": (1, 50_000),
    "structure_clusters": (1, 10_000),
    "spam_distance": (0.001, 1.0),
    "min_sites": (1, 1 << 40),
    "dns_rate": (0.1, 100_000),
    "dns_at_once": (1, 1000),
    "dns_timeout": (0.01, 120),
    "dns_tries": (1, 10),
    "label_seed": (0, 1 << 62),
}

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    # Section 4.2 of the paper: n = 32, m = 128, k = 1, t = 35, p = 20; empty dimensions never match (section 3.3).
    "paper": {
        "part_bytes": 32,
        "fold_spaces": False,
        "estimator": "paper",
        "own_name_bytes": 0,
        "min_filled": 0,
        "loose": 35 / 128,
        "tight": 35 / 128,
        "cohesion": 0.0,
        "probes": 20,
        "sketch_bits": 32,
        # I-Match: every randomised lexicon keeps two thirds of the words (its section 6.8).
        "lexicon_keep_least": 2 / 3,
        "min_overlap": 5,
    },
}


def fields_of(*groups: str) -> list["dataclasses.Field[Any]"]:
    """The settings of the named groups (all when none is named), in order."""
    return [field for field in dataclasses.fields(Settings) if not groups or field.metadata["group"] in groups]
