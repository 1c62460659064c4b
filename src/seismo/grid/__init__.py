"""The grid: points, boxes, difference coefficients, interpolation, time step, subdomains."""
