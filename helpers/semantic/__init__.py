"""Meaning: the embedding model, its own process, and the way there.

`semantic_worker.py` is the only process that runs the model; every other one imports `model`
(is there one, which) and `client` (ask it), both on the standard library alone.
"""
