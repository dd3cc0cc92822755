"""What a spec chooses by name, and how far tests went with what is rendered for it."""
