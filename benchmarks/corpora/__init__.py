"""Builders of corpora too large to be kept anywhere: each makes the same files again from public sources."""
