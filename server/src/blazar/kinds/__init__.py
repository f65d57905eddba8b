"""The resource kinds: each a package that knows one resource_type; found by entry point
`blazar.resource.plugins`."""
