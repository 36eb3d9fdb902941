/*
 * trace_file.c - see trace_file.h.
 *
 * The format is the Trace Event Format: an array of objects, "X" for a span, "i" for
 * an instant, "C" for a counter, "M" for a name; times in microseconds. A process of the
 * trace is a process, and a thread of it one of its tracks.
 *
 * The file is locked while it is added to, and its last bytes, which close the array,
 * are written over. A file that does not end so is none of ours, and left alone.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/guc.h"
#include "utils/json.h"

#include "turbine/wire.h"

#include "pg/profile/trace_file.h"

#define ARRAY_BEGIN "[\n"
#define ARRAY_END "\n]\n"

/* StringInfo grows to 1 GB at most; a span takes some 130 bytes. */
#define FLUSH_BYTES (8 * 1024 * 1024)

#define LOCK_WAIT_MS 2000
#define LOCK_POLL_MS 2

static char *trace_file; /* the setting: a path; "": none */
static bool	 failure_was_told = false;

static const char *const span_names[] = {
#define SPAN_NAME(kind, name, phase) name,
	TB_SPAN_KINDS(SPAN_NAME)
#undef SPAN_NAME
};

static const char *const message_names[] = {"?",
											"HELLO",
											"WELCOME",
											"STATUS",
											"STATUS_REPLY",
											"FILES",
											"QUERY",
											"READY",
											"REFUSED",
											"CHUNK",
											"CHUNK_READ",
											"CHUNK_RELEASE",
											"CHUNK_DONE",
											"INPUT_END",
											"RESULT_BATCH",
											"SLOT_FREE",
											"QUERY_DONE",
											"FAILED",
											"QUERY_CLOSE",
											"PREPARE",
											"LAYOUT",
											"ATTACH",
											"ATTACHED",
											"TRACE",
											"SEGMENTS",
											"SEGMENTS_TAKEN",
											"CACHE_REPORT",
											"CACHE_REPORTED",
											"CACHE_DROP",
											"CACHE_DROPPED"};
StaticAssertDecl(lengthof(message_names) == TB_MSG_CACHE_DROPPED + 1,
				 "a message without a name");

/* A file that could not be written before may be writable now. */
static void
assign_trace_file(const char *newval, void *extra)
{
	(void) newval;
	(void) extra;
	failure_was_told = false;
}

void
tb_trace_file_init(void)
{
	DefineCustomStringVariable(
		"pg_turbine.trace_file", "Sets the file that traces of accelerated queries go to.",
		"A path on the server, relative to the data directory. Empty means no trace. "
		"Perfetto opens the file, and tools/trace_summary.py sums it up.",
		&trace_file, "", PGC_SUSET, GUC_SUPERUSER_ONLY, NULL, assign_trace_file, NULL);
}

bool
tb_trace_file_is_set(void)
{
	return trace_file[0] != '\0';
}

static void
warn(const char *what)
{
	if (failure_was_told)
		return;
	failure_was_told = true;
	ereport(WARNING,
			(errcode_for_file_access(),
			 errmsg("could not write the trace \"%s\": %s", trace_file, what)));
}

/* Everything, or false with errno. */
static bool
write_all(int fd, const char *bytes, size_t length, off_t at)
{
	while (length > 0)
	{
		ssize_t n = pwrite(fd, bytes, length, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes += n;
		length -= n;
		at += n;
	}
	return true;
}

/* Where the next event goes, *first if it will be the array's first; -1, having
 * warned, if this is no trace. */
static off_t
find_end(int fd, bool *first)
{
	struct stat status;
	char		end[sizeof(ARRAY_END) - 1];
	off_t		at;

	/* An empty file begins a trace. */
	if (fstat(fd, &status) != 0)
	{
		warn(strerror(errno));
		return -1;
	}
	*first = status.st_size == 0;
	if (*first)
		return 0;
	/* Only a trace is appended to. */
	at = status.st_size - (off_t) sizeof(end);
	if (at < (off_t) strlen(ARRAY_BEGIN) ||
		pread(fd, end, sizeof(end), at) != sizeof(end) ||
		memcmp(end, ARRAY_END, sizeof(end)) != 0)
	{
		warn("the file exists and is no trace");
		return -1;
	}
	return at;
}

/* Whoever has it locked writes a few megabytes: that takes no second. False, having
 * warned, where it is something else that has, or that cannot be locked. */
static bool
lock_file(int fd)
{
	struct stat status;

	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
	{
		warn("it is no regular file");
		return false;
	}
	for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; waited += LOCK_POLL_MS)
	{
		if ((errno != EWOULDBLOCK && errno != EINTR) || waited >= LOCK_WAIT_MS)
		{
			warn(strerror(errno));
			return false;
		}
		CHECK_FOR_INTERRUPTS();
		pg_usleep(LOCK_POLL_MS * 1000L);
	}
	return true;
}

/* Without what did not fit: the array ends where it did. */
static void
undo(int fd, off_t at, bool first)
{
	warn(strerror(errno));
	if (ftruncate(fd, at) == 0 && !first)
		(void) write_all(fd, ARRAY_END, strlen(ARRAY_END), at);
}

/* `events` begins with a comma. */
static void
append_events(const StringInfo events)
{
	/* Opening a FIFO must not wait for its other end. */
	int	  fd = OpenTransientFilePerm(trace_file, O_RDWR | O_CREAT | O_NONBLOCK | PG_BINARY,
									 S_IRUSR | S_IWUSR);
	bool  first;
	off_t at;

	if (fd < 0)
	{
		warn(strerror(errno));
		return;
	}
	at = lock_file(fd) ? find_end(fd, &first) : -1;
	if (at >= 0)
	{
		if (first)
			memcpy(events->data, ARRAY_BEGIN, strlen(ARRAY_BEGIN));
		appendStringInfoString(events, ARRAY_END);
		if (!write_all(fd, events->data, events->len, at))
			undo(fd, at, first);
	}
	/* Closing unlocks. */
	CloseTransientFile(fd);
}

static void
begin_event(StringInfo events, const char *name, char kind, int pid, uint32 track)
{
	StaticAssertStmt(sizeof(ARRAY_BEGIN) == sizeof(",\n"), "one takes the other's place");
	appendStringInfoString(events, ",\n{\"name\":");
	escape_json(events, name);
	appendStringInfo(events, ",\"ph\":\"%c\",\"pid\":%d,\"tid\":%u", kind, pid, track);
}

static void
add_name(StringInfo events, const char *of, int pid, uint32 track, const char *name)
{
	begin_event(events, of, 'M', pid, track);
	appendStringInfoString(events, ",\"args\":{\"name\":");
	escape_json(events, name);
	appendStringInfoString(events, "}}");
}

static void
add_time(StringInfo events, const char *key, uint64 ns)
{
	appendStringInfo(events, ",\"%s\":" UINT64_FORMAT ".%03u", key, ns / 1000,
					 (unsigned) (ns % 1000));
}

static void
write_span(StringInfo events, int pid, const TbSpan *span)
{
	/* Torn, or of an unknown kind? */
	if (span->kind >= TB_SPAN_KIND_COUNT || span->end_ns < span->begin_ns)
		return;
	/* Messages have a moment or a duration. */
	if (span->kind == TB_SPAN_MESSAGE)
	{
		bool instant = span->begin_ns == span->end_ns;

		begin_event(events,
					span->number < lengthof(message_names) ? message_names[span->number] :
															 "?",
					instant ? 'i' : 'X', pid, span->track);
		add_time(events, "ts", span->begin_ns);
		if (instant)
			appendStringInfoString(events, ",\"s\":\"t\"}");
		else
		{
			add_time(events, "dur", span->end_ns - span->begin_ns);
			appendStringInfoString(events, ",\"cat\":\"message\"}");
		}
		return;
	}
	/* A counter: Perfetto draws a curve for each name. */
	if (TB_SPAN_IS_RATE(span->kind))
	{
		uint64 ns = Max(span->end_ns - span->begin_ns, 1);

		begin_event(events, span_names[span->kind], 'C', pid, 0);
		add_time(events, "ts", span->begin_ns);
		appendStringInfo(events, ",\"args\":{\"GB/s\":%.3f}}",
						 (double) span->number / (double) ns);
		return;
	}
	/* Work on a chunk. */
	begin_event(events, span_names[span->kind], 'X', pid, span->track);
	add_time(events, "ts", span->begin_ns);
	add_time(events, "dur", span->end_ns - span->begin_ns);
	appendStringInfo(events, ",\"args\":{\"chunk\":" UINT64_FORMAT "}}", span->number);
}

void
tb_trace_file_add(int pid, const TbSpan *spans, uint32 nspans, const TbTrack *tracks,
				  uint32 ntracks)
{
	StringInfoData events;

	if (!tb_trace_file_is_set())
		return;
	/* Name the process and tracks */
	initStringInfo(&events);
	add_name(&events, "process_name", pid, 0, pid == MyProcPid ? "backend" : "turbined");
	for (uint32 i = 0; i < ntracks; i++)
	{
		TbTrack track;

		memcpy(&track, &tracks[i], sizeof(track));
		track.name[sizeof(track.name) - 1] = '\0';
		for (char *c = track.name; *c != '\0'; c++)
			if ((unsigned char) *c >= 0x80)
				*c = '?';
		add_name(&events, "thread_name", pid, track.track, track.name);
	}
	/* Write the spans */
	for (uint32 i = 0; i < nspans; i++)
	{
		TbSpan span;

		memcpy(&span, &spans[i], sizeof(span));
		write_span(&events, pid, &span);
		if (events.len > FLUSH_BYTES)
		{
			append_events(&events);
			resetStringInfo(&events);
		}
	}
	if (events.len > 0)
		append_events(&events);
	pfree(events.data);
}
