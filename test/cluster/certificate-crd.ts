/** The kind Certificate of cert-manager, as far as Berth reads it: its own definition would need its webhooks. */

/** Name of the CustomResourceDefinition. */
export const CERTIFICATES = 'certificates.cert-manager.io';

/** A definition that accepts every field, with the status as a subresource, as that of cert-manager has it. */
export const certificateCrd = (): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: CERTIFICATES },
  spec: {
    group: 'cert-manager.io',
    scope: 'Namespaced',
    names: { kind: 'Certificate', plural: 'certificates', singular: 'certificate' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
});
