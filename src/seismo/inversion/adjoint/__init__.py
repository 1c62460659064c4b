"""Adjoint runs by the forward kernels, and what they tell of the model."""
