"""Where does Nova look for our scheduler parts?"""
