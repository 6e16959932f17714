"""Jobs: what a sync reports while it runs, the queue of job files, and the detached worker.

The job files are the queue; one worker per data directory holds an operating-system lock;
pids are recorded as evidence and never used as proof.
"""
