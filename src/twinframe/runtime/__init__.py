"""The process as every layer uses it: its memory, its instruments, its machine."""
