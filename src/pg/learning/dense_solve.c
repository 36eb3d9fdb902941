/*
 * dense_solve.c - see dense_solve.h.
 *
 * Plain loops: a model has a hundred columns at most, so that a decomposition takes less
 * than a millisecond. Called by the trainings of this folder. Must never look at the
 * magnitude of a number alone: columns may have any unit.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "pg/learning/dense_solve.h"

/* What is left of a column's diagonal element without the columns before it: 1 - R^2 of the
 * column by those. Sums over 10^8 rows leave about 10^-13 where it is really 0. */
#define RANK_TOLERANCE 1e-11

/* Jacobi's method converges quadratically: six sweeps are usual. */
#define MOST_SWEEPS 60

bool
tb_cholesky(double *a, int n, int *column)
{
	for (int j = 0; j < n; j++)
	{
		double whole = a[j * n + j];
		double rest = whole;

		for (int k = 0; k < j; k++)
			rest -= a[j * n + k] * a[j * n + k];
		/* Not a number is not larger either. */
		if (!(rest > RANK_TOLERANCE * whole) || isinf(rest))
		{
			*column = j;
			return false;
		}
		a[j * n + j] = sqrt(rest);
		for (int i = j + 1; i < n; i++)
		{
			double sum = a[i * n + j];

			for (int k = 0; k < j; k++)
				sum -= a[i * n + k] * a[j * n + k];
			a[i * n + j] = sum / a[j * n + j];
		}
	}
	return true;
}

void
tb_cholesky_solve(const double *l, int n, double *b)
{
	/* L * y = b */
	for (int i = 0; i < n; i++)
	{
		for (int k = 0; k < i; k++)
			b[i] -= l[i * n + k] * b[k];
		b[i] /= l[i * n + i];
	}
	/* L' * x = y */
	for (int i = n - 1; i >= 0; i--)
	{
		for (int k = i + 1; k < n; k++)
			b[i] -= l[k * n + i] * b[k];
		b[i] /= l[i * n + i];
	}
}

void
tb_cholesky_inverse(const double *l, int n, double *inverse)
{
	memset(inverse, 0, sizeof(double) * n * n);
	/* The inverse is symmetric, so its rows are its columns. */
	for (int j = 0; j < n; j++)
	{
		inverse[j * n + j] = 1;
		tb_cholesky_solve(l, n, inverse + j * n);
	}
}

/* Turns axes p and q so that a[p][q] becomes 0. */
static void
rotate(double *a, int n, double *vectors, int p, int q)
{
	double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
	double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
	double c = 1 / sqrt(t * t + 1);
	double s = t * c;

	for (int k = 0; k < n; k++)
	{
		double kp = a[k * n + p];
		double kq = a[k * n + q];

		a[k * n + p] = c * kp - s * kq;
		a[k * n + q] = s * kp + c * kq;
	}
	for (int k = 0; k < n; k++)
	{
		double pk = a[p * n + k];
		double qk = a[q * n + k];
		double vp = vectors[p * n + k];
		double vq = vectors[q * n + k];

		a[p * n + k] = c * pk - s * qk;
		a[q * n + k] = s * pk + c * qk;
		vectors[p * n + k] = c * vp - s * vq;
		vectors[q * n + k] = s * vp + c * vq;
	}
}

/* One sweep of Jacobi's method; whether there was anything to do. */
static bool
sweep(double *a, int n, double *vectors)
{
	bool rotated = false;

	for (int p = 0; p < n - 1; p++)
		for (int q = p + 1; q < n; q++)
		{
			double limit = DBL_EPSILON * sqrt(fabs(a[p * n + p] * a[q * n + q])) / 16;

			if (fabs(a[p * n + q]) <= limit || a[p * n + q] == 0)
				continue;
			rotate(a, n, vectors, p, q);
			rotated = true;
		}
	return rotated;
}

static void
swap_rows(double *a, double *b, int n)
{
	for (int k = 0; k < n; k++)
	{
		double kept = a[k];

		a[k] = b[k];
		b[k] = kept;
	}
}

void
tb_symmetric_eigen(double *a, int n, double *values, double *vectors)
{
	memset(vectors, 0, sizeof(double) * n * n);
	for (int i = 0; i < n; i++)
		vectors[i * n + i] = 1;
	for (int i = 0; i < MOST_SWEEPS && sweep(a, n, vectors); i++)
		;
	for (int i = 0; i < n; i++)
		values[i] = a[i * n + i];
	/* Largest first */
	for (int i = 0; i < n; i++)
		for (int j = i + 1; j < n; j++)
			if (values[j] > values[i])
			{
				swap_rows(&values[i], &values[j], 1);
				swap_rows(vectors + i * n, vectors + j * n, n);
			}
	/* One of the two directions */
	for (int i = 0; i < n; i++)
	{
		double *vector = vectors + i * n;
		int		largest = 0;

		for (int k = 1; k < n; k++)
			if (fabs(vector[k]) > fabs(vector[largest]) * (1 + 1e-9))
				largest = k;
		if (vector[largest] < 0)
			for (int k = 0; k < n; k++)
				vector[k] = -vector[k];
	}
}
