"""The free surface: its closure, images beyond faces, and slopes that its traction prescribes."""
