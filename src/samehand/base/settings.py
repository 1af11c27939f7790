"""Every setting once: name, default, range, help.

The command line, docs/settings.md, samehand.toml and run.json are made from this table. The evaluation chose the
defaults (docs/style.md has the figures). `Settings.preset("paper")` is what the papers used.
"""

import dataclasses
import functools
import hashlib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from samehand.base.errors import SettingsError
from samehand.base.presets import PRESETS
from samehand.base.setting import check_value, nearest, setting

PUBLIC_KEY = "samehand"
ESTIMATORS = ("filled", "paper")
PROFILES = ("web", "mail")
NIDF_RANGES = ("lexicon", "paper")


def _with_known_names(cls: type["Settings"]) -> type["Settings"]:
    """A misspelt setting is answered with the nearest right name, not with a TypeError."""
    set_fields = cls.__init__

    @functools.wraps(set_fields)
    def checked(self: "Settings", *values: Any, **settings: Any) -> None:
        if values:
            raise SettingsError(f"Settings are given by name: cluster_threshold=0.7, not {values[0]!r}.")
        for name in settings:
            _field_named(name)
        set_fields(self, **settings)

    cls.__init__ = checked  # type: ignore[method-assign]
    return cls


@_with_known_names
@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a scan does and how: one field per setting, given by name. docs/settings.md lists them with their defaults.

    Raises:
        SettingsError: There is no such setting, or it cannot have that value.

    Example:
        >>> samehand.Settings(cluster_threshold=0.7).cluster_threshold
        0.7
    """

    profile: str = setting(
        "web", "read", "What the inputs hold: web pages, or mail (.eml, mbox, Maildir).", choices=PROFILES, common=True
    )
    max_page_bytes: int = setting(
        10_000_000, "read", "Cut pages after this many decoded bytes, and mark them.", low=1_000, high=1_000_000_000
    )
    max_compression_ratio: int = setting(
        200,
        "read",
        "Reject a page that unpacks to more than 1 MB and to more than this many times its size.",
        low=10,
        high=100_000,
    )
    any_status: bool = setting(
        False,
        "read",
        "Accept every HTTP status, not only 2xx: error pages and redirects become pages too.",
        common=True,
    )
    split_bytes: int = setting(
        256_000_000, "read", "Split WARC and JSONL files longer than this between workers.", low=1_000, high=1 << 50
    )
    url_column: str = setting(
        "",
        "read",
        "Column of the URL in JSONL, Parquet and CSV, such as metadata.url. Empty: found by its usual names.",
    )
    text_column: str = setting("", "read", "Column of plain text in JSONL, Parquet and CSV. Empty: text.")
    html_column: str = setting("", "read", "Column of HTML in JSONL, Parquet and CSV. Empty: html or content.")
    id_column: str = setting("", "read", "Column of your own document ids. Empty: doc_id or id.")
    keep_pages: bool = setting(
        False, "read", "Store the pages in the run folder. Later commands then work without the inputs.", common=True
    )

    max_mail_head_bytes: int = setting(
        1 << 16, "read", "Read this many bytes of the head of a mail or of a part of it.", low=1_000, high=1 << 30
    )
    max_mail_parts: int = setting(200, "read", "Read this many parts of a mail, and mark it.", low=1, high=1 << 20)
    max_mail_depth: int = setting(20, "read", "Read parts within parts of a mail to this depth.", low=1, high=1_000)
    max_encoded_words: int = setting(
        200, "read", "Decode this many encoded words of a mail's subject, and mark it.", low=1, high=1 << 20
    )

    shingle_bytes: int = setting(16, "style", "Bytes of noise in one shingle (the paper's n).", low=2, high=63)
    dimensions: int = setting(
        128, "style", "Dimensions of a fingerprint (the paper's m). A power of two.", low=16, high=4096
    )
    markup_dimensions: int = setting(
        256,
        "style",
        "Dimensions of the fingerprint of the canonical markup. A power of two, or 0 for noise alone.",
        low=0,
        high=4096,
    )
    fold_spaces: bool = setting(True, "style", "Replace each run of white space in the noise by one space.")
    key: str = setting(PUBLIC_KEY, "style", "Key of the shingle hash. A secret key hides the hash from spammers.")
    shuffle_bits: bool = setting(
        False, "style", "Permute hashes by a shuffle of their bits for each dimension, as the paper does; slower."
    )
    estimator: str = setting(
        "filled",
        "style",
        "Divide the matching dimensions by those filled in either page (filled) or by all of them (paper).",
        choices=ESTIMATORS,
    )
    host_mask_max_page_bytes: int = setting(
        8_192,
        "style",
        "Ignore a page's own host name in its noise, on pages up to this size.",
        low=0,
        high=1 << 30,
    )
    min_filled: int = setting(
        48,
        "style",
        "Pages with fewer filled dimensions are not compared. They are grouped only if noise and tags are equal.",
        low=0,
        high=4096,
    )
    min_noise_bytes: int = setting(
        16,
        "style",
        "Pages too small to compare that have less noise than this are grouped only if all bytes are equal.",
        low=1,
        high=4096,
    )

    family_threshold: float = setting(
        0.16, "grouping", "Similarity that makes a family: pages of the same software.", low=0.01, high=1.0, common=True
    )
    cluster_threshold: float = setting(
        0.6, "grouping", "Similarity that makes a cluster: pages of the same hand.", low=0.01, high=1.0, common=True
    )
    weak_link_below: float = setting(
        0.24, "grouping", "A family link below this similarity needs the support of other pairs.", low=0.0, high=1.0
    )
    weak_link_support: float = setting(
        0.08,
        "grouping",
        "Mean similarity between the clusters at both ends that supports a weak link.",
        low=0.0,
        high=1.0,
    )
    min_centre_ratio: float = setting(
        0.7,
        "grouping",
        "A member stays in a cluster if its similarity to the medoid is at least this share of the threshold.",
        low=0.0,
        high=1.0,
    )
    miss_probability: float = setting(
        0.01,
        "grouping",
        "Accepted probability to miss a pair at the family threshold. It determines the number of probes.",
        low=1e-12,
        high=0.5,
    )
    probes: int = setting(
        0, "grouping", "Number of probes (the paper's p). 0 derives it from --miss-probability.", low=0, high=1 << 16
    )
    probe_dimensions: int = setting(
        1, "grouping", "Dimensions that one probe compares (the paper's k).", low=1, high=16
    )
    exhaustive_bucket_size: int = setting(
        64,
        "grouping",
        "Buckets up to this size check all pairs. Larger ones compare each page with leaders.",
        low=2,
        high=1 << 31,
    )
    max_leaders: int = setting(
        64, "grouping", "Leaders of a large bucket. Pages that exceed the limit are counted.", low=1, high=4096
    )
    sketch_bits: int = setting(8, "grouping", "Bits per dimension that a check compares.", choices=(8, 32))

    attribute_texts: bool = setting(False, "markup", "Count alt and title attributes as visible text.")
    max_tokens: int = setting(
        1_000_000, "markup", "Stop after this many tags and comments of a page, and mark it.", low=100, high=1 << 40
    )
    max_attributes: int = setting(
        1_000, "markup", "Stop after this many attributes of a tag, and mark the page.", low=10, high=1 << 40
    )
    max_value_bytes: int = setting(
        1 << 22,
        "markup",
        "Stop after this many bytes of an attribute value, and mark the page.",
        low=100,
        high=1 << 40,
    )

    lexicon_path: str = setting("", "replica", "Lexicon file for near replicas. Empty: the shipped English lexicon.")
    randomised_lexicons: int = setting(
        10, "replica", "Randomised lexicons beside the original one (the paper's K).", low=0, high=30
    )
    lexicon_sample_max: float = setting(
        2 / 3, "replica", "Share of the words that the largest randomised lexicon keeps.", low=0.001, high=0.999
    )
    lexicon_sample_min: float = setting(
        1 / 32, "replica", "Share of the words that the smallest randomised lexicon keeps.", low=0.001, high=0.999
    )
    lexicon_seed: int = setting(1, "replica", "Seed of the randomised lexicons.", low=0, high=1 << 62)
    min_words: int = setting(5, "replica", "Skip and count documents with fewer distinct words.", low=1, high=1000)
    min_overlap: int = setting(
        4, "replica", "Words shared with a lexicon that a signature needs at least.", low=1, high=1000
    )
    min_overlap_share: float = setting(
        0.1,
        "replica",
        "A document that shares a smaller part of its words with the lexicon also uses the secondary lexicon.",
        low=0.0,
        high=1.0,
    )
    replica_cosine: float = setting(
        0.8,
        "replica",
        "Cosine of the word sets that makes two candidates near replicas. 0: agreement of a signature is enough.",
        low=0.0,
        high=1.0,
    )
    replica_min_centre_cosine: float = setting(
        0.7, "replica", "Cosine to the medoid that a member of a replica group needs at least.", low=0.0, high=1.0
    )

    nidf_range: str = setting(
        "lexicon",
        "replica",
        "Words that signatures use: the range of the lexicon, or that of the paper (0.2 to 0.3 for mail).",
        choices=NIDF_RANGES,
    )
    word_pairs: bool = setting(True, "replica", "Compare neighbouring words too.")
    replica_jaccard: float = setting(
        0.4, "replica", "Share of common neighbouring words that makes near replicas.", low=0.05, high=1.0
    )
    shared_text: float = setting(
        0.2, "replica", "Share of common neighbouring words that is told as shared text.", low=0.05, high=1.0
    )

    language_model: str = setting("", "language", "Language model file. Empty: the shipped English model.")
    max_text_bytes: int = setting(
        1_000_000, "language", "Judge a text by its first bytes, up to this many, and mark it.", low=1_000, high=1 << 30
    )
    min_judged_words: int = setting(
        150, "language", "Texts with fewer words are too short to judge.", low=20, high=1 << 30
    )
    fake_threshold: float = setting(
        0.5, "language", "Call a text fake from this probability on.", low=0.0, high=1.0, common=True
    )

    min_phrase_share: float = setting(
        0.12, "phrases", "Share of its words in phrases of others that a page of a text group has.", low=0.01, high=1.0
    )

    max_tags: int = setting(20_000, "sites", "Compare pages by their first tags, up to this many.", low=1, high=50_000)

    site_rule: str = setting(
        "kinds",
        "providers",
        "How sites are judged: by kinds with evidence of purpose, or as the paper does, by structure alone.",
        choices=("kinds", "paper"),
    )
    clusters_per_provider: int = setting(
        16, "providers", "Clusters of a provider's sites (the paper's k).", low=1, high=10_000
    )
    max_mean_distance: float = setting(
        0.25,
        "providers",
        "Mean distance to the centre below which a cluster counts as one template (the paper's δ).",
        low=0.001,
        high=1.0,
    )
    min_sites: int = setting(
        5,
        "providers",
        "Providers with fewer sites get no verdict. Their sites are judged together.",
        low=1,
        high=1 << 40,
    )
    dns_resolvers: str = setting(
        "", "providers", "DNS resolvers for --resolve, separated by commas. Empty: the resolvers of the system."
    )
    dns_rate: float = setting(50.0, "providers", "DNS queries per second.", low=0.1, high=100_000)
    dns_concurrency: int = setting(20, "providers", "Concurrent DNS queries.", low=1, high=1000)
    dns_timeout: float = setting(5.0, "providers", "Seconds to wait for a DNS answer.", low=0.01, high=120)
    dns_tries: int = setting(3, "providers", "DNS queries per domain before it is given up.", low=1, high=10)

    label_seed: int = setting(
        0, "labels", "Seed of the order in which pages are shown for labels.", low=0, high=1 << 62
    )

    policy: str = setting(
        "crawl",
        "verdicts",
        "Policy that turns verdicts into actions: crawl, corpus, block, or a TOML file (docs/verdicts.md).",
        common=True,
    )

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            check_value(field, getattr(self, field.name))
        for name, number in (("dimensions", self.dimensions), ("markup_dimensions", self.markup_dimensions)):
            if number & (number - 1) or 0 < number < 16:
                raise SettingsError(f"{name} is {number}: choose a power of two, such as 64, 128 or 256.")
        if self.lexicon_sample_min > self.lexicon_sample_max:
            raise SettingsError("lexicon_sample_min is above lexicon_sample_max: swap them.")
        if self.shared_text > self.replica_jaccard:
            raise SettingsError("shared_text is above replica_jaccard: near replicas share text.")
        if self.family_threshold > self.cluster_threshold:
            raise SettingsError(
                f"family_threshold ({self.family_threshold}) is above cluster_threshold ({self.cluster_threshold}): "
                "families hold clusters."
            )
        if self.probes * self.probe_dimensions > self.dimensions * self.dimensions:
            raise SettingsError(f"{self.probes} probes are more than {self.dimensions} dimensions have use for.")
        if self.text_column and self.html_column:
            raise SettingsError("text_column and html_column are both given: name the one that is to be read.")
        if not self.key:
            raise SettingsError("key is empty: leave it out for the public one, or give a secret.")

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """A preset, with single settings changed.

        Args:
            name: "default", or "paper" for what the papers used.
            changes: Settings by name.

        Returns:
            The settings.

        Raises:
            SettingsError: There is no such preset or setting, or it cannot have that value.
        """
        if name not in PRESETS:
            raise SettingsError(f"There is no preset {name!r}: choose one of {', '.join(PRESETS)}.")
        return cls.from_dict({**PRESETS[name], **changes})

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Settings by name. Settings that are not named have their defaults."""
        return cls(**stored)

    @classmethod
    def from_toml(cls, path: Path) -> dict[str, Any]:
        """The settings that a samehand.toml names. Each is checked alone: options may change the others."""
        try:
            named = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise SettingsError(f"{path} cannot be read ({error.strerror}). Check the path.") from None
        except ValueError as error:
            raise SettingsError(f"{path} is not valid TOML ({error}).") from None
        try:
            for name, value in named.items():
                if isinstance(value, dict):
                    raise SettingsError(f"[{name}] is a section: write the settings without sections.")
                check_value(_field_named(name), value)
        except SettingsError as error:
            raise SettingsError(f"{path}: {error}") from None
        return named

    def as_dict(self) -> dict[str, Any]:
        """All settings by name, the secret key included."""
        return dataclasses.asdict(self)

    def changed(self, *groups: str) -> dict[str, Any]:
        """The settings of the groups (all if none is named) that differ from their defaults."""
        values = {field.name: getattr(self, field.name) for field in fields_of(*groups)}
        return {field.name: values[field.name] for field in fields_of(*groups) if values[field.name] != field.default}

    def digest(self, *groups: str) -> str:
        """Digest of the settings in `groups` that differ from their defaults: what a stored part was made with.

        A new setting leaves the digests of old runs as they are.
        """
        return hashlib.sha256(json.dumps(self.changed(*groups), sort_keys=True).encode()).hexdigest()[:16]


def _field_named(name: str) -> "dataclasses.Field[Any]":
    fields = {field.name: field for field in dataclasses.fields(Settings)}
    if name not in fields:
        raise SettingsError(f"There is no setting {name!r}{nearest(name, fields)}")
    return fields[name]


def fields_of(*groups: str) -> list["dataclasses.Field[Any]"]:
    """The settings of the named groups (all when none is named), in order."""
    return [field for field in dataclasses.fields(Settings) if not groups or field.metadata["group"] in groups]
