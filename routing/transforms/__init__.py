"""Transforms, DataFrame → DataFrame; the select at the start and the end of each is its contract."""
