"""What did the user mean? Typed text becomes values; every refusal says what would have been understood."""
