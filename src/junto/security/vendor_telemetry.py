"""Disable the telemetry of third-party libraries before they are imported."""

import os

# onnxruntime generates a machine ID and sends it to its vendor along with hardware information. It
# reads the opt-out variable only at import, and its name differs between versions.
_OPT_OUT_VARIABLES = ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED")


def disable_vendor_telemetry() -> None:
    """Disable the telemetry of every library that is imported from now on."""
    for name in _OPT_OUT_VARIABLES:
        os.environ[name] = "1"
