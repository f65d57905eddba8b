"""The bodies of the answers of API 1.0: domain values as JSON, exactly as clients have known them."""
