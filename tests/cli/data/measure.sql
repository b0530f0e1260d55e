-- As if the runs labelled p had been measured: live runs labelled m, seven repeats of each, every time
-- longer by 2 % and by a little more with each repeat. They began in 2040, long after any prediction.
CREATE TEMP TABLE repeats(k INTEGER);
INSERT INTO repeats VALUES(0), (1), (2), (3), (4), (5), (6);
CREATE TEMP TABLE copies AS
  SELECT r.run_id AS old, k, row_number() OVER (ORDER BY r.run_id, k) +
    (SELECT max(run_id) FROM run) AS new
  FROM run r JOIN repeats WHERE r.label = 'p';
INSERT INTO run
  SELECT new, run_key || '-' || k, batch + 1, 'live', scenario_id, strategy_id, env_id, 'm', seed, k, status,
    error_text, NULL, '2040-01-02T03:04:0' || k || 'Z', wall_ns
  FROM copies JOIN run ON run_id = old;
INSERT INTO result
  SELECT new, metric, iif(metric LIKE '%_ns', value * (1.02 + 0.001 * k), value), censored
  FROM copies JOIN result ON run_id = old;
INSERT INTO step
  SELECT new, step, rank, start_ns, duration_ns * (1020 + k) / 1000, compute_ns, comm_ns, exposed_comm_ns,
    wait_ns, input_ns, overhead_ns, bytes_sent
  FROM copies JOIN step ON run_id = old;
