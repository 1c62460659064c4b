"""Processes and threads that share a run, and the messages between them."""
