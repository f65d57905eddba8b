"""What do the tests of the client share?"""
