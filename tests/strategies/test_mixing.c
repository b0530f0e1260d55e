/* Graphs of gossip against what is known of them. */
#include "strategies/mixing.h"
#include "tests/support.h"

#include <math.h>
#include <string.h>

enum { RANKS_MAX = 64 };

static const uint32_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 30, 64};
enum { SIZES = sizeof sizes / sizeof *sizes };

static bool exists(gs_graph graph, uint32_t ranks)
{
    gs_error err;
    return gs_mixing_check("test", graph, ranks, &err) == GS_OK;
}

/* One round: out[i] = sum over j of W_ij in[j]. */
static void mix(const gs_mixing *mixing, int64_t round, const double *in, double *out)
{
    for (uint32_t rank = 0; rank < mixing->ranks; rank++) {
        out[rank] = in[rank];
        for (uint32_t i = 0; i < mixing->degree; i++) {
            out[rank] += in[gs_mixing_from(mixing, rank, round, i)];
        }
        out[rank] *= gs_mixing_weight(mixing);
    }
}

/* ---------------------------------------------------------------- edges */

/* What i-th neighbours send and get is one edge from both ends; nobody is his own neighbour, and
 * nobody sends twice to the same. */
static void expect_edges(const gs_mixing *mixing, int64_t round)
{
    for (uint32_t rank = 0; rank < mixing->ranks; rank++) {
        bool seen[RANKS_MAX] = {false};
        for (uint32_t i = 0; i < mixing->degree; i++) {
            uint32_t to = gs_mixing_to(mixing, rank, round, i);
            cr_assert_lt(to, mixing->ranks);
            cr_expect_neq(to, rank, "%s of %u", gs_graph_names[mixing->graph], mixing->ranks);
            cr_expect_not(seen[to], "%s of %u: rank %u sends to %u twice",
                          gs_graph_names[mixing->graph], mixing->ranks, rank, to);
            seen[to] = true;
            cr_expect_eq(gs_mixing_from(mixing, to, round, i), rank);
        }
    }
}

Test(mixing, an_edge_is_the_same_from_both_ends)
{
    for (int graph = 0; graph < GS_GRAPH_COUNT; graph++) {
        for (int s = 0; s < SIZES; s++) {
            if (exists((gs_graph)graph, sizes[s])) {
                gs_mixing mixing = gs_mixing_of((gs_graph)graph, sizes[s]);
                for (int64_t round = 0; round < 8; round++) {
                    expect_edges(&mixing, round);
                }
            }
        }
    }
}

/* Rows: equal values stay. Columns: the sum stays, of 1 at one rank it is what that rank gives. */
Test(mixing, rows_and_columns_of_the_weights_sum_to_one)
{
    for (int graph = 0; graph < GS_GRAPH_COUNT; graph++) {
        for (int s = 0; s < SIZES; s++) {
            uint32_t ranks = sizes[s];
            if (!exists((gs_graph)graph, ranks)) {
                continue;
            }
            gs_mixing mixing = gs_mixing_of((gs_graph)graph, ranks);
            for (uint32_t rank = 0; rank < ranks; rank++) {
                double unit[RANKS_MAX] = {0.0};
                double ones[RANKS_MAX];
                double out[RANKS_MAX];
                double sum = 0.0;
                for (uint32_t i = 0; i < ranks; i++) {
                    ones[i] = 1.0;
                }
                mix(&mixing, rank, ones, out);
                cr_expect_float_eq(out[rank], 1.0, 1e-15);
                unit[rank] = 1.0;
                mix(&mixing, rank, unit, out);
                for (uint32_t i = 0; i < ranks; i++) {
                    sum += out[i];
                }
                cr_expect_float_eq(sum, 1.0, 1e-15);
            }
        }
    }
}

Test(mixing, ring_and_torus_are_symmetric)
{
    for (int graph = GS_GRAPH_RING; graph <= GS_GRAPH_TORUS; graph++) {
        for (int s = 0; s < SIZES; s++) {
            if (!exists((gs_graph)graph, sizes[s])) {
                continue;
            }
            gs_mixing mixing = gs_mixing_of((gs_graph)graph, sizes[s]);
            for (uint32_t rank = 0; rank < sizes[s]; rank++) {
                for (uint32_t i = 0; i < mixing.degree; i++) {
                    uint32_t to = gs_mixing_to(&mixing, rank, 0, i);
                    bool back = false;
                    for (uint32_t k = 0; k < mixing.degree; k++) {
                        back = back || gs_mixing_to(&mixing, to, 0, k) == rank;
                    }
                    cr_expect(back, "%s of %u: %u to %u", gs_graph_names[graph], sizes[s], rank,
                              to);
                }
            }
        }
    }
}

/* 12 ranks are 3 rows of 4: rank 5 is in the middle row, its neighbours are 6, 4, 9 and 1. */
Test(mixing, a_torus_is_as_square_as_it_can_be)
{
    gs_mixing mixing = gs_mixing_of(GS_GRAPH_TORUS, 12);
    const uint32_t neighbours[] = {6, 4, 9, 1};
    cr_expect_eq(mixing.rows, 3);
    cr_assert_eq(mixing.degree, 4);
    for (uint32_t i = 0; i < 4; i++) {
        cr_expect_eq(gs_mixing_to(&mixing, 5, 0, i), neighbours[i]);
    }
    cr_expect_eq(gs_mixing_of(GS_GRAPH_TORUS, 64).rows, 8);
    cr_expect_eq(gs_mixing_of(GS_GRAPH_TORUS, 8).degree, 3); /* 2 rows of 4: up is down */
    cr_expect_eq(gs_mixing_of(GS_GRAPH_TORUS, 4).degree, 2);
}

Test(mixing, a_torus_of_one_row_is_refused_with_what_works)
{
    gs_error err;
    cr_expect_eq(gs_mixing_check("d_psgd", GS_GRAPH_TORUS, 17, &err), GS_EINVAL);
    cr_expect_str_eq(err.text, "d_psgd.graph: a torus has rows and columns, and 17 ranks are a "
                               "prime; use graph=ring, or 18 ranks");
    cr_expect_eq(gs_mixing_check("d_psgd", GS_GRAPH_TORUS, 2, &err), GS_EINVAL);
    cr_expect(strstr(err.text, "or 4 ranks") != NULL, "%s", err.text);
    cr_expect_eq(gs_mixing_check("d_psgd", GS_GRAPH_TORUS, 1, &err), GS_OK);
}

/* 2 ranks have one neighbour each, who counts half; 1 has none. */
Test(mixing, small_rings_have_fewer_neighbours)
{
    const uint32_t degrees[] = {0, 1, 2, 2};
    for (uint32_t ranks = 1; ranks <= 4; ranks++) {
        gs_mixing mixing = gs_mixing_of(GS_GRAPH_RING, ranks);
        cr_expect_eq(mixing.degree, degrees[ranks - 1]);
        cr_expect_float_eq(gs_mixing_weight(&mixing), 1.0 / (degrees[ranks - 1] + 1), 1e-16);
    }
}

/* ---------------------------------------------------------------- how fast they mix */

/* The second largest eigenvalue of a symmetric W by power iteration: the largest of what is left
 * where the mean is taken away; (1 + W) / 2 in its place, so that none is below 0. */
static double second_eigenvalue(const gs_mixing *mixing)
{
    double x[RANKS_MAX];
    double y[RANKS_MAX];
    double norm = 0.0;
    for (uint32_t i = 0; i < mixing->ranks; i++) {
        x[i] = sin(1.0 + 2.385 * i);
    }
    for (int turn = 0; turn < 20000; turn++) {
        double mean = 0.0;
        mix(mixing, 0, x, y);
        for (uint32_t i = 0; i < mixing->ranks; i++) {
            y[i] = (x[i] + y[i]) / 2.0;
            mean += y[i] / mixing->ranks;
        }
        norm = 0.0;
        for (uint32_t i = 0; i < mixing->ranks; i++) {
            norm += (y[i] - mean) * (y[i] - mean);
        }
        norm = sqrt(norm);
        for (uint32_t i = 0; i < mixing->ranks; i++) {
            x[i] = (y[i] - mean) / norm;
        }
    }
    return 2.0 * norm - 1.0;
}

/* 1/3 + 2/3 cos(2 pi / n): 0.8047, 0.9493 and 0.9872. */
Test(mixing, a_ring_mixes_as_its_second_eigenvalue_says)
{
    const double printed[] = {0.8047, 0.9493, 0.9872};
    for (int i = 0; i < 3; i++) {
        uint32_t ranks = UINT32_C(8) << i;
        gs_mixing mixing = gs_mixing_of(GS_GRAPH_RING, ranks);
        double exact = 1.0 / 3.0 + 2.0 / 3.0 * cos(2.0 * acos(-1.0) / ranks);
        double found = second_eigenvalue(&mixing);
        cr_expect_float_eq(found, exact, 1e-9, "%u ranks: %.6f, %.6f", ranks, found, exact);
        cr_expect_float_eq(found, printed[i], 5e-5);
    }
}

/* A torus of equal sides k: 1/5 + 2/5 (1 + cos(2 pi / k)), so of 64 ranks 0.8828 against the 0.9968
 * of their ring. */
Test(mixing, a_torus_mixes_faster_than_a_ring)
{
    gs_mixing torus = gs_mixing_of(GS_GRAPH_TORUS, 64);
    double exact = 0.2 + 0.4 * (1.0 + cos(2.0 * acos(-1.0) / 8.0));
    cr_expect_float_eq(second_eigenvalue(&torus), exact, 1e-9);
}

/* Largest distance to the mean after so many rounds. */
static double spread(gs_graph graph, uint32_t ranks, int64_t first, int64_t rounds)
{
    gs_mixing mixing = gs_mixing_of(graph, ranks);
    double x[RANKS_MAX];
    double y[RANKS_MAX];
    double mean = 0.0;
    double worst = 0.0;
    for (uint32_t i = 0; i < ranks; i++) {
        x[i] = sin(1.0 + 2.385 * i);
        mean += x[i] / ranks;
    }
    for (int64_t round = first; round < first + rounds; round++) {
        mix(&mixing, round, x, y);
        memcpy(x, y, sizeof x);
    }
    for (uint32_t i = 0; i < ranks; i++) {
        worst = fmax(worst, fabs(x[i] - mean));
    }
    return worst;
}

/* Distances 1, 2, 4 in any order reach each of 8 ranks by one way only, of weight 1/8. */
Test(mixing, one_peer_a_round_is_exact_after_lg_n_rounds_of_powers_of_two)
{
    for (int64_t rounds = 1; rounds <= 6; rounds++) {
        uint32_t ranks = UINT32_C(1) << rounds;
        cr_expect_lt(spread(GS_GRAPH_ONE_PEER, ranks, 0, rounds), 1e-15, "%u ranks", ranks);
        cr_expect_lt(spread(GS_GRAPH_ONE_PEER, ranks, 5, rounds), 1e-15, "%u ranks", ranks);
        cr_expect_gt(spread(GS_GRAPH_ONE_PEER, ranks, 0, rounds - 1), 0.01, "%u ranks", ranks);
    }
    cr_expect_gt(spread(GS_GRAPH_ONE_PEER, 12, 0, 4), 0.001); /* no power of two */
}

Test(mixing, graphs_in_which_all_are_neighbours_are_exact_at_once)
{
    cr_expect_lt(spread(GS_GRAPH_COMPLETE, 17, 0, 1), 1e-15);
    cr_expect_lt(spread(GS_GRAPH_RING, 3, 0, 1), 1e-15);
    cr_expect_lt(spread(GS_GRAPH_EXPONENTIAL, 3, 0, 1), 1e-15);
    cr_expect_gt(spread(GS_GRAPH_EXPONENTIAL, 8, 0, 1), 0.01);
}
