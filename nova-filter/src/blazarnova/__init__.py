"""What does Nova's scheduler need to know of reservations?"""
