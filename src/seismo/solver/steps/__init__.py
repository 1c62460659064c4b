"""The launches of a time step, bound to one subdomain."""
