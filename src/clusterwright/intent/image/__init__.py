"""Software of images: their packages, and the file systems that their nodes mount."""
