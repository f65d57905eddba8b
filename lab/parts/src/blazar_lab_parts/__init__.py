"""What does the lab add to OpenStack's own packages?"""
