/** Bodies for POST /v2/deployments. */

/** A small deployment that comes up on simulated nodes. */
export function smallDeployment(
  name: string,
  more: { source_config?: object; image?: string; secrets?: object[] } = {},
) {
  return {
    name,
    source: 'external_image',
    source_config: more.source_config ?? {},
    source_revision_config: { image_uri: more.image ?? 'registry.example/shop/web:1.0.0' },
    secrets: more.secrets ?? [],
  };
}
