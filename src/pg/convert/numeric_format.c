/*
 * numeric_format.c - numeric values as scaled integers, and back.
 *
 * A numeric is a varlena: a 16-bit header, with "short" form a sign, a display
 * scale of 6 bits and a weight of 7, else sign and display scale followed by a
 * 16-bit weight; then base-10000 digits, most significant first, the first of
 * which counts 10000^weight. Leading and trailing zero digits are stripped.
 * Called when parameters are made and results returned.
 */
#include "postgres.h"

#include "pg/compat/pg16.h"
#include "pg/convert/numeric_format.h"

#define SIGN_MASK 0xC000
#define SIGN_NEGATIVE 0x4000
#define FORM_SHORT 0x8000
#define FORM_SPECIAL 0xC000
#define SHORT_SIGN 0x2000
#define SHORT_SCALE_MASK 0x1F80
#define SHORT_SCALE_SHIFT 7
#define SHORT_SCALE_MAX 63
#define SHORT_WEIGHT_SIGN 0x0040
#define SHORT_WEIGHT_MASK 0x003F
#define LONG_SCALE_MASK 0x3FFF

#define BASE 10000
#define BASE_DIGITS 4
#define MAX_BASE_DIGITS 12 /* 128 bits and an unaligned point */

typedef struct NumericView
{
	bool		 negative;
	int			 display_scale;
	int			 weight;
	int			 ndigits;
	const int16 *digits;
} NumericView;

static bool
view_numeric(Numeric numeric, NumericView *view)
{
	const char *bytes = VARDATA_ANY(numeric);
	Size		size = VARSIZE_ANY_EXHDR(numeric);
	uint16		header;

	memcpy(&header, bytes, sizeof(header));
	/* NaN and infinities have no digits. */
	if ((header & SIGN_MASK) == FORM_SPECIAL)
		return false;
	/* One header word. */
	if ((header & SIGN_MASK) == FORM_SHORT)
	{
		view->negative = (header & SHORT_SIGN) != 0;
		view->display_scale = (header & SHORT_SCALE_MASK) >> SHORT_SCALE_SHIFT;
		view->weight = header & SHORT_WEIGHT_MASK;
		if (header & SHORT_WEIGHT_SIGN)
			view->weight |= ~SHORT_WEIGHT_MASK;
		view->digits = (const int16 *) (bytes + sizeof(uint16));
		view->ndigits = (size - sizeof(uint16)) / sizeof(int16);
		return true;
	}
	/* Two header words. */
	view->negative = (header & SIGN_MASK) == SIGN_NEGATIVE;
	view->display_scale = header & LONG_SCALE_MASK;
	view->weight = *(const int16 *) (bytes + sizeof(uint16));
	view->digits = (const int16 *) (bytes + 2 * sizeof(uint16));
	view->ndigits = (size - 2 * sizeof(uint16)) / sizeof(int16);
	return true;
}

/* *value = *value * factor + addend; false on overflow of 127 bits. */
static bool
multiply_add(tb_uint128 *value, uint32 factor, uint32 addend)
{
	const tb_uint128 most = ~(tb_uint128) 0 >> 1;

	if (*value > (most - addend) / factor)
		return false;
	*value = *value * factor + addend;
	return true;
}

static uint32
power_of_ten(int exponent)
{
	static const uint32 powers[] = {1, 10, 100, 1000, 10000};

	Assert(exponent >= 0 && exponent <= BASE_DIGITS);
	return powers[exponent];
}

bool
tb_numeric_to_int128(Numeric numeric, int scale, tb_int128 *value)
{
	NumericView view;
	tb_uint128	magnitude = 0;

	if (!view_numeric(numeric, &view))
		return false;
	/* Digit i covers decimals -4*(weight-i) - 4 .. -4*(weight-i) - 1. */
	for (int i = 0; i < view.ndigits; i++)
	{
		int	   decimals = -BASE_DIGITS * (view.weight - i);
		uint32 digit = (uint32) view.digits[i];
		int	   excess = decimals - scale;

		if (excess <= 0)
		{
			if (!multiply_add(&magnitude, BASE, digit))
				return false;
			continue;
		}
		if (excess >= BASE_DIGITS || digit % power_of_ten(excess) != 0)
			return false;
		if (!multiply_add(&magnitude, power_of_ten(BASE_DIGITS - excess),
						  digit / power_of_ten(excess)))
			return false;
	}
	/* The digits end above the scale: append the zeros that were stripped. */
	if (view.ndigits > 0)
	{
		int zeros = scale + BASE_DIGITS * (view.weight - view.ndigits + 1);

		for (; zeros > 0; zeros -= Min(zeros, BASE_DIGITS))
		{
			if (!multiply_add(&magnitude, power_of_ten(Min(zeros, BASE_DIGITS)), 0))
				return false;
		}
	}
	*value = view.negative ? -(tb_int128) magnitude : (tb_int128) magnitude;
	return true;
}

bool
tb_int128_fits(tb_int128 value, uint32 type)
{
	const tb_int128 limit = INT64CONST(1000000000000000000);

	return type == TB_TYPE_NUM128 || (value < limit && value > -limit);
}

bool
tb_numeric_fits(Numeric numeric, uint32 type, int scale)
{
	tb_int128 value;

	if (!tb_numeric_to_int128(numeric, scale, &value))
		return false;
	return tb_int128_fits(value, type);
}

int
tb_numeric_display_scale(Numeric numeric)
{
	NumericView view;

	return view_numeric(numeric, &view) ? view.display_scale : -1;
}

int
tb_int128_digits(tb_int128 value)
{
	tb_uint128 magnitude = value < 0 ? -(tb_uint128) value : (tb_uint128) value;
	int		   digits = 0;

	for (; magnitude > 0; magnitude /= 10)
		digits++;
	return digits;
}

/* Base-10000 digits of magnitude / 10^scale, least significant first. */
static int
split_digits(tb_uint128 magnitude, int scale, int16 *digits)
{
	int	   count = 0;
	int	   padding = (BASE_DIGITS - scale % BASE_DIGITS) % BASE_DIGITS;
	uint64 low;

	/* The last digit is partial unless the scale is a multiple of four. */
	if (padding > 0)
	{
		uint32 divisor = power_of_ten(BASE_DIGITS - padding);

		digits[count++] = (int16) ((uint32) (magnitude % divisor) * power_of_ten(padding));
		magnitude /= divisor;
	}
	while (magnitude >> 64 != 0)
	{
		digits[count++] = (int16) (magnitude % BASE);
		magnitude /= BASE;
	}
	for (low = (uint64) magnitude; low != 0; low /= BASE)
		digits[count++] = (int16) (low % BASE);
	return count;
}

static char *
write_header(Size ndigits, bool negative, int weight, int display_scale,
			 struct varlena **result)
{
	bool is_short = display_scale <= SHORT_SCALE_MAX &&
		weight >= -(SHORT_WEIGHT_MASK + 1) && weight <= SHORT_WEIGHT_MASK;
	Size	size = VARHDRSZ + (is_short ? 2 : 4) + ndigits * sizeof(int16);
	uint16 *header;

	*result = palloc(size);
	SET_VARSIZE(*result, size);
	header = (uint16 *) VARDATA(*result);
	if (is_short)
	{
		header[0] = FORM_SHORT | (negative ? SHORT_SIGN : 0) |
			(display_scale << SHORT_SCALE_SHIFT) | (weight < 0 ? SHORT_WEIGHT_SIGN : 0) |
			(weight & SHORT_WEIGHT_MASK);
		return (char *) (header + 1);
	}
	header[0] = (negative ? SIGN_NEGATIVE : 0) | display_scale;
	header[1] = (uint16) weight;
	return (char *) (header + 2);
}

/* Whether that many last digits are zeros; none have to be where it is negative. */
static pg_attribute_unused() bool is_multiple(tb_uint128 magnitude, int digits)
{
	for (; digits > 0; digits--)
	{
		if (magnitude % 10 != 0)
			return false;
		magnitude /= 10;
	}
	return true;
}

Datum
tb_numeric_from_int128(tb_int128 value, int scale, int display_scale)
{
	bool			negative = value < 0;
	tb_uint128		magnitude = negative ? -(tb_uint128) value : (tb_uint128) value;
	int16			digits[MAX_BASE_DIGITS];
	int				count = split_digits(magnitude, scale, digits);
	int				first = 0;
	int				weight;
	int16		   *out;
	struct varlena *result;

	Assert(scale >= 0 && display_scale >= 0 && count <= MAX_BASE_DIGITS);
	Assert(is_multiple(magnitude, scale - display_scale));
	/* digits[0] counts 10000^-(number of fractional digits) */
	weight = count - 1 - (scale + BASE_DIGITS - 1) / BASE_DIGITS;
	while (count > 0 && digits[count - 1] == 0)
	{
		count--;
		weight--;
	}
	while (first < count && digits[first] == 0)
		first++;
	if (first == count)
	{
		weight = 0;
		negative = false;
	}
	out = (int16 *) write_header(count - first, negative, weight, display_scale, &result);
	for (int i = count; i-- > first;)
		*out++ = digits[i];
	return PointerGetDatum(result);
}
