"""Retrieval: legs that each find chunks in their own way, and what is made of their hits.

`keyword`, `fuzzy` and `filename` are legs: they give Hits with a score between 0 and 1 that says
how much of the query they can prove. `fuse` puts the legs' hits in one order, `passages` reads the
rows behind them, `answer` makes the Answer. The story that calls them is rag_search.py.
"""
