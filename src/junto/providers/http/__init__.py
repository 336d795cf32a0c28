"""HTTP access to providers: client, endpoints, and the clients for Bedrock and Vertex AI."""
