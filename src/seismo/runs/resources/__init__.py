"""Memory, disk and time that a run takes, and the devices and ranks that it is placed on."""
