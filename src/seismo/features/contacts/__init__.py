"""Contacts of fluid and solid."""
