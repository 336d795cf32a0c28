"""The model catalog: available models, their capabilities and prices, and their routes."""
