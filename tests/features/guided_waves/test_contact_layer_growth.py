"""No wave along the rows at a contact grows in an absorbing layer, by eigenvalues."""

import pytest


@pytest.fixture
def growth(script):
    """Return the script that looks at it."""
    return script("contact_layer_growth")


@pytest.mark.parametrize(
    ("vs", "ratio", "place"),
    [
        (1000.0, 1.73, 0.4),
        pytest.param(300.0, 2.2, 0.2, marks=pytest.mark.slow),
        pytest.param(3000.0, 1.5, 0.6, marks=pytest.mark.slow),
    ],
)
def test_no_wave_along_a_sea_bed_grows(vs: float, ratio: float, place: float, growth) -> None:
    layers = growth.pair(growth.WATER, growth.rock(vs, ratio), 18.0 + place)
    waves = growth.ContactWaves(layers)
    assert waves._simulation.discretization.slips.corrected[0].closed
    assert max(waves.growth(k) for k in (0.1, 2.2)) < 0.0


@pytest.mark.slow
@pytest.mark.parametrize("contrast", [0.5, 1.2, 5.0])
def test_no_wave_along_a_contact_of_solids_grows(contrast: float, growth) -> None:
    media = growth.rock(1000.0, 1.73), growth.rock(1000.0 * contrast, 1.73)
    waves = growth.ContactWaves(growth.pair(*media, 18.4))
    assert max(waves.growth(k) for k in growth.WAVENUMBERS) < 0.0


@pytest.mark.slow
def test_waves_of_soft_ground_on_rock_grow(growth) -> None:
    """They exist, and runs damp them: what finds none elsewhere finds these."""
    media = growth.rock(1000.0, 1.73), growth.rock(2000.0, 1.73)
    waves = growth.ContactWaves(growth.pair(*media, 9.3), "free_surface")
    assert waves.growth(0.2) > 1e-3
