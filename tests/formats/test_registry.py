"""The table of formats: every reference leads somewhere, suffixes tell one format for each use."""

import ast
import re
from pathlib import Path

import pytest

import seismo
import seismo.formats
from seismo.formats import FORMATS, format_for, giving, suffixes

REFERENCES = [(known, use) for known in FORMATS for use in known.functions]


@pytest.mark.parametrize(("known", "use"), REFERENCES, ids=lambda part: getattr(part, "name", part))
def test_references_lead_somewhere(known, use):
    assert known[use] is not None


def test_uses_are_documented_and_asked_for():
    """A use that is misspelt would be skipped in silence."""
    declared = {use for known in FORMATS for use in known.functions}
    documented = seismo.formats.__doc__.partition("first used:")[2].partition("Formats are")[0]
    assert set(re.findall(r"`(\w+)`: ", documented)) | {"traces", "volume_files"} == declared
    texts = set()
    for path in Path(seismo.__file__).parent.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if "from seismo.formats import" in source:
            constants = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Constant)]
            texts |= {node.value for node in constants if isinstance(node.value, str)}
    assert declared <= texts


def test_names_are_told_once():
    names = [known.name for known in FORMATS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("use", ["array", "traces", "volume", "heights"])
def test_suffixes_tell_the_format(use):
    own = [suffix for known in giving(use) for suffix in known.suffixes.get(use, ())]
    assert list(suffixes(use)) == own
    for suffix, name in suffixes(use).items():
        assert suffix in format_for(use, name).suffixes[use]
