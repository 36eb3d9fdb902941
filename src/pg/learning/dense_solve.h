/*
 * dense_solve.h - small dense systems of a training: a row and a column for each column of
 * the model.
 *
 * Matrices are symmetric, n x n, row by row. All memory is the caller's. Nothing is raised.
 */
#ifndef TURBINE_PG_LEARNING_DENSE_SOLVE_H
#define TURBINE_PG_LEARNING_DENSE_SOLVE_H

#include "postgres.h"

/*
 * Cholesky's decomposition a = L * L', in the place of a's lower triangle. False if the
 * matrix is singular as far as double precision can tell: then *column is the first one
 * that depends on those before it, and a is of no use.
 */
extern bool tb_cholesky(double *a, int n, int *column);

/* b = (L * L')^-1 * b */
extern void tb_cholesky_solve(const double *l, int n, double *b);

/* (L * L')^-1, all of it */
extern void tb_cholesky_inverse(const double *l, int n, double *inverse);

/*
 * Eigenvalues in descending order, and their vectors as rows of `vectors`, each of length 1
 * with its element of the largest magnitude positive. a is overwritten.
 */
extern void tb_symmetric_eigen(double *a, int n, double *values, double *vectors);

#endif
