"""The methods. Each is a folder whose `method.py` ends in `METHOD`; none imports another.

A new method is a folder, its name here, and its tables in `store/tables/`.
"""

ORDER = ("style", "replica", "classes", "language", "phrases", "sites", "verdicts")
"""All methods, in the order in which they are grouped: a method stands behind those that it needs."""

NAMES = ("style", "replica", "language", "phrases", "sites")
"""Methods that can be asked for. `classes` follows from style and replica, `verdicts` from all of them."""
