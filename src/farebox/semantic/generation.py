"""Which vectors may be compared: those of one model, one way to read a listing and one space.

A vector is kept in a bucket, and the buckets of each generation have numbers of their own. So what
was read before a change is not mistaken for what is read now, and is known as what is to be read
again.
"""

from typing import Final

POINTS: Final = 1024  # fixed points of the space, a bucket each
GENERATION: Final = 2  # one more with every change of what the vectors of a text are
BUCKETS: Final = range(GENERATION * POINTS, (GENERATION + 1) * POINTS)
