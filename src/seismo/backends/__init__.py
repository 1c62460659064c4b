"""The machines that steps run on.

Threads meet several times a step. The one that is there first is to sleep, not to spin, as OpenMP
has it by default: beside other programs the one it waits for would wait for its core. It has to be
said before the first threads are made; who has set it keeps it.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
