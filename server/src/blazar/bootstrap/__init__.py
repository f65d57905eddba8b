"""The composition root: configuration in, running parts out. No other package constructs adapters."""
