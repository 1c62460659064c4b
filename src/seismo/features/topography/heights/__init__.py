"""Heights of the ground: their files, and the surface through them."""
