"""How clients reach Junto: standard input and output, and HTTP."""
