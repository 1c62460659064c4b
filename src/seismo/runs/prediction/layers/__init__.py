"""The expected error of absorbing layers."""
