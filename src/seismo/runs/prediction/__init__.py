"""The expected error of a run: causes, remedies and warnings of `seismo check`."""
