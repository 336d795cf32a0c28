"""Environment variables, without their secrets."""

from collections.abc import Mapping
from dataclasses import dataclass

from junto.security.secrets import Redactor


@dataclass(frozen=True, slots=True)
class Variable:
    """What may be told of one environment variable."""

    key: str
    is_set: bool
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Environment:
    """The variables of this process, as far as a caller may see them."""

    variables: Mapping[str, str]
    redactor: Redactor

    def get(self, key: str) -> Variable:
        """Return the variable `key`; of a secret one only that it is set."""
        value = self.variables.get(key)
        if value is None:
            return Variable(key, is_set=False)
        if self.redactor.is_secret(key, value):
            return Variable(key, is_set=True)
        # What is not text in the environment comes as surrogates, which cannot be sent.
        sendable = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return Variable(key, is_set=True, value=sendable)
