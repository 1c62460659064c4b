"""The earth: vp, vs, rho at any point, and the effective medium a grid should carry."""
