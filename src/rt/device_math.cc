/*
 * device_math.cc - exp, log, log10, pow, sin, cos, tan and cbrt for devices
 * without a libm.
 *
 * Every fused multiply-add is explicit and contraction is off, so that host
 * and GPU compute the same bits; the bits are not libm's, which is why the
 * catalogue marks the functions INEXACT. Called by float_math.cc on NVPTX and
 * by unit tests. Special cases follow C99 Annex F.
 */
#include "rt/float_math.h"

using namespace turbine::rt;

namespace {

constexpr double kLn2High = 0x1.62e42fefa39efp-1;
constexpr double kLn2Low = 0x1.abc9e3b39803fp-56;
constexpr double kInverseLn10High = 0x1.bcb7b1526e50ep-2;
constexpr double kInverseLn10Low = 0x1.95355baaafad3p-57;
constexpr double kHalfPi1 = 0x1.921fb54442d18p+0;
constexpr double kHalfPi2 = 0x1.1a62633145c07p-54;
constexpr double kHalfPi3 = -0x1.f1976b7ed8fbcp-110;

RT_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

RT_INLINE uint64_t bits_of(double x) { return __builtin_bit_cast(uint64_t, x); }

RT_INLINE double from_bits(uint64_t bits) { return __builtin_bit_cast(double, bits); }

RT_INLINE double infinity() { return __builtin_inf(); }

/* ---- double-double: an unevaluated sum, |low| <= ulp(high) / 2 ---- */

struct Double2 {
  double high;
  double low;
};

/* |a| >= |b|. */
RT_INLINE Double2 fast_sum(double a, double b) {
  double sum = a + b;
  return {sum, b - (sum - a)};
}

RT_INLINE Double2 product(Double2 a, Double2 b) {
  double high = a.high * b.high;
  double low = fma(a.high, b.high, -high);
  low = fma(a.high, b.low, fma(a.low, b.high, low));
  return fast_sum(high, low);
}

/* |a| >= |b|. */
RT_INLINE Double2 sum(Double2 a, Double2 b) {
  Double2 s = fast_sum(a.high, b.high);
  return fast_sum(s.high, s.low + (a.low + b.low));
}

RT_INLINE Double2 quotient(double a, double b) {
  double high = a / b;
  double low = fma(-high, b, a) / b;
  return {high, low};
}

/* ---- exponential ---- */

/* x * 2^exponent, rounded once where the result is subnormal. */
RT_INLINE double scale(double x, int32_t exponent) {
  if (exponent < -1021) return x * from_bits((uint64_t)(exponent + 100 + 1023) << 52) * 0x1p-100;
  if (exponent > 1023) return x * from_bits((uint64_t)(exponent - 1 + 1023) << 52) * 2.0;
  return x * from_bits((uint64_t)(exponent + 1023) << 52);
}

/* e^(x + low) for |low| far below 1. */
RT_INLINE double exponential(double x, double low) {
  if (x != x) return x;
  if (x > 709.79) return infinity();
  if (x < -745.14) return 0.0;
  double k = __builtin_rint(x * 0x1.71547652b82fep+0);
  double r = fma(-k, kLn2High, x);
  double tail = low - k * kLn2Low;
  r += tail;
  /* 1/13!, 1/12!, ... 1/2!: the rest is below 2^-57 for |r| <= ln(2)/2. */
  double p = 1.0 / 6227020800.0;
  p = fma(p, r, 1.0 / 479001600.0);
  p = fma(p, r, 1.0 / 39916800.0);
  p = fma(p, r, 1.0 / 3628800.0);
  p = fma(p, r, 1.0 / 362880.0);
  p = fma(p, r, 1.0 / 40320.0);
  p = fma(p, r, 1.0 / 5040.0);
  p = fma(p, r, 1.0 / 720.0);
  p = fma(p, r, 1.0 / 120.0);
  p = fma(p, r, 1.0 / 24.0);
  p = fma(p, r, 1.0 / 6.0);
  p = fma(p, r, 0.5);
  return scale(1.0 + fma(p * r, r, r), (int32_t)k);
}

/* ---- logarithm ---- */

/* ln(x) of a positive finite x: x = 2^k * m with m around 1, and
 * ln(m) = 2 atanh(s), s = (m - 1) / (m + 1), as a series in s^2 <= 0.0295. */
RT_INLINE Double2 logarithm(double x) {
  int32_t k = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    k = -54;
  }
  uint64_t bits = bits_of(x);
  k += (int32_t)(bits >> 52) - 1023;
  double m = from_bits((bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    k++;
  }
  double above = m - 1.0;  // exact, and so is m + 1 as a sum of two
  Double2 below = fast_sum(m < 1.0 ? 1.0 : m, m < 1.0 ? m : 1.0);
  double high = above / below.high;
  double low = (fma(-high, below.high, above) - high * below.low) / below.high;
  Double2 s = {high, low};
  Double2 z = product(s, s);
  Double2 series = quotient(1.0, 33.0);
  for (int n = 31; n >= 1; n -= 2) series = sum(quotient(1.0, (double)n), product(series, z));
  Double2 ln_m = product({2.0 * s.high, 2.0 * s.low}, series);
  if (k == 0) return ln_m;
  Double2 ln_2k = product({(double)k, 0.0}, {kLn2High, kLn2Low});
  return sum(ln_2k, ln_m);
}

/* ---- circular functions ---- */

/* 2/pi in binary, after a word of zeros: bit 64 + j has the weight 2^-(j+1). */
constexpr uint64_t kTwoOverPi[21] = {
    0x0000000000000000ull, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull,
    0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull,
    0x3991d639835339f4ull, 0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull,
    0x4f463f669e5fea2dull, 0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull,
    0xf0cfbc209af4361dull,
};

struct Reduced {
  double high;       // in [-pi/4, pi/4], nearly
  double low;
  uint32_t quadrant;
};

RT_INLINE uint64_t window(uint32_t bit) {
  uint32_t word = bit / 64, shift = bit % 64;
  uint64_t first = kTwoOverPi[word] << shift;
  return shift == 0 ? first : first | kTwoOverPi[word + 1] >> (64 - shift);
}

/* Payne and Hanek: x/4 turns modulo 1, from those 192 bits of 2/pi that
 * matter for x's exponent. */
RT_INLINE Reduced reduce_large(double x) {
  uint64_t bits = bits_of(x);
  int32_t exponent = (int32_t)(bits >> 52 & 0x7ff) - 1075;
  uint64_t m = (bits & 0x000fffffffffffffull) | 0x0010000000000000ull;
  uint32_t at = (uint32_t)(exponent - 2 + 64);
  uint128 low = (uint128)m * window(at + 128);
  uint128 middle = (uint128)m * window(at + 64) + (uint64_t)(low >> 64);
  uint64_t top = m * window(at) + (uint64_t)(middle >> 64);
  uint64_t rest = (uint64_t)middle;
  uint32_t quadrant = (uint32_t)(top >> 62);
  /* The fraction of a quadrant, with 128 bits below the binary point. */
  uint128 fraction = ((uint128)top << 64 | rest) << 2 | (uint64_t)low >> 62;
  bool negative = (uint64_t)(fraction >> 127) != 0;
  if (negative) {
    fraction = 0 - fraction;
    quadrant++;
  }
  uint64_t high_word = (uint64_t)(fraction >> 64);
  int shift = high_word == 0 ? 64 : __builtin_clzll(high_word);
  if (shift > 0 && shift < 128) fraction <<= shift;
  uint64_t leading = (uint64_t)(fraction >> 64);
  double unit = from_bits((uint64_t)(1023 - 64 - shift) << 52);
  double high = (double)(int64_t)(leading >> 11) * 0x1p11 * unit;
  double low_part = (double)(int64_t)(leading & 0x7ff) * unit;
  if (negative) {
    high = -high;
    low_part = -low_part;
  }
  Double2 r = product({high, low_part}, {kHalfPi1, kHalfPi2});
  return {r.high, r.low, quadrant};
}

RT_INLINE Reduced reduce_small(double x) {
  double k = __builtin_rint(x * 0x1.45f306dc9c883p-1);
  double r1 = fma(-k, kHalfPi1, x);
  double high = fma(-k, kHalfPi2, r1);
  double low = fma(-k, kHalfPi2, r1 - high);
  low = fma(-k, kHalfPi3, low);
  return {high, low, (uint32_t)(int32_t)k};
}

/* The quadrant counts for |x|; callers give the sign. */
RT_INLINE Reduced reduce(double magnitude) {
  return magnitude < 100000.0 ? reduce_small(magnitude) : reduce_large(magnitude);
}

/* Taylor: the first omitted terms are below 2^-60. */
RT_INLINE double sine(double r, double low) {
  double z = r * r;
  double p = 1.0 / 355687428096000.0;
  p = fma(p, z, -1.0 / 1307674368000.0);
  p = fma(p, z, 1.0 / 6227020800.0);
  p = fma(p, z, -1.0 / 39916800.0);
  p = fma(p, z, 1.0 / 362880.0);
  p = fma(p, z, -1.0 / 5040.0);
  p = fma(p, z, 1.0 / 120.0);
  p = fma(p, z, -1.0 / 6.0);
  return r + fma(p * z, r, low * fma(-0.5, z, 1.0));
}

RT_INLINE double cosine(double r, double low) {
  double z = r * r;
  double p = 1.0 / 6402373705728000.0;
  p = fma(-p, z, 1.0 / 20922789888000.0);
  p = fma(p, z, -1.0 / 87178291200.0);
  p = fma(p, z, 1.0 / 479001600.0);
  p = fma(p, z, -1.0 / 3628800.0);
  p = fma(p, z, 1.0 / 40320.0);
  p = fma(p, z, -1.0 / 720.0);
  p = fma(p, z, 1.0 / 24.0);
  double half = 0.5 * z;
  double main = 1.0 - half;
  return main + (((1.0 - main) - half) + (fma(p * z, z, -r * low)));
}

RT_INLINE bool is_finite(double x) { return __builtin_fabs(x) < infinity(); }

RT_INLINE double sine_of_quadrant(const Reduced& r, uint32_t quadrant) {
  double value = quadrant & 1 ? cosine(r.high, r.low) : sine(r.high, r.low);
  return quadrant & 2 ? -value : value;
}

}  // namespace

RT_EXPORT double rt_device_exp(double x) { return exponential(x, 0.0); }

RT_EXPORT double rt_device_log(double x) {
  if (x != x || x == infinity()) return x;
  if (x == 0) return -infinity();
  if (x < 0) return __builtin_nan("");
  return logarithm(x).high;
}

RT_EXPORT double rt_device_log10(double x) {
  if (x != x || x == infinity()) return x;
  if (x == 0) return -infinity();
  if (x < 0) return __builtin_nan("");
  return product(logarithm(x), {kInverseLn10High, kInverseLn10Low}).high;
}

RT_EXPORT double rt_device_pow(double x, double y) {
  if (x == 1.0 || y == 0.0) return 1.0;
  if (x != x || y != y) return x + y;
  bool whole = __builtin_trunc(y) == y;
  bool odd = whole && __builtin_trunc(y * 0.5) * 2.0 != y && is_finite(y);
  double size = __builtin_fabs(x);
  double result;
  if (!is_finite(y)) {
    result = size == 1.0 ? 1.0 : (size > 1.0) == (y > 0) ? infinity() : 0.0;
  } else if (size == 0 || size == infinity()) {
    result = (size == 0) == (y > 0) ? 0.0 : infinity();
  } else if (x < 0 && !whole) {
    return __builtin_nan("");
  } else {
    Double2 ln = logarithm(size);
    double high = y * ln.high;
    /* Beyond any finite result, and before 0 * infinity in the low part. */
    if (__builtin_fabs(high) > 1000.0) {
      result = high > 0 ? infinity() : 0.0;
    } else {
      double low = fma(y, ln.high, -high) + y * ln.low;
      result = exponential(high, low);
    }
  }
  return x < 0 && odd ? -result : (size == 0 && odd) ? __builtin_copysign(result, x) : result;
}

RT_EXPORT double rt_device_sin(double x) {
  if (!is_finite(x)) return __builtin_nan("");
  if (__builtin_fabs(x) < 0x1p-27) return x;
  Reduced r = reduce(__builtin_fabs(x));
  double value = sine_of_quadrant(r, r.quadrant);
  return x < 0 ? -value : value;
}

RT_EXPORT double rt_device_cos(double x) {
  if (!is_finite(x)) return __builtin_nan("");
  Reduced r = reduce(__builtin_fabs(x));
  return sine_of_quadrant(r, r.quadrant + 1);
}

RT_EXPORT double rt_device_tan(double x) {
  if (!is_finite(x)) return __builtin_nan("");
  if (__builtin_fabs(x) < 0x1p-27) return x;
  Reduced r = reduce(__builtin_fabs(x));
  double s = sine(r.high, r.low), c = cosine(r.high, r.low);
  double value = r.quadrant & 1 ? -c / s : s / c;
  return x < 0 ? -value : value;
}

/* Halley's iteration from an estimate by a third of the exponent; then one
 * Newton step on the exact residual. */
RT_EXPORT double rt_device_cbrt(double x) {
  if (x == 0 || !is_finite(x)) return x;
  double a = __builtin_fabs(x);
  double unit = 1.0;
  if (a < 0x1p-1000) {
    a *= 0x1p180;
    unit = 0x1p-60;
  } else if (a > 0x1p1000) {
    a *= 0x1p-180;
    unit = 0x1p60;
  }
  double t = from_bits(bits_of(a) / 3 + 0x2a9f7893782da1ceull);
  for (int step = 0; step < 3; step++) {
    double cube = t * t * t;
    t = t * ((cube + 2.0 * a) / (2.0 * cube + a));
  }
  double square = t * t;
  double square_low = fma(t, t, -square);
  double residual = fma(-t, square, a) - t * square_low;
  t += residual / (3.0 * square);
  t *= unit;
  return x < 0 ? -t : t;
}
