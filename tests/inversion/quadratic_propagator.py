"""A stand-in for a propagator: traces that are linear or quadratic in two models."""

import numpy as np

SHAPE = (4, 5)  # of a model
SECTIONS = {
    "line": {"vx": (2, 3, 40), "vz": (2, 3, 40)},
    "well": {"pressure": (2, 1, 25)},
}  # (shot, receiver, sample)


class QuadraticPropagator:
    """Returns A_m (m + curvature m^2), summed over models m, as traces; its last call is kept."""

    def __init__(self, names=("vp", "rho"), curvature=0.0, seed=0):
        random = np.random.default_rng(seed)
        samples = sum(int(np.prod(s)) for of in SECTIONS.values() for s in of.values())
        cells = int(np.prod(SHAPE))
        self.matrices = {
            name: random.standard_normal((samples, cells)) / np.sqrt(cells) for name in names
        }
        self.curvature = curvature
        self.models = {}
        self.calls = 0
        self.keep = False

    def __call__(self, *, keep=False, **models):
        self.models = {name: np.array(model, float) for name, model in models.items()}
        self.calls += 1
        self.keep = keep
        flat = sum(
            self.matrices[name] @ (model + self.curvature * model**2).ravel()
            for name, model in self.models.items()
        )
        return split(flat)

    def pullback(self, adjoint):
        flat = np.concatenate(
            [
                adjoint.get(set_name, {}).get(component, np.zeros(shape)).ravel()
                for set_name, sections in SECTIONS.items()
                for component, shape in sections.items()
            ]
        )
        return {
            name: (self.matrices[name].T @ flat).reshape(SHAPE) * (1 + 2 * self.curvature * model)
            for name, model in self.models.items()
        }


def split(flat):
    """Return traces of a vector of all samples."""
    traces = {}
    for set_name, sections in SECTIONS.items():
        traces[set_name] = {}
        for component, shape in sections.items():
            count = int(np.prod(shape))
            traces[set_name][component] = flat[:count].reshape(shape)
            flat = flat[count:]
    return traces


def random_models(seed, names=("vp", "rho")):
    random = np.random.default_rng(seed)
    return {name: 1.0 + random.random(SHAPE) for name in names}
