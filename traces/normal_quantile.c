#include "traces/normal_quantile.h"

#include "base/elementary.h"

#include <math.h>

enum { DEGREE = 7 };

typedef struct rational {
    double above[DEGREE + 1], below[DEGREE + 1]; /* coefficients from the constant on */
} rational;

/* Up to so far from the middle one function of the square holds; beyond it there are two of
 * r = sqrt(-log(tail)). */
static const double CENTRAL = 0.425, CENTRAL_SQUARE = 0.180625;
static const double OUTER_TAIL = 1.3887943864964021e-11; /* e^-25: there r is 5 */
static const double INNER_ORIGIN = 1.6, OUTER_ORIGIN = 5.0;

static const rational central = {
    {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
     1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
     3.3430575583588128105e4, 2.5090809287301226727e3},
    {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
     5.2264952788528545610e3}};

static const rational inner = {
    {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
     3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
     2.27238449892691845833e-2, 7.74545014278341407640e-4},
    {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
     1.05075007164441684324e-9}};

static const rational outer = {
    {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
     2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7},
    {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15}};

GS_WIDE_BODY double polynomial(const double *coefficients, double x)
{
    double sum = coefficients[DEGREE];
    for (int i = DEGREE; i > 0; i--) {
        sum = x * sum + coefficients[i - 1];
    }
    return sum;
}

GS_WIDE_BODY double of_central(double from_middle)
{
    double x = CENTRAL_SQUARE - from_middle * from_middle;
    return from_middle * (polynomial(central.above, x) / polynomial(central.below, x));
}

/* Of a probability below the central ones or above them. */
GS_WIDE_BODY double of_tail(double probability, const rational *of, double origin)
{
    double rest = 1.0 - probability;
    double x = sqrt(-gs_log(probability < rest ? probability : rest)) - origin;
    double size = polynomial(of->above, x) / polynomial(of->below, x);
    return copysign(size, probability - 0.5);
}

GS_WIDE_BODY bool is_central(double probability)
{
    return fabs(probability - 0.5) <= CENTRAL;
}

static bool is_outer(double probability)
{
    return probability < OUTER_TAIL || 1.0 - probability < OUTER_TAIL;
}

double gs_normal_quantile(double probability)
{
    if (is_central(probability)) {
        return of_central(probability - 0.5);
    }
    return is_outer(probability) ? of_tail(probability, &outer, OUTER_ORIGIN)
                                 : of_tail(probability, &inner, INNER_ORIGIN);
}

/* So many at a time, on the stack. */
enum { SOME = 128 };

/* All as if they were central, then those that are not, side by side too: 15 in 100 of uniforms.
 * The outermost, 3 in 10^11, one by one. */
GS_WIDE_BODY void some_body(const double *restrict probabilities, uint32_t count,
                            double *restrict out)
{
    uint32_t places[SOME];
    double tails[SOME], sizes[SOME];
    uint32_t tail_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = of_central(probabilities[i] - 0.5);
    }
    for (uint32_t i = 0; i < count; i++) {
        places[tail_count] = i;
        tail_count += is_central(probabilities[i]) ? 0 : 1;
    }
    for (uint32_t i = 0; i < tail_count; i++) {
        tails[i] = probabilities[places[i]];
    }
    for (uint32_t i = 0; i < tail_count; i++) {
        sizes[i] = of_tail(tails[i], &inner, INNER_ORIGIN);
    }
    for (uint32_t i = 0; i < tail_count; i++) {
        out[places[i]] = is_outer(tails[i]) ? of_tail(tails[i], &outer, OUTER_ORIGIN) : sizes[i];
    }
}

GS_WIDE static void some_wide(const double *restrict probabilities, uint32_t count,
                              double *restrict out)
{
    some_body(probabilities, count, out);
}

void gs_normal_quantiles(const double *restrict probabilities, size_t count, double *restrict out)
{
    for (size_t done = 0; done < count; done += SOME) {
        uint32_t some = count - done < SOME ? (uint32_t)(count - done) : SOME;
        if (GS_IS_WIDE) {
            some_wide(probabilities + done, some, out + done);
        } else {
            some_body(probabilities + done, some, out + done);
        }
    }
}
