"""A place where pip finds the wheels that lie there, and nothing else."""

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from junto.providers.embedded.packages import Package

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@dataclass
class Shop:
    """Wheels in a folder."""

    folder: Path

    @classmethod
    def opened(cls, beneath: Path, monkeypatch: pytest.MonkeyPatch) -> "Shop":
        """Open one, and send pip there."""
        folder = beneath / "shop"
        folder.mkdir()
        settings = beneath / "pip.conf"
        settings.write_text(f"[global]\nno-index = true\nfind-links = {folder}\n")
        monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
        return cls(folder)

    def stock(self, name: str, member: str, data: bytes) -> Package:
        """Put a wheel there that carries one file."""
        plain = name.replace("-", "_")
        wheel = self.folder / f"{plain}-1.0-py3-none-any.whl"
        info = f"{plain}-1.0.dist-info"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(member, data)
            archive.writestr(f"{info}/METADATA", METADATA.format(name=name))
            archive.writestr(f"{info}/WHEEL", WHEEL)
            archive.writestr(f"{info}/RECORD", "")
        return Package(
            name=name,
            version="1.0",
            wheel_bytes=wheel.stat().st_size,
            wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
            member=member,
            member_sha256=hashlib.sha256(data).hexdigest(),
        )
