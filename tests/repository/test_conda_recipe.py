"""The conda recipe asks for what pyproject.toml asks for."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
NAMES = {"isal": "python-isal", "matplotlib": "matplotlib-base"}  # PyPI's -> conda-forge's


def needs(lines):
    """Return versions by conda's name of a package."""
    pairs = (re.fullmatch(r"([\w-]+)\s*(.*)", line).groups() for line in lines)
    return {NAMES.get(name, name): version for name, version in pairs}


def test_the_recipe_has_the_dependencies_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    recipe = yaml.safe_load((ROOT / "conda" / "meta.yaml").read_text())
    facts = project["project"]
    required = recipe["requirements"]
    assert needs(required["run"]) == needs(
        [*facts["dependencies"], f"python {facts['requires-python']}"]
    )
    assert needs(required["host"]) == needs(
        [*project["build-system"]["requires"], "pip", f"python {facts['requires-python']}"]
    )
    extras = [line for extra in facts["optional-dependencies"].values() for line in extra]
    for name, version in needs(required["run_constrained"]).items():
        assert f"{name}{version}" in extras
    assert recipe["package"] == {"name": facts["name"], "version": facts["version"]}
    assert recipe["build"]["entry_points"] == [
        f"{name} = {entry}" for name, entry in facts["scripts"].items()
    ]
    assert recipe["about"]["license"] == facts["license"]
    assert recipe["about"]["summary"] == facts["description"]
