"""The misbehaving server as a program: its help, and flags that it does not have."""

import subprocess
import sys
from pathlib import Path

import pytest

SERVER = Path(__file__).with_name("fault_server.py")


@pytest.mark.parametrize(
    ("flag", "code", "said"), [("--help", 0, "--port"), ("--list", 0, "n_ignored"), ("--prot", 2, "unrecognized arguments: --prot")]
)
def test_it_tells_its_flags_and_refuses_others(flag: str, code: int, said: str) -> None:
    done = subprocess.run([sys.executable, SERVER, flag], capture_output=True, text=True, timeout=240)
    assert done.returncode == code
    assert said in done.stdout + done.stderr
