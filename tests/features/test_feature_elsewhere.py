"""A feature in a folder of its own, which nothing in seismo names: from its section to a figure."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict[str, Any]:
    done = subprocess.run(
        [
            sys.executable, str(SUPPORT / "elsewhere_feature_steps.py"),
            str(tmp_path_factory.mktemp("echoes")),
        ],
        env=os.environ | {"SEISMO_FEATURES": str(SUPPORT / "elsewhere_features")},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_its_section_is_one_of_the_scenario(found):
    assert "echo.delay" in found["late"]
    assert "comes after the end of the run" in found["late"]
    assert "shares" in found["unknown"]
    assert "share" in found["unknown"]
    assert "of the source's strength" in found["reference"]
    assert found["kept"]


def test_its_sources_act(found):
    """By superposition: the run is the sum of two, one later; delays are whole steps."""
    assert found["difference"] < 1e-6


def test_check_says_what_it_errs_by(found):
    assert "echoes of sources" in found["causes"]
    assert any("stronger than its source" in line for line in found["warnings"])
    assert "0.05 s behind each source" in found["report"]


def test_it_is_drawn(found):
    assert found["codes"] == [0, 0]
    assert found["figures"] >= 1
