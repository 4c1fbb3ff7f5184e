/**
 * Kinds of objects that oracles and benches check. Events and leases are excluded, because they change all the time.
 */
import { RESOURCES, type Resource } from '../../src/cluster/kube/client/resources.ts';

/** What Berth makes itself. Events are left out: how often something is told is no object's matter. */
export const MADE_KINDS: readonly Resource[] = [
  RESOURCES.ManagedDeployment,
  RESOURCES.Deployment,
  RESOURCES.StatefulSet,
  RESOURCES.ControllerRevision,
  RESOURCES.Service,
  RESOURCES.Secret,
  RESOURCES.ServiceAccount,
  RESOURCES.PersistentVolumeClaim,
  RESOURCES.HorizontalPodAutoscaler,
  RESOURCES.PodDisruptionBudget,
  RESOURCES.NetworkPolicy,
];

/** What a deployment consists of, and what Kubernetes makes of it. */
export const DEPLOYMENT_KINDS: readonly Resource[] = [
  ...MADE_KINDS,
  RESOURCES.ReplicaSet,
  RESOURCES.ConfigMap,
  RESOURCES.Ingress,
  RESOURCES.Pod,
];
