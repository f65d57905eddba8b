"""The planner: which resources serve a request, or why none can."""
