import { expect, test } from 'vitest';
import { loadConfig, SETTINGS } from '../../../src/config/index.ts';
import { PLATFORM_URLS } from '../../../src/config/platform-hosts.ts';

/** Settings that sound like a host and are none of the platform's that a URL could lead to. */
const OTHERS =
  /^(?:DATABASE_URL|BERTH_HOST|BERTH_HOSTING|BERTH_TRUST_PROXY|BERTH_BUILD_NO_PROXY|BERTH_REGISTRY_SIGNING_KEY|BERTH_(?:PRIVATE|INSECURE)_REGISTRIES|BERTH_BUILD_INSECURE_REGISTRY|BERTH_WEBHOOK_LIMIT)$/;

test('reserves the host of every setting that contains a host of the platform', () => {
  const sounding = Object.keys(SETTINGS).filter(
    (name) => /URL|ENDPOINT|HOST|PROXY|REGISTR|DOMAIN|OIDC_ISSUER/.test(name) && !OTHERS.test(name),
  );
  expect(sounding.toSorted()).toEqual([...PLATFORM_URLS, 'BERTH_REGISTRY', 'BERTH_APP_DOMAIN'].toSorted());
});

test('normalizes hosts, without port, path and duplicates', () => {
  const { platformHosts } = loadConfig({
    BERTH_PUBLIC_URL: 'https://Berth.Example.com:8443/x',
    BERTH_REGISTRY: 'REGISTRY.example.com:5000/apps',
    BERTH_OTLP_ENDPOINT: 'https://bücher.example.com.:4318',
    BERTH_TRACING_URL: 'https://berth.example.com',
    BERTH_APP_DOMAIN: 'apps.example.com',
  });
  expect(platformHosts).toEqual([
    'berth.example.com',
    'xn--bcher-kva.example.com',
    'registry.example.com',
    'apps.example.com',
  ]);
});
