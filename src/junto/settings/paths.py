"""Directories in which Junto stores its files."""

from pathlib import Path

from junto.settings.schema import Settings


def find_home_dir() -> Path:
    """Return the current user's home directory."""
    try:
        return Path.home()
    except RuntimeError:  # the user has no passwd entry and HOME is unset
        return Path("/nonexistent")


def resolve_state_dir(settings: Settings) -> Path:
    """Return the directory for Junto's state."""
    if settings.state_directory:
        return settings.state_directory
    import platformdirs  # deferred: not needed when the setting is given

    return platformdirs.user_data_path("junto", appauthor=False)


def resolve_log_dir(settings: Settings) -> Path:
    """Return the directory for log files."""
    return settings.logging.directory or resolve_state_dir(settings) / "logs"
