"""The model inside Junto: its weights, its engine, and how it is spoken to."""
