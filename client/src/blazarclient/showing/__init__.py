"""What does the user see? Values become text for a terminal, or plain values for a program."""
