"""Run the `junto` command as `python -m junto`."""

from junto.cli import main

main()
