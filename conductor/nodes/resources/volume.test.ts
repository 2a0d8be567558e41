import { expect, test } from 'vitest';
import { volumeScript } from '#conductor/boot/ipxe-script.ts';
import type { VolumeConnectorRow, VolumeTargetRow } from '#conductor/kernel/db/schema/volume.ts';
import { bootVolume } from '#conductor/nodes/resources/volume.ts';

const target = (properties: Record<string, unknown>, volumeType = 'iscsi') =>
  ({ uuid: 'u', volumeType, properties }) as VolumeTargetRow;
const iqn = { type: 'iqn', connectorId: 'iqn.2026-01.org.example:node1' } as VolumeConnectorRow;
const good = { target_portal: '192.0.2.5:3261', target_iqn: 'iqn.2026-01.org.example:disk', target_lun: 17 };

test('an iSCSI target becomes what iPXE attaches; LUNs are hexadecimal there', () => {
  expect(bootVolume(target({ ...good, auth_username: 'u', auth_password: 'p' }), [iqn])).toEqual({
    sanUri: 'iscsi:192.0.2.5::3261:11:iqn.2026-01.org.example:disk',
    initiatorIqn: 'iqn.2026-01.org.example:node1',
    username: 'u',
    password: 'p',
  });
  const other = bootVolume(target({ ...good, target_portal: '[2001:db8::5]' }), []);
  expect(other).toMatchObject({ sanUri: 'iscsi:[2001:db8::5]::3260:11:iqn.2026-01.org.example:disk' });
});

test.each([
  [{}, 'properties.target_portal'],
  [{ ...good, target_portal: 'a b' }, 'properties.target_portal: must be address:port'],
  [{ ...good, target_iqn: '${net0/mac}' }, 'properties.target_iqn: must be an iSCSI name'],
  [{ ...good, target_lun: -1 }, 'properties.target_lun'],
])('refuses %j', (properties, fault) => {
  expect(() => bootVolume(target(properties), [])).toThrow(fault);
});

test('what iPXE can’t boot is said to be so', () => {
  expect(() => bootVolume(target(good, 'fibre_channel'), [])).toThrow('boot from fibre_channel');
});

test('the script sets what the volume needs and clears what it does not', () => {
  const script = volumeScript(bootVolume(target({ ...good, auth_username: 'u' }), [iqn]), 'n1 boots from its volume');
  expect(script.split('\n').slice(0, 6)).toEqual([
    '#!ipxe',
    'echo Baton: n1 boots from its volume',
    'set initiator-iqn iqn.2026-01.org.example:node1',
    'set username u',
    'clear password ||',
    'sanboot --no-describe iscsi:192.0.2.5::3261:11:iqn.2026-01.org.example:disk || goto failed',
  ]);
});
