"""Tests of the edge; they mirror its folders."""
