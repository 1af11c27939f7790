"""Presets: settings to start from. "paper" is what the papers used."""

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    # Section 4.2 of the paper: n = 32, m = 128, k = 1, t = 35, p = 20; empty dimensions never match (section 3.3).
    "paper": {
        "shingle_bytes": 32,
        "markup_dimensions": 0,
        "shuffle_bits": True,
        "fold_spaces": False,
        "estimator": "paper",
        "host_mask_max_page_bytes": 0,
        "min_filled": 0,
        "family_threshold": 35 / 128,
        "cluster_threshold": 35 / 128,
        "min_centre_ratio": 0.0,
        "probes": 20,
        "exhaustive_bucket_size": 1 << 31,
        "sketch_bits": 32,
        # I-Match: every randomised lexicon keeps two thirds of the words (its section 6.8), agreement decides (4).
        "lexicon_sample_min": 2 / 3,
        "min_overlap": 5,
        "nidf_range": "paper",
        "replica_cosine": 0.0,
        "replica_min_centre_cosine": 0.0,
        "word_pairs": False,
        # Parked sites: a cluster by its mean distance, a provider by the majority (section 4.2 of its paper).
        "site_rule": "paper",
    },
}
