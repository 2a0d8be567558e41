import { expect, test } from 'vitest';
import { maskDocument } from '#conductor/kernel/secrets/mask-document.ts';
import { openDocument, sealDocument } from '#conductor/kernel/secrets/sealed-document.ts';
import { isSecretName } from '#conductor/model/secret-names.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

test.each([
  'snmp_community',
  'snmp_community_read',
  'snmp_auth_key',
  'snmp_priv_key',
  'ipmi_hex_kg_key',
  'apikey',
  'api_key',
  'user_data',
])('%s is secret', (name) => {
  expect(isSecretName(name)).toBe(true);
});

test.each([
  'redfish_address',
  'ipmi_username',
  'snmp_version',
  'snmp_port',
  'key',
  'sort_key',
  'root_device',
  'image_source',
])('%s is not', (name) => {
  expect(isSecretName(name)).toBe(false);
});

test('the signature of a URL is sealed, opens, and is masked in both', () => {
  const document = { image_source: 'https://images.example/disk.raw?sv=1&sig=ab%2Fc%3D&se=2' };
  const place = 'node n instance_info';
  const sealed = sealDocument(testSecrets, document, place);
  expect(JSON.stringify(sealed)).not.toContain('ab%2Fc');
  expect(openDocument(testSecrets, sealed, place)).toEqual(document);
  const shown = { image_source: 'https://images.example/disk.raw?sv=1&sig=******&se=2' };
  expect([maskDocument(sealed), maskDocument(document)]).toEqual([shown, shown]);
});
