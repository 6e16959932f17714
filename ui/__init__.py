"""The console: one page in a browser on this machine. `console.serve` is its door."""
