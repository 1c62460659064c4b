"""Suggestions: the key or value that is meant by an unknown word.

It may be misspelt, called as in another program, or right in another place of the scenario.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from seismo.equations.framework.parameters import CONSTANTS
from seismo.equations.framework.registry import EQUATIONS, PHYSICS, VARIANTS, physics_for
from seismo.errors import KeyPath
from seismo.scenario.mistakes import schema_text
from seismo.scenario.quantities import Mistake, Mistakes, Suggestion

_SUGGESTED = 100  # entries of a list for which the likeliest meaning is looked for

_STEPS = "a time, not a number of steps"
_POINTS = "a length, of which grid.spacing makes points"
_SURFACE = "write top: free_surface"
_LAYER = "of the layers outside the region, which are there anyway"
_MOVING = "write relative_to: source"
_SHOTS = "a list of {position: ...}, between which the one source moves"
_TILT = "of the symmetry axis from z"
_DEPTH = "the depth where it begins, not how thick it is"
# Names of keys elsewhere, their names here, and the difference in meaning of the last of these. A
# key with its section is meant wherever it stands, another key where the part has it.
_CALLED = {
    name: (keys.split(), remark)
    for names, keys, remark in (
        ("mw", "magnitude", ""),
        ("m0", "moment", ""),
        ("amplitude", "moment force", ""),
        ("density", "rho", ""),
        ("t0", "delay", ""),
        ("depth", "z top", ""),
        ("thickness", "points top", _DEPTH),
        ("filename file", "path", ""),
        ("f0 fc freq peak_frequency dominant_frequency central_frequency", "frequency", ""),
        ("tmax t_max t_end tend total_time", "time.duration", ""),
        ("nt nsteps n_steps num_steps steps timesteps", "time.duration", _STEPS),
        ("dt delta_t time_step timestep", "time.step", ""),
        ("cfl", "time.courant", ""),
        ("size domain_size", "extent grid.extent", ""),
        ("nx ny nz shape", "shape grid.extent", _POINTS),
        ("dx dy dz dh", "spacing grid.spacing", ""),
        ("space_order spatial_order fd_order", "grid.order", ""),
        ("free_surface freesurface fs", "boundaries.top", _SURFACE),
        ("pml npml cpml n_pml pml_width pml_thickness", "boundaries.layer.points", _LAYER),
        ("nabs nbl absorb absorbing sponge", "boundaries.layer.points", _LAYER),
        ("src", "sources", ""),
        ("shots shot_positions", "survey.shots", _SHOTS),
        ("relative offset offsets moving moves follow_source roll_along", "relative_to", _MOVING),
        ("rec recorders stations", "receivers", ""),
        ("tilt dip_angle", "theta", _TILT),
        ("psi beta", "azimuth", ""),
        ("topo dem", "topography", ""),
        ("velocity velocity_model medium materials", "model", ""),
    )
    for name in names.split()
}  # fmt: skip


_VALUES = {  # by their names elsewhere
    name: value
    for names, value in (
        ("v vel vx vy vz particle_velocity", "velocity"),
        ("srf finite_source kinematic rupture", "finite_fault"),
        ("u disp ux uy uz", "displacement"),
        ("a acc accel ax ay az", "acceleration"),
        ("p hydrophone", "pressure"),
        ("sxx syy szz sxy sxz syz", "stress"),
        ("homogeneous homogenous constant halfspace half_space background", "uniform"),
        ("grid gridded npy hdf5 segy", "file"),
        ("stochastic gaussian_random von_karman heterogeneity heterogeneous fractal", "random"),
        ("netcdf nc emc cvm ucvm geomodelgrids gmg sfile rfile", "volume"),
        ("numpy ndarray xarray dataarray", "array"),
        ("disc disk circle", "sphere"),
        ("streamer cable towed_streamer", "line"),
        ("box rectangle", "block"),
        ("double_couple mt cmt dc", "moment_tensor"),
        ("pml cpml", "absorbing"),
        ("topography topo dem elevation surface", "ground"),
    )
    for name in names.split()
} | {name: physics for physics in PHYSICS for name in EQUATIONS[physics].also_called}
_GIVEN_OTHERWISE = {  # advice by words for facts that are given otherwise here
    name: advice
    for names, advice in (
        ("topography topo dem ground elevation",
         "the section topography describes the ground; positions have depth below it, or z"),
        ("q qmu qkappa q_p q_s q_mu q_kappa viscoelastic viscoacoustic anelastic tau tau_p tau_s "
         "tau_sigma tau_epsilon tau_e sls",
         "media attenuate where the model gives qp or qs; see the section attenuation"),
        ("vti tti hti orthorhombic ortho triclinic anisotropic anisotropy eta thomsen tsvankin "
         "stiffness cij c_ij",
         "media are anisotropic where the model gives epsilon, delta, gamma (Thomsen), "
         "epsilon1 ... gamma2 (Tsvankin) or c11 ... c66, turned by theta, phi and azimuth"),
    )
    for name in names.split()
}  # fmt: skip


def closest_match(
    word: object, known: Iterable[str], beginnings: bool = True, remarks: bool = True
) -> Suggestion:
    """Return the nearest of the `known` words, ``"; did you mean 'x'?"``, or an empty suggestion.

    With `beginnings` that is also a word which begins with it. Words for things written otherwise
    are followed by the syntax, with `remarks`.
    """
    by_lower = {name.lower(): name for name in known}
    lower = str(word).lower()[:64]
    if _VALUES.get(lower) in by_lower:
        return _meant(_VALUES[lower])
    if remark := _GIVEN_OTHERWISE.get(lower):
        return Suggestion(f"; {remark}") if remarks else Suggestion()
    matches = difflib.get_close_matches(lower, by_lower, 1, 0.6)
    if beginnings and not matches and len(lower) > 2:
        matches = [name for name in by_lower if name.startswith(lower)]
    return _meant(by_lower[matches[0]]) if matches else Suggestion()


def _meant(word: str, remark: str = "") -> Suggestion:
    return Suggestion(
        f"; did you mean '{word}'{f' ({remark})' if remark else ''}?", word, not remark
    )


def intended_key(path: KeyPath, owner: type[BaseModel] | None, root: type[BaseModel]) -> Suggestion:
    """Return the key that is meant by the unknown key at a path, or else the allowed keys.

    Args:
        path: of the key.
        owner: the part that does not have it.
        root: of the scenario.
    """
    unknown = str(path[-1])
    keys = list(owner.model_fields) if owner else []
    targets, remark = _CALLED.get(unknown.lower(), ([], ""))
    target_key = next(filter(None, (_relative_key(t, path[:-1], keys, root) for t in targets)), "")
    is_deeper = any(_has(owner, key, unknown) for key in keys)
    if not target_key and (hint := closest_match(unknown, keys, beginnings=not is_deeper)).text:
        return _meant(hint.meant, remark) if remark and hint.meant else hint
    words = [unknown, *targets]
    deeper = [(key, word) for word in words for key in keys if _has(owner, key, word)]
    if deeper and not target_key:
        key, word = deeper[0]
        target_key = f"{key}.{word}"
        if other_keys := [other for other, same in deeper[1:] if same == word]:
            remark = f"write {key}: {{{word}: ...}}, and so for {_listed(other_keys)}"
            return _meant(target_key, remark)
    target_key = target_key or _elsewhere(path, root)
    if not target_key:
        return Suggestion(f"; allowed are {_listed(keys)}")
    different = remark and target_key.rpartition(".")[2] == targets[-1].rpartition(".")[2]
    return _meant(target_key, remark if different else "")


def _listed(keys: list[str]) -> str:
    """Return keys as people list them: of all elastic constants the first and the last."""
    shown = []
    for key in keys:
        constant, gradient, _ = key.partition("_gradient")
        if constant not in CONSTANTS:
            shown.append(key)
        elif constant == "c11":
            shown.append(f"c11{gradient} ... c66{gradient}")
    return ", ".join(shown)


def _relative_key(target: str, path: KeyPath, keys: list[str], root: type[BaseModel]) -> str:
    """Write the key that a name stands for as seen from a place; nothing where there is none."""
    keys_of_target = target.split(".")
    if keys_of_target[-1] in keys:
        return keys_of_target[-1]
    if len(keys_of_target) == 1 or schema_text.at(root, tuple(keys_of_target)) is None:
        return ""
    inside = path == tuple(keys_of_target[: len(path)])
    return ".".join(keys_of_target[len(path) :] if inside else keys_of_target)


def _has(owner: Any, key: str, word: str) -> bool:
    """Whether the value of a key, in any of its kinds, has a key itself."""
    kinds = map(schema_text.model_at, schema_text.branches(schema_text.at(owner, (key,))))
    return any(kind is not None and word in kind.model_fields for kind in kinds)


def _elsewhere(path: KeyPath, root: type[BaseModel]) -> str:
    """Return the only other section that has a key, or the only place that a stray key is for."""
    word = str(path[-1])
    if len(path) > 2 or any(isinstance(key, int) for key in path) or len(word) < 3:
        return ""
    paths = _paths_by_word(root).get(word, ())
    sections = [
        path_text for path_text in paths if path_text.count(".") == 1 and "[" not in path_text
    ]
    candidates = sections if len(sections) == 1 or len(path) > 1 else paths
    return candidates[0] if len(candidates) == 1 else ""


@cache
def _paths_by_word(root: type[BaseModel]) -> dict[str, tuple[str, ...]]:
    paths_by_word: dict[str, tuple[str, ...]] = {}
    for path in dict.fromkeys(_below("", root)):
        word = path.rpartition(".")[2]
        paths_by_word[word] = (*paths_by_word.get(word, ()), path)
    return paths_by_word


def _below(path: str, annotation: Any) -> Iterator[str]:
    """Walk through the keys of parts, first ones of lists, and all kinds of a part."""
    for member in schema_text.branches(annotation):
        bare = schema_text.unwrapped(member)
        if get_origin(bare) is tuple and get_args(bare)[-1] is Ellipsis:
            yield from _below(f"{path}[0]", get_args(bare)[0])
        elif model := schema_text.model_at(member):
            for name, field in model.model_fields.items():
                key_path = f"{path}.{name}".removeprefix(".")
                yield key_path
                yield from _below(key_path, schema_text.annotation_of(field))


def listed_names(
    path: KeyPath, names: tuple[str, ...], known: tuple[str, ...], offers: str
) -> Mistakes:
    """Check that each name is known and stands in a list but once."""
    seen: set[str] = set()
    for number, name in enumerate(names):
        if name not in known:
            hint = ""
            if number < _SUGGESTED:
                hint = _of_other_equations(name) or closest_match(name, known, remarks=False).text
            yield Mistake((*path, number), f"{offers} {', '.join(known)}{hint}")
        elif name in seen:
            yield Mistake((*path, number), "listed twice: keep one")
        seen.add(name)


def _of_other_equations(name: str) -> str:
    """Describe which equations have the field of a name, if not all have it."""
    equations = ", ".join(
        f"{physics} in {n}-D"
        for physics, n in VARIANTS
        if any(f.name == name and not f.previous_of for f in physics_for(physics, n).fields)
    )
    return f"; {name} is a field of physics {equations}" if equations else ""
