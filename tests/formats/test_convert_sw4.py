"""Inputs of SW4 as scenarios: what is carried over is the same physics, the rest is listed.

Formulas of time functions are those of SW4's users' guide; they are evaluated here on their own.
"""

import math

import numpy as np
import pytest

from seismo.acquisition import wavelets
from seismo.acquisition.moment_tensor import double_couple
from seismo.errors import ScenarioError
from seismo.formats.converted_run import convert
from seismo.formats.sw4.sources import turned
from seismo.scenario import load
from seismo.solver.discretize import discretize

GRID = "grid x=3000 y=2000 z=1000 h=100\ntime t=2\n"
ROCK = "block vp=4000 vs=2000 rho=2600\n"
SOURCE = "source x=1000 y=500 z=400 mxy=1e15 t0=0.5 freq=10 type=Gaussian\n"


def converted(folder, text, name="run.in", load_it=True):
    """Return the scenario of an SW4 input, and what was left out."""
    path = folder / name
    path.write_text(text)
    run = convert(path, folder / "scenario.yaml")
    (folder / "scenario.yaml").write_text(run.text())
    for side_file, content in run.side_files.items():
        (folder / side_file).write_bytes(content)
    return load(folder / "scenario.yaml") if load_it else run.sections, run.messages()


def test_a_layer_over_a_half_space(tmp_path):
    scenario, left_out = converted(
        tmp_path,
        "# a comment\nfileio path=out\n" + GRID + "block vp=6000 vs=3464 rho=2700 # below\n"
        "block vp=4000 vs=2000 r=2600 z2=300\n" + SOURCE + "rec x=600 y=800 z=0 file=sta01\n",
    )
    extent = scenario.grid.extent
    assert (extent.x, extent.y, extent.z, scenario.grid.spacing.x) == (3000.0, 2000.0, 1000.0, 100)
    assert scenario.time.duration == 2.0
    assert scenario.boundaries.top == "free_surface"
    (layers,) = scenario.model
    assert [(m.top, m.vp, m.vs, m.rho) for m in layers.layers] == [
        (0.0, 4000.0, 2000.0, 2600.0),
        (300.0, 6000.0, 3464.0, 2700.0),
    ]
    (source,) = scenario.sources
    assert source.components.xy == 1e15
    assert (source.position.x, source.position.y, source.position.z) == (1000.0, 500.0, 400.0)
    assert source.time_function == "moment"
    assert scenario.receivers[0].quantities == ("displacement",)
    assert left_out == [
        f"{tmp_path}/run.in:2: fileio path=out: it names files of SW4; `seismo run --output` names "
        "those of a run"
    ]
    assert "fileio path=out" in (tmp_path / "scenario.yaml").read_text()
    (stations,) = discretize(scenario).groups
    assert stations.codes == ("sta01",)
    assert stations.coordinates.tolist() == [[600.0, 800.0, 0.0]]


def test_gradients_count_from_z_0_and_blocks_with_sides_are_blocks(tmp_path):
    scenario, left_out = converted(
        tmp_path,
        GRID + "block vp=3000 vs=1500 rho=2300 vpgrad=1 vsgrad=0.5 rhograd=0.1 z1=200\n"
        "block vp=2000 vs=800 rho=2000 z2=200\n"
        "block vs=1000 x1=500 x2=900 z1=300 z2=500 vsgrad=1\n" + SOURCE,
    )
    earth = discretize(scenario).earth
    z = np.array([100.0, 450.0, 800.0])
    sampled = earth.sample(z, np.full(3, 100.0), np.full(3, 100.0))
    np.testing.assert_allclose(sampled["vp"], [2000.0, 3450.0, 3800.0])
    np.testing.assert_allclose(sampled["rho"], [2000.0, 2345.0, 2380.0])
    inside = earth.sample(np.array([450.0]), np.array([100.0]), np.array([700.0]))
    assert float(inside["vs"][0]) == pytest.approx(1450.0)
    assert float(inside["vp"][0]) == 3450.0
    assert not left_out


def test_a_gradient_of_a_block_after_another_one_is_kept(tmp_path):
    """Also where the later block reaches over the whole grid, and in a body beside it."""
    scenario, left_out = converted(
        tmp_path,
        GRID + ROCK + "block vp=5000 vs=2500 rho=2700 x1=500 x2=900\n"
        "block vp=3000 vs=1500 rho=2300 vpgrad=2 z1=600\n" + SOURCE,
    )
    z = np.array([500.0, 650.0, 900.0])
    for x in (700.0, 1500.0):
        sampled = discretize(scenario).earth.sample(z, np.full(3, 100.0), np.full(3, x))
        above = 5000.0 if x == 700.0 else 4000.0
        np.testing.assert_allclose(sampled["vp"], [above, 4300.0, 4800.0])
    assert not left_out


@pytest.mark.parametrize("sides", ["", " x1=-1 x2=500"], ids=["layers", "body"])
def test_the_least_velocities_hold_at_every_depth(tmp_path, sides):
    """max(vpmin, v + g z), with its kink where it begins to act; files have the limits, too."""
    small = GRID.replace("x=3000 y=2000", "x=800 y=400")
    scenario, left_out = converted(
        tmp_path,
        small + "globalmaterial vpmin=1000 vsmin=500\nblock vp=600 vpgrad=2 vs=800 vsgrad=-0.5 "
        f"rho=2000\nblock vp=600 vpgrad=2 vs=800 vsgrad=-0.5{sides}\n"
        + SOURCE.replace("x=1000 y=500", "x=300 y=200"),
    )  # fmt: skip
    z = np.array([50.0, 150.0, 250.0, 550.0, 650.0, 950.0])
    sampled = discretize(scenario).earth.sample(z, np.full(6, 100.0), np.full(6, 300.0))
    np.testing.assert_allclose(sampled["vp"], np.maximum(1000.0, 600.0 + 2.0 * z))
    np.testing.assert_allclose(sampled["vs"], np.maximum(500.0, 800.0 - 0.5 * z))
    assert not left_out


def test_the_least_velocities_of_a_file(tmp_path):
    (tmp_path / "run.in").write_text(
        GRID + "globalmaterial vpmin=1000 vsmin=500\nrfile filename=a.rfile\n" + SOURCE
    )
    run = convert(tmp_path / "run.in", tmp_path / "scenario.yaml")
    assert run.sections["model"][0]["minimum"] == {"vp": 1000.0, "vs": 500.0}


@pytest.mark.parametrize("dip", [30, 100, 150, 200, 300, -20])
def test_a_mechanism_of_any_dip_is_the_same(tmp_path, dip):
    text = f"source x=1000 y=500 z=400 m0=2e15 strike=70 dip={dip} rake=35 type=Gaussian\n"
    (source,) = converted(tmp_path, GRID + ROCK + text)[0].sources
    assert 0.0 <= source.dip <= 90.0
    np.testing.assert_allclose(
        double_couple(source.strike, source.dip, source.rake), double_couple(70.0, dip, 35.0),
        atol=1e-12,
    )  # fmt: skip


DEEP = GRID.replace("z=1000", "z=3000")
HILL = "topography input=gaussian zmax=900 gaussianAmp=120 gaussianXc=1400 gaussianYc=900 "


@pytest.mark.parametrize("widths", [(400, 400), (400, 600)])
def test_a_gaussian_hill_is_topography(tmp_path, widths):
    """Blocks count from the ground then, sources by `depth` too, those by z from z = 0."""
    scenario, left_out = converted(
        tmp_path,
        DEEP + ROCK + "block vp=3000 vs=1500 rho=2300 z2=200\n" + HILL
        + "gaussianLx={} gaussianLy={}\n".format(*widths) + SOURCE
        + SOURCE.replace("z=400", "depth=400"),
    )  # fmt: skip
    assert not left_out
    assert scenario.model[0].relative_to == "ground"
    assert scenario.sources[0].position.z == 400.0
    assert scenario.sources[1].position.depth == 400.0
    if widths[0] == widths[1]:
        (hill,) = scenario.topography.hills
        assert (hill.height, hill.width, hill.center.x, hill.center.y) == (120, 400, 1400, 900)
    else:
        x, y = np.arange(31) * 100.0, np.arange(21)[:, None] * 100.0
        expected = 120 * np.exp(-(((x - 1400) / 400) ** 2) - ((y - 900) / 600) ** 2)
        heights = np.load(tmp_path / scenario.topography.path)
        np.testing.assert_allclose(heights, expected)
    assert scenario.grid.extent.z == 3200.0  # from the top of the hill down to SW4's bottom
    assert discretize(scenario).vertical is not None


def test_heights_in_files_and_of_models(tmp_path):
    lines = [f"{x} {y} {0.1 * x}" for y in (0, 1000, 2000) for x in (0, 1000, 2000, 3000)]
    (tmp_path / "ground.topo").write_text("\n".join(["4 3", *lines]) + "\n")
    text = DEEP + ROCK + "topography input=cartesian file=ground.topo zmax=900\n" + SOURCE
    scenario, left_out = converted(tmp_path, text)
    assert (scenario.topography.coordinates, left_out) == ("metres", [])
    assert discretize(scenario).vertical is not None
    degrees = [f"{-118 + 0.01 * i} {37 + 0.01 * j} {50 * j}" for j in range(4) for i in range(4)]
    (tmp_path / "ground.topo").write_text("\n".join(["4 4", *degrees]) + "\n")
    scenario, left_out = converted(tmp_path, text.replace("cartesian", "geographic"))
    assert (scenario.geographic.longitude, scenario.geographic.latitude) == (-118.0, 37.0)
    assert discretize(scenario).vertical is not None
    assert "SW4's projection puts them" in " ".join(
        (tmp_path / "scenario.yaml").read_text().replace("\n#", " ").split()
    )
    scenario, left_out = converted(tmp_path, text.replace("cartesian", "rfile"))
    assert scenario.topography is None
    assert "the ground of this rfile is not read" in left_out[0]


def test_a_refinement_is_a_plane(tmp_path):
    """The finest spacing is SW4's; the plane lies at or below the shallowest of SW4's."""
    deep = DEEP.replace("h=100", "h=50") + ROCK
    scenario, left_out = converted(tmp_path, deep + "refinement zmax=1000\n" + SOURCE)
    assert (scenario.grid.spacing.x, scenario.grid.refinement[0].below) == (25.0, 1050.0)
    assert (scenario.grid.extent.x, scenario.grid.extent.y) == (3000.0, 2025.0)
    assert not left_out
    discretize(scenario)
    scenario, left_out = converted(
        tmp_path, deep + "refinement zmax=1500\nrefinement zmax=100\n" + SOURCE
    )
    assert (scenario.grid.spacing.x, scenario.grid.refinement[0].below) == (12.5, 525.0)
    assert [line.split(": ")[1] for line in left_out] == ["refinement zmax=1500"]
    scenario, left_out = converted(tmp_path, GRID + ROCK + "refinement zmax=500\n" + SOURCE)
    assert (scenario.grid.spacing.x, scenario.grid.planes) == (50.0, ())
    assert "refinement zmax=500: no plane is far enough from top, bottom and sour" in left_out[0]


@pytest.mark.parametrize(
    ("sides", "slope"),
    [
        ("y1=1000 y2=2000 z2=3000", 0.0),
        ("y1=1000 y2=2500", 0.5),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("y1=1000", 0.0), ("y1=1000", 0.5),
                ("y1=1000 y2=2000 z2=3000", 0.5), ("y1=1000 y2=2500", 0.0),
            )
        ),
    ],
)  # fmt: skip
def test_blocks_reach_the_ends_of_a_refined_grid(tmp_path, sides, slope):
    """Its extents are whole cells, and so longer than SW4's."""
    text = DEEP.replace("h=100", "h=50") + ROCK + "refinement zmax=900\n" + SOURCE
    block = f"block vp=5000 vs=2500 rho=2700 vpgrad={slope} {sides}\n"
    scenario, left_out = converted(tmp_path, text + block)
    assert not left_out
    extent = scenario.grid.extent
    ends = np.array([extent.z]), np.array([extent.y]), np.array([extent.x])
    vp = discretize(scenario).earth.sample(*ends)["vp"]
    assert vp == pytest.approx(5000.0 + slope * extent.z)


def test_images_of_the_largest_motion_are_maps(tmp_path):
    scenario, left_out = converted(
        tmp_path,
        GRID + ROCK + SOURCE + "image mode=hmax z=0 file=a\nimage mode=hvelmax z=0 file=a\n"
        "imagehdf5 mode=vmaxdudt x=1500 file=a\nimage mode=vvelmax z=0 file=a\n",
    )
    surface, section = scenario.output.maps
    assert (surface.plane.depth, surface.quantities) == (0.0, ("pgv_horizontal", "pgv_z"))
    assert (section.plane.x, section.quantities) == (1500.0, ("pgv_z",))
    assert "no map of displacements: pgv_horizontal is of the velocity" in left_out[0]


@pytest.mark.parametrize(
    "proj", ["", " mlon=88000", " proj=tmerc lon_p=-123 lat_p=35", " ellps=GRS80"]
)
def test_places_are_those_of_the_projection_of_sw4(tmp_path, proj):
    pyproj = pytest.importorskip("pyproj")
    scenario, _ = converted(
        tmp_path,
        GRID.replace("h=100", f"h=100 lat=37 lon=-122 az=20{proj}") + ROCK
        + "source lat=37.006 lon=-121.99 depth=400 mxx=1e15 type=Gaussian\n"
        "rec lat=37.006 lon=-121.99 depth=0 file=a\n",
    )  # fmt: skip
    north, east = 111319.5 * 0.006, 111319.5 * math.cos(math.radians(37.006)) * 0.01
    if "mlon" in proj:
        east = 880.0
    if "=tmerc" in proj or "ellps" in proj:
        plane = "tmerc +lon_0=-123 +lat_0=35 +ellps=WGS84"
        to = pyproj.Proj(f"+proj={plane if 'tmerc' in proj else 'utm +zone=10 +ellps=GRS80'}")
        east, north = np.subtract(to(-121.99, 37.006), to(-122.0, 37.0))
    cosine, sine = math.cos(math.radians(20.0)), math.sin(math.radians(20.0))
    expected = [north * cosine + east * sine, east * cosine - north * sine]
    position = scenario.sources[0].position
    assert [position.x, position.y] == pytest.approx(expected, abs=0.01)
    (group,) = discretize(scenario).groups
    assert group.coordinates[0, :2] == pytest.approx(expected, abs=0.01)


def test_the_difference_of_projections_is_that_of_the_grid(tmp_path):
    """At 37 N a degree of latitude is 110,974 m, and 111,319.5 m in SW4."""
    pytest.importorskip("pyproj")
    wide = "grid x=100e3 y=2000 z=1000 h=1000 lat=37 lon=-122\ntime t=2\n"
    (tmp_path / "run.in").write_text(wide + ROCK + "rupture file=a.srf\n")
    text = convert(tmp_path / "run.in", tmp_path / "scenario.yaml").text()
    text = " ".join(text.replace("\n#", " ").split())
    assert "puts them up to 30" in text
    assert "(0.3 % of the distance)" in text


def test_anisotropic_blocks_are_rock_of_their_constants(tmp_path):
    rock = "ablock c11=1e11 c22=1e11 c33=8e10 c12=5e10 c13=4e10 c23=4e10 c44=2e10 c55=2e10 "
    rock += "c66=2.5e10"
    text = GRID + f"{rock} rho=2700\n{rock.replace('8e10', '7e10')} rho=2600 z2=300\n" + SOURCE
    scenario, left_out = converted(tmp_path, f"{text}anisotropy\n")
    assert not left_out
    base, top = scenario.model
    assert (base.type, base.c33, base.c66, base.rho) == ("uniform", 8e10, 2.5e10, 2700.0)
    assert (top.type, top.z, top.c33, top.rho) == ("block", (0.0, 300.0), 7e10, 2600.0)
    earth = discretize(scenario).earth
    sampled = earth.sample(np.array([150.0, 800.0]), np.full(2, 100.0), np.full(2, 100.0))
    np.testing.assert_allclose(sampled["rho"], [2600.0, 2700.0])
    steps = text.replace("time t=2", "time steps=100")
    scenario, left_out = converted(tmp_path, f"{steps}anisotropy\n")
    assert scenario.time.duration == pytest.approx(1.3)
    assert "steps=100: their length is assumed" in left_out[0]
    with pytest.raises(ScenarioError, match="without a line `anisotropy` SW4 does not read it"):
        converted(tmp_path, text)


@pytest.mark.parametrize("line", ["pfile filename=a.ppmod", "efile etree=a", "ablock c11=1e9"])
def test_a_model_that_is_not_read_is_named(tmp_path, line):
    with pytest.raises(ScenarioError) as error:
        converted(tmp_path, GRID + line + "\n" + SOURCE)
    named, incomplete = str(error.value).split("\n")
    assert named.startswith(f"{tmp_path}/run.in:3: {line}: ")
    assert "no block reaches over the whole grid" in incomplete


@pytest.mark.parametrize("grid", ["nx=31 x=3000 y=2000 z=1000", "nx=31 ny=21 nz=11 h=100"])
def test_grids_are_given_in_three_ways(tmp_path, grid):
    scenario, _ = converted(tmp_path, f"grid {grid}\ntime t=2\n" + ROCK + SOURCE)
    extent = scenario.grid.extent
    assert (extent.x, extent.y, extent.z) == (3000.0, 2000.0, 1000.0)
    assert scenario.grid.spacing.z == 100.0


def test_quality_factors_count_with_attenuation_alone(tmp_path):
    lossy = "block vp=4000 vs=2000 rho=2600 Qp=120 Qs=40\n"
    lossless, left_out = converted(tmp_path, GRID + lossy + SOURCE)
    assert lossless.model[0].layers[0].qp is None
    assert [line.split(": ")[1] for line in left_out] == ["block qp=120", "block qs=40"]
    scenario, left_out = converted(
        tmp_path, GRID + "attenuation phasefreq=2.5 nmech=3 maxfreq=15\n" + lossy + SOURCE
    )
    assert (scenario.model[0].layers[0].qp, scenario.model[0].layers[0].qs) == (120.0, 40.0)
    assert scenario.attenuation.reference_frequency == 2.5
    assert len(left_out) == 2
    scenario, left_out = converted(tmp_path, GRID + "attenuation phasefreq=1\n" + ROCK + SOURCE)
    assert scenario.attenuation is None
    assert "no part of the model has qp or qs" in left_out[0]


def gaussian(u):
    return math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)


def liu(u):
    """SW4's Liu in closed form, tau = 2 pi: its integral pieces."""
    tau = 2.0 * math.pi
    tau1 = 0.13 * tau
    tau2 = tau - tau1
    scale = 1.0 / (1.4 * tau1 + 1.2 * tau1 / math.pi + 0.3 * tau2)
    if u < 0.0 or u >= tau:
        return float(u >= tau)
    if u <= tau1:
        bend = 1.2 * tau1 / math.pi * (math.cos(0.5 * math.pi * u / tau1) - 1.0)
        return scale * (0.7 * u - 0.7 * tau1 / math.pi * math.sin(math.pi * u / tau1) - bend)
    tail = 0.3 * tau2 / math.pi * math.sin(math.pi * (u - tau1) / tau2)
    if u <= 2.0 * tau1:
        wave = 0.7 * tau1 / math.pi * math.sin(math.pi * u / tau1)
        return scale * (u - 0.3 * tau1 + 1.2 * tau1 / math.pi - wave + tail)
    return scale * (0.3 * u + 1.1 * tau1 + 1.2 * tau1 / math.pi + tail)


def brune_smoothed(u):
    h = 2.31
    inner = 0.5 * u**2 - 1.5 / h * u**3 + 1.5 / h**2 * u**4 - 0.5 / h**3 * u**5 if u < h else 0.0
    return 0.0 if u < 0.0 else 1.0 - math.exp(-u) * (1.0 + u + inner)


FUNCTIONS = {  # g of u = freq tau; power of freq; whether it stays at 1
    "Gaussian": (gaussian, 1, False),
    "GaussianInt": (lambda u: 0.5 * (1.0 + math.erf(u / math.sqrt(2.0))), 0, True),
    "Erf": (lambda u: 0.5 * (1.0 + math.erf(u / math.sqrt(2.0))), 0, True),
    "Ricker": (
        lambda u: (2.0 * (math.pi * u) ** 2 - 1.0) * math.exp(-((math.pi * u) ** 2)), 0, False,
    ),
    "RickerInt": (lambda u: -u * math.exp(-((math.pi * u) ** 2)), -1, False),
    "Brune": (lambda u: 1.0 - math.exp(-u) * (1.0 + u) if u > 0.0 else 0.0, 0, True),
    "DBrune": (lambda u: u * math.exp(-u) if u > 0.0 else 0.0, 1, False),
    "BruneSmoothed": (brune_smoothed, 0, True),
    "Liu": (liu, 0, True),
    "Ramp": (lambda u: 0.5 * (1.0 - math.cos(math.pi * min(max(u, 0.0), 1.0))), 0, True),
    "C6SmoothBump": (lambda u: 51480.0 * (u * (1.0 - u)) ** 7 if 0 < u < 1 else 0.0, 0, False),
    "VerySmoothBump": (lambda u: 1024.0 * (u - u * u) ** 5 if 0 < u < 1 else 0.0, 0, False),
}  # fmt: skip


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("acts", ["mxx=1e15", "fz=1e9"])
def test_time_functions_are_the_same_functions(tmp_path, kind, acts):
    function, power, stays = FUNCTIONS[kind]
    freq = 4.0
    text = f"source x=1000 y=500 z=400 {acts} t0=1 freq={freq:g} type={kind}\n"
    scenario, _ = converted(tmp_path, GRID + ROCK + text)
    (source,) = scenario.sources
    t = np.linspace(0.0, 1.99, 400)
    expected = np.array([freq**power * function(freq * (one - 1.0)) for one in t])
    as_rate = acts.startswith("m") and stays
    assert (getattr(source, "time_function", "") == "moment_rate") == as_rate
    actual = wavelets.evaluate(source.wavelet, t, tmp_path)
    if as_rate:
        # The integral of the rate from before its beginning.
        fine = np.linspace(-1.0, 1.99, 29_901)
        rate = wavelets.evaluate(source.wavelet, fine, tmp_path)
        total = np.concatenate([[0.0], np.cumsum(0.5 * (rate[1:] + rate[:-1]) * np.diff(fine))])
        actual = np.interp(t, fine, total)
    np.testing.assert_allclose(actual, expected, atol=2e-4 * np.abs(expected).max())


def test_time_functions_of_files_and_impulses(tmp_path):
    (tmp_path / "g.txt").write_text("0.2 0.01 5\n0\n1\n3\n1\n0\n")
    scenario, left_out = converted(
        tmp_path,
        GRID + ROCK + "source x=1000 y=500 z=400 mxx=1e15 dfile=g.txt\n"
        "source x=1000 y=500 z=400 mxx=1e15 type=Dirac\n",
    )
    (source,) = scenario.sources
    assert wavelets.evaluate(source.wavelet, np.array([0.22]), tmp_path) == pytest.approx([3.0])
    assert "no grid carries an impulse" in left_out[0]


def test_mechanisms_count_from_north_with_a_place_on_the_earth(tmp_path):
    """SW4 takes the grid's azimuth from a strike; components are on the axes of the grid."""
    strike = "source x=1000 y=500 depth=400 m0=2e15 strike=70 dip=60 rake=30 freq=5 type=Gaussian\n"
    turned_grid = "grid x=3000 y=2000 z=1000 h=100 az=40\ntime t=2\n"
    scenario, _ = converted(tmp_path, turned_grid + ROCK + strike)
    assert scenario.geographic is None
    assert (scenario.sources[0].strike, scenario.sources[0].moment) == (30.0, 2e15)
    placed = turned_grid.replace("az=40", "az=40 lat=37 lon=-122")
    scenario, _ = converted(tmp_path, placed + ROCK + strike)
    assert scenario.geographic.azimuth == 40.0
    assert scenario.sources[0].strike == 70.0
    # Components of that mechanism on the axes of the grid, turned back to north.
    names = ("mxx", "myy", "mzz", "mxy", "mxz", "myz")
    on_grid, at_north = (_components(double_couple(s, 60.0, 30.0)) for s in (30.0, 70.0))
    back = turned(dict(zip(names, on_grid, strict=True)), 40.0)
    np.testing.assert_allclose([back[name] for name in names], at_north, atol=1e-12)


def _components(tensor):
    return [float(tensor[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]


def test_files_faults_dates_and_faces(tmp_path):
    pytest.importorskip("pyproj")
    scenario, left_out = converted(
        tmp_path,
        "grid x=3000 y=2000 z=1000 h=100 lat=37 lon=-122 az=10 proj=tmerc lon_p=-123 lat_p=35\n"
        "time t=2 utcstart=01/31/2017:10:20:30.500\n" + ROCK + "sfile filename=a.sfile "
        "directory=models\nrupture file=a.srf\nboundary_conditions lx=1 hx=0\n"
        "rec lat=37.001 lon=-121.99 depth=0 file=a variables=velocity\n"
        "rechdf5 infile=b.h5\ntopography input=else\n",
    )
    volume = scenario.model[1]
    assert (volume.path, volume.vp.variable) == ("models/a.sfile", "Cp")
    assert volume.crs.startswith("+proj=tmerc")
    assert "+lon_0=-123" in volume.crs
    assert scenario.sources[0].path == "a.srf"
    assert scenario.event.time == "2017-01-31T10:20:30.500000Z"
    assert scenario.boundaries.x_min == "rigid"
    assert scenario.receivers[0].quantities == ("velocity",)
    rock = {"type": "uniform", "vp": 4e3, "vs": 2e3, "rho": 2600}
    alone = scenario.changed({"sources": [_point()], "model": [rock]})
    assert discretize(alone).groups[0].codes == ("a",)
    reasons = "\n".join(left_out)
    for words in ("no such file as", "SW4 has no such topography", "HDF5", "hx=0"):
        assert words in reasons


def test_an_sfile_without_a_projection_is_named(tmp_path):
    with pytest.raises(ScenarioError) as error:
        discretize(
            converted(
                tmp_path,
                GRID.replace("h=100", "h=100 lat=37 lon=-122")
                + ROCK
                + "sfile filename=a.sfile\n"
                + SOURCE,
            )[0]
        )
    assert "a.sfile" in str(error.value)
    assert "gives no proj" in (tmp_path / "scenario.yaml").read_text().replace("\n#       ", " ")


def _point():
    wavelet = {"type": "ricker", "frequency": 2}
    position = {"x": 500, "y": 500, "z": 500}
    return {"type": "explosion", "position": position, "wavelet": wavelet}


def test_steps_become_a_duration(tmp_path):
    scenario, _ = converted(tmp_path, GRID.replace("t=2", "steps=100") + ROCK + SOURCE)
    step = 1.3 * 100.0 / math.sqrt(4000.0**2 + 2.0 * 2000.0**2)
    assert scenario.time.duration == pytest.approx(100 * step)
    scenario, left_out = converted(
        tmp_path,
        GRID.replace("t=2", "steps=100") + ROCK + "rfile filename=a.rfile\n" + SOURCE,
        load_it=False,
    )
    assert scenario["time"]["duration"] == pytest.approx(1.3)
    assert any("steps=100: their length is assumed" in line for line in left_out)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("grid x=30q0 y=2000 z=1000 h=100\n", ":1: grid x='30q0': is no number"),
        ("grid x=3000 y=2000 z=1000\ntime t=1\n", ":1: grid x=3000 y=2000 z=1000: gives no spac"),
        (GRID + ROCK + "twilight omega=1\n", ":4: twilight omega=1: a test of SW4"),
        (GRID + ROCK, ": has no source that can be carried over"),
        (GRID + "block vp=3000 z1=500\n" + SOURCE, ": no block gives vp, vs, rho below z = 0 m"),
        (GRID + ROCK + "source x=0 y=0 mxx=1\n", ":4: source: missing z="),
        (GRID + ROCK + "source x=0 y=0 z=0 fx=1 freq=-2\n", ":4: source freq=-2: has to be above"),
        (GRID.replace("h=100", "h=100 proj=none lat=1"), ":1: grid x=3000 y=2000 z=1000 h=100 pro"),
        ("nothing of SW4\n", ": is of no program that is known here"),
    ],
)
def test_mistakes_are_one_line(tmp_path, text, message):
    with pytest.raises(ScenarioError) as error:
        converted(tmp_path, text)
    (line,) = str(error.value).split("\n")
    assert line.startswith(f"{tmp_path}/run.in{message}")


def test_the_command_writes_and_lists(tmp_path, command_line, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.in").write_text(GRID + ROCK + "fileio path=out\n" + SOURCE)
    code, out, err = command_line("convert", "a.in")
    assert (code, out) == (0, "a.yaml\n")
    assert err.splitlines()[0].startswith("a.in:4: fileio path=out: it names files of SW4")
    (tmp_path / "d.in").write_text(GRID + ROCK + "prefilter fc2=1 type=lowpass\n" + SOURCE)
    code, out, err = command_line("convert", "d.in")
    assert (code, out) == (1, "d.yaml\n")
    assert err.startswith("d.in:4: prefilter fc2=1 type=lowpass: time functions are not filtered")
    assert load("a.yaml").title == "a, from SW4"
    (tmp_path / "c.in").write_text(GRID + ROCK + SOURCE.replace("Gaussian", "Liu"))
    (tmp_path / "c-source1.txt").write_text("mine")
    code, out, err = command_line("convert", "c.in")
    assert (code, out) == (2, "")
    assert err == "c-source1.txt: exists with other content; use --force to replace it\n"
    assert not (tmp_path / "c.yaml").exists()
    assert command_line("convert", "c.in", "--force")[0] == 0
    assert "# Liu of c.in:4 is sampled" in (tmp_path / "c.yaml").read_text()
    (tmp_path / "a.yaml").write_text("mine")
    code, out, err = command_line("convert", "a.in")
    assert code == 2
    assert "--force" in err
    assert command_line("convert", "no.in")[0] == 2
    # What no scenario may have is written all the same, and named.
    (tmp_path / "b.in").write_text(GRID + "block vp=1.7 vs=1 rho=1\n" + SOURCE)
    code, out, err = command_line("convert", "b.in")
    assert (code, out) == (2, "b.yaml\n")
    assert "b.yaml: was written, and needs your hand before it runs:" in err
    assert "too slow for P waves" in err
