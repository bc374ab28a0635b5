"""A message's way, step by step, for whoever asked for it: nothing but a check while nobody has."""
