import { expect, test } from 'vitest';
import { replaceIdentities } from '#conductor/model/recordings/replace-identities.ts';

const texts = {
  inventory: JSON.stringify({
    interfaces: [
      { mac_address: 'AA:BB:CC:0a:00:01', ipv4_address: '10.1.2.3', ipv6_address: 'fe80::a8bb:ccff:fe0a:1' },
    ],
    disks: [
      { serial: 'S4EVNF0M123456', wwn: '0x5000c500a1b2c3d4', by_path: '/dev/disk/by-id/ata-X_S4EVNF0M123456' },
      { serial: 'Default string', model: 'SAMSUNG MZ7LH480' },
    ],
    system_vendor: {
      product_name: 'PowerEdge R640',
      serial_number: 'ABC1234',
      baton_system_uuid: '4c4c4544-0042-4410-8031-b4c04f334b32',
    },
  }),
  'ipmitool fru print': ' Product Serial        : ABC1234\n Board Serial number : CN7016359B00AB',
  'show lldp neighbors': 'Chassis id: aabb.cc0a.0001\nMask 255.255.255.0 of 10.1.2.3, 10.9.9.9 at 12:00:07',
};

test('the same stays the same in all texts, and nobody’s own is left', () => {
  const replaced = replaceIdentities(texts);
  const all = Object.values(replaced).join('\n');
  for (const own of ['S4EVNF0M123456', '5000c500a1b2c3d4', 'ABC1234', 'CN7016359B00AB', '10.1.2.3', 'fe80', '4c4c4544'])
    expect(all).not.toContain(own);
  expect(all).not.toMatch(/aa:?bb\.?:?cc/i);
  const {
    interfaces,
    disks,
    system_vendor: vendor,
  } = JSON.parse(replaced.inventory ?? '') as {
    interfaces: { mac_address: string; ipv4_address: string }[];
    disks: { serial: string; wwn: string; by_path: string; model?: string }[];
    system_vendor: { product_name: string; serial_number: string };
  };
  expect(disks[0]?.serial).toHaveLength('S4EVNF0M123456'.length);
  expect(disks[0]?.by_path).toBe(`/dev/disk/by-id/ata-X_${disks[0]?.serial}`);
  expect(disks[0]?.wwn).toMatch(/^0x0+\d$/);
  expect(disks[1]).toMatchObject({ serial: 'Default string', model: 'SAMSUNG MZ7LH480' });
  expect(vendor.product_name).toBe('PowerEdge R640');
  expect(replaced['ipmitool fru print']).toContain(`Product Serial        : ${vendor.serial_number}`);
  expect(interfaces[0]).toMatchObject({ mac_address: '00:00:5E:00:53:01', ipv4_address: '192.0.2.2' });
  expect(replaced['show lldp neighbors']).toContain('Chassis id: 0000.5e00.5301');
  expect(replaced['show lldp neighbors']).toMatch(/255\.255\.255\.0 of 192\.0\.2\.2, 192\.0\.2\.3 at 12:00:07$/);
});

test('a serial number that is a MAC address stays one', () => {
  const inventory = JSON.stringify({ mac_address: '52:54:00:05:00:00', serial_number: '52:54:00:05:00:00' });
  expect(JSON.parse(replaceIdentities({ inventory }).inventory ?? '')).toEqual({
    mac_address: '00:00:5e:00:53:01',
    serial_number: '00:00:5e:00:53:01',
  });
});
