"""Provider wrappers, one for each concern, and the router that assembles them."""
