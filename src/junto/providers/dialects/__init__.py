"""How models are spoken to: a question as JSON, events as an answer, without any I/O."""
