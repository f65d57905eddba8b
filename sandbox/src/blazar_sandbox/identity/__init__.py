"""Who is who, and who may do what? Keystone's part of the sandbox."""
