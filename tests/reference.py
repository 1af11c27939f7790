"""Readable twins of the kernels: slow, plain Python, written to be obviously right."""

import hashlib
import itertools
from collections.abc import Iterable, Sequence

EMPTY = 0xFFFFFFFF
MASK = (1 << 64) - 1
LETTERS_AND_DIGITS = set(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
SPACES = set(b" \t\n\r\f\v")


def noise(page: bytes, *, fold: bool) -> bytes:
    kept = bytearray()
    for byte in page:
        if byte in LETTERS_AND_DIGITS or byte >= 128:
            continue
        if fold and byte in SPACES:
            if kept[-1:] != b" ":
                kept += b" "
        else:
            kept.append(byte)
    return bytes(kept)


def rotate(value: int, by: int) -> int:
    by %= 64
    return ((value << by) | (value >> (64 - by))) & MASK


def key_numbers(key: str, dimensions: int) -> list[int]:
    drawn = hashlib.shake_256(b"samehand style 1\0" + key.encode()).digest(8 * (256 + dimensions))
    return [int.from_bytes(drawn[8 * i : 8 * i + 8], "little") for i in range(256 + dimensions)]


def mix(value: int) -> int:
    mixed = ((value ^ (value >> 32)) * 0xFF51AFD7ED558CCD) & MASK
    return mixed ^ (mixed >> 29)


def part_hash(part: bytes, key: str, dimensions: int = 128) -> int:
    """The hash of one window on its own: no rolling."""
    numbers = key_numbers(key, dimensions)
    value = 0
    for position, byte in enumerate(part):
        value ^= rotate(numbers[byte], len(part) - 1 - position)
    return mix(value)


def parts(kept: bytes, width: int) -> list[bytes]:
    return [kept[i : i + width] for i in range(len(kept) - width + 1)]


def fingerprint(kept: bytes, *, width: int, key: str, dimensions: int, masks: list[int] | None = None) -> list[int]:
    """Procedure 1 of the paper."""
    masks = masks or key_numbers(key, dimensions)[256:]
    values = [EMPTY] * dimensions
    for part in set(parts(kept, width)):
        h = part_hash(part, key, dimensions)
        i = h % dimensions
        values[i] = min(values[i], (((h ^ masks[i]) * 0x9E3779B97F4A7C15) & MASK) >> 32)
    return values


def shuffled(value: int, masks: list[int]) -> int:
    """Bits that change places, two at a time: those a mask names with those `distance` above them."""
    for distance, mask in zip((32, 16, 8, 4, 2, 1, 2, 4, 8, 16, 32), masks, strict=True):
        bits = [value >> place & 1 for place in range(64)]
        for place in range(64):
            if mask >> place & 1:
                bits[place], bits[place + distance] = bits[place + distance], bits[place]
        value = sum(bit << place for place, bit in enumerate(bits))
    return value


def similarity(left: Sequence[int], right: Sequence[int], floor: int = 1, bits: int = 8) -> float:
    """Matching dimensions ÷ dimensions filled in either."""
    matching, filled = matches(left, right, bits)
    return matching / max(filled, floor)


def matches(left: Sequence[int], right: Sequence[int], bits: int = 8) -> tuple[float, int]:
    """Matching dimensions, and those filled in either. Of narrow values, the matches that chance explains are off."""
    values = (1 << bits) - (bits < 32)
    both = [(a, b) for a, b in zip(left, right, strict=True) if EMPTY not in (a, b)]
    filled = sum(a != EMPTY or b != EMPTY for a, b in zip(left, right, strict=True))
    found: float = sum(a % values == b % values for a, b in both)
    if bits < 32:
        found = max(0.0, (found - len(both) / values) / (1 - 1 / values))
    return found, filled


def checked_edges(
    rows: Sequence[Sequence[int]],
    dimensions: Iterable[int],
    *,
    edge_threshold: float,
    leader_threshold: float,
    exhaustive_bucket_size: int,
    max_leaders: int,
) -> dict[tuple[int, int], float]:
    """Procedure 2 of the paper with the leader rule: the edges all probes find, k = 1."""
    edges: dict[tuple[int, int], float] = {}
    for dimension in dimensions:
        buckets: dict[int, list[int]] = {}
        for row, values in enumerate(rows):
            if values[dimension] != EMPTY:
                buckets.setdefault(values[dimension], []).append(row)
        for bucket in buckets.values():
            edges.update(
                _bucket_edges(rows, bucket, edge_threshold, leader_threshold, exhaustive_bucket_size, max_leaders)
            )
    return edges


def _bucket_edges(
    rows: Sequence[Sequence[int]],
    bucket: list[int],
    edge_threshold: float,
    leader_threshold: float,
    exhaustive_bucket_size: int,
    max_leaders: int,
) -> dict[tuple[int, int], float]:
    found: dict[tuple[int, int], float] = {}
    if len(bucket) <= exhaustive_bucket_size:
        for left, right in itertools.combinations(bucket, 2):
            found[left, right] = similarity(rows[left], rows[right])
    else:
        leaders: list[int] = []
        for row in bucket:
            best = max(((similarity(rows[leader], rows[row]), -leader) for leader in leaders), default=(-1.0, 0))
            if best[0] >= 0:
                found[-best[1], row] = best[0]
            if best[0] < leader_threshold and len(leaders) < max_leaders:
                leaders.append(row)
    return {pair: value for pair, value in found.items() if value >= edge_threshold}


def components(edges: Iterable[tuple[int, int]], rows: int) -> list[int]:
    """Each row's smallest fellow: by walking, not by union-find."""
    neighbours: dict[int, set[int]] = {row: set() for row in range(rows)}
    for left, right in edges:
        neighbours[left].add(right)
        neighbours[right].add(left)
    labels = [-1] * rows
    for start in range(rows):
        if labels[start] < 0:
            waiting = [start]
            while waiting:
                row = waiting.pop()
                if labels[row] < 0:
                    labels[row] = start
                    waiting.extend(neighbours[row])
    return labels
