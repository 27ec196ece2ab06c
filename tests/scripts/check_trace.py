#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_trace.py FILE RANKS STEPS MICRO_BATCHES [PIPELINES]: what a trace of mini_llm must be.

Valid JSON without doubled keys; a named process for each rank; on each a planned and a measured thread with the same
actions; no two events of one thread overlap; every flow begins once and ends once, at a rank of its own each, and every
point of it lies inside an event of its thread; each message has a send and a receive of equal size.
"""
import collections
import json
import sys

path, ranks, steps, micro_batches, pipelines = sys.argv[1], *map(int, [*sys.argv[2:], "1"][:4])


def no_doubles(pairs):
    names = [name for name, _ in pairs]
    assert len(names) == len(set(names)), f"a key stands twice: {names}"
    return dict(pairs)


def nothing_odd(text):
    raise AssertionError(f"not a JSON number: {text}")


with open(path, encoding="utf-8", errors="strict") as file:
    trace = json.load(file, object_pairs_hook=no_doubles, parse_constant=nothing_odd)
events = trace["traceEvents"]
assert set(event["ph"] for event in events) <= set("MXstf")
assert isinstance(trace["otherData"], dict) and all(isinstance(value, str) for value in trace["otherData"].values())
if ranks > 1:
    assert all(f"clock of rank {rank}" in trace["otherData"] for rank in range(1, ranks))


def nanoseconds(microseconds):
    value = round(microseconds * 1000)
    assert abs(value - microseconds * 1000) < 1e-3 and value >= 0
    return value


processes = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
assert processes == {rank: f"rank {rank}" for rank in range(ranks)}, processes
threads = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
for rank in range(ranks):
    names = [name for (pid, _), name in threads.items() if pid == rank]
    assert len(names) == len(set(names)) and {"planned", "measured"} <= set(names), names
    assert all(name in ("planned", "measured") or name.startswith("messages") for name in names), names

slices = collections.defaultdict(list)
for event in events:
    if event["ph"] != "X":
        continue
    begin = nanoseconds(event["ts"])
    slices[event["pid"], event["tid"]].append((begin, begin + nanoseconds(event["dur"]), event))
    arguments = event["args"]
    if event["name"] in ("NORM", "STEP", "REDUCE_GRAD", "PARTIAL_NORM", "VALIDATE"):
        assert event["cat"] == "collective" and event["name"] == arguments["op"]
    else:
        assert event["name"] == f"{arguments['op']}{arguments['micro-batch']}", event
        assert event["cat"] in ("forward", "backward", "message") and 0 <= arguments["micro-batch"] < micro_batches
        assert arguments["slot"] >= 0 and arguments["stage"] >= 0
assert set(slices) == set(threads), "a thread without a name, or a name without events"
for thread, row in slices.items():
    row.sort(key=lambda entry: entry[:2])
    for (_, end, before), (begin, _, after) in zip(row, row[1:]):
        assert end <= begin, f"{threads[thread]} of rank {thread[0]}: {before} and {after} overlap"


def actions(rank, name):
    thread = next(key for key, value in threads.items() if key[0] == rank and value == name)
    return [(event["args"]["step"], event["name"], event["args"].get("stage")) for _, _, event in slices[thread]]


for rank in range(ranks):
    measured, planned = actions(rank, "measured"), actions(rank, "planned")
    assert measured == planned, f"rank {rank}: plan and measurement differ"
    numbers = sorted({step for step, _, _ in measured})
    assert numbers == list(range(numbers[0], numbers[0] + steps)), numbers
    for step in numbers:
        forwards = [name for at, name, _ in measured if at == step and name[0] == "F"]
        assert sorted(forwards) == sorted(f"F{index}" for index in range(micro_batches)), forwards
        assert sum(1 for at, name, _ in measured if at == step and name == "STEP") >= 1

flows = collections.defaultdict(list)
for event in events:
    if event["ph"] in "stf":
        at = nanoseconds(event["ts"])
        assert any(begin <= at <= end for begin, end, _ in slices[event["pid"], event["tid"]]), f"outside: {event}"
        assert event["cat"] == "message" and event["name"] in ("activations", "gradients")
        flows[event["id"]].append(event)
for number, points in flows.items():
    kinds = collections.Counter(point["ph"] for point in points)
    assert kinds["s"] == 1 and kinds["f"] == 1, f"flow {number}: {kinds}"
    begin = next(point for point in points if point["ph"] == "s")
    end = next(point for point in points if point["ph"] == "f")
    assert begin["pid"] != end["pid"] and end["bp"] == "e"
    kind = {threads[point["pid"], point["tid"]] for point in (begin, end)}
    assert len(kind) == 1 and kinds["t"] == (2 if kind == {"measured"} else 0), (kind, kinds)

messages = [event for row in slices.values() for _, _, event in row if event["cat"] == "message"]
sizes = collections.Counter()
for event in messages:
    arguments = event["args"]
    sends = arguments["op"].startswith("SEND")
    source, target = (event["pid"], arguments["peer"]) if sends else (arguments["peer"], event["pid"])
    key = arguments["step"], arguments["op"][-1], arguments["micro-batch"], source, target, arguments["bytes"]
    sizes[key] += 1 if sends else -1
    assert arguments["bytes"] > 128, event  # header and counts, and at least one number
assert all(count == 0 for count in sizes.values()), "a send and its receive differ"
# Of chains: one boundary per pair of neighbours, both ways.
expected = steps * 2 * micro_batches * (ranks - pipelines)
assert len(messages) == 2 * expected and len(flows) == 2 * expected, (len(messages), len(flows), expected)
print(f"{path}: {sum(map(len, slices.values()))} events, {len(flows)} flows on {ranks} ranks, {steps} steps")
