"""The table of formats: every reference leads somewhere, suffixes tell one format for each use."""

import pytest

from seismo.formats import FORMATS, format_for, giving, suffixes

REFERENCES = [(known, use) for known in FORMATS for use in known.functions]


@pytest.mark.parametrize(("known", "use"), REFERENCES, ids=lambda part: getattr(part, "name", part))
def test_references_lead_somewhere(known, use):
    assert known[use] is not None


def test_names_are_told_once():
    names = [known.name for known in FORMATS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("use", ["array", "traces", "volume"])
def test_suffixes_tell_the_format(use):
    own = [suffix for known in giving(use) for suffix in known.suffixes.get(use, ())]
    assert list(suffixes(use)) == own
    for suffix, name in suffixes(use).items():
        assert suffix in format_for(use, name).suffixes[use]
