"""Finite faults: many subfaults with moment rates of their own."""
