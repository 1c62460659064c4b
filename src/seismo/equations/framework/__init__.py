"""Tables, formulas and parameters, of which wave equations are made."""
