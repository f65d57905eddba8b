"""Parsers of typed text: times, durations, time zones and key-value pairs.

Each parser raises InvalidInput with an example of valid input.
"""
