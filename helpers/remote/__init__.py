"""Other programs that answer over HTTP. `loopback` speaks to those on this machine."""
