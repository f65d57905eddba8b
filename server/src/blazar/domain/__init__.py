"""The rules of reservations: pure values and functions, no clock, no I/O, no logging, no configuration."""
