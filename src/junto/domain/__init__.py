"""Plain frozen data that every room shares; no I/O."""
