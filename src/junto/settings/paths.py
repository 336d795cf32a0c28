"""Where Junto keeps its files."""

from pathlib import Path

from junto.settings.tree import Settings


def home_directory() -> Path:
    """Return the home of whoever runs this."""
    try:
        return Path.home()
    except RuntimeError:  # a user without an entry anywhere
        return Path("/nonexistent")


def state_directory(settings: Settings) -> Path:
    """Return the folder in which Junto keeps its files."""
    if settings.state_directory:
        return settings.state_directory
    import platformdirs  # only needed by those who keep files

    return platformdirs.user_data_path("junto", appauthor=False)


def log_directory(settings: Settings) -> Path:
    """Return the folder for log files."""
    return settings.logging.directory or state_directory(settings) / "logs"
