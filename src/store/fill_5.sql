-- The rows of version 6 that follow from those of version 5. A run on one node has that node's stamps itself.
INSERT INTO node
  SELECT r.id, r.host, r.boot_id, 1, r.start_mono_ns, r.start_wall_ns, r.stop_mono_ns, r.stop_wall_ns, 0, 0
  FROM run r LEFT JOIN actual a ON a.run = r.id
  WHERE ifnull(a.nodes, 1) = 1 AND r.host IS NOT NULL AND r.boot_id IS NOT NULL AND r.start_mono_ns IS NOT NULL
    AND r.start_wall_ns IS NOT NULL AND r.stop_mono_ns IS NOT NULL AND r.stop_wall_ns IS NOT NULL;
