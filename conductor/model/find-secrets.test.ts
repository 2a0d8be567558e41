import { expect, test } from 'vitest';
import { findSecrets } from '#conductor/model/find-secrets.ts';

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
