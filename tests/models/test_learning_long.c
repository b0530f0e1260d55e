/* What takes a minute to learn. */
#include "tests/models/learning_fixture.h"

#include <stdlib.h>
#include <string.h>

/* Nats a character on the last tenth of the bundled text. Counts of triples: 1.766. The
 * transformer, seed 1: 1.61 after 1500 steps. */
Test(learning_long, a_transformer_knows_more_than_the_two_characters_before)
{
    learner l;
    learner_init(&l,
                 &(lesson){.model = "gpt",
                           .data = "text",
                           .optimizer_keys = {"name", "adam", "rate", "0.004", "schedule", "cosine",
                                              "schedule_samples", "24000", "warmup_samples", "800"},
                           .batch = 16,
                           .seed = 1});
    learner_train(&l, 1500, 16);
    double loss = 0;
    (void)learner_accuracy(&l, &loss);
    double triples = count_loss(gs_task_dataset(l.task), 2);
    cr_expect_float_eq(triples, 1.7664, 1e-3); /* the same counted by a script */
    cr_expect_lt(loss, triples - 0.05, "%.4f against %.4f", loss, triples);
    gs_arena_fini(&l.arena);
}
