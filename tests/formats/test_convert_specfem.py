"""Runs of SPECFEM3D as scenarios: mesh, materials, sources and stations are the same."""

import numpy as np
import pytest

from seismo.acquisition import wavelets
from seismo.errors import ScenarioError
from seismo.formats.converted_run import convert
from seismo.scenario import load
from seismo.solver.discretize import discretize

PAR_FILE = """# simulation
SIMULATION_TYPE                 = 1
UTM_PROJECTION_ZONE             = 11
SUPPRESS_UTM_PROJECTION         = .true.
NSTEP                           = 400
DT                              = 0.01d0
MODEL                           = default
ATTENUATION                     = .true.
ATTENUATION_f0_REFERENCE        = 0.5d0
STACEY_ABSORBING_CONDITIONS     = .true.
STACEY_INSTEAD_OF_FREE_SURFACE  = .false.
USE_FORCE_POINT_SOURCE          = .false.
USE_RICKER_TIME_FUNCTION        = .false.
SAVE_SEISMOGRAMS_DISPLACEMENT   = .true.
SAVE_SEISMOGRAMS_VELOCITY       = .true.
GRAVITY                         = .true.
"""
MESH = """LATITUDE_MIN                    = 0.0d0
LATITUDE_MAX                    = 8000.d0
LONGITUDE_MIN                   = 1000.d0
LONGITUDE_MAX                   = 13000.d0
DEPTH_BLOCK_KM                  = 4.d0
UTM_PROJECTION_ZONE             = 11
SUPPRESS_UTM_PROJECTION         = .true.
INTERFACES_FILE                 = interfaces.dat
NEX_XI                          = 12
NEX_ETA                         = 8
NMATERIALS                      = 3
# #material_id  #rho  #vp  #vs  #Q_Kappa  #Q_mu  #anisotropy_flag  #domain_id
1  2700  6000.d0  3500  9999.  9999.  0  2
2  2300  3000  1500  2000.  50.  0  2
3  2500  4000  2000  9999.  9999.  0  2
NREGIONS                        = 3
#NEX_XI_BEGIN  #NEX_XI_END  #NEX_ETA_BEGIN  #NEX_ETA_END  #NZ_BEGIN #NZ_END  #material_id
1 12 1 8 1 3 1
1 12 1 8 4 5 2
3 4 2 2 1 1 3
"""
INTERFACES = """# number of interfaces
 2
.true. 2 2 0.d0 0.d0 20000.d0 20000.d0
 lower.dat
.true. 2 2 0.d0 0.d0 20000.d0 20000.d0
 top.dat
 3
 2
"""
CMT = """PDE 2021 1 1 1 10 0.0 34.0 -118.0 1.0 1.0 1.0 calibration
event name:     test
time shift:     0.0
half duration:  0.4
latitude:       3000.0
longitude:      5000.0
depth:          2.5
Mrr:      1.d23
Mtt:      2.d23
Mpp:      -3.d23
Mrt:      4.d23
Mrp:      5.d23
Mtp:      6.d23
"""
FORCE = """FORCE  001
time shift:     0.0
f0:             0.8
latorUTM:       3000.0
longorUTM:      5000.0
depth:          2.5
factor force source:             1.d15
component dir vect source E:     3.d0
component dir vect source N:     0.d0
component dir vect source Z_UP:  -4.d0
"""
STATIONS = "Z1 DB 1000.0 3000.0 0.0 400.0\n"


def run_folder(folder, **changed):
    texts = {
        "DATA/Par_file": PAR_FILE, "DATA/meshfem3D_files/Mesh_Par_file": MESH,
        "DATA/meshfem3D_files/interfaces.dat": INTERFACES,
        "DATA/meshfem3D_files/lower.dat": "-1000.\n-1000.\n-1000.\n-1000.\n",
        "DATA/meshfem3D_files/top.dat": "0 0 0 0\n",
        "DATA/CMTSOLUTION": CMT, "DATA/FORCESOLUTION": FORCE, "DATA/STATIONS": STATIONS,
    }  # fmt: skip
    for name, text in texts.items():
        path = folder / "run" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(changed.get(path.name.partition(".")[0], text))
    return folder / "run"


def converted(folder, **changed):
    run = convert(run_folder(folder, **changed), folder / "scenario.yaml")
    (folder / "scenario.yaml").write_text(run.text())
    for name, content in run.side_files.items():
        (folder / name).write_bytes(content)
    return load(folder / "scenario.yaml"), run.messages()


def test_a_mesh_in_metres(tmp_path):
    scenario, left_out = converted(tmp_path)
    grid = scenario.grid
    assert (grid.extent.x, grid.extent.y, grid.extent.z) == (12e3, 8e3, 4e3)
    assert (grid.origin.x, grid.origin.y, grid.origin.z) == (1000.0, 0.0, 0.0)
    assert (grid.spacing.x, grid.spacing.y, grid.spacing.z) == (250.0, 250.0, 125.0)
    assert scenario.time.duration == 4.0
    assert scenario.boundaries.top == "free_surface"
    assert scenario.attenuation.reference_frequency == 0.5
    assert scenario.receivers[0].quantities == ("displacement", "velocity")
    assert [line.split(": ")[1] for line in left_out] == ["GRAVITY = .true."]
    discretization = discretize(scenario)
    (stations,) = discretization.groups
    assert stations.codes == ("DB.Z1",)
    assert stations.coordinates.tolist() == [[3000.0, 1000.0, 400.0]]


def test_materials_are_where_their_regions_are(tmp_path):
    scenario, _ = converted(tmp_path)
    layers, block = scenario.model
    assert [layer.top for layer in layers.layers] == [0.0, 1000.0]
    soft = layers.layers[0]
    assert (soft.vp, soft.vs, soft.rho, soft.qs) == (3000.0, 1500.0, 2300.0, 50.0)
    # 1/Qp = (1 - 4/3 (vs/vp)^2) / Q_kappa + 4/3 (vs/vp)^2 / Q_mu
    assert soft.qp == pytest.approx(1.0 / (2.0 / 3.0 / 2000.0 + 1.0 / 3.0 / 50.0))
    assert layers.layers[1].qs is None
    assert (block.x, block.y, block.z) == ((3000.0, 5000.0), (1000.0, 2000.0), (3000.0, 4000.0))
    assert block.vp == 4000.0
    assert (block.qp, block.qs) == (np.inf, np.inf)  # of material 3, whatever lies below it


def test_without_attenuation_nothing_is_lost(tmp_path):
    text = PAR_FILE.replace("ATTENUATION                     = .true.", "ATTENUATION = .false.")
    scenario, _ = converted(tmp_path, Par_file=text)
    assert scenario.model[0].layers[0].qs is None
    assert scenario.attenuation is None


def test_a_moment_tensor_is_on_the_axes_of_the_mirrored_grid(tmp_path):
    scenario, _ = converted(tmp_path)
    (source,) = scenario.sources
    components = source.components
    # r up, t south, p east; x east, y north, z down. dyn cm are 1e-7 N m.
    assert [getattr(components, c) / 1e16 for c in ("xx", "yy", "zz", "xy", "xz", "yz")] == (
        pytest.approx([-3.0, 2.0, 1.0, -6.0, -5.0, 4.0])
    )
    assert (source.position.x, source.position.y, source.position.z) == (5e3, 3e3, 2.5e3)
    # The rate of (1 + erf(t / h)) / 2, h = half duration / 1.628, about the delay.
    h = 0.4 / 1.628
    t = np.linspace(0.0, 2.0, 50)
    expected = np.exp(-(((t - 0.8) / h) ** 2)) / (np.sqrt(np.pi) * h)
    np.testing.assert_allclose(wavelets.evaluate(source.wavelet, t), expected, rtol=1e-9)


def test_the_date_of_the_file_is_that_of_traces(tmp_path):
    """The centre of the source, 2 half durations after t = 0, comes its shift after the date."""
    scenario, _ = converted(tmp_path, CMTSOLUTION=CMT.replace("shift:     0.0", "shift: 1.5"))
    assert scenario.event.time == "2021-01-01T01:10:00Z"
    assert scenario.event.at == pytest.approx(0.8 - 1.5)
    assert scenario.sources[0].wavelet.delay == pytest.approx(0.8)
    scenario, left_out = converted(tmp_path, CMTSOLUTION=CMT.replace("PDE 2021 1 1", "PDE 2021 0"))
    assert scenario.event is None
    assert "its first line has no date" in left_out[0]


def test_several_sources_with_their_shifts(tmp_path):
    """SPECFEM's t = 0 is the centre of the earliest; names may be latorUTM and longorUTM."""
    second = CMT.replace("shift:     0.0", "shift: 0.3").replace("Mrr:      1.d23", "Mrr: 5.d23")
    second = second.replace("latitude:  ", "latorUTM:").replace("longitude:  ", "longorUTM:")
    first = CMT.replace("shift:     0.0", "shift: 0.1") + "DATA/stf.dat\n"
    scenario, _ = converted(tmp_path, CMTSOLUTION=first + second)
    assert [source.components.zz for source in scenario.sources] == pytest.approx([1e16, 5e16])
    assert {(s.position.x, s.position.y) for s in scenario.sources} == {(5e3, 3e3)}
    assert [s.wavelet.delay for s in scenario.sources] == pytest.approx([0.8, 1.0])


def test_several_sources_of_other_half_durations(tmp_path):
    """Centres are as far apart as the shifts; the longest source begins at t = 0."""
    first = CMT.replace("half duration:  0.4", "half duration: 1.0")
    for texts in (first + CMT, CMT + first):
        scenario, _ = converted(tmp_path, CMTSOLUTION=texts)
        assert [s.wavelet.delay for s in scenario.sources] == pytest.approx([2.0, 2.0])
        assert scenario.event.at == pytest.approx(2.0)
    late = first.replace("shift:     0.0", "shift: 0.5")
    scenario, _ = converted(tmp_path, CMTSOLUTION=late + CMT)
    assert [s.wavelet.delay for s in scenario.sources] == pytest.approx([2.0, 1.5])
    assert scenario.event.at == pytest.approx(1.5)


def test_a_curved_top_is_topography(tmp_path, command_line, monkeypatch):
    """Elevations run along x first; contacts that bend with it are level here, and said."""
    monkeypatch.chdir(tmp_path)
    top = "".join(f"{500 * ix + 100 * iy}\n" for iy in (1, 0) for ix in (0, 1))
    interfaces = INTERFACES.replace(
        "0.d0 0.d0 20000.d0 20000.d0\n top", "0.d0 20000.d0 20000.d0 -20000.d0\n top"
    )
    scenario, left_out = converted(tmp_path, top=top, interfaces=interfaces)
    assert len(left_out) == 1  # gravity
    assert scenario.grid.extent.z == 4600.0  # from the highest elevation of the file
    assert scenario.grid.origin.z is None
    assert [layer.top for layer in scenario.model[0].layers] == [-300.0, 1000.0]
    assert scenario.sources[0].position.depth == 2500.0
    heights = np.load(tmp_path / scenario.topography.path)
    np.testing.assert_allclose(heights, [[0.0, 500.0], [100.0, 600.0]])
    assert (scenario.topography.spacing.x, scenario.topography.origin.y) == (2e4, 0.0)
    below = MESH.replace("1 12 1 8 1 3 1", "1 12 1 8 1 4 1").replace("4 5 2", "5 5 2")
    _, left_out = converted(tmp_path, top=top, Mesh_Par_file=below)
    assert "top.dat: a contact that follows it is level here, at its mean z = " in left_out[0]
    assert command_line("convert", "run", "--force")[0] == 1
    absorbing = PAR_FILE.replace("FREE_SURFACE  = .false.", "FREE_SURFACE  = .true.")
    scenario, left_out = converted(tmp_path, top=top, Par_file=absorbing)
    assert scenario.topography is None
    assert (scenario.grid.origin.z, scenario.grid.extent.z) == (0.0, 4300.0)
    assert any("this top absorbs: it is level here" in line for line in left_out)


def test_regions_may_fill_a_row_together(tmp_path):
    """-1 stands for the last element."""
    mesh = MESH.replace("1 12 1 8 1 3 1\n", "1 -1 1 3 1 3 1\n1 -1 4 -1 1 3 3\n")
    mesh = mesh.replace("NREGIONS                        = 3", "NREGIONS = 4")
    scenario, _ = converted(tmp_path, Mesh_Par_file=mesh)
    earth = discretize(scenario).earth
    vp = earth.sample(np.full(2, 2000.0), np.array([2500.0, 3500.0]), np.full(2, 5000.0))["vp"]
    np.testing.assert_allclose(vp, [6000.0, 4000.0])


def test_forces_point_down_where_specfem_points_up(tmp_path):
    text = PAR_FILE.replace("USE_FORCE_POINT_SOURCE          = .false.",
                            "USE_FORCE_POINT_SOURCE = .true.")  # fmt: skip
    text = text.replace("USE_RICKER_TIME_FUNCTION        = .false.",
                        "USE_RICKER_TIME_FUNCTION = .true.")  # fmt: skip
    scenario, _ = converted(tmp_path, Par_file=text)
    (source,) = scenario.sources
    assert (source.force.x, source.force.y, source.force.z) == (0.6e15, 0.0, 0.8e15)
    assert (source.wavelet.type, source.wavelet.frequency) == ("ricker", 0.8)


def test_z_of_sources_and_stations_may_point_up(tmp_path):
    scenario, _ = converted(
        tmp_path, Par_file=PAR_FILE + "USE_SOURCES_RECEIVERS_Z = .true.\n",
        CMTSOLUTION=CMT.replace("2.5", "-2500.d0"), STATIONS=STATIONS.replace("400.0", "-400.d0"),
        top="100. 100. 100. 100.\n",
    )  # fmt: skip
    assert scenario.sources[0].position.z == 2600.0
    assert discretize(scenario).groups[0].coordinates.tolist() == [[3000.0, 1000.0, 500.0]]


def test_a_mesh_in_degrees_has_a_place_on_the_earth(tmp_path):
    pyproj = pytest.importorskip("pyproj")
    mesh = MESH.replace("= .true.", "= .false.")
    for old, new in (("0.0d0", "33.9d0"), ("8000.d0", "34.1d0"), ("1000.d0", "-118.3d0"),
                     ("13000.d0", "-118.0d0")):  # fmt: skip
        mesh = mesh.replace(f"= {old}", f"= {new}")
    mesh = mesh.replace("NREGIONS                        = 3", "NREGIONS = 2")
    cmt = CMT.replace("3000.0", "34.0").replace("5000.0", "-118.1")
    stations = "Z1 DB 34.05 -118.2 0.0 400.0\n"
    scenario, _ = converted(tmp_path, Mesh_Par_file=mesh, CMTSOLUTION=cmt, STATIONS=stations)
    (event,) = scenario.sources
    assert (event.type, event.wavelet.delay) == ("event", None)
    (source,) = discretize(scenario).shots[0].sources
    assert source.centre == pytest.approx(0.8)
    assert scenario.grid.origin.x == -0.5 * scenario.grid.extent.x
    # The corners are those of the mesh in UTM, to the difference of the projections.
    utm = pyproj.Proj("+proj=utm +zone=11 +ellps=WGS84")
    middle = np.mean([utm(-118.3, 33.9), utm(-118.0, 34.1)], axis=0)
    east, north = utm(-118.2, 34.05)
    (group,) = discretize(scenario).groups
    x, y, _ = group.coordinates[0]
    assert (x, y) == (
        pytest.approx(north - middle[1], abs=30),
        pytest.approx(east - middle[0], abs=30),
    )


@pytest.mark.parametrize("flag", [".false.", ".true."], ids=["degrees", "metres of UTM"])
def test_a_curved_top_of_a_mesh_in_degrees(tmp_path, flag):
    """Its elevations are at degrees, or at metres of the projection."""
    pyproj = pytest.importorskip("pyproj")
    mesh = MESH.replace("= .true.", "= .false.")
    mesh = mesh.replace("NREGIONS                        = 3", "NREGIONS = 2")
    for old, new in (("0.0d0", "33.9d0"), ("8000.d0", "34.1d0"), ("1000.d0", "-118.3d0"),
                     ("13000.d0", "-118.0d0"), ("4.d0", "20.d0")):  # fmt: skip
        mesh = mesh.replace(f"= {old}", f"= {new}")
    utm = pyproj.Proj("+proj=utm +zone=11 +ellps=WGS84")
    first = (-118.5, 33.7) if flag == ".false." else utm(-118.5, 33.7)
    steps = (0.1, 0.1) if flag == ".false." else (9e3, 11e3)
    grid = f"{flag} 9 8 {first[0]:.10g} {first[1]:.10g} {steps[0]} {steps[1]}\n top"
    interfaces = INTERFACES.replace(".true. 2 2 0.d0 0.d0 20000.d0 20000.d0\n top", grid)
    top = "".join(f"{100 * ix + 50 * iy}\n" for iy in range(8) for ix in range(9))
    scenario, _ = converted(
        tmp_path, Mesh_Par_file=mesh, interfaces=interfaces, top=top,
        CMTSOLUTION=CMT.replace("3000.0", "34.0").replace("5000.0", "-118.1"),
        STATIONS="Z1 DB 34.05 -118.2 0.0 0.0\n",
    )  # fmt: skip
    discretization = discretize(scenario)
    x, y, _ = discretization.groups[0].coordinates[0]
    place = (-118.2, 34.05) if flag == ".false." else utm(-118.2, 34.05)
    rows = (np.array(place) - first) / steps
    expected = rows @ [100.0, 50.0]
    assert -discretization.vertical.ground(y, x) == pytest.approx(expected, abs=5.0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"top": "0 10 0\n"}, "top.dat: has 3 elevations, expected 2 x 2"),
        ({"top": "-2000 -2000 -2000 -2000\n"}, "top.dat: an interface at -2000 m is not above"),
        ({"Par_file": PAR_FILE.replace("400", "4q0")}, "Par_file:5: NSTEP = 4q0: '4q0' is no num"),
        ({"Par_file": PAR_FILE.replace("NSTEP", "NSTOP")}, "Par_file: missing NSTEP; add it"),
        ({"CMTSOLUTION": CMT.partition("\n")[2]}, "CMTSOLUTION: has no line without ':'"),
        ({"Mesh_Par_file": MESH.replace("2700", "27 00")}, "a material has 9 numbers, expected 8"),
        ({"Mesh_Par_file": MESH.replace("4 5 2", "4 4 2")}, "no region gives row 5"),
        ({"interfaces": "no\n"}, "interfaces.dat: is no list of interfaces"),
    ],
)
def test_mistakes_are_one_line(tmp_path, changed, message):
    with pytest.raises(ScenarioError) as error:
        converted(tmp_path, **changed)
    (line,) = str(error.value).split("\n")
    assert message in line
    assert str(tmp_path) in line


def test_a_fluid_is_carried_over_with_a_warning(tmp_path, command_line, monkeypatch):
    monkeypatch.chdir(tmp_path)
    water = "1000  1500  0  9999.  9999.  0  1"
    run_folder(tmp_path, Mesh_Par_file=MESH.replace("2300  3000  1500  2000.  50.  0  2", water))
    code, out, err = command_line("convert", "run/DATA/Par_file")
    assert (code, out) == (0, "run.yaml\n")
    assert "material 2 is a fluid: a source in it would be of another strength" in err
    assert load("run.yaml").model[0].layers[0].vs == 0.0


def test_a_folder_of_something_else(tmp_path):
    with pytest.raises(ScenarioError, match="has no Par_file"):
        convert(tmp_path, tmp_path / "scenario.yaml")
