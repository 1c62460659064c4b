"""Warnings of `seismo check`, by subject."""
