import type { V1PersistentVolumeClaimSpec } from '@kubernetes/client-node';
import type { RenderConfig } from '../../contract/render/render-config.ts';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { ANNOTATIONS } from '../../contract/resource/names.ts';
import type { KubeObject } from '../desired-object.ts';
import { metadata } from '../labels.ts';
import { databaseName } from '../names.ts';
import { ownerReferences, ownsData } from '../owner.ts';

/**
 * The volume claim of the database. The claim is created once, without an owner unless volumePolicy is Delete. Later
 * changes only raise the size of the claim.
 * @param image image to record on the claim, because the data needs the major version of PostgreSQL that created it,
 * even if the default changes
 */
export function databaseVolume(resource: ManagedDeployment, config: RenderConfig, image: string): KubeObject {
  const { storage } = resource.spec.database;
  const spec: V1PersistentVolumeClaimSpec = {
    accessModes: ['ReadWriteOnce'],
    ...(config.storageClass === null ? {} : { storageClassName: config.storageClass }),
    resources: { requests: { storage } },
  };
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      ...metadata(resource, databaseName(resource), 'database'),
      annotations: { [ANNOTATIONS.databaseImage]: image },
      ...(ownsData(resource) ? ownerReferences(resource) : {}),
    },
    spec,
  };
}
