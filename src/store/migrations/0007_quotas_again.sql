-- Native sidecars among the init containers were not added up in what a deployment counts for. Whoever asks for the sum
-- next measures these rows again; the volume that was made stays as it was counted.
UPDATE "deployments" SET "quota_cpu_m" = NULL, "quota_memory_mb" = NULL
WHERE "source_config" @> '{"resource_spec": {"init_containers": [{"restartPolicy": "Always"}]}}';
