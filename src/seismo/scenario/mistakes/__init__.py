"""Mistakes of a scenario: messages, suggestions, and checks that go on after them."""
