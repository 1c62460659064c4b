"""The expected error of contacts of media."""
