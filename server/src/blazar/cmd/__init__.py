"""The programs: command lines, signals and exit codes; everything else is in bootstrap."""
