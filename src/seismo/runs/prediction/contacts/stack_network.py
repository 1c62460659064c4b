"""Waves between stacks of contacts: waves that a source sends into each, and that reach a depth.

Each stack of a layered earth scatters incoming waves by its matrix (`scattering`); layers carry
outgoing waves to the next, with exp(-a h) over a thickness h at the vertical slope a of a wave.

In the vertical plane of a wave a force and a moment are sums of the five unit sources of
`seismo.exact.stack`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from seismo.equations.rock.plane_waves import Rock
from seismo.exact.stack import psv_source, psv_vectors
from seismo.runs.prediction.contacts.scattering import ContactStack, DiscreteStack


@dataclass(frozen=True)
class RadiatingSource:
    """A source, in unit sources of each azimuthal order.

    Attributes:
        depth: m.
        orders: azimuthal order of each column.
        weights: of the unit sources, five for each column; P and S amplitudes of a plane wave.
        growth: power of the frequency by which its motion grows far away.
        dimensions: of the grid.
        slowness: horizontal, in s/m, of a plane wave; None of other sources.
    """

    depth: float
    orders: tuple[int, ...]
    weights: tuple[tuple[float, ...], ...]
    growth: float
    dimensions: int
    slowness: float | None = None

    def amplitudes(self, rock: Rock, s: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return up- and down-going amplitudes (wave, kinds, column) in the layer of the source.

        Args:
            rock: of the layer.
            s: (wave) 1/s.
            k: (wave) wavenumbers in 1/m.
        """
        weights = np.array(self.weights).T
        if self.slowness is not None:
            kinds = 2 if rock.vs else 1
            up = np.broadcast_to(weights[:kinds], (k.size, kinds, 1)).astype(complex)
            return up, np.zeros_like(up)
        sides = psv_source(rock, s, k) @ weights
        return sides[:, 1], sides[:, 0]


@dataclass(frozen=True)
class LayerSection:
    """What waves meet from the top down: stacks, and the layers between them.

    Attributes:
        stacks: contacts, and the surface.
        rows: of the grid about each; None where it is exact there, too.
        tops: depth of the first contact of each in m, or of the surface.
        bottoms: depth of the last contact of each in m.
        clearance: so close in m to contacts waves are not distinguished by how they decay.
    """

    stacks: tuple[ContactStack, ...]
    rows: tuple[DiscreteStack | None, ...]
    tops: tuple[float, ...]
    bottoms: tuple[float, ...]
    clearance: float

    @property
    def layers(self) -> list[Rock]:
        """Media above the first stack, between each two, and below the last."""
        return [self.stacks[0].media[0], *(stack.media[-1] for stack in self.stacks)]

    @property
    def slowest(self) -> float:
        """Velocity in m/s of S waves, in fluids of P waves, in the slowest of `layers`."""
        return min(rock.vs or rock.vp for rock in self.layers)

    def layer_at(self, z: float) -> int:
        """Return which layer holds a depth; for a depth within a stack, the layer below it."""
        return int(np.searchsorted(self.tops, z, "right"))

    def clear(self, z: float, layer: int) -> float:
        """Return a depth moved away from contacts at the ends of its layer, as far as it must."""
        low = -math.inf
        high = math.inf
        if layer:
            low = self.bottoms[layer - 1] + self.clearance * (self.rows[layer - 1] is not None)
        if layer < len(self.tops):
            high = self.tops[layer] - self.clearance * (self.rows[layer] is not None)
        return min(max(z, low), high) if low <= high else 0.5 * (low + high)


@dataclass(frozen=True)
class StackNetwork:
    """The stacks of a section at given wavenumbers, linked by the layers between them.

    Attributes:
        section: the stacks.
        s: (wave) 1/s.
        k: (wave) wavenumbers in 1/m.
        a: (wave, kinds) slopes in 1/m of each layer.
    """

    section: LayerSection
    s: np.ndarray
    k: np.ndarray
    a: list[np.ndarray]

    @property
    def free(self) -> bool:
        """Whether nothing is above the first stack."""
        return self.section.stacks[0].top is not None

    def kinds(self, layer: int) -> int:
        """Return how many kinds of waves a layer has; none above a surface."""
        return 0 if self.free and not layer else self.a[layer].shape[1]

    def motion(
        self, matrices: list[np.ndarray], source: RadiatingSource, depths: np.ndarray
    ) -> np.ndarray:
        """Return fields (depth, wave, 6, column) of a source, with given matrices of the stacks.

        They are U, W, P, and strains exx, ezz and exz without their factors -1 and i. P is the sum
        of the amplitudes of P waves, to which pressure is proportional; 0 on a free surface among
        the rows of a stack.
        """
        section = self.section
        home = section.layer_at(source.depth)
        z = self._depth(source)
        up, down = source.amplitudes(section.layers[home], self.s, self.k)
        entering = self.entering(matrices, source)
        leaving = [m @ e for m, e in zip(matrices, entering, strict=True)]
        fields = []
        for depth in map(float, depths):
            n = section.layer_at(depth)
            if self.free and n == 1 and depth < section.bottoms[0]:
                moved = leaving[0][:, self.kinds(1) :]
                free = np.concatenate([moved, np.zeros_like(moved)], axis=1)
                # U of P waves is k times their amplitude.
                share = section.stacks[0].rigid / self.k[:, None, None]
                pressure = share * moved[:, :1]
                fields.append(self._fields(section.stacks[0].media[0], free, pressure))
                continue
            at = section.clear(depth, n)
            falling, rising = self._arriving(leaving, n, at)
            if n == home:
                way = np.exp(-self.a[n] * abs(at - z))[:, :, None]
                falling = falling + (at > z) * down * way
                rising = rising + (at <= z) * up * way
            vectors = psv_vectors(section.layers[n], self.s, self.k)
            moved = vectors[:, 0] @ falling + vectors[:, 1] @ rising
            fields.append(self._fields(section.layers[n], moved, falling[:, :1] + rising[:, :1]))
        return np.array(fields)

    def entering(self, matrices: list[np.ndarray], source: RadiatingSource) -> list[np.ndarray]:
        """Return the waves (wave, kinds, column) into each stack, with given matrices of all."""
        section = self.section
        home = section.layer_at(source.depth)
        z = self._depth(source)
        up, down = source.amplitudes(section.layers[home], self.s, self.k)
        alone = []  # waves from the source itself into each stack, from above and from below
        for n, (top, bottom) in enumerate(zip(section.tops, section.bottoms, strict=True)):
            sent = [
                np.zeros((len(self.k), self.kinds(m), up.shape[2]), complex) for m in (n, n + 1)
            ]
            if home == n:
                sent[0] = down * np.exp(-self.a[n] * (top - z))[:, :, None]
            elif home == n + 1:
                sent[1] = up * np.exp(-self.a[n + 1] * (z - bottom))[:, :, None]
            alone.append(np.concatenate(sent, axis=1))
        return self._entering(matrices, alone)

    def _depth(self, source: RadiatingSource) -> float:
        """Return the depth in m that a source counts as at: at or below the stack above it."""
        home = self.section.layer_at(source.depth)
        return max(source.depth, self.section.bottoms[home - 1]) if home else source.depth

    def _fields(self, rock: Rock, moved: np.ndarray, pressure: np.ndarray) -> np.ndarray:
        """Return what `motion` does at a depth, of U, W, X and Z (wave, 4, column) in a rock."""
        along, down, shear, pull = (moved[:, n : n + 1] for n in range(4))
        exx = self.k[:, None, None] * along
        ezz = pull / rock.stiffness + rock.thin_stretch * exx
        # A fluid does not rotate: d_z u_x = d_x u_z.
        exz = shear / (2.0 * rock.shear) if rock.shear else self.k[:, None, None] * down
        return np.concatenate([along, down, pressure, exx, ezz, exz], axis=1)

    def _arriving(
        self, leaving: list[np.ndarray], layer: int, z: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the waves (wave, kinds, column) that stacks send down and up to a depth."""
        section = self.section
        count = self.kinds(layer)
        columns = leaving[0].shape[2]
        falling, rising = (np.zeros((len(self.k), count, columns), complex) for _ in range(2))
        if layer:
            way = np.exp(-self.a[layer] * (z - section.bottoms[layer - 1]))[:, :, None]
            first = self.kinds(layer - 1)
            falling = leaving[layer - 1][:, first : first + count] * way
        if layer < len(leaving):
            way = np.exp(-self.a[layer] * (section.tops[layer] - z))[:, :, None]
            rising = leaving[layer][:, :count] * way
        return falling, rising

    def _entering(self, matrices: list[np.ndarray], alone: list[np.ndarray]) -> list[np.ndarray]:
        """Return all waves into each stack (wave, kinds, column), including from each other.

        Stacks meet their neighbours only, so that these are eliminated from the top down.
        """
        gains = []
        offsets = []
        into_next = None
        for n, sent in enumerate(alone):
            system = np.eye(sent.shape[1])[None]
            right = sent
            if into_next is not None:
                system = system - into_next @ gains[-1]
                right = right + into_next @ offsets[-1]
            into_next, into_this = self._links(matrices, n)
            count = into_this.shape[2]
            into_this = np.broadcast_to(into_this, (len(self.k), *into_this.shape[1:]))
            solution = np.linalg.solve(system, np.concatenate([into_this, right], axis=2))
            gains.append(solution[:, :, :count])
            offsets.append(solution[:, :, count:])
        for n in reversed(range(len(offsets) - 1)):
            offsets[n] = offsets[n] + gains[n] @ offsets[n + 1]
        return offsets

    def _links(self, matrices: list[np.ndarray], n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return waves into stack n + 1 from waves into stack n, and the reverse.

        Both are (wave, kinds, kinds); the last stack has none below it.
        """
        first = self.kinds(n)
        count = self.kinds(n + 1)
        if n + 1 == len(matrices):
            return np.zeros((1, 0, first + count)), np.zeros((1, first + count, 0))
        gap = self.section.tops[n + 1] - self.section.bottoms[n]
        way = np.exp(-self.a[n + 1] * gap)[:, :, None]
        down = way * matrices[n][:, first : first + count]
        up = way * matrices[n + 1][:, :count]
        last = self.kinds(n + 2)
        return (
            np.pad(down, ((0, 0), (0, last), (0, 0))), np.pad(up, ((0, 0), (first, 0), (0, 0)))
        )  # fmt: skip
