#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""device_test.py - GPUs as a fake NVML tells of them, CPU slots, and none at all."""

import sys

sys.dont_write_bytecode = True
from rig import BUILD, Rig, run, until

UUID = "GPU-00000000-0000-0000-0000-%012d"
NVML = {"LD_LIBRARY_PATH": str(BUILD / "test/daemon")}


def no_library_means_no_devices_and_jobs_wait():
    with Rig(devices=None) as rig:
        rig.start()
        assert rig.get("/v1/nodes")["nodes"] == []
        assert "--devices" in rig.log(), rig.log()
        job = rig.submit("true")
        assert rig.job(job)["state"] == "queued"
        rig.act(job, "cancel")


def two_gpus_are_a_node_of_their_type_and_ranks_see_one_each():
    with Rig(devices=None, env={**NVML, "FAKE_NVML_COUNT": "2"}) as rig:
        rig.start()
        node = until("the node is up", lambda: rig.get("/v1/nodes")["nodes"])[0]
        assert node["devices"] == 2 and node["device_type"] == "fake-1000-80gb", node
        job = rig.submit("echo $RANK $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER >>log",
                         sizes={"min": 2, "max": 2}, device_type="fake-1000-80gb",
                         env={"CUDA_VISIBLE_DEVICES": "7"})
        rig.wait(job, "done")
        assert sorted(rig.lines("log")) == [f"{n} {UUID % n} PCI_BUS_ID" for n in (0, 1)], \
            rig.lines("log")
        refused = rig.ask("POST", "/v1/jobs", rig.body("true", device_type="abacus"))
        assert refused.status == 422 and refused.json["field"] == "device-type", refused


def without_uuids_ranks_see_indices():
    env = {**NVML, "FAKE_NVML_COUNT": "2", "FAKE_NVML_FAIL": "uuid"}
    with Rig(devices=None, env=env) as rig:
        rig.start()
        job = rig.submit("echo $RANK $CUDA_VISIBLE_DEVICES >>log", sizes={"min": 2, "max": 2})
        rig.wait(job, "done")
        assert sorted(rig.lines("log")) == ["0 0", "1 1"], rig.lines("log")


def failing_library_means_no_devices():
    for call in ("init", "count", "handle", "name", "memory"):
        env = {**NVML, "FAKE_NVML_COUNT": "2", "FAKE_NVML_FAIL": call}
        with Rig(devices=None, env=env) as rig:
            rig.start()
            assert rig.get("/v1/nodes")["nodes"] == [], call


def library_without_gpus_means_no_devices():
    with Rig(devices=None, env={**NVML, "FAKE_NVML_COUNT": "0"}) as rig:
        rig.start()
        assert rig.get("/v1/nodes")["nodes"] == []


def slots_are_cpus_even_where_there_are_gpus():
    with Rig(devices=3, env={**NVML, "FAKE_NVML_COUNT": "2"}) as rig:
        rig.start("--pace", "1ms+2ms*m")
        node = until("the node is up", lambda: rig.get("/v1/nodes")["nodes"])[0]
        assert node["devices"] == 3 and node["device_type"] == "cpu", node
        job = rig.submit("echo $OMP_NUM_THREADS $ELASTANE_PACE ${CUDA_VISIBLE_DEVICES-none} >>log")
        rig.wait(job, "done")
        assert rig.lines("log") == ["1 1ms+2ms*m none"], rig.lines("log")


run([no_library_means_no_devices_and_jobs_wait,
     two_gpus_are_a_node_of_their_type_and_ranks_see_one_each,
     without_uuids_ranks_see_indices,
     failing_library_means_no_devices,
     library_without_gpus_means_no_devices,
     slots_are_cpus_even_where_there_are_gpus])
