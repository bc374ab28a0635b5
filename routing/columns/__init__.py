"""Leaf functions, Column → Column: native Spark expressions and nothing else."""
