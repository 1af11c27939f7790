"""Files of the run folder that are not tables. docs/run-folder.md lists them."""

FILES = {
    "run.json": "Settings, versions, inputs with digests, counts and times of each stage.",
    "key": "The secret key, if there is one, readable by its owner alone.",
    "lock": "Held by the process that writes.",
    "done": "What is done: a record for each part and each method, with the digest of what it was made from.",
    "stdin": "Standard input, if the run was made from it.",
    "style/sketches": "Fingerprints cut to a few bits a dimension, as arrays that are mapped; made anew if lost.",
    "spark": "Scratch files of grouping on Spark; removed at the end.",
    "replica/lexicon.parquet": "The lexicon of the near replicas.",
    "language/model.lm": "The language model.",
    "language/model.detector": "The detector that belongs to the model.",
    "sites/dns.jsonl": "What DNS answered, one line per domain.",
    "weights.toml": "Prior and weights of the verdicts, if they were fitted to the labels of the run.",
    "labels.jsonl": "What people said about pages, sites, clusters, providers and pairs of pages, one line each.",
}
"""Everything else in the run folder."""
SKETCHES, SPARK_SCRATCH, LEXICON, MODEL, DETECTOR = (
    "style/sketches",
    "spark",
    "replica/lexicon.parquet",
    "language/model.lm",
    "language/model.detector",
)
DNS_CACHE, LABELS, WEIGHTS = "sites/dns.jsonl", "labels.jsonl", "weights.toml"
