"""Model providers: the catalog, adapters for each API, and the request pipeline."""
