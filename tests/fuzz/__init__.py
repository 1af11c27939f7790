"""Hostile bytes for every parser and every file that steers samehand. `make fuzz` runs it for minutes."""
