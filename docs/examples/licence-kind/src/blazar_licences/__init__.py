"""licence:token: tokens of licences that an operator registered, reserved by amount."""
