"""The programs that Junto can be added to: where they keep their servers, and in which form."""
