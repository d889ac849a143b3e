#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""fake_accelerate.py launch ... SCRIPT WORD... - the options of `accelerate launch` that the guide
uses, carried out by torchrun; torchrun.py is the same for torchrun itself. Both add what torch 1.13
needs on Python 3.11."""

import os
import sys

NAMES = {"--num_machines": "--nnodes", "--machine_rank": "--node_rank",
         "--num_processes": "--nproc_per_node", "--main_process_ip": "--master_addr",
         "--main_process_port": "--master_port"}
words = [NAMES.get(word, word) for word in sys.argv[1:] if word != "launch"]
python = "/usr/bin/python3"
os.execv(python, [python, "-m", "torch.distributed.run", "-r", "9:1", "-t", "9:1", *words])
