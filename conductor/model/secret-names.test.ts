import { expect, test } from 'vitest';
import { maskDocument } from '#conductor/kernel/secrets/mask-document.ts';
import { openDocument, sealDocument } from '#conductor/kernel/secrets/sealed-document.ts';
import { findSecrets, isSecretName } from '#conductor/model/secret-names.ts';
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

const document = {
  image: 'https://user:pw@images/x.qcow2',
  plain: 'https://images/x.qcow2',
  bios_settings: { SetupPassword: 'x', BootMode: 'Uefi', PasswordLock: true, AdminPassword: '' },
  list: [{ api_token: 1 }, ['see http://a@b/'], { files: [{ path: '/a', content: 'x' }] }],
  settings: [{ name: 'SetupPassword', value: 'x' }],
};

test('secrets and logins, each with its path', () => {
  expect(findSecrets(document).map(({ kind, path }) => `${kind} ${path.join('.')}`)).toEqual([
    'login image',
    'secret bios_settings.SetupPassword',
    'secret list.0.api_token',
    'login list.1.0',
    'secret list.2.files.0.content',
    'secret settings.0.value',
  ]);
  const isFine = (path: readonly unknown[]) => path[0] !== 'image';
  expect(findSecrets(document, { most: 1, isFine }).map(({ path }) => path)).toEqual([['image']]);
  expect(findSecrets(document, { most: 2 })).toHaveLength(2);
});
