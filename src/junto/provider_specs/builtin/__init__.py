"""The known providers: a module here with a `SPEC` is all that a provider needs."""
