"""Access: who calls, what callers may do, and how fast they may go on."""
