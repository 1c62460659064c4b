"""The declarations of features: every folder is in the order, every reference leads somewhere."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import seismo.features
import solver
from seismo.features import ORDER, Feature, acting, features, giving
from seismo.scenario import from_dict
from seismo.solver.subdomain import AddedLaunches

FOLDER = Path(seismo.features.__file__).parent
REFERENCES = [(feature, hook) for feature in features() for hook in feature.hooks]


def test_the_order_lists_every_folder():
    assert sorted(ORDER) == sorted(path.parent.name for path in FOLDER.glob("*/__init__.py"))
    assert [feature.name for feature in features()] == list(ORDER)


def named(part: object) -> str:
    return str(getattr(part, "name", part))


@pytest.mark.parametrize(("feature", "hook"), REFERENCES, ids=named)
def test_references_lead_somewhere(feature, hook):
    assert feature[hook] is not None


def asked_hooks() -> set[str]:
    """Names of hooks that callers in the core ask for."""
    names = set()
    for path in FOLDER.parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "seismo.features"
            for alias in node.names
        }
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        for call in calls:
            if getattr(call.func, "id", "") in imported & {"giving", "acting"}:
                assert isinstance(call.args[0], ast.Constant), f"{path}:{call.lineno}: no text"
                names.add(call.args[0].value)
    return names


def test_every_hook_is_asked_for_and_given():
    """A hook whose name is misspelt on either side would be skipped in silence."""
    given = {hook for feature in features() for hook in feature.hooks}
    assert given == asked_hooks()


def test_contributing_lists_every_hook():
    """The table of "Add a feature" is where a contributor looks for hooks."""
    text = (FOLDER.parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## Add a feature")[2].partition("\n## ")[0]
    rows = re.findall(r"^ +\| (`.*?) \| `", section, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == asked_hooks()


def test_features_elsewhere_declare_hooks_that_are_asked_for():
    """The feature that contributors copy."""
    path = Path(__file__).parents[1] / "support" / "elsewhere_features" / "echoes" / "__init__.py"
    call = ast.parse(path.read_text(encoding="utf-8")).body[-1].value
    assert {word.arg for word in call.keywords} - {"applies"} <= asked_hooks()


def test_declarations_import_no_numerics():
    code = (
        "import sys; from seismo.features import features; features();"
        "print(*(name for name in sys.modules if name.startswith('seismo.')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    own = {f"seismo.features.{name}" for name in ORDER}
    loaded = {name for name in run.stdout.split() if name.startswith("seismo.features.")}
    assert loaded == own


def test_features_apply_where_a_scenario_asks_for_them():
    plain = from_dict(solver.plan("elastic", 2, steps=4))
    every_scenario = {"slow_waves", "contacts", "guided_waves"}
    assert {feature.name for feature in features() if feature.applies(plain)} == every_scenario


def test_features_act_in_order(monkeypatch):
    first, last = ORDER[0], ORDER[-1]
    made = (Feature(first, lambda scenario: scenario is None, rows="x"), Feature(last, rows="y"))
    monkeypatch.setattr(seismo.features, "features", lambda: made)
    monkeypatch.setattr(Feature, "__getitem__", lambda feature, hook: feature.hooks[hook])
    assert giving("rows") == list(made)
    assert giving("columns") == []
    assert acting("rows", None) == ["x", "y"]
    assert acting("rows", "a scenario") == ["y"]


@pytest.mark.parametrize(
    ("folder", "problem"),
    [("", "holds no folder of a feature"), ("echo", "declares no FEATURE"),
     ("contacts", "feature contacts is there twice")],
)  # fmt: skip
def test_folders_without_a_feature_are_refused(folder, problem, tmp_path):
    """A name that is misspelt would let a run go on without the feature."""
    if folder:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("")
    run = subprocess.run(
        [sys.executable, "-c", "from seismo.features import features; features()"],
        env=os.environ | {"SEISMO_FEATURES": str(tmp_path)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert problem in run.stderr
    assert str(tmp_path) in run.stderr


class Windows(AddedLaunches):
    """Launches with data of four steps at a time, of shots of a name."""

    window = 4

    def __init__(self, name):
        self._name = name
        self._begin = -1
        self.begins = []

    def acts_for(self, shots):
        return any(shot.name == self._name for shot in shots)

    def holds(self, step):
        return self._begin == step - step % self.window

    def load(self, step, steps):
        self._begin = step - step % self.window
        self.begins.append(self._begin)

    def silence(self):
        self.begins.append("silent")


def test_windows_of_any_feature_are_loaded(monkeypatch):
    """They need no faults in the shots."""
    simulation = solver.build(solver.plan("acoustic", 2, steps=10))
    (shot,) = simulation.discretization.shots
    added = [Windows(shot.name), Windows("another")]
    monkeypatch.setattr(simulation.solvers[0], "added", added)
    simulation.load([shot])
    simulation.advance(10)
    assert [windows.begins for windows in added] == [[0, 4, 8], ["silent"]]
