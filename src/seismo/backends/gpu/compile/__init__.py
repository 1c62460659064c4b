"""Compilation of kernels to the instructions of a card."""
