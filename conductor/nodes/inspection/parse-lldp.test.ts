import { expect, test } from 'vitest';
import { parseLldp } from '#conductor/nodes/inspection/parse-lldp.ts';
import { HeardLldp } from '#shared/wire/inventory.ts';

const text = (value: string) => Buffer.from(value).toString('hex');

test('reads what a data centre switch says', () => {
  expect(
    parseLldp([
      [1, '04001122AABBCC'],
      [2, `05${text('Ethernet1/7')}`],
      [3, '0078'],
      [4, text('to rack 7')],
      [5, `${text('leaf-7')}00`],
      [6, text('SONiC')],
      [7, '00140010'],
      [8, '0501c0000201020000000100'],
      [8, `110220010db8${'00'.repeat(11)}01020000000100`],
      [127, '0080c2010064'],
      [127, `0080c203006404${text('prov')}`],
      [127, `0080c20300c806${text('tenant')}`],
      [127, '00120f030300000005'],
      [127, '00120f042328'],
    ]),
  ).toEqual({
    switch_chassis_id: '00:11:22:aa:bb:cc',
    switch_port_id: 'Ethernet1/7',
    switch_port_description: 'to rack 7',
    switch_system_name: 'leaf-7',
    switch_system_description: 'SONiC',
    switch_capabilities_support: ['Bridge', 'Router'],
    switch_capabilities_enabled: ['Router'],
    switch_mgmt_addresses: ['192.0.2.1', '2001:db8::1'],
    switch_port_untagged_vlan_id: 100,
    switch_port_vlans: [
      { id: 100, name: 'prov' },
      { id: 200, name: 'tenant' },
    ],
    switch_port_link_aggregation_support: true,
    switch_port_link_aggregation_enabled: true,
    switch_port_link_aggregation_id: 5,
    switch_port_mtu: 9000,
  });
});

test.each([
  ['a MAC address', '03001122334455', '00:11:22:33:44:55'],
  ['a network address', '0401c0000207', '192.0.2.7'],
  ['a local name', `07${text('tap3')}`, 'tap3'],
  ['an alias that is not UTF-8', '01ff', 'ÿ'],
])('a port known by %s', (_, hex, id) => {
  expect(parseLldp([[2, hex]])).toEqual({ switch_port_id: id });
});

test('what is too short or unknown is left out', () => {
  const tlvs = [
    [1, ''],
    [1, '0400'],
    [1, '0901'],
    [2, '05'],
    [4, ''],
    [7, '00'],
    [8, '05'],
    [8, ''],
    [9, 'ff'],
  ] as const;
  const organizations = ['', '0080c2', '0080c201', '0080c20301', '00120f04', 'ffffff01ffff'].map(
    (hex) => [127, hex] as const,
  );
  expect(parseLldp([...tlvs, ...organizations].map(([type, hex]) => [type, hex]))).toEqual({});
});

test('what is longer than a TLV can be is none', () => {
  const heard = (bytes: number) => HeardLldp.parse({ interfaces: [{ lldp: [[5, 'ab'.repeat(bytes)]] }] });
  expect(heard(511).interfaces[0]?.lldp).toHaveLength(1);
  expect(heard(512).interfaces[0]?.lldp).toBeNull();
});
