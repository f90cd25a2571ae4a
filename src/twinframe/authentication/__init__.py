"""Who is calling: bearer tokens and API keys. Not built yet; the service refuses to start with it on."""
