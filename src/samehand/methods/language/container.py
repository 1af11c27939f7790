"""The file of a model: a mark, a header in JSON, and arrays at offsets divisible by 64, so that it can be mapped.

    8 bytes   the mark SAMEHLM and a zero byte
    4 bytes   version, little-endian
    4 bytes   length of the header
    16 bytes  digest of the header
    header    order, number of words, metadata, the number type, length and place of each array, and a digest of them

When a file is opened, its digest is checked, so are the sizes of all arrays against each other, and so is every value
that is an index into an array. A file that a stranger made can give wrong numbers, but no access outside its arrays.

A compact file stores logarithms as one byte each, counts as indexes into a table of the distinct counts, and numbers of
children instead of their offsets. They are expanded on opening, which takes some milliseconds per million n-grams.
"""

import hashlib
import itertools
import json
import os
import struct
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import InputError
from samehand.base.files import write_whole
from samehand.methods.language.trie import Trie
from samehand.methods.language.vocabulary import MARKS, Vocabulary

if TYPE_CHECKING:
    from samehand.methods.language.model import Model

MARK = b"SAMEHLM\0"
VERSION = 2
_HEAD = struct.Struct("<8sII16s")
_ALIGNMENT = 64
_LONGEST_HEADER = 1 << 24
_STEPS = 256
_MANY = 255
"""Numbers of children from here on are stored in a table of their own."""
_LOWEST = -90.0
"""Logarithms below mark what never occurs, and have a step of their own."""
_KINDS = {"|u1", "<u2", "<u4", "<u8", "<i8", "<f2", "<f4"}
_OPTIONAL = ("counts", "peaks")


class ModelFileError(InputError):
    """The file is not a language model, or is damaged."""


def write(path: Path, model: "Model", *, compact: bool) -> None:
    """Writes a model."""
    arrays, errors = _compact(model) if compact else (_full(model), {})
    header: dict[str, Any] = {
        "order": model.order,
        "words": len(model.vocabulary),
        "levels": model.trie.levels.tolist(),
        "compact": compact,
        "rounding": errors,
        "metadata": dict(model.metadata),
        "arrays": {},
    }
    place = 0
    for name, values in arrays.items():
        header["arrays"][name] = {"kind": values.dtype.newbyteorder("<").str, "size": values.size, "place": place}
        place = _aligned(place + values.nbytes)
    header["bytes"] = place
    header["digest"] = _digest(arrays)
    text = json.dumps(header, ensure_ascii=True, sort_keys=True).encode()
    with write_whole(path) as handle:
        handle.write(_HEAD.pack(MARK, VERSION, len(text), hashlib.blake2b(text, digest_size=16).digest()) + text)
        _align(handle)
        for values in arrays.values():
            handle.write(np.ascontiguousarray(values).data)
            _align(handle)


def _digest(arrays: dict[str, NDArray[Any]]) -> str:
    """Digest of the bytes of all arrays, by name."""
    found = hashlib.blake2b(digest_size=16)
    for _, values in sorted(arrays.items()):
        found.update(np.ascontiguousarray(values).view(np.uint8).data)
    return found.hexdigest()


def _align(handle: IO[bytes]) -> None:
    handle.write(bytes(_aligned(handle.tell()) - handle.tell()))


def read(path: Path) -> dict[str, Any]:
    """The fields of a model, with its arrays mapped from the file."""
    header, begin = _read_header(path)
    try:
        arrays = _mapped(path, header, begin)
        levels = np.array([int(level) for level in header["levels"]], np.int64)
        compact, metadata = bool(header["compact"]), dict(header["metadata"])
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise ModelFileError(f"{path} has an invalid header: make the model anew.") from error
    if "digest" in header and header["digest"] != _digest(arrays):
        raise ModelFileError(f"{path} is damaged: fetch or make it anew.")
    folded = _unfold(path, arrays, levels)
    _check_sizes(path, arrays, levels)
    vocabulary = _vocabulary(path, arrays)
    trie = Trie(levels, arrays["words"].astype(np.uint32, copy=False), arrays["first"])
    if not trie.sane():
        raise ModelFileError(f"{path} has invalid n-grams: fetch or make it anew.")
    logs, backoffs, counts, peaks = (arrays[name] for name in ("logs", "backoffs", "counts", "peaks"))
    if compact:
        logs, backoffs = _expanded(path, arrays, levels)
        if folded:
            backoffs[trie.first[1:] == trie.first[:-1]] = 0.0
        counts = arrays["count_table"][np.minimum(counts, arrays["count_table"].size - 1)] if counts.size else counts
    return {
        "vocabulary": vocabulary,
        "trie": trie,
        "logs": logs.astype(np.float32, copy=False),
        "backoffs": backoffs.astype(np.float32, copy=False),
        "node_counts": counts,
        "peaks": peaks.astype(np.float32, copy=False),
        "metadata": metadata | ({"rounding": header.get("rounding")} if compact else {}),
    }


def _aligned(place: int) -> int:
    return -(-place // _ALIGNMENT) * _ALIGNMENT


def _read_header(path: Path) -> tuple[dict[str, Any], int]:
    try:
        with path.open("rb") as handle:
            head = handle.read(_HEAD.size)
            if len(head) < _HEAD.size or not head.startswith(MARK):
                raise ModelFileError(f"{path} is not a language model: name a file made by samehand.")
            _, version, length, digest = _HEAD.unpack(head)
            if version != VERSION:
                raise ModelFileError(
                    f"{path} has format {version}, this version of samehand reads {VERSION}: make the model anew."
                )
            text = handle.read(min(length, _LONGEST_HEADER))
            size = os.fstat(handle.fileno()).st_size
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read ({error.strerror}): check its name.") from error
    if len(text) != length or hashlib.blake2b(text, digest_size=16).digest() != digest:
        raise ModelFileError(f"{path} has a damaged header: fetch or make it anew.")
    try:
        header: dict[str, Any] = json.loads(text)
        whole = int(header["bytes"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} has an invalid header: make the model anew.") from error
    begin = _aligned(_HEAD.size + length)
    if whole < 0 or size != begin + whole:
        raise ModelFileError(f"{path} has {size} bytes instead of {begin + whole}: fetch it again.")
    return header, begin


def _mapped(path: Path, header: dict[str, Any], begin: int) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    for name, entry in sorted(header["arrays"].items(), key=lambda entry: int(entry[1]["place"])):
        kind, size, place = str(entry["kind"]), int(entry["size"]), int(entry["place"])
        if kind not in _KINDS or size < 0 or place < 0 or place % _ALIGNMENT:
            raise ValueError(name)
        if place + size * np.dtype(kind).itemsize > header["bytes"]:
            raise ValueError(name)
        if size == 0:
            arrays[name] = np.empty(0, kind)
        else:
            # A private mapping is writable, as arrays in memory are: numba would compile all kernels again otherwise.
            arrays[name] = np.asarray(np.memmap(path, kind, "c", begin + place, (size,)))
    return arrays


def _fold(arrays: dict[str, NDArray[Any]]) -> None:
    """Stores back-off weights and peaks only of nodes with children, and numbers of children instead of offsets.

    In models made here, nodes without children have the weight 1. Models from ARPA files may differ: those stay whole.
    """
    numbers = np.diff(arrays["first"].astype(np.int64))
    parents = numbers > 0
    if arrays["backoffs"][~parents].any():
        return
    arrays["child_numbers"] = np.minimum(numbers, _MANY).astype(np.uint8)
    arrays["many_children"] = numbers[numbers >= _MANY].astype(np.uint32)
    arrays["backoffs"] = arrays["backoffs"][parents]
    arrays["peaks"] = arrays["peaks"][parents] if arrays["peaks"].size else arrays["peaks"]
    del arrays["first"]


def _unfold(path: Path, arrays: dict[str, NDArray[Any]], levels: NDArray[np.int64]) -> bool:
    """Undoes `_fold`. False if the file was not folded."""
    short = arrays.get("child_numbers")
    if short is None:
        return False
    many = arrays.get("many_children")
    numbers = short.astype(np.int64)
    if many is None or levels.size < 2 or int((numbers == _MANY).sum()) != many.size:
        raise ModelFileError(f"{path} has invalid numbers of children: make the model anew.")
    numbers[numbers == _MANY] = many
    first = np.concatenate([levels[1:2], levels[1] + np.cumsum(numbers)])
    if first[-1] != levels[-1]:
        raise ModelFileError(f"{path} has invalid numbers of children: make the model anew.")
    arrays["first"] = first.astype(np.uint32)
    parents = numbers > 0
    for name in ("backoffs", "peaks"):
        values = arrays.get(name)
        if values is None or values.size not in (0, int(parents.sum())):
            raise ModelFileError(f"{path} has an invalid table of {name}: make the model anew.")
        if values.size or name == "backoffs":
            arrays[name] = np.zeros(numbers.size, values.dtype)
            arrays[name][parents] = values
    return True


def _check_sizes(path: Path, arrays: dict[str, NDArray[Any]], levels: NDArray[np.int64]) -> None:
    """Checks that every array has the length and number type that the others require."""
    order = levels.size - 1
    rising = order >= 1 and levels[0] == 0 and bool((np.diff(levels) >= 0).all())
    if not rising or order > 5 or levels[1] < len(MARKS):
        raise ModelFileError(f"{path} has invalid levels: make the model anew.")
    total, words = int(levels[-1]), int(levels[1])
    inner = int(levels[-2])
    wanted = {
        "blob": (None, "u1"),
        "offsets": (words + 1, "i8"),
        "words": (total - words, "u2 u4"),
        "first": (inner + 1, "u4"),
        "logs": (total, "f4 u1"),
        "backoffs": (inner, "f4 u1"),
        "counts": (total, "u2 u4 u8"),
        "peaks": (inner, "f2 f4"),
    }
    for name, (size, kinds) in wanted.items():
        values = arrays.get(name)
        absent = values is not None and values.size == 0 and name in _OPTIONAL
        if values is None or not (absent or size is None or values.size == size) or values.dtype.str[1:] not in kinds:
            raise ModelFileError(f"{path} has an invalid table of {name}: make the model anew.")
    if bool(arrays["counts"].size) != bool(arrays["peaks"].size) and inner:
        raise ModelFileError(f"{path} has counts without peaks, or peaks without counts: make the model anew.")


def _vocabulary(path: Path, arrays: dict[str, NDArray[Any]]) -> Vocabulary:
    blob, offsets = arrays["blob"], arrays["offsets"]
    if offsets[0] != 0 or offsets[-1] != blob.size or (np.diff(offsets) <= 0).any():
        raise ModelFileError(f"{path} has invalid words: make the model anew.")
    return Vocabulary(blob, offsets)


def _full(model: "Model") -> dict[str, NDArray[Any]]:
    return {
        "blob": model.vocabulary.blob,
        "offsets": model.vocabulary.offsets,
        "words": model.trie.words,
        "first": model.trie.first,
        "logs": model.logs.astype(np.float32, copy=False),
        "backoffs": model.backoffs.astype(np.float32, copy=False),
        "counts": model.node_counts,
        "peaks": model.peaks.astype(np.float32, copy=False),
    }


def _compact(model: "Model") -> tuple[dict[str, NDArray[Any]], dict[str, float]]:
    arrays = _full(model)
    levels = model.trie.levels
    if len(model.vocabulary) <= 1 << 16:
        arrays["words"] = arrays["words"].astype(np.uint16)
    table, numbers = np.unique(arrays["counts"], return_inverse=True)
    arrays["counts"], arrays["count_table"] = numbers.astype(np.uint16 if table.size <= 1 << 16 else np.uint32), table
    arrays["peaks"] = arrays["peaks"].astype(np.float16)
    _fold(arrays)
    errors: dict[str, float] = {}
    inner_levels = levels[:-1]
    if "child_numbers" in arrays:
        inner_levels = np.concatenate([[0], np.cumsum(arrays["child_numbers"] > 0)])[inner_levels]
    for name, bounds in (("logs", levels), ("backoffs", inner_levels)):
        values = arrays[name]
        pieces = [_rounded(values[begin:end]) for begin, end in itertools.pairwise(bounds.tolist())]
        arrays[name] = np.concatenate([np.empty(0, np.uint8), *(codes for codes, _ in pieces)])
        arrays[f"{name}_table"] = np.concatenate([np.empty(0, np.float32), *(table for _, table in pieces)])
        off = np.abs(_decoded(arrays[name], arrays[f"{name}_table"], bounds) - values)
        errors[f"{name}_mean"] = float(off.mean()) if off.size else 0.0
        errors[f"{name}_max"] = float(off.max(initial=0.0))
    return arrays, errors


def _rounded(values: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Values as the nearest of 255 even steps over their range. Step 0 marks what never occurs."""
    usual = values[values > _LOWEST]
    low, high = (float(usual.min()), float(usual.max())) if usual.size else (0.0, 0.0)
    width = (high - low) / (_STEPS - 2) or 1.0
    codes = np.where(values > _LOWEST, 1 + np.rint((values - low) / width), 0).astype(np.uint8)
    table = np.concatenate([[min(-99.0, float(values.min(initial=0)))], low + width * np.arange(_STEPS - 1)])
    return codes, table.astype(np.float32)


def _decoded(codes: NDArray[np.uint8], tables: NDArray[np.float32], levels: NDArray[np.int64]) -> NDArray[np.float32]:
    result = np.empty(codes.size, np.float32)
    for length in range(1, levels.size):
        nodes = slice(int(levels[length - 1]), min(int(levels[length]), codes.size))
        if nodes.start < codes.size:
            result[nodes] = tables[_STEPS * (length - 1) : _STEPS * length][codes[nodes]]
    return result


def _expanded(
    path: Path, arrays: dict[str, NDArray[Any]], levels: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    order = levels.size - 1
    for name, tables in (("logs", order), ("backoffs", order - 1)):
        table, codes = arrays.get(f"{name}_table"), arrays[name]
        if table is None or table.size != _STEPS * tables or table.dtype != np.float32 or codes.dtype != np.uint8:
            raise ModelFileError(f"{path} has an invalid table of {name}: make the model anew.")
    table = arrays.get("count_table")
    if table is None or (arrays["counts"].size and (table.size == 0 or table.dtype.kind != "u")):
        raise ModelFileError(f"{path} has an invalid table of counts: make the model anew.")
    return (
        _decoded(arrays["logs"], arrays["logs_table"], levels),
        _decoded(arrays["backoffs"], arrays["backoffs_table"], levels),
    )
