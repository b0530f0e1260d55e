-- Runs labelled p of small.json get round numbers, and live runs labelled m are made of them, seven
-- repeats of each: every time longer by 2.0 % to 2.6 %. They began in 2040, after any prediction.
-- allreduce:                step 100 ms = 60 compute + 30 exposed + 5 wait + 3 input + 2 overhead
-- allreduce:overlap=false:  step 130 ms = 60 compute + 60 exposed + 5 wait + 3 input + 2 overhead
CREATE TEMP TABLE base AS
  SELECT run_id, iif(params_json LIKE '%"overlap":false%', 30, 0) AS more
  FROM run JOIN strategy USING(strategy_id) WHERE label = 'p';
UPDATE result SET value = CASE metric
    WHEN 'step_mean_ns' THEN 100e6 + more * 1e6
    WHEN 'step_p50_ns' THEN 100e6 + more * 1e6
    WHEN 'step_p95_ns' THEN 110e6 + more * 1e6
    WHEN 'compute_ns' THEN 60e6
    WHEN 'exposed_comm_ns' THEN 30e6 + more * 1e6
    WHEN 'wait_ns' THEN 5e6
    WHEN 'input_ns' THEN 3e6
    WHEN 'overhead_ns' THEN 2e6
    WHEN 'wire_bytes_per_step' THEN 153e6
  END
  FROM base WHERE base.run_id = result.run_id;
UPDATE prediction SET value = result.value
  FROM result WHERE result.run_id = prediction.run_id AND result.metric = prediction.metric;
UPDATE step SET duration_ns = (100 + more) * 1000000, exposed_comm_ns = (30 + more) * 1000000,
    wait_ns = 5000000
  FROM base WHERE base.run_id = step.run_id;
CREATE TEMP TABLE repeats(k INTEGER);
INSERT INTO repeats VALUES(0), (1), (2), (3), (4), (5), (6);
CREATE TEMP TABLE copies AS
  SELECT run_id AS old, k,
    (SELECT max(run_id) FROM run) + row_number() OVER (ORDER BY run_id, k) AS new
  FROM base JOIN repeats;
INSERT INTO run
  SELECT new, run_key || '-' || k, (SELECT max(batch) + 1 FROM run), 'live', scenario_id, strategy_id,
    env_id, 'm', seed, k, status, error_text, NULL, '2040-01-02T03:04:0' || k || 'Z', wall_ns
  FROM copies JOIN run ON run_id = old;
INSERT INTO result
  SELECT new, metric, iif(metric LIKE '%_ns', value * (1020 + k) / 1000, value), censored
  FROM copies JOIN result ON run_id = old;
INSERT INTO step
  SELECT new, step, rank, start_ns, duration_ns * (1020 + k) / 1000, compute_ns, comm_ns,
    exposed_comm_ns * (1020 + k) / 1000, wait_ns * (1020 + k) / 1000, input_ns, overhead_ns, bytes_sent
  FROM copies JOIN step ON run_id = old;
