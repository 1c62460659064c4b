"""What an equation may give as a formula, and what kept kernels are known by."""

import sys
from functools import partial

import pytest

import seismo.equations
from seismo.backends import kernel_cache
from seismo.equations.framework.formula import Formula
from seismo.equations.framework.registry import VARIANTS, physics_for


def formula(update) -> Formula:
    return Formula(update, "xz", ("p", "q"), ("", ""), ("k",), ())


def two_fields(cell):
    cell.put("p", cell.dd("x", "p") + cell.dd("x", "q"))


def both_kinds(cell):
    cell.put("p", cell.d("x", "q") + cell.dd("x", "q"))


def test_a_formula_is_a_function_of_a_module() -> None:
    """Kernels are kept by its name and its module's text, which say nothing of what it encloses."""

    def enclosed(cell):
        cell.put("p", cell["p"])

    for update in (enclosed, lambda cell: None, partial(two_fields)):
        with pytest.raises((TypeError, AttributeError), match=r"function of a module|__module__"):
            formula(update)


@pytest.mark.parametrize("update", [two_fields, both_kinds])
def test_derivatives_that_would_share_layer_memory_are_refused(update) -> None:
    with pytest.raises(TypeError, match="first derivatives along x, or second ones of one field"):
        _ = formula(update).slots


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_stages_that_share_memory_have_room_for_all(variant) -> None:
    physics = physics_for(*variant)
    for stage in physics.stages:
        for even in (False, True):
            owner = stage.shares or stage.name
            assert physics.formula(stage, even).slots <= physics.slots(owner)


def test_a_change_in_a_linked_folder_changes_the_key(tmp_path, monkeypatch) -> None:
    real, listed = tmp_path / "real", tmp_path / "listed"
    real.mkdir()
    listed.mkdir()
    (real / "__init__.py").write_text("x = 1\n")
    (listed / "linked").symlink_to(real)
    monkeypatch.setattr(seismo.equations, "__path__", [*seismo.equations.__path__, str(listed)])
    digest = kernel_cache.source_digest
    before = digest()
    bodies = kernel_cache.body_digest()
    (real / "__init__.py").write_text("x = 2\n")
    kernel_cache._digest.cache_clear()
    assert digest() != before
    assert kernel_cache.body_digest() == bodies
    assert "linked" not in sys.modules
