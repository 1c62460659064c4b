"""`seismo examples` lists and copies what seismo brings along, from the sources or from a wheel."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from seismo.errors import ScenarioError
from seismo.examples import KINDS, copy_examples, examples

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = {"ladder": "benchmarks/ladder", "notebooks": "docs/notebooks"}
FOLDERS = {kind: ROOT / ELSEWHERE.get(kind, kind) for kind in KINDS}


def test_everything_at_the_top_of_the_sources_is_an_example():
    assert {(e.kind, e.name) for e in examples()} == {
        (kind, path.name) for kind, folder in FOLDERS.items() for path in folder.iterdir()
        if path.is_file()
    }  # fmt: skip
    assert [e.name for e in examples() if not e.summary] == []


def test_the_list_has_a_line_for_each(command_line):
    code, out, _ = command_line("examples")
    assert code == 0
    lines = out.splitlines()
    assert [line for line in lines if line in KINDS] == list(KINDS)
    assert (
        "  quickstart.yaml               Thrust event under a sedimentary basin (2-D P-SV)" in lines
    )
    shown = [e for e in examples() if e.kind != "ladder"]
    assert len(lines) == len(KINDS) + len(shown) + 2  # the ladder, and how to copy


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("chino_hills_2008", "chino_hills_2008_stations.csv"),
        ("chino_hills_2008.yaml", "chino_hills_2008_stations.csv"),
        ("northridge_1994", "northridge_1994.srf"),
        ("jacksboro", "jacksboro_heights.nc"),
    ],
)
def test_a_scenario_is_copied_with_its_file(tmp_path, command_line, name, file):
    code, out, _ = command_line("examples", name, tmp_path / "new" / "folder")
    assert code == 0
    copied = [Path(line) for line in out.splitlines()]
    assert sorted(p.name for p in copied) == sorted([f"{Path(name).stem}.yaml", file])
    for path in copied:
        assert path.parent == tmp_path / "new" / "folder"
        assert path.read_bytes() == (ROOT / "scenarios" / path.name).read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_all_of_a_kind_are_copied_to_a_folder(tmp_path, kind):
    paths = list(copy_examples(kind, tmp_path))
    assert {p.name for p in paths} == {p.name for p in FOLDERS[kind].iterdir() if p.is_file()}
    assert {p.parent for p in paths} == {tmp_path / kind}


def test_a_file_that_was_edited_is_kept(tmp_path):
    (path,) = copy_examples("quickstart", tmp_path)
    list(copy_examples("quickstart", tmp_path))  # nothing was changed
    path.write_text("mine")
    with pytest.raises(ScenarioError, match="exists with other content; use --force"):
        list(copy_examples("quickstart", tmp_path))
    assert path.read_text() == "mine"
    list(copy_examples("quickstart", tmp_path, replace=True))
    assert path.read_text() != "mine"


def test_what_cannot_be_copied(tmp_path):
    with pytest.raises(ScenarioError, match="quickstrat: no such example; `seismo examples` lists"):
        list(copy_examples("quickstrat", tmp_path))
    with pytest.raises(ScenarioError, match="lists them; did you mean 'loh1'"):
        list(copy_examples("loh", tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(ScenarioError, match="file: is no folder"):
        list(copy_examples("quickstart", tmp_path / "file"))


@pytest.mark.slow
def test_the_wheel_has_them_and_runs_the_quickstart(tmp_path):
    """In an environment with the wheel and the packages of this one, far from the sources."""
    options = ["--no-deps", "--wheel-dir", tmp_path]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, ROOT], check=True)
    (wheel,) = tmp_path.glob("seismo-*.whl")
    venv.create(tmp_path / "venv", symlinks=True)
    (packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    (packages / "others.pth").write_text(next(p for p in sys.path if "site-packages" in p))

    def call(*words: str) -> str:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        command = [tmp_path / "venv" / "bin" / "python", "-m", "seismo", *words]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
        ).stdout

    assert call("examples").splitlines()[-2].startswith("  ladder")
    for kind in KINDS:
        assert len(call("examples", kind).splitlines()) == sum(e.kind == kind for e in examples())
    assert call("examples", "quickstart") == "quickstart.yaml\n"
    assert call("run", "quickstart.yaml", "--quiet") == ""
    assert "Thrust event" in call("info", "quickstart.h5")
