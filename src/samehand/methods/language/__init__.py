"""Text that no person wrote: tokens, n-gram counts, back-off models, relative entropy, generators and the detector."""

KINDS = ("pw5", "pw10", "ws10", "ws25", "ws50", "lm2", "lm3", "lm4")
"""The paper's generators: `generators` says what they do. They stand here because help must not import numpy."""
