/*
 * collation_order.c - see collation_order.h.
 *
 * The engine compares the bytes of texts. PostgreSQL does the same under C, and
 * says so (lc_collate_is_c); under every other collation it asks the C library
 * (strcoll) or ICU. C.UTF-8 is the one of those that usually comes to the same:
 * since glibc 2.35, and where distributions took it over earlier, its LC_COLLATE
 * has no rules, and strcoll without rules is strcmp. UTF-8 keeps the order of
 * code points, and PostgreSQL's tie-break among texts that strcoll calls equal
 * is strcmp too. Older distributions made a C.UTF-8 of their own from tables of
 * weights, some of which have supplementary characters in another order: there
 * the name proves nothing, so the locale itself is asked.
 *
 * Answers are kept as long as the backend lives, as PostgreSQL keeps its own: a
 * collation's locale cannot be altered.
 *
 * Called by the translator and by the planning of aggregates, sorts and windows.
 */
#include "postgres.h"

#include <langinfo.h>
#include <locale.h>

#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/pg_locale.h"
#include "utils/syscache.h"

#include "pg/compat/pg18.h"
#include "pg/planner/expression/collation_order.h"

typedef struct KnownCollation
{
	Oid	 collation; /* the key */
	bool by_bytes;
} KnownCollation;

#ifdef __GLIBC__

/*
 * Texts in the order of their bytes, among them pairs that tables of weights put
 * the other way round: letter case, punctuation, digits, accents, and characters
 * on both sides of the surrogates and of the basic plane's end.
 */
static const char *const in_byte_order[] = {
	"!",
	"-b",
	"1",
	"10",
	"2",
	"B",
	"Z",
	"_",
	"a",
	"a b",
	"a-c",
	"ab",
	"b",
	"z",
	"\xc3\xa9",			/* U+00E9 */
	"\xe4\xb8\x80",		/* U+4E00 */
	"\xed\x9f\xbf",		/* U+D7FF */
	"\xee\x80\x80",		/* U+E000 */
	"\xef\xbf\xbf",		/* U+FFFF */
	"\xf0\x90\x80\x80", /* U+10000 */
	"\xf4\x8f\xbf\xbf"	/* U+10FFFF */
};

/* "C.UTF-8" in the spellings that name the same locale. */
static bool
is_c_utf8(const char *name)
{
	return pg_strcasecmp(name, "C.UTF-8") == 0 || pg_strcasecmp(name, "C.UTF8") == 0;
}

/* The number of rules of a locale's LC_COLLATE, which strcoll looks at first. */
static uint32
collation_rules(locale_t locale)
{
	/* As "locale -k" reads it: of numbers, nl_langinfo returns the value. */
	union
	{
		const char *string;
		uint32		word;
	} rules;

	rules.string = nl_langinfo_l(_NL_COLLATE_NRULES, locale);
	return rules.word;
}

static bool
sorts_samples_by_bytes(locale_t locale)
{
	for (int i = 0; i < (int) lengthof(in_byte_order); i++)
	{
		for (int j = i + 1; j < (int) lengthof(in_byte_order); j++)
		{
			Assert(strcmp(in_byte_order[i], in_byte_order[j]) < 0);
			if (strcoll_l(in_byte_order[i], in_byte_order[j], locale) >= 0 ||
				strcoll_l(in_byte_order[j], in_byte_order[i], locale) <= 0)
				return false;
		}
	}
	return true;
}

static bool
locale_orders_by_bytes(const char *name)
{
	locale_t locale;
	bool	 by_bytes;

	if (name == NULL || GetDatabaseEncoding() != PG_UTF8 || !is_c_utf8(name))
		return false;
	locale = newlocale(LC_COLLATE_MASK, name, (locale_t) 0);
	if (locale == (locale_t) 0)
		return false;
	/* The second is a net below the first: what is proved there shows here. */
	by_bytes = collation_rules(locale) == 0 && sorts_samples_by_bytes(locale);
	freelocale(locale);
	return by_bytes;
}

#else /* other C libraries are not known to */

static bool
locale_orders_by_bytes(const char *name)
{
	return false;
}

#endif

/* The database's own collation. */
static bool
default_orders_by_bytes(void)
{
	return tb_default_collation_provider() == COLLPROVIDER_LIBC &&
		locale_orders_by_bytes(setlocale(LC_COLLATE, NULL));
}

static bool
other_orders_by_bytes(Oid collation)
{
	HeapTuple		  tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	Form_pg_collation form;
	bool			  by_bytes = false;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_collation) GETSTRUCT(tuple);
	if (form->collprovider == COLLPROVIDER_LIBC && form->collisdeterministic)
	{
		bool  isnull;
		Datum name = SysCacheGetAttr(COLLOID, tuple, Anum_pg_collation_collcollate,
									 &isnull);

		by_bytes = !isnull && locale_orders_by_bytes(TextDatumGetCString(name));
	}
	ReleaseSysCache(tuple);
	return by_bytes;
}

static HTAB *
known_collations(void)
{
	static HTAB *known = NULL;
	HASHCTL		 control = {0};

	if (known == NULL)
	{
		control.keysize = sizeof(Oid);
		control.entrysize = sizeof(KnownCollation);
		known = hash_create("pg_turbine collations", 16, &control, HASH_ELEM | HASH_BLOBS);
	}
	return known;
}

bool
tb_collation_orders_by_bytes(Oid collation)
{
	KnownCollation *entry;
	bool			by_bytes;

	if (!OidIsValid(collation))
		return false;
	entry = hash_search(known_collations(), &collation, HASH_FIND, NULL);
	if (entry != NULL)
		return entry->by_bytes;
	/* Computed before it is entered: what is below may raise. */
	by_bytes = tb_collation_is_c(collation) ||
		(collation == DEFAULT_COLLATION_OID ? default_orders_by_bytes() :
											  other_orders_by_bytes(collation));
	entry = hash_search(known_collations(), &collation, HASH_ENTER, NULL);
	entry->by_bytes = by_bytes;
	return by_bytes;
}
