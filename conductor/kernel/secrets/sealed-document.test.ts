import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { keepMasked, maskDocument } from '#conductor/kernel/secrets/mask-document.ts';
import {
  openDocument,
  resealDocument,
  sealDocument,
  sealWritten,
  secretTexts,
} from '#conductor/kernel/secrets/sealed-document.ts';
import { createSecrets, isSealed } from '#conductor/kernel/secrets/secrets.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { hideSecrets } from '#shared/secret-words.ts';

const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
const secrets = createSecrets([oldKey]);
const place = 'node 1 driver_info';

const document = {
  redfish_address: 'https://bmc',
  redfish_password: 'hunter2',
  numbers: { api_token: 4711, plain: 1 },
  empty_password: null,
  configdrive: { user_data: 'key hunter2' },
  files: [{ path: '/etc/key', content: 'hunter2' }],
  settings: [
    { name: 'AdminPassword', value: 'hunter2' },
    { name: 'Odd', value: 'hunter2' },
    { name: 'SysProfile', value: 'Performance' },
  ],
  image_source: 'http://me:hunter2@images/a.raw?x=1@2',
  list: ['https://hunter2@host/', true, null],
};
const options = { secretSettings: new Set(['Odd']) };

test('seals each secret where it stands, and opens to what it was', () => {
  const sealed = sealDocument(secrets, document, place, options);
  expect(JSON.stringify(sealed)).not.toContain('hunter2');
  expect(sealed).toMatchObject({
    redfish_address: 'https://bmc',
    numbers: { plain: 1 },
    empty_password: null,
    settings: [{ name: 'AdminPassword' }, { name: 'Odd' }, { name: 'SysProfile', value: 'Performance' }],
    list: [expect.stringMatching(/^https:\/\/sealed:v1:.*@host\/$/), true, null],
  });
  expect(new URL(String(sealed['image_source'])).host).toBe('images');
  expect(isSealed(sealed['configdrive'])).toBe(true);
  expect(sealDocument(secrets, sealed, place, options)).toEqual(sealed);
  expect(openDocument(secrets, sealed, place)).toEqual(document);
  expect(() => openDocument(secrets, sealed, 'node 2 driver_info')).toThrow(/^node 2 driver_info\./);
});

test('shows none of them, sealed or not', () => {
  const shown = maskDocument(document, options.secretSettings);
  expect(maskDocument(sealDocument(secrets, document, place, options))).toEqual({ ...shown, empty_password: '******' });
  expect(JSON.stringify(shown)).not.toContain('hunter2');
  expect(shown).toMatchObject({
    redfish_password: '******',
    image_source: 'http://******@images/a.raw?x=1@2',
    settings: [{ value: '******' }, { value: '******' }, { value: 'Performance' }],
  });
});

test('what was shown may come back, at any depth', () => {
  const sealed = sealDocument(secrets, document, place, options);
  const kept = keepMasked({ ...maskDocument(sealed), added: 1 }, sealed);
  expect(kept).toEqual({ ...sealed, added: 1 });
});

test('refuses what looks sealed, but where it stood before', () => {
  const sealed = sealDocument(secrets, document, place);
  expect(sealWritten(secrets, sealed, place, { before: sealed })).toEqual(sealed);
  const text = String(sealed['redfish_password']);
  for (const written of [{ other: text }, { redfish_password: 'sealed:v1:x' }, { a: [`http://${text}@host`] }]) {
    expect(() => sealWritten(secrets, written, place, { before: sealed })).toThrow(
      /^driver_info\.\S+: a value must not begin with 'sealed:'/,
    );
  }
});

test('seals again what an older key has sealed, or nobody, and leaves what no key opens', () => {
  const rotated = createSecrets([newKey, oldKey]);
  const closed: AppError[] = [];
  const sealed = sealDocument(secrets, document, place, options);
  const again = resealDocument(rotated, { ...sealed, new_token: 'x' }, place, (error) => closed.push(error));
  expect(closed).toEqual([]);
  expect(openDocument(createSecrets([newKey]), again, place)).toEqual({ ...document, new_token: 'x' });
  expect(resealDocument(rotated, again, place, () => undefined)).toEqual(again);
  const lost = resealDocument(createSecrets([randomBytes(32)]), sealed, place, (error) => closed.push(error));
  expect(lost).toEqual(sealed);
  expect(closed[0]).toBeInstanceOf(AppError);
});

test('finds secrets in what others say', () => {
  const sealed = sealDocument(secrets, { bmc_password: 'hunter2', pin_token: 12, url: 'http://me:s3cret@h' }, place);
  const hide = hideSecrets(() => secretTexts(secrets, sealed, place));
  expect(hide('login "hunter2" refused at http://me:s3cret@h, 12 of 123 tries, "12", s3cret')).toBe(
    'login "******" refused at http://******@h, ****** of 123 tries, "******", ******',
  );
});
