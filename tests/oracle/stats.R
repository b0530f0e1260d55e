# What R says of the values in a file, for tests/oracle/test_stats.c: one number or word a line.
#
# File: lines "name v1 v2 ..." of numbers. Base R alone; BCa is written out here, with resamples of
# R's own generator.
input <- commandArgs(trailingOnly = TRUE)
lines <- strsplit(readLines(input[2]), " ")
values <- lapply(lines, function(words) as.numeric(words[-1]))
names(values) <- vapply(lines, function(words) words[1], "")

say <- function(numbers) cat(formatC(numbers, digits = 15, format = "g"), sep = "\n")

# Of samples x (and y): theta of resamples, with its interval by Efron (1987).
bca <- function(samples, theta, alpha, rounds) {
    estimate <- theta(samples)
    drawn <- replicate(rounds, theta(lapply(samples, function(x) x[sample.int(length(x), replace = TRUE)])))
    width <- 1e-12 * diff(range(drawn))
    below <- mean(drawn < estimate - width) + mean(abs(drawn - estimate) <= width) / 2
    squares <- cubes <- 0
    for (s in seq_along(samples)) {
        count <- length(samples[[s]])
        others <- vapply(seq_len(count), function(i) {
            less <- samples
            less[[s]] <- less[[s]][-i]
            theta(less)
        }, 0)
        influence <- (count - 1) * (mean(others) - others)
        squares <- squares + sum(influence^2) / count^2
        cubes <- cubes + sum(influence^3) / count^3
    }
    skew <- cubes / (6 * squares^1.5)
    bias <- qnorm(below)
    z <- bias + qnorm(c(alpha / 2, 1 - alpha / 2))
    quantile(drawn, pnorm(bias + z / (1 - skew * z)), names = FALSE)
}

set.seed(1)
switch(input[1],
    bca_mean = for (x in values) say(bca(list(x), function(s) mean(s[[1]]), 0.05, 40000)),
    bca_medians = say(bca(values, function(s) median(s[[2]]) - median(s[[1]]), 0.05, 40000)),
    signs = for (x in values) {
        signs <- as.matrix(expand.grid(rep(list(c(-1, 1)), length(x))))
        say(mean(abs(signs %*% x) >= abs(sum(x)) - 1e-9))
    },
    wilcox = for (i in seq(1, length(values), by = 2)) {
        x <- values[[i]]
        y <- values[[i + 1]]
        exact <- !anyDuplicated(c(x, y)) && max(length(x), length(y)) < 50
        test <- wilcox.test(x, y, exact = exact)
        say(c(test$statistic, test$p.value))
    },
    holm = for (p in values) say(p.adjust(p, "holm")),
    power = for (x in values) {
        say(power.t.test(n = x[1], delta = x[2], sd = x[3], sig.level = x[4], type = "one.sample")$power)
    },
    # Arms one a line, the last line looks and alpha: when each arm leaves, 0 if it stays.
    race = {
        plan <- values[[length(values)]]
        arms <- values[-length(values)]
        seeds <- length(arms[[1]])
        left <- rep(0, length(arms))
        for (look in seq_len(plan[1])) {
            seen <- seq_len(look * seeds / plan[1])
            in_race <- which(left == 0)
            finite <- unlist(lapply(arms[in_race], function(x) x[seen]))
            worst <- 2 * max(finite[is.finite(finite)])
            logs <- lapply(arms, function(x) log(ifelse(is.finite(x[seen]), x[seen], worst)))
            leader <- in_race[which.min(vapply(logs[in_race], mean, 0))]
            for (arm in setdiff(in_race, leader)) {
                test <- t.test(logs[[arm]], logs[[leader]], paired = TRUE, alternative = "greater")
                if (test$p.value <= plan[2] / (plan[1] * (length(arms) - 1))) left[arm] <- look
            }
        }
        say(left)
    }
)
