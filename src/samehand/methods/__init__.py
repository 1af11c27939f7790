"""The methods. Each is a folder with a `method.py`; `registry` knows them all, and none imports another."""

NAMES = ("style", "replica", "language", "sites")
"""Methods that can be asked for. `classes` follows from style and replica."""
