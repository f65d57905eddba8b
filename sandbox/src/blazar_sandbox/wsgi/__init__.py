"""How does a WSGI call become a request of ours, and an answer of ours a WSGI answer?"""
