#!/usr/bin/env python3
"""trace_summary.py - sums up a file of pg_turbine.trace_file.

For all tracks of a name (a thread, a GPU's stream, a slot): how long each named span took in
all, and its share of the time that the trace covers. At the end: how much of the
backends' time is covered by spans of work, by the service's or their own, rather
than by waiting.
Usage: trace_summary.py FILE. Uses nothing but the standard library.
"""

import argparse
import json
from collections import defaultdict

WAITING = ("wait for the service", "wait for memory", "outside of the node")
STATES = ("to be read", "with the backend", "to be run")  # of slots: not what a thread does


def load(path):
    """(spans, names): spans as dicts with begin and end in us; names of (pid, tid)."""
    spans, names = [], {}
    with open(path, encoding="utf-8") as file:
        events = json.load(file)
    for event in events:
        track = (event["pid"], event["tid"])
        if event["ph"] == "M" and event["name"] == "thread_name":
            names[track] = event["args"]["name"]
        elif event["ph"] == "X":
            spans.append({"name": event["name"], "track": track, "begin": event["ts"],
                          "end": round(event["ts"] + event["dur"], 3), "message": event.get("cat") == "message"})
    return spans, names


def union(intervals):
    """The intervals' union as a sorted list."""
    merged = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def length(intervals):
    return sum(end - begin for begin, end in intervals)


def overlap(a, b):
    """Length of what two sorted lists of disjoint intervals have in common."""
    total, i, j = 0.0, 0, 0
    while i < len(a) and j < len(b):
        total += max(0.0, min(a[i][1], b[j][1]) - max(a[i][0], b[j][0]))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return total


def coverage(spans):
    """{backend's pid: (wall us, us covered by its nodes' spans, us covered by work)}."""
    tracks = {s["track"] for s in spans if s["name"] == "prepare"}
    work = union((s["begin"], s["end"]) for s in spans
                 if s["name"] not in WAITING and s["name"] not in STATES and not s["message"])
    result = {}
    for pid in {track[0] for track in tracks}:
        own = [s for s in spans if s["track"] in tracks and s["track"][0] == pid]
        begin, end = min(s["begin"] for s in own), max(s["end"] for s in own)
        named = union((s["begin"], s["end"]) for s in own)
        result[pid] = (end - begin, length(named), overlap(work, [[begin, end]]))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    options = parser.parse_args()
    spans, names = load(options.file)
    if not spans:
        print("no spans")
        return
    wall = max(s["end"] for s in spans) - min(s["begin"] for s in spans)
    sums, counts = defaultdict(float), defaultdict(int)
    for span in spans:
        key = (names.get(span["track"], str(span["track"])), span["name"])
        sums[key] += span["end"] - span["begin"]
        counts[key] += 1
    print(f"{wall / 1000:.3f} ms in all")
    for key in sorted(sums):
        print(f"  {key[0]:<18} {key[1]:<22} {sums[key] / 1000:10.3f} ms {100 * sums[key] / wall:5.1f} %  "
              f"{counts[key]:6} spans")
    for pid, (own, named, work) in sorted(coverage(spans).items()):
        print(f"backend {pid}: {own / 1000:.3f} ms, named spans {100 * named / own:.1f} %, "
              f"spans of work {100 * work / own:.1f} %")


if __name__ == "__main__":
    main()
