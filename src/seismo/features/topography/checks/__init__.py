"""Lines of `seismo check` about the ground, and errors that it causes."""
