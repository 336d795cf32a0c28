"""The ways out to models: connections, addresses, streams, the clouds."""
