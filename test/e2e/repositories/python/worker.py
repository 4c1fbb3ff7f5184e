"""Takes each job from the list, and stores its result."""

import time

from cache import cache

print("worker in Python starts")
while True:
    try:
        job = cache("BLPOP", "jobs", "0")
        cache("SET", "result", f"{job.upper()} from Python")
    except OSError as error:
        print(error)
        time.sleep(1)
