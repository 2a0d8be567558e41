import { expect, test } from 'vitest';
import { versionNow } from '#conductor/flows/driver-steps/firmware-shown.ts';

const dell = { component: 'Installed-25227-7.00.00__iDRAC.Embedded.1-1', before: '7.00.00' };
const shown = (...names: readonly (readonly [string, string | null])[]) => new Map(names);

test.each([
  ['under its name', { component: 'bmc', before: '1.0.0' }, shown(['bmc', ' 2.0.0 ']), '2.0.0'],
  ['that is empty as none', { component: 'bmc', before: '1.0.0' }, shown(['bmc', '']), undefined],
  ['that is null as none', { component: 'bmc', before: '1.0.0' }, shown(['bmc', null]), undefined],
  ['of one that is gone as none', { component: 'bmc', before: '1.0.0' }, shown(['bios', '2.0.0']), undefined],
  ['of one without a version before as none', { component: 'x-1', before: null }, shown(['x-2', '2']), undefined],
  [
    'under the name with the new version',
    dell,
    shown(
      ['Previous-25227-7.00.00__iDRAC.Embedded.1-1', '7.00.00'],
      ['Installed-25227-7.10.30__iDRAC.Embedded.1-1', '7.10.30'],
      ['Installed-159-7.10.30__BIOS.Setup.1-1', '7.10.30'],
    ),
    '7.10.30',
  ],
  ['under the name with the version of before', dell, shown([dell.component, '7.00.00']), '7.00.00'],
  ['of another item as none', dell, shown(['Installed-159-7.10.30__BIOS.Setup.1-1', '7.10.30']), undefined],
])('finds the version %s', (_how, update, versions, version) => {
  expect(versionNow(update, versions)).toBe(version);
});
