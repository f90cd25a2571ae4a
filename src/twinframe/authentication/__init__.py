"""Who is calling: tokens and API keys. Not built yet; the service will not start with it on."""
