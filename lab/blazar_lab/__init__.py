"""What runs a real OpenStack on one machine, with nothing but the standard library?"""
