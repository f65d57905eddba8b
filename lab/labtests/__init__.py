"""What do the stories that are told against a running lab share?"""
