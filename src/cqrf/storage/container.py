"""The container of a model file: a JSON header and raw arrays, checksummed, mapped, replaced whole.

The layout is described byte by byte in docs/model_files.md. What header and arrays mean is the
business of `cqrf.model.stored`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import math
import mmap
import os
import re
import secrets
import stat
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cqrf.support.progress import late_bar

# Like PNG's: a byte that is no text, and line ends that a transfer as text would change.
MAGIC = b"\x89cqrf\r\n\x1a"
VERSION = 4

_PREFIX = struct.Struct("<8sII")
_CHECKSUM = struct.Struct("<I")
# Arrays start at multiples of a cache line, which is aligned for every dtype.
_ALIGNMENT = 64
# Far more than any table of categories; parsed JSON takes up to thirty times its size.
_MAX_HEADER = 2**26
_PIECE = 2**24
_ENTRY_KEYS = ("name", "dtype", "shape", "offset", "length")

# Of every array that a file may hold, in the order of the file: dtype and number of axes.
Schema = dict[str, tuple[str, int]]


class ModelFileError(ValueError):
    """A file is not a sound model file, or a forest cannot be stored in one."""


def require(condition: bool, reason: str) -> None:
    """Raise `ModelFileError` with the reason unless the condition holds."""
    if not condition:
        raise ModelFileError(reason)


@contextlib.contextmanager
def refusing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn the errors of all checks into `ModelFileError`, with the name of the file."""
    try:
        yield
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error


def write_file(
    path: str | os.PathLike[str],
    header: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    schema: Schema,
    verbose: int,
) -> None:
    """Write a file in full, or leave what stands at `path` as it is.

    Parameters
    ----------
    path : str or path-like
        Where the file shall stand.
    header : dict
        What JSON can hold; the table of arrays is added as its last entry.
    arrays : dict of str to ndarray
        Some of the arrays of the schema.
    schema : dict
        Names, dtypes and numbers of axes.
    verbose : int
        Whether to show a progress line if it takes above a second.
    """
    stored = {
        name: np.ascontiguousarray(arrays[name], dtype=dtype)
        for name, (dtype, _) in schema.items()
        if name in arrays
    }
    table = _table({name: array.shape for name, array in stored.items()}, schema)
    text = _to_json({**header, "arrays": table})
    require(len(text) <= _MAX_HEADER, f"the header would have more than {_MAX_HEADER} bytes")
    parts: list[Any] = [_PREFIX.pack(MAGIC, VERSION, len(text)) + text]
    for array in stored.values():
        parts.append(bytes(-len(parts[-1]) % _ALIGNMENT))
        parts.append(array.reshape(-1).view(np.uint8).data)
    target = Path(os.path.realpath(path))
    with replacing(target) as file:
        checksum = 0

        def add(piece: memoryview) -> None:
            nonlocal checksum
            checksum = zlib.crc32(piece, checksum)
            write_whole(file, piece)

        _for_pieces(parts, f"writing {target.name}", verbose, add)
        write_whole(file, memoryview(_CHECKSUM.pack(checksum)))


def read_file(
    path: str | os.PathLike[str], schema_of: Callable[[int], Schema], verbose: int
) -> tuple[int, dict[str, Any], dict[str, NDArray[Any]]]:
    """Check a file and map it.

    Parameters
    ----------
    path : str or path-like
        The file.
    schema_of : callable
        From the version of a file to names, dtypes and numbers of axes of the arrays that it may
        hold.
    verbose : int
        Whether to show a progress line if it takes above a second.

    Returns
    -------
    version : int
        Version of the format, at most `VERSION`.
    header : dict
        The header without the table of arrays.
    arrays : dict of str to ndarray
        Read-only arrays on the file's own pages, which all processes share.
    """
    require(sys.byteorder == "little", "model files need a little-endian machine")
    content = _map(path)
    view = memoryview(content)
    magic, version, header_length = _PREFIX.unpack(view[: _PREFIX.size])
    require(magic == MAGIC, "this is not a cqrf model file")
    known = 1 <= version <= VERSION
    require(known, f"version {version} is unknown; this release reads 1 to {VERSION}")
    header_end = _PREFIX.size + header_length
    require(header_length <= _MAX_HEADER, "the header is too long")
    data_end = len(view) - _CHECKSUM.size
    require(header_end <= data_end, "the header is longer than the file")

    checksum = 0

    def add(piece: memoryview) -> None:
        nonlocal checksum
        checksum = zlib.crc32(piece, checksum)

    _for_pieces([view[:data_end]], f"checking {Path(path).name}", verbose, add)
    require(
        (checksum,) == _CHECKSUM.unpack(view[data_end:]),
        "the checksum does not agree: the file is damaged or cut short",
    )
    header = _from_json(bytes(view[_PREFIX.size : header_end]))
    entries = _check_table(header.pop("arrays", None), schema_of(version))
    return version, header, _arrays(content, entries, header_end, data_end)


def _table(shapes: dict[str, tuple[int, ...]], schema: Schema) -> list[dict[str, Any]]:
    """Describe arrays that stand one after the other, each at the next multiple of 64 bytes."""
    table: list[dict[str, Any]] = []
    end = 0
    for name, shape in shapes.items():
        dtype = schema[name][0]
        offset = end + -end % _ALIGNMENT
        length = math.prod(shape) * np.dtype(dtype).itemsize
        entry = (name, dtype, list(shape), offset, length)
        table.append(dict(zip(_ENTRY_KEYS, entry, strict=True)))
        end = offset + length
    return table


def _check_table(table: object, schema: Schema) -> list[dict[str, Any]]:
    """Refuse a table that is not, to the last number, the one that `write_file` would make."""
    require(isinstance(table, list), "the table of arrays is missing")
    shapes: dict[str, tuple[int, ...]] = {}
    for entry in table:  # type: ignore[attr-defined]
        require(
            isinstance(entry, dict) and tuple(entry) == _ENTRY_KEYS,
            f"an entry of the table of arrays has other keys than {', '.join(_ENTRY_KEYS)}",
        )
        name, shape = entry["name"], entry["shape"]
        require(isinstance(name, str) and name in schema, f"there is no array named {name!r}")
        require(name not in shapes, f"array {name} is there twice")
        require(
            isinstance(shape, list)
            and len(shape) == schema[name][1]
            and all(type(size) is int and size >= 0 for size in shape),
            f"array {name} cannot have the shape {shape!r}",
        )
        shapes[name] = tuple(shape)
    in_order = [name for name in schema if name in shapes]
    require(list(shapes) == in_order, "the arrays are not in the order of the format")
    expected = _table(shapes, schema)
    for entry, right in zip(table, expected, strict=True):  # type: ignore[call-overload]
        for key in _ENTRY_KEYS:
            # Types too: in Python 0.0 and False are equal to 0.
            require(
                entry[key] == right[key] and type(entry[key]) is type(right[key]),
                f"array {right['name']} must have {key} {right[key]!r}; "
                f"the table says {entry[key]!r}",
            )
    return expected


def _arrays(
    content: mmap.mmap, entries: list[dict[str, Any]], header_end: int, data_end: int
) -> dict[str, NDArray[Any]]:
    """View the arrays of a mapped file; between them are zeros, after them is nothing."""
    data_start = header_end + -header_end % _ALIGNMENT
    end = header_end
    for entry in entries:
        start = data_start + entry["offset"]
        require(start + entry["length"] <= data_end, f"array {entry['name']} ends after the file")
        require(not any(content[end:start]), f"the bytes before array {entry['name']} are not zero")
        end = start + entry["length"]
    require(end == data_end, "there are bytes after the last array")
    # Plain arrays, not numpy.memmap: those would drag the file's name along when pickled.
    return {
        entry["name"]: np.ndarray(
            tuple(entry["shape"]), entry["dtype"], content, data_start + entry["offset"]
        )
        for entry in entries
    }


def _map(path: str | os.PathLike[str]) -> mmap.mmap:
    # Looked at before it is opened: opening a pipe would wait for a writer.
    require(stat.S_ISREG(os.stat(path).st_mode), "this is not a regular file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        require(size >= _PREFIX.size + _CHECKSUM.size, "the file is too short for a model file")
        try:
            return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        except OSError as error:
            if error.errno != errno.ENOMEM:
                raise
            raise MemoryError(f"there is no room to map {size} bytes of {path}") from error


def _to_json(header: dict[str, Any]) -> bytes:
    return json.dumps(header, allow_nan=False, separators=(",", ":")).encode("ascii")


def _from_json(text: bytes) -> dict[str, Any]:
    header = json.loads(text.decode("ascii"))
    require(isinstance(header, dict), "the header is not a JSON object")
    # One way to write a header leaves no room for keys given twice, NaN or numbers out of range.
    require(_to_json(header) == text, "the header is not in the form that save writes")
    return header  # type: ignore[no-any-return]


def _for_pieces(
    parts: list[Any], label: str, verbose: int, take: Callable[[memoryview], None]
) -> None:
    """Hand out bytes piece by piece, with a progress line if that takes above a second."""
    total, done = sum(len(part) for part in parts), 0
    # As much is still to come: a reader's checks of the trees, or a writer's way to the disk.
    with late_bar(total, f"{label}, MiB", enabled=verbose > 0, seconds=0.5, unit=2**20) as update:
        for part in parts:
            for at in range(0, len(part), _PIECE):
                piece = memoryview(part)[at : at + _PIECE]
                take(piece)
                done += len(piece)
                update(done)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[int]:
    """Open a file that takes the place of `path` when it is complete and on disk.

    Where the system has files without a name, it is one until then: no kill leaves it behind.
    Otherwise, and in the instant before it is renamed, it has a name of its own; the file of a
    process that was killed then is removed by the next one that saves to the same folder.
    """
    require(path.is_file() or not path.exists(), f"{path} is not a regular file")
    folder = os.open(path.parent, os.O_RDONLY)
    temporary, file = _temporary_name(), -1
    try:
        _remove_abandoned(folder)
        file, named = _open_unfinished(folder, temporary)
        if path.exists():
            os.fchmod(file, stat.S_IMODE(path.stat().st_mode))
        yield file
        os.fsync(file)
        if not named:
            os.link(f"/proc/self/fd/{file}", temporary, dst_dir_fd=folder)
        os.replace(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    finally:
        # Nested: a signal handler may raise at any point, and what is closed is no longer locked.
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
        finally:
            if file >= 0:
                os.close(file)
            os.close(folder)


def _temporary_name() -> str:
    return f".cqrf-{secrets.token_hex(8)}.tmp"


def _open_unfinished(folder: int, temporary: str) -> tuple[int, bool]:
    """Open a new file in a folder, without a name if possible; tell whether it has one.

    It is locked as long as it is open, so that other processes can tell it from an abandoned one.
    """
    if hasattr(os, "O_TMPFILE") and os.path.exists("/proc/self/fd"):
        # Some file systems cannot do it, and say so with different errors.
        with contextlib.suppress(OSError):
            file = os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o666, dir_fd=folder)
            _lock(file)
            return file, False
    while True:
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        file = os.open(temporary, flags, 0o666, dir_fd=folder)
        _lock(file)
        if os.fstat(file).st_nlink > 0:
            return file, True
        # Removed by another process, before it was locked.
        os.close(file)


def _lock(file: int) -> bool:
    """Lock a file; False if another process has, or if the file system cannot."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_abandoned(folder: int) -> None:
    """Remove the unfinished files of processes that are no more."""
    for name in os.listdir(folder):
        if not re.fullmatch(r"\.cqrf-[0-9a-f]{16}\.tmp", name):
            continue
        # Whatever is in the way (other owners, other processes at the same work): it may stay.
        with contextlib.suppress(OSError):
            file = os.open(name, os.O_WRONLY | os.O_NOFOLLOW, dir_fd=folder)
            try:
                if _lock(file):
                    os.unlink(name, dir_fd=folder)
            finally:
                os.close(file)


def write_whole(file: int, data: memoryview) -> None:
    """Write all of the bytes; the system may take them in parts."""
    while len(data):
        data = data[os.write(file, data) :]
