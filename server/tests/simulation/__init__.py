"""Deterministic simulation of the whole service: see docs/contributor/simulation.md."""
