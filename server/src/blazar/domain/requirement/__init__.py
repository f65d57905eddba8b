"""The requirement language: conditions on the properties of resources."""
