"""A model file taken apart, to be changed and put together again with a valid checksum.

Written from docs/model_files.md alone: it shares no code with the reader that it attacks.
"""

import copy
import itertools
import json
import math
import struct
import zlib

import numpy as np


class Draft:
    """The parts of a model file; whatever is not overridden is computed from the others.

    Attributes
    ----------
    header : dict
        The header without its table of arrays.
    arrays : dict of str to ndarray
        Writable copies.
    table : list or None
        The table of arrays instead of the right one.
    text : bytes or None
        The bytes of the header instead of the right ones.
    """

    def __init__(self, data: bytes) -> None:
        self.magic, self.version, length = struct.unpack("<8sII", data[:16])
        self.header = json.loads(data[16 : 16 + length])
        start = -(-(16 + length) // 64) * 64
        self.arrays = {}
        for entry in self.header.pop("arrays"):
            flat = np.frombuffer(
                data, entry["dtype"], math.prod(entry["shape"]), start + entry["offset"]
            )
            self.arrays[entry["name"]] = flat.reshape(entry["shape"]).copy()
        self.table = None
        self.text = None
        self.header_length = None
        self.header_filler = b"\0"
        self.filler = b"\0"
        self.tail = b""

    def copy(self) -> "Draft":
        return copy.deepcopy(self)

    def right_table(self) -> list:
        table, end = [], 0
        for name, array in self.arrays.items():
            offset = -(-end // 64) * 64
            table.append(
                {
                    "name": name,
                    "dtype": array.dtype.str,
                    "shape": list(array.shape),
                    "offset": offset,
                    "length": array.nbytes,
                }
            )
            end = offset + array.nbytes
        return table

    def entry(self, name: str) -> dict:
        """The entry of an array in the table, to be changed."""
        if self.table is None:
            self.table = self.right_table()
        return next(entry for entry in self.table if entry["name"] == name)

    def right_text(self) -> bytes:
        table = self.right_table() if self.table is None else self.table
        return json.dumps({**self.header, "arrays": table}, separators=(",", ":")).encode("ascii")

    def to_bytes(self) -> bytes:
        text = self.right_text() if self.text is None else self.text
        length = len(text) if self.header_length is None else self.header_length
        data = struct.pack("<8sII", self.magic, self.version, length) + text
        data += self.header_filler * (-len(data) % 64)
        for array in self.arrays.values():
            data += self.filler * (-len(data) % 64) + array.tobytes()
        data += self.tail
        return data + struct.pack("<I", zlib.crc32(data))


def put_behind(draft: Draft, name: str, new: str, array: np.ndarray) -> None:
    """Put an array behind another one."""
    items = [(other, own) for other, own in draft.arrays.items() if other != new]
    at = [other for other, _ in items].index(name) + 1
    draft.arrays = dict([*items[:at], (new, array), *items[at:]])


def unpack(draft: Draft) -> np.ndarray:
    """Return the ranks of all members, shape (B, members per tree), zeros after the last leaf."""
    members = draft.arrays["members"].astype(np.int64)
    ranks = members % 2**15
    if "members_block" in draft.arrays:
        return ranks + 2**15 * draft.arrays["members_block"].astype(np.int64)
    if "block_counts" not in draft.arrays:
        return ranks
    starts, offset = draft.arrays["leaf_start"], draft.arrays["leaf_offset"]
    counts = iter(draft.arrays["block_counts"])
    for tree, (begin, end) in enumerate(itertools.pairwise(offset)):
        for a, b in itertools.pairwise(starts[begin:end]):
            count = next(counts)
            ranks[tree, a:b] += 2**15 * np.repeat(np.arange(len(count)), count)
    return ranks


def to_block_bytes(draft: Draft) -> None:
    """Tell the block of every member, instead of counting them."""
    blocks = (unpack(draft) // 2**15).astype("|u1")
    del draft.arrays["block_counts"]
    put_behind(draft, "members", "members_block", blocks)
