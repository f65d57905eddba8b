"""The program that runs a real OpenStack on one machine; it needs only the standard library."""
