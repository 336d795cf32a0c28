"""The machine as far as it decides where programs keep their configuration."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

System = Literal["linux", "macos", "windows"]


@dataclass(frozen=True, slots=True)
class Machine:
    """Which system it is, whose home, in what environment, and where somebody stands."""

    system: System
    home: Path
    environment: Mapping[str, str]
    folder: Path

    @classmethod
    def here(cls) -> Self:
        """Return this machine. These variables are other programs' own, no settings of ours."""
        system: dict[str, System] = {"darwin": "macos", "win32": "windows"}
        return cls(system.get(sys.platform, "linux"), Path.home(), dict(os.environ), Path.cwd())

    def named(self, variable: str) -> Path | None:
        """Return the folder that a variable names, if it names one."""
        value = self.environment.get(variable)
        return self.folder / value if value else None

    def applications(self) -> Path:
        """Return where programs with windows keep what is theirs."""
        match self.system:
            case "macos":
                return self.home / "Library" / "Application Support"
            case "windows":
                return self.named("APPDATA") or self.home / "AppData" / "Roaming"
            case _:
                return self.named("XDG_CONFIG_HOME") or self.home / ".config"

    def local_applications(self) -> Path:
        """Return where Windows keeps what does not travel with a user."""
        return self.named("LOCALAPPDATA") or self.home / "AppData" / "Local"
