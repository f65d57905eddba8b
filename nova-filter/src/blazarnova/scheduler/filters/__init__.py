"""Which filters does this package give to nova-scheduler?"""
