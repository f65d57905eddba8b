"""Which hosts are there, and which servers run on them? Nova's part of the sandbox."""
