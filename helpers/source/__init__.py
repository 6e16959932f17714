"""The knowledge folder: what is in it, what is left out and why, and opening it safely.

Does not: parse, hash on a hunch, or know the index.
"""
