"""Language: how text becomes terms, the same way for the index and for a query.

One analyser serves both sides. It depends on nothing that may or may not be installed, so an
index written on one machine answers queries on another. `terms` is the entry; `normalize`,
`thai`, `korean` and `english` are its parts.
"""
