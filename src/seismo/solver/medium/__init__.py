"""The effective medium of a run on its grid."""
