"""Exact solutions of the wave equation and the measures that compare a simulation with them.

They exist so that tests, validation reports and benchmarks share a truth that was not computed
by the scheme under test; the expected error of a run is by the same plane waves.

Conventions: SI units; axes x, (y,) z with z down; every solution takes the samples of its source
function, the first at t = 0, and returns the response on the same times. Modules:

laplace        the transform they all share
medium         media, elastic or attenuating, for all of these
acoustic       whole space and half-space, 2-D and 3-D
whole_space    elastic forces and moment tensors, 2-D (P-SV) and 3-D
anisotropic    the same in anisotropic rock, forces and moment tensors, 2-D and 3-D
acoustic_vti   pressures of fluids that are transversely isotropic, 2-D and 3-D
shear          SH in 2-D
stack          plane waves in layers; coefficients (Zoeppritz)
layered_plane  layers, free surface, fluids in 2-D (Lamb's problem); plane waves from below
layered        the same in 3-D (Lamb's problem, LOH.1)
surface_waves  dispersion of Rayleigh and Love modes; Rayleigh and Scholte speeds
scheme         plane waves of the discrete equations themselves
metrics        L2, amplitude, shift, envelope and phase misfits
"""
