/** Deployments that the benches of the cluster create. */
import { EXTERNAL_CACHE, EXTERNAL_DATABASE } from '../../../src/domain/run-settings/external-services.ts';
import { NAME } from '../load/load.ts';

/** @param pods number of pods of each component; 0: all objects exist, but no pod runs */
export const body = (name: string, pods: 0 | 1) => ({
  name,
  source: 'external_image',
  source_config: {
    deployment_type: 'dev',
    resource_spec: { max_scale: pods, cpu: 0.5, memory_mb: 512 },
  },
  source_revision_config: { image_uri: 'registry.example/shop/web:1.4.2' },
  secrets: [{ name: 'SHOP_TOKEN', value: 'a-token-of-thirty-two-characters' }],
});

const EXTERNAL_HOST = 'data.registry.example';

/** A deployment with one pod and an external database and cache, so that its Deployment waits for nothing. */
export const bodyAlone = (name: string) => ({
  ...body(name, 1),
  secrets: [
    { name: EXTERNAL_DATABASE, value: `postgres://shop:a-password@${EXTERNAL_HOST}:5432/shop` },
    { name: EXTERNAL_CACHE, value: `redis://${EXTERNAL_HOST}:6379` },
  ],
});

/** The body with a placeholder for the name. */
export const template = (pods: 0 | 1) => JSON.stringify(body(NAME, pods));
