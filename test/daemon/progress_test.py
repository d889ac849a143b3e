#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""progress_test.py - trainers without the library that count their samples."""

import os
import sys

sys.dont_write_bytecode = True
from rig import BUILD, Rig, run, until

# Steps as long as its words say for the number of devices: "2=0.3". Rank 0 counts, takes up
# its count where the last start left it, and saves it when it is told to stop.
TRAINER = """#!/usr/bin/perl
use IO::Handle;
my %span = map { split /=/ } @ARGV;
my ($k, $r) = @ENV{"WORLD_SIZE", "RANK"};
my $batch = $ENV{ELASTANE_GLOBAL_BATCH} // 10 * $k;
my ($done, $stop, $counts) = (0, 0, undef);
if ($r == 0) {
    if (open(my $f, "<", "saved")) { $done = <$f> + 0 }
    open($counts, ">>", $ENV{ELASTANE_PROGRESS});
    $counts->autoflush(1);
    open(my $log, ">>", "log");
    print $log "$k $done $ENV{ELASTANE_SAMPLES_DONE}\\n";
}
$SIG{TERM} = sub { $stop = 1 };
my $from = $done;
until (-e "go" or $stop) {
    print $counts "$done 1000000\\n" if $counts;
    select(undef, undef, undef, $span{$k});
    $done += $batch unless $stop;
}
if ($counts) {
    print $counts "$done\\n";
    open(my $f, ">", "saved");
    print $f $done;
}
"""

# Runs a shell command for each word of the file `do`, as they are appended.
SHELL = """#!/bin/sh
trap 'exit 0' TERM
while [ ! -e go ]; do
    if [ -e do ]; then mv do doing; . ./doing; echo $? >>did; fi
    sleep 0.05
done
"""


def write(path, text):
    path.write_text(text)
    path.chmod(0o755)


def trainer(rig, spans, **fields):
    write(rig.top / "trainer", TRAINER)
    words = [f"{k}={span}" for k, span in spans.items()]
    return rig.submit([rig.top / "trainer", *words], "curve", level="restartable",
                      sizes={"min": 1, "max": 4}, **fields)


def sizes_of(seen):
    return [move["size"] for move in seen["history"] if move["state"] == "running"]


def settle(rig, job, sizes, spans, batch):
    """The job has been at these sizes and stays at the last one; its speed is told."""
    seen = rig.wait(job, "running", size=sizes[-1], resizes=len(sizes) - 1)
    assert sizes_of(seen) == sizes, seen["history"]
    last = seen["samples_done"]
    seen = until("15 s of training", lambda: (s := rig.job(job))["samples_done"] >= last +
                 batch * 15 / spans[sizes[-1]] and s)
    assert sizes_of(seen) == sizes, seen["history"]
    assert seen["model_source"] == "measured", seen
    rate = batch * 1000 / spans[sizes[-1]]
    assert 0.7 * rate < seen["rate_milli"] < 1.1 * rate, (seen["rate_milli"], rate)
    return seen


def ends_at_the_size_that_is_best():
    spans = {1: 0.5, 2: 0.3, 3: 0.5, 4: 0.7}
    with Rig(devices=4) as rig:
        rig.start()
        job = trainer(rig, spans, batch_min=60, batch_max=60)
        seen = settle(rig, job, [4, 2, 1, 2], spans, 60)
        assert seen["samples_total"] == 1_000_000 and seen["note"] == "", seen
        assert seen["samples_repeated"] == 0, seen
        text = rig.get(f"/v1/jobs/{job}/explain")["text"]
        assert "by its own measured steps" in text, text
        rig.touch("go")
        seen = rig.wait(job, "done")
        assert seen["samples_done"] == int((rig.top / "saved").read_text()), seen
        starts = [[int(n) for n in line.split()] for line in rig.lines("log")]
        assert [start[0] for start in starts] == [4, 2, 1, 2], starts
        assert all(done == told for _, done, told in starts), starts
        rig.check_books()


def ends_at_all_devices_when_they_scale():
    spans = {1: 0.8, 2: 0.42, 3: 0.3, 4: 0.24}
    with Rig(devices=4) as rig:
        rig.start()
        job = trainer(rig, spans, batch_min=60, batch_max=60)
        settle(rig, job, [4, 2, 4], spans, 60)
        rig.touch("go")
        rig.wait(job, "done")


def needs_no_batch():
    spans = {1: 0.3, 2: 0.33, 3: 0.9, 4: 1.5}
    with Rig(devices=4) as rig:
        rig.start()
        job = trainer(rig, spans)
        settle(rig, job, [4, 2, 1, 2], spans, 20)
        rig.touch("go")
        rig.wait(job, "done")


def do(rig, command):
    """The job runs it; its exit status."""
    n = len(rig.lines("did"))
    (rig.top / "do.new").write_text(command + "\n")
    os.rename(rig.top / "do.new", rig.top / "do")
    return int(until(command, lambda: rig.lines("did")[n:])[0])


def shell(rig, **fields):
    write(rig.top / "shell", SHELL)
    job = rig.submit([rig.top / "shell"], "shell", env={"CLI": str(BUILD / "src/prog/elastane")},
                     **fields)
    rig.wait(job, "running")
    return job


def counted(rig, job, samples):
    return until(f"{samples} samples", lambda: (s := rig.job(job))["samples_done"] == samples and s)


def a_script_tells_by_the_command():
    with Rig(devices=1) as rig:
        rig.start()
        job = shell(rig)
        assert do(rig, "$CLI progress --samples 100 --total 4x50") == 0
        counted(rig, job, 100)
        until("the length", lambda: rig.job(job)["samples_total"] == 200)
        assert do(rig, "$CLI progress --samples 150") == 0
        seen = counted(rig, job, 150)
        assert seen["samples_total"] == 200, seen
        assert do(rig, "$CLI progress --samples") == 2
        assert do(rig, "env -u ELASTANE_PROGRESS $CLI progress --samples 9") == 0
        rig.touch("go")
        assert rig.wait(job, "done")["samples_done"] == 150


def a_length_that_was_stated_stands():
    with Rig(devices=1) as rig:
        rig.start()
        job = shell(rig, samples_total=500)
        do(rig, "echo 100 200 >>$ELASTANE_PROGRESS")
        assert counted(rig, job, 100)["samples_total"] == 500
        rig.touch("go")
        rig.wait(job, "done")


def what_cannot_be_read_is_said_once_and_harms_nothing():
    note = {"fell": "the count fell below", "garbage": "is not SAMPLES", "file": "is no file"}
    cases = {
        "fell": "echo 200 >>$ELASTANE_PROGRESS; sleep 1.5; echo 100 >>$ELASTANE_PROGRESS",
        "garbage": "echo 200 >>$ELASTANE_PROGRESS; head -c 300000 /dev/urandom "
                   ">>$ELASTANE_PROGRESS; echo >>$ELASTANE_PROGRESS",
        "file": "rm -f $ELASTANE_PROGRESS; mkfifo $ELASTANE_PROGRESS",
        "directory": "rm -f $ELASTANE_PROGRESS; mkdir $ELASTANE_PROGRESS",
        "symlink": "rm -f $ELASTANE_PROGRESS; echo 7000 >a; ln -s $PWD/a $ELASTANE_PROGRESS",
    }
    mend = "rm -rf $ELASTANE_PROGRESS; echo 300 >$ELASTANE_PROGRESS"
    with Rig(devices=1) as rig:
        rig.start()
        for name, command in cases.items():
            for path in ("go", "did"):
                (rig.top / path).unlink(missing_ok=True)
            job = shell(rig)
            do(rig, "echo 150 >>$ELASTANE_PROGRESS")
            counted(rig, job, 150)
            do(rig, command)
            words = note.get(name, note["file"])
            seen = until(name, lambda: (s := rig.job(job))["note"] and s)
            assert words in seen["note"], (name, seen["note"])
            text = rig.get(f"/v1/jobs/{job}/explain")["text"]
            assert words in text, text
            do(rig, mend)
            seen = counted(rig, job, 300)
            assert words in seen["note"], seen
            log = (rig.state / "jobs" / str(job) / "1" / "shim.log").read_text()
            assert log.count(" progress: ") == 1, log
            rig.touch("go")
            assert rig.wait(job, "done")["samples_done"] == 300


def what_was_not_saved_is_not_said_to_be():
    with Rig(devices=1) as rig:
        rig.start()
        write(rig.top / "dies", "#!/bin/sh\necho $ELASTANE_SAMPLES_DONE >>log\n"
              "echo 500 >>$ELASTANE_PROGRESS\nwhile [ ! -e go ]; do sleep 0.05; done\n"
              "[ -e again ] || { touch again; kill -KILL $$; }\n"
              "echo 400 >>$ELASTANE_PROGRESS\n")
        job = rig.submit([rig.top / "dies"], "dies", retries=1)
        counted(rig, job, 500)
        rig.touch("go")
        rig.wait(job, "done")
        assert rig.lines("log") == ["0", "0"], rig.lines("log")


if __name__ == "__main__":
    if sys.argv[1:] == ["all"]:  # those that train for half a minute
        sys.argv[1:] = []
        run([ends_at_all_devices_when_they_scale,
             needs_no_batch])
    run([ends_at_the_size_that_is_best,
         a_script_tells_by_the_command,
         a_length_that_was_stated_stands,
         what_cannot_be_read_is_said_once_and_harms_nothing,
         what_was_not_saved_is_not_said_to_be])
