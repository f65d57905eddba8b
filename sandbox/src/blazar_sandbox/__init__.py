"""What does a small OpenStack look like that lives in memory and answers over HTTP?"""
