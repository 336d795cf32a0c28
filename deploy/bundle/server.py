"""Where a host that runs the bundle begins: Junto on standard input and output."""

import sys

from junto.cli import main

if __name__ == "__main__":
    sys.argv[1:] = ["mcp"]
    main()
