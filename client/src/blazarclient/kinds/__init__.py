"""Resource kinds: what the client knows about each reservable thing.

A kind is found by its entry point in the group ``blazarclient.kinds``, so other distributions can add kinds.
No module outside its own package imports a kind.
"""
