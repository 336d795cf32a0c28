"""Libraries that tell their makers how they are used: they are kept from it before they load."""

import os

# onnxruntime would make an identity for this machine and send it home, with what it computes on.
# It looks while it is loaded, and never again; its name has changed between versions.
_VARIABLES = ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED")


def keep_quiet() -> None:
    """See that nothing that is loaded from now on reports home."""
    for name in _VARIABLES:
        os.environ[name] = "1"
