/*
 * numeric_scale.c - see numeric_scale.h.
 *
 * Reads numeric's disk format itself, since numeric.c exports no access to the
 * digits and its functions would cost a division per row:
 *
 *   uint16 header: top bits 10 short, 11 special, else long
 *     short: 0x2000 negative, 0x1F80 display scale, 0x0040 weight's sign,
 *            0x003F weight
 *     long:  0x4000 negative, 0x3FFF display scale; then int16 weight
 *   uint16 digits, base 10000, the first worth 10000^weight
 *
 * Called for rows that the backend detoasts.
 */
#include "postgres.h"

#include "pg/feed/numeric_scale.h"

#define HEADER_KIND		0xC000
#define HEADER_SHORT	0x8000
#define HEADER_SPECIAL	0xC000
#define SHORT_NEGATIVE	0x2000
#define SHORT_WEIGHT_SIGN 0x0040
#define SHORT_WEIGHT	0x003F
#define LONG_NEGATIVE	0x4000
#define DIGITS_A_GROUP	4

typedef struct NumericParts
{
	bool		negative;
	int			weight;
	const char *digits;			/* uint16s, maybe unaligned */
	int			ndigits;
} NumericParts;

static uint16
read16(const char *p)
{
	uint16		value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static bool
parse(const struct varlena *value, NumericParts *parts)
{
	const char *data = VARDATA_ANY(value);
	int			size = VARSIZE_ANY_EXHDR(value);
	uint16		header;
	int			header_size;

	if (size < (int) sizeof(uint16))
		return false;
	header = read16(data);
	if ((header & HEADER_KIND) == HEADER_SPECIAL)
		return false;
	if ((header & HEADER_KIND) == HEADER_SHORT)
	{
		header_size = sizeof(uint16);
		parts->negative = (header & SHORT_NEGATIVE) != 0;
		parts->weight = (header & SHORT_WEIGHT);
		if (header & SHORT_WEIGHT_SIGN)
			parts->weight |= ~SHORT_WEIGHT;
	}
	else
	{
		header_size = 2 * sizeof(uint16);
		if (size < header_size)
			return false;
		parts->negative = (header & HEADER_KIND) == LONG_NEGATIVE;
		parts->weight = (int16) read16(data + sizeof(uint16));
	}
	parts->digits = data + header_size;
	parts->ndigits = (size - header_size) / (int) sizeof(uint16);
	return true;
}

static bool
multiply_add(__int128 *sum, int factor, int addend)
{
	return !__builtin_mul_overflow(*sum, (__int128) factor, sum) &&
		!__builtin_add_overflow(*sum, (__int128) addend, sum);
}

/* Appends a base-10000 digit whose last decimal place is 10^exponent, where
 * places below 10^-scale must be zero. */
static bool
append_group(__int128 *sum, int digit, int exponent, int scale)
{
	for (int i = DIGITS_A_GROUP - 1; i >= 0; i--)
	{
		static const int powers[DIGITS_A_GROUP] = {1, 10, 100, 1000};
		int			decimal = (digit / powers[i]) % 10;

		if (exponent + i < -scale)
		{
			if (decimal != 0)
				return false;
		}
		/* built up as a negative number, whose range is the larger one */
		else if (!multiply_add(sum, 10, -decimal))
			return false;
	}
	return true;
}

bool
tb_numeric_scale(const struct varlena *value, int scale, __int128 *result)
{
	NumericParts parts;
	__int128	sum = 0;
	int			exponent = 0;	/* of the last place appended */

	if (!parse(value, &parts))
		return false;
	if (parts.ndigits == 0)
	{
		*result = 0;
		return true;
	}
	for (int i = 0; i < parts.ndigits; i++)
	{
		exponent = (parts.weight - i) * DIGITS_A_GROUP;
		if (!append_group(&sum, read16(parts.digits + i * sizeof(uint16)),
						  exponent, scale))
			return false;
	}
	for (int place = Max(exponent, -scale); place > -scale && sum != 0; place--)
		if (!multiply_add(&sum, 10, 0))
			return false;
	if (!parts.negative && __builtin_sub_overflow((__int128) 0, sum, &sum))
		return false;
	*result = sum;
	return true;
}
