/** What the benches of the cluster create. */
import { EXTERNAL_CACHE_SECRET, EXTERNAL_DATABASE_SECRET } from '../../../src/contract/render/to-resource.ts';
import { NAME } from '../load/load.ts';

/** @param pods of each component; 0: everything is there, and nothing runs */
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

const SOMEWHERE = 'data.registry.example';

/** With one pod, and database and cache that somebody else runs: its Deployment waits for nothing. */
export const bodyAlone = (name: string) => ({
  ...body(name, 1),
  secrets: [
    { name: EXTERNAL_DATABASE_SECRET, value: `postgres://shop:a-password@${SOMEWHERE}:5432/shop` },
    { name: EXTERNAL_CACHE_SECRET, value: `redis://${SOMEWHERE}:6379` },
  ],
});

/** With a place for the name. */
export const template = (pods: 0 | 1) => JSON.stringify(body(NAME, pods));
