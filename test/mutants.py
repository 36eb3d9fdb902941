#!/usr/bin/env python3
"""mutants.py - programs that are wrong on purpose must be noticed.

A suite that passes says something only if it fails on a defect. Each mutant has
one (a switch TB_MUTANT in the source, see include/turbine/mutant.h) and a suite in
short form that must report a difference between answers; that the same suite
passes without the mutant is what the rest of the run shows.
Must never: count a server or a service that does not start as noticed.
Called by: test/run_all.py. Options: --only.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("TURBINE_BUILD", HERE.parent / "build"))
# The words of answers.difference().
DIFFERENCE = re.compile(r"^.* became .*$", re.MULTILINE)
SECONDS = 120


@dataclass(frozen=True)
class Mutant:
    name: str
    what: str
    suite: tuple


FRESH = ("fresh_blocks.py", "--until-difference")

MUTANTS = (
    Mutant("no_recheck", "direct reads are not confirmed",
           ("races.py", "--kinds", "cursor", "--races", "100", "--until-difference")),
    Mutant("dirty_is_clean", "blocks are read from the file while their buffers are dirty",
           ("races.py", "--kinds", "snapshot,account", "--races", "1000", "--until-difference")),
    Mutant("moved_alone", "of decoded pages only those that have moved are read again", ("moved_pages.py",)),
    Mutant("rewritten_untold", "the service is not told that pages are others", ("moved_pages.py",)),
    Mutant("deleted_is_visible", "hint bits decide without looking at xmax", ("run_sql.py", "--only", "visibility")),
    Mutant("absent_key_shown", "rows of a grouping set show keys that it lacks", ("run_sql.py", "--only", "grouping_sets")),
    Mutant("null_is_distinct", "aggregates with DISTINCT take NULL for a value",
           ("run_sql.py", "--only", "distinct_beside_plain")),
    Mutant("sorted_groups_apart", "groups that are joined by sorting are not joined",
           ("run_sql.py", "--only", "several_distinct")),
    Mutant("no_group_filter", "filters of groups let all of them pass", ("run_sql.py", "--only", "late_parts")),
    Mutant("rows_forgotten", "what is computed of a group is added once, not once a row",
           ("run_sql.py", "--only", "computed_arguments")),
    Mutant("gap_read_through", "blocks behind a skipped one are read in its place", ("run_sql.py", "--only", "brin")),
    Mutant("page_not_fed", "a feeder leaves out the last page of what it has taken",
           ("run_sql.py", "--feeders", "--only", "feeders")),
    Mutant("only_least_key", "partitions are pruned by a join table's least key only",
           ("run_sql.py", "--only", "join_pruning")),
    Mutant("unmatched_pruned", "partitions are pruned by joins that keep rows without a match",
           ("run_sql.py", "--only", "join_pruning")),
    Mutant("null_is_aggregated", "aggregates take a NULL for the value beneath it",
           ("run_sql.py", "--only", "aggregates")),
    Mutant("map_lsn_ignored", "cached columns are taken though the visibility map has moved",
           ("run_sql.py", "--only", "cached_columns")),
    Mutant("page_lsn_ignored", "blocks whose page has moved are taken for what they were",
           ("run_sql.py", "--only", "cached_columns")),
    Mutant("dirty_lsn_ignored", "of pages that are dirty in shared buffers the file's LSN is taken",
           ("run_sql.py", "--only", "cached_columns")),
    Mutant("delta_lost", "a merge of few changed blocks keeps what they were before",
           ("run_sql.py", "--only", "found_segments")),
    Mutant("old_blocks_stay_good", "the map's LSN goes forward without the set of good blocks",
           ("run_sql.py", "--only", "cached_columns")),
    Mutant("kept_table_unchecked", "a kept join table is taken though its source has changed",
           ("run_sql.py", "--only", "cached_columns")),
    Mutant("zone_too_narrow", "a segment whose greatest value passes is left out",
           ("run_sql.py", "--only", "cached_columns")),
    Mutant("greatest_key_forgotten", "a segment is left out in which only a join table's greatest key has a match",
           ("run_sql.py", "--cached", "--only", "excluded_segments")),
    Mutant("unmatched_segment_excluded", "segments are left out by joins that keep rows without a match",
           ("run_sql.py", "--cached", "--only", "excluded_segments")),
    Mutant("doubt_dropped", "groups are dropped of which PostgreSQL might raise an error",
           ("run_sql.py", "--only", "likely_groups")),
    Mutant("ties_excluded", "segments are left out whose first rows tie with the last within a limit",
           ("run_sql.py", "--cached", "--only", "excluded_segments")),
    Mutant("nulls_excluded", "segments with NULLs are left out though these come first",
           ("run_sql.py", "--cached", "--only", "excluded_segments")),
    Mutant("zone_not_widened", "a segment's greatest value stays although a changed block has a greater one",
           ("run_sql.py", "--cached", "--only", "found_segments")),
    Mutant("list_lsn_ignored", "a list of found segments is taken though the visibility map has moved", FRESH),
    Mutant("code_mask_ignored", "the bytes behind a code are taken for a part of it",
           ("run_sql.py", "--cached", "--only", "found_segments")),
    Mutant("results_shared", "results by entry of one dictionary are those of another's",
           ("text_lookups.py", "--queries", "100", "--rows", "6000")),
    Mutant("neighbour_is_same", "a text gets the number of the one before it if it is as long",
           ("run_sql.py", "--cached", "--only", "text_dictionaries")),
    Mutant("ids_collide", "entries of two dictionaries have one id",
           ("run_sql.py", "--cached", "--only", "text_dictionaries")),
    Mutant("hash_forgotten", "entries of dictionaries have a prefix in place of the hash",
           ("run_sql.py", "--cached", "--only", "text_dictionaries")),
    Mutant("missing_value_forgotten", "a column's missing value is no part of what it is",
           ("run_sql.py", "--only", "cached_columns")),
    Mutant("fresh_in_progress", "rows whose transaction runs are taken for rolled back", FRESH),
    Mutant("fresh_unseen", "blocks are kept with rows that their reader's snapshot does not see", FRESH),
    Mutant("fresh_multixact", "a multixact with an updater is taken for one of lockers", FRESH),
    Mutant("fresh_xmax_uncounted", "deletions are none of the transactions that a block depends on", FRESH),
    Mutant("fresh_xmax_ignored", "rows are taken for alive whose deletion is not decided", FRESH),
    Mutant("fresh_xids_ignored", "fresh blocks are for every snapshot", FRESH),
    Mutant("fresh_overflow_ignored", "a snapshot is taken to name all subtransactions", FRESH),
    Mutant("fresh_future_ignored", "transactions that began after the snapshot are taken for ended", FRESH),
    Mutant("fresh_open_ignored", "transactions that are open to the snapshot are taken for ended", FRESH),
    Mutant("fresh_least_ignored", "only the greatest of a block's transactions counts", FRESH),
    Mutant("own_changes_ignored", "a transaction with changes of its own is served what others were", FRESH),
    Mutant("served_by_bounds", "snapshots of the same bounds are taken for the same", FRESH),
    Mutant("renewal_ignores_map", "a list is renewed as if VACUUM had not been at the map", FRESH),
    Mutant("renewal_ignores_bits", "a list is renewed with blocks that have lost their bits", FRESH),
    Mutant("renewal_ignores_xids", "a list is renewed for a snapshot to which its transactions are open", FRESH),
    Mutant("row_dropped", "one row in 100,000 is lost", ("run_sql.py", "--only", "row_counts")),
)


def build_mutants():
    done = subprocess.run(["cmake", "--build", str(BUILD), "-j", "2", "--target", "mutants"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise RuntimeError(f"the mutants do not build:\n{done.stdout}")


def run_suite(mutant):
    """(what the suite printed, None) or (what it printed, why that is no answer)."""
    command = [sys.executable, str(HERE / mutant.suite[0]), *mutant.suite[1:]]
    if mutant.suite[0] == "run_sql.py":
        command.append("--until-difference")
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=SECONDS, check=False, env={**os.environ, "TURBINE_MUTANT": mutant.name})
    except subprocess.TimeoutExpired:
        return "", f"the suite took more than {SECONDS} s"
    if not re.search(r"^\d+ passed, \d+ failed\n*\Z", done.stdout, re.MULTILINE):
        return done.stdout, "the suite did not get to its end"
    return done.stdout, None


def judge(mutant):
    """A complaint, or None if the mutant was noticed."""
    started = time.monotonic()
    output, complaint = run_suite(mutant)
    found = DIFFERENCE.findall(output)
    if complaint is None and not found:
        complaint = f"not noticed by {' '.join(mutant.suite)}"
    if complaint:
        print(f"  {mutant.name} ({mutant.what}): {complaint}\n{output[-2000:]}", flush=True)
        return complaint
    print(f"  {mutant.name} ({mutant.what}): noticed in {time.monotonic() - started:.0f} s by {mutant.suite[0]}, "
          f"{len(found)} times:\n    {found[0].strip()[:240]}", flush=True)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="comma-separated mutants")
    options = parser.parse_args()
    mutants = [m for m in MUTANTS if not options.only or m.name in options.only.split(",")]
    build_mutants()
    failed = sum(judge(mutant) is not None for mutant in mutants)
    print(f"{len(mutants) - failed} passed, {failed} failed")
    return 1 if failed or not mutants else 0


if __name__ == "__main__":
    sys.exit(main())
