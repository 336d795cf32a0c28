"""The transports that clients connect over: stdio and HTTP."""
