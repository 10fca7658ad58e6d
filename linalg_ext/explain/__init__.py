"""What people look at: pictures for notebooks."""
