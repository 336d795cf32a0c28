"""`python -m junto` is the command `junto`."""

from junto.cli import main

main()
