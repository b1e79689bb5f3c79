"""Exact numbers and linear systems over the rationals."""
