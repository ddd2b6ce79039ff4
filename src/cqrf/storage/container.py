"""The container of a model file: a JSON header and raw data, checksummed, mapped, replaced whole.

The layout is described byte by byte in docs/model_files.md. Which arrays the data are is the
business of `cqrf.storage.schema`; what header and arrays mean is that of `cqrf.model.stored`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import mmap
import os
import re
import secrets
import stat
import struct
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cqrf.support.progress import late_bar

# Like PNG's: a byte that is no text, and line ends that a transfer as text would change.
MAGIC = b"\x89cqrf\r\n\x1a"
VERSION = 1

_PREFIX = struct.Struct("<8sII")
_CHECKSUM = struct.Struct("<I")
# Arrays start at multiples of a cache line, which is aligned for every dtype.
ALIGNMENT = 64
# Far more than any table of categories; parsed JSON takes up to thirty times its size.
_MAX_HEADER = 2**26
_PIECE = 2**24


class ModelFileError(ValueError):
    """A file is not a sound model file, or a forest cannot be stored in one."""


def require(condition: bool, reason: str) -> None:
    """Raise `ModelFileError` with the reason unless the condition holds."""
    if not condition:
        raise ModelFileError(reason)


def require_known(names: Iterable[str], known: Iterable[str], what: str) -> None:
    """Refuse names that a later release has added."""
    unknown = [name for name in names if name not in known]
    require(
        not unknown,
        f"{what} {', '.join(map(repr, unknown))} is unknown to this release: "
        "the file was written by a newer one",
    )


class Data(NamedTuple):
    """The part of a mapped file that holds the arrays.

    Attributes
    ----------
    content : mmap
        The whole file.
    start, end : int
        Where the arrays begin, and where the last one must end.
    """

    content: mmap.mmap
    start: int
    end: int


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
    arrays: Iterable[NDArray[Any]],
    verbose: int,
) -> None:
    """Write a file in full, or leave what stands at `path` as it is.

    Parameters
    ----------
    path : str or path-like
        Where the file shall stand.
    header : dict
        What JSON can hold.
    arrays : iterable of ndarray
        Contiguous arrays, written one after the other, each at the next multiple of 64 bytes.
    verbose : int
        Whether to show a progress line if it takes above a second.
    """
    text = _to_json(header)
    require(len(text) <= _MAX_HEADER, f"the header would have more than {_MAX_HEADER} bytes")
    parts: list[Any] = [_PREFIX.pack(MAGIC, VERSION, len(text)) + text]
    for array in arrays:
        parts.append(bytes(-len(parts[-1]) % ALIGNMENT))
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


def read_file(path: str | os.PathLike[str], verbose: int) -> tuple[dict[str, Any], Data]:
    """Check the frame of a file and map it.

    Parameters
    ----------
    path : str or path-like
        The file.
    verbose : int
        Whether to show a progress line if it takes above a second.

    Returns
    -------
    header : dict
        The header.
    data : Data
        The file's own pages, which all processes share.
    """
    require(sys.byteorder == "little", "model files need a little-endian machine")
    content = _map(path)
    view = memoryview(content)
    magic, version, header_length = _PREFIX.unpack(view[: _PREFIX.size])
    require(magic == MAGIC, "this is not a cqrf model file")
    known = version == VERSION
    require(known, f"version {version} is unknown; this release reads version {VERSION}")
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
    data_start = header_end + -header_end % ALIGNMENT
    require(not any(content[header_end:data_start]), "the bytes after the header are not zero")
    return header, Data(content, data_start, data_end)


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
