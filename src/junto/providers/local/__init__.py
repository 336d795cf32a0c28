"""The embedded model: its weights, its llama.cpp engine, and its provider."""
