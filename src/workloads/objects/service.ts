import type { V1ServiceSpec } from '@kubernetes/client-node';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { PORT_NAMES, SERVICE_PORT } from '../addresses.ts';
import type { KubeObject } from '../desired-object.ts';
import { type LabelledComponent, metadata, selectorLabels } from '../labels.ts';
import { app } from '../names.ts';
import { ownerReferences } from '../owner.ts';

/** A ClusterIP Service for the pods of a component. */
export function clusterService(
  resource: ManagedDeployment,
  name: string,
  labelledAs: LabelledComponent,
  selected: LabelledComponent,
  port: { name: string; port: number; targetPort: string },
): KubeObject {
  const spec: V1ServiceSpec = {
    type: 'ClusterIP',
    selector: selectorLabels(resource, selected),
    ports: [{ ...port, protocol: 'TCP' }],
  };
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...metadata(resource, name, labelledAs), ...ownerReferences(resource) },
    spec,
  };
}

/** The Service of the app: port 80 of the api component. */
export function appService(resource: ManagedDeployment): KubeObject {
  const port = { name: PORT_NAMES.app, port: SERVICE_PORT, targetPort: PORT_NAMES.app };
  return clusterService(resource, app(resource), 'app', 'api', port);
}
