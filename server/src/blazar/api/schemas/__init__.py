"""What clients send: the bodies of API 1.0 as pydantic models, which become the service's commands."""
