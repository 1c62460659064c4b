"""The run loop and the time loop."""
