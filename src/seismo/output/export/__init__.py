"""Results in the formats of other programs; each format is a function that `FORMATS` names."""
