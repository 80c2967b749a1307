"""What errors say: extras are named for those who have a package, and for those who have a clone."""

import re
from pathlib import Path

from branchwise.errors import install

SOURCE = Path(__file__).parent.parent / "src"


def test_an_extra_is_named_for_a_package_and_for_a_clone():
    assert install("server") == "pip install 'branchwise[server]' (from a clone: pip install -e '.[server]')"


def test_every_extra_that_an_error_names_is_one():
    extras = (SOURCE.parent / "pyproject.toml").read_text("utf-8")
    for path in SOURCE.rglob("*.py"):
        text = path.read_text("utf-8")
        for name in re.findall(r"install\(['\"](\w+)['\"]\)", text):
            assert re.search(rf"^{name} = \[", extras, re.MULTILINE), (path, name)


def test_no_error_names_a_package_alone():
    for path in SOURCE.rglob("*.py"):
        for line in path.read_text("utf-8").splitlines():
            if "pip install 'branchwise[" in line:
                assert "clone" in line, (path, line)
