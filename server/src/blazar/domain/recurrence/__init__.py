"""Recurrence: on which days, and from when to when, something takes place again and again. RFC 5545 has the
rules."""
