/* Logistic regression on MPI processes, which average when libgradsync_hook says so:
 *   mpicc mpi_loop.c -I PREFIX/include -L PREFIX/lib -lgradsync_hook -lm && mpirun -n 4 ./a.out */
#include <gradsync/gradsync_hook.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WEIGHTS = 20, STEPS = 500 };

static double train(double *w) /* by a sample of its own; returns the loss */
{
    double x[WEIGHTS], score = 0.0, truth = 0.0;
    for (int k = 0; k < WEIGHTS; k++) {
        score += w[k] * (x[k] = 2.0 * rand() / RAND_MAX - 1.0);
        truth += (k % 3 - 1) * x[k];
    }
    double label = truth > 0.0 ? 1.0 : -1.0;
    for (int k = 0; k < WEIGHTS; k++) {
        w[k] += 0.1 * label * x[k] / (1.0 + exp(label * score));
    }
    return log1p(exp(-label * score));
}

static double distance_sq(const double *a, const double *b)
{
    double sum = 0.0;
    for (int k = 0; k < WEIGHTS; k++) {
        sum += (a[k] - b[k]) * (a[k] - b[k]);
    }
    return sum;
}

int main(int argc, char **argv)
{
    int rank, ranks, averages = 0;
    double loss = 1.0, w[WEIGHTS] = {0}, agreed[WEIGHTS] = {0};
    const char *why;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &ranks);
    srand(1 + (unsigned)rank);
    gradsync_hook_config config = gradsync_hook_defaults((uint32_t)rank, (uint32_t)ranks);
    config.offered = 1U << GRADSYNC_HOOK_LOCAL; /* models are averaged, each step at most */
    size_t bytes = gradsync_hook_bytes();
    gradsync_hook *hook = gradsync_hook_create(malloc(bytes), bytes, &config, &why);
    gradsync_hook_signals now = gradsync_hook_unknown();
    for (int step = 0; step < STEPS; step++) {
        gradsync_hook_values us;
        gradsync_hook_decision decision = {0};
        now.step_s = -MPI_Wtime();
        now.loss = train(w);
        now.step_s += MPI_Wtime();
        now.drift_sq = distance_sq(w, agreed);
        if (gradsync_hook_step(hook, &now, &us)) {
            MPI_Allreduce(MPI_IN_PLACE, us.sums, GRADSYNC_HOOK_SUMS, MPI_DOUBLE, MPI_SUM, world);
            MPI_Allreduce(MPI_IN_PLACE, us.maxima, GRADSYNC_HOOK_MAXIMA, MPI_DOUBLE, MPI_MAX,
                          world);
            gradsync_hook_decide(hook, &us, &decision);
        }
        now.sync_s = now.mean_drift_sq = NAN;
        if (decision.scope == GRADSYNC_HOOK_ALL) {
            now.sync_s = -MPI_Wtime();
            MPI_Allreduce(MPI_IN_PLACE, w, WEIGHTS, MPI_DOUBLE, MPI_SUM, world);
            now.sync_s += MPI_Wtime();
            for (int k = 0; k < WEIGHTS; k++) {
                w[k] /= ranks;
            }
            now.mean_drift_sq = distance_sq(w, agreed);
            memcpy(agreed, w, sizeof w);
            averages++;
        }
        loss += 0.01 * (now.loss - loss);
    }
    printf("%d averages, loss %.2f\n", averages, loss);
    return MPI_Finalize();
}
