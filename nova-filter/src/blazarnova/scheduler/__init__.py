"""The parts that nova-scheduler loads."""
