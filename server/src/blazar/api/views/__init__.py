"""What the answers of API 1.0 show: domain values as JSON bodies, exactly as clients have known them."""
