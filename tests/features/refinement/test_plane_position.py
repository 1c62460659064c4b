"""Where the plane of a refined grid may lie, and what else is told of a scenario in one pass."""

import pytest

from seismo.errors import ScenarioError
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize
from test_refined_ground import scene_on_hill
from test_refinement import scene


def messages_of(document: dict) -> tuple[str, ...]:
    with pytest.raises(ScenarioError) as refusal:
        discretize(from_dict(document, "."))
    return refusal.value.messages


def with_plane(document: dict, below: float) -> dict:
    return document | {"grid": document["grid"] | {"refinement": [{"below": below}]}}


def planes_named(message: str) -> list[float]:
    """Return the planes of the remedy."""
    return [float(z.split(" m")[0]) for z in message.split("use below: ")[1].split(" or ")]


def test_planes_that_are_named_suit() -> None:
    """Both above and below all of the sources that keep them away."""
    document = with_plane(scene(), 540.0)
    for source, z in zip(document["sources"], (520.0, 570.0), strict=True):
        source["position"]["z"] = z
    both = messages_of(document)
    assert [text.count("lies too near the plane at z = 540 m") for text in both] == [1, 1]
    planes = planes_named(both[0])
    assert len(planes) == 2
    assert planes == planes_named(both[1])
    for below in planes:
        discretization = discretize(from_dict(with_plane(document, below), "."))
        assert float(discretization.grid.coordinate("z", discretization.interface.row)) == below
    # The next row towards them is refused.
    for below in (planes[0] + 30.0, planes[1] - 30.0):
        assert "lies too near" in messages_of(with_plane(document, below))[0]


def test_a_source_under_a_relief_moves_the_plane_below_it() -> None:
    """The plane that the ground needs is beside the source: another one is named, which suits."""
    document = with_plane(scene_on_hill(), 330.0)
    document["grid"]["extent"] = {"x": 900.0, "z": 1500.0}
    ground, *_ = messages_of(document)
    enough = float(ground.split("use ")[1].split(" m")[0])
    document["sources"][1]["position"]["z"] = enough + 30.0
    both = messages_of(document)
    assert both[0] == ground
    assert f"lies too near the plane at z = {enough:g} m" in both[1]
    assert both[1].endswith(f"(with the plane at z = {enough:g} m, which the ground needs)")
    (below,) = planes_named(both[1])
    assert below > enough
    assert discretize(from_dict(with_plane(document, below), ".")).interface is not None


def test_no_plane_is_named_that_lies_below_the_grid() -> None:
    """As the ground needs it: the extent has to grow."""
    document = with_plane(scene_on_hill(), 330.0)
    document["grid"]["extent"] = {"x": 900.0, "z": 480.0}
    document["sources"] = document["sources"][:1]
    (text,) = messages_of(document)
    assert "no plane of this grid does: make grid.extent.z larger" in text


def test_no_plane_is_named_where_none_suits() -> None:
    document = scene()
    for source, z in zip(document["sources"], (390.0, 600.0), strict=True):
        source["position"]["z"] = z
    document["sources"].append(document["sources"][1] | {"position": {"x": 450.0, "z": 800.0}})
    document["grid"]["extent"]["z"] = 1020.0
    for text in messages_of(document):
        assert "use below" not in text
        assert text.endswith("; no other plane suits")


def test_what_is_wrong_in_several_sections_is_told_together() -> None:
    """Sources, receivers, shots' boxes and the plane under the ground, in one pass."""
    document = with_plane(scene_on_hill(), 330.0)
    for one in (document["sources"][0], document["receivers"][0]):
        for position in one.get("positions", [one.get("position")]):
            position.pop("depth", None)
            position["z"] = -85.0
    box = {"box": {"x": [5.0, 7.0]}, "name": "tiny", "quantities": ["pgv"]}
    document["output"] = {"maps": [box]}
    told = messages_of(document)
    keys = [text.partition(": ")[0] for text in told]
    count = len(document["receivers"][0]["positions"])
    assert keys == [
        "grid.refinement[0].below",
        "sources[0].position",
        *(f"receivers[0].positions[{n}]" for n in range(count)),
        "output.maps[0].box.x",
    ]
