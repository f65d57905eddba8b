"""The bodies that clients send in API 1.0, as pydantic models, which become the service's commands."""
